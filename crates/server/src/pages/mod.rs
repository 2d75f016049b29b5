//! The pages: a place to look and to decide, as another surface over the catalogue (ADR 0027).
//!
//! A page is a function from a visit to HTML, which calls operations by their types. A form posts
//! one operation. There is no rule and no SQL here, and no page needs a script: the script only
//! keeps an open page up to date. `routes` has the table of pages, `respond` turns a request into a
//! response.

mod activity;
mod agents;
mod asking;
mod assets;
mod change;
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
mod plain;
mod plan;
mod plans;
mod respond;
mod routes;
mod session;
mod sign_in;
mod since;
mod todo;
mod visit;
mod words;

pub(crate) use change::Changes;
pub(crate) use respond::{refused, unknown};
pub(crate) use routes::routes;
pub(crate) use since::Days;
