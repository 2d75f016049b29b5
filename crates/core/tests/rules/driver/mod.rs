//! The driver: the order of its checks, its budgets, its messages, any model, every interleaving.

mod any_model;
mod budgets;
pub(crate) mod case;
mod deaths;
mod history;
mod interleavings;
mod order;
mod prompts;
mod small_world;
mod wakes;
mod work;
