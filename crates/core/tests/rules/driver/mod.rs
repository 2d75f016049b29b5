//! The driver: its order of checks, its budgets, its words, any model, every interleaving.

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
