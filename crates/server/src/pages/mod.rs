//! The pages: a place to look and to decide, further readers of the catalogue (ADR 0027).
//!
//! A page is a function from a visit to HTML; it calls operations by their types. A form posts one
//! operation. No rule and no SQL lives here, and nothing needs a script: the script only keeps an open
//! page up to date. `routes` has the table of pages, `respond` the way from a request to a response.

mod activity;
mod agents;
mod asking;
mod assets;
mod chart;
mod chat;
#[cfg(test)]
mod contrast;
mod errors;
mod forms;
mod frame;
mod gates;
mod home;
mod icons;
mod issue;
mod issues;
mod items;
mod markdown;
mod marks;
mod mission;
mod missions;
mod notice;
mod parts;
mod plan;
mod plans;
mod respond;
mod routes;
mod session;
mod sign_in;
mod todo;
mod visit;
mod words;

pub(crate) use respond::{refused, unknown};
pub(crate) use routes::routes;
