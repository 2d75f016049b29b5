//! Renders answers for people: one file per kind of answer.
//!
//! `words::WORDS` lists the renderer of every operation. A renderer takes the output type of its
//! operation, so renaming a field breaks the build here.

mod authority;
pub(crate) mod checklist;
pub(crate) mod columns;
mod conversations;
pub(crate) mod copies;
mod delegations;
pub(crate) mod doctor;
mod event_words;
pub(crate) mod events;
pub(crate) mod gates;
mod home;
mod imported;
mod issues;
pub(crate) mod marks;
mod metrics;
pub(crate) mod mission_status;
mod missions;
mod permissions;
pub(crate) mod plans;
mod reports;
pub(crate) mod runs;
mod session_list;
mod sessions;
mod times;
mod todos;
mod tokens;
pub(crate) mod turn;
mod words;

use std::fmt::Display;

pub(crate) use conversations::told as conversation;
use punchlist_core::Time;
pub(crate) use punchlist_core::naming::{short, short_among};
use punchlist_ops::{Answer, Operation};

use crate::failure::Failure;
use crate::output::{self, DIM, GREEN};

/// An operation's answer in words. An answer that an older version stored in another shape is shown
/// as JSON.
pub(crate) fn answer(operation: &Operation, answer: &Answer, now: Time) -> Result<String, Failure> {
    match words::find(operation.name).and_then(|words| words(answer, now)) {
        Some(text) => Ok(text),
        None => Ok(format!("{:#}\n", answer.to_json()?)),
    }
}

/// How long ago a time was, or how far ahead; empty without a time.
fn ago(at: impl Into<Option<Time>>, now: Time) -> String {
    at.into().map_or(String::new(), |at| times::relative(at, now))
}

/// What a command has done, in one line: a verb, and what it was done to. The line continues below
/// itself where the terminal is too narrow.
fn did(verb: &str, what: &str) -> String {
    let shown = format!("{GREEN}{verb}{GREEN:#} ");
    columns::hanging(&format!("{verb} "), &shown, what, output::width())
}

/// How to see the next page, if there is one.
fn more(cursor: Option<&impl Display>) -> String {
    let more = |cursor| format!("{DIM}… more: the same with --cursor {cursor}{DIM:#}\n");
    cursor.map(more).unwrap_or_default()
}
