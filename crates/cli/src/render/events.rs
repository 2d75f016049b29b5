//! The log, one line per event.

use std::collections::BTreeMap;

use punchlist_core::Time;
use punchlist_ops::operations::event_list::{EventRow, NOISE, Output};

use super::columns::aligned;
use super::event_words::Names;
use super::times::{relative, to_the_second};
use crate::output::{DIM, line, whole_width};

/// How the log is shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Form {
    /// Each step of a run and each message, too.
    pub(crate) all: bool,
    /// Absolute times instead of relative ones.
    pub(crate) absolute: bool,
    /// Only a part of the log was asked for.
    pub(crate) is_part: bool,
}

impl Form {
    pub(crate) fn shows(self, event: &EventRow) -> bool {
        self.all || !NOISE.contains(&event.r#type.as_str())
    }
}

pub(super) fn render(output: &Output, now: Time) -> String {
    page(output, Form { all: true, ..Form::default() }, now)
}

/// A page of the log.
pub(crate) fn page(output: &Output, form: Form, now: Time) -> String {
    let mut shown = rows(&output.events, &output.names, form, now);
    if let Some(cursor) = output.next_cursor {
        shown.push_str(&format!("{DIM}… more: punch log --after {cursor}{DIM:#}\n"));
    }
    shown
}

/// What happened, as people say it. The names of the log are for programs.
fn happened(kind: &str) -> String {
    let words = match kind {
        "gate_opened" => "asked",
        "gate_answered" => "answered",
        "gate_superseded" => "asked anew",
        "gate_collected" => "answer received",
        "gate_answer_refused" => "answer refused",
        "todo_chained" => "todo waits",
        kind => return line(kind).replace('_', " "),
    };
    words.to_owned()
}

/// Its time, marked if the clock of its writer was set.
fn when(event: &EventRow, form: Form, now: Time) -> String {
    let time = if form.absolute { to_the_second(event.at) } else { relative(event.at, now) };
    if event.is_under_set_clock() { format!("{time} (clock set)") } else { time }
}

/// Events, with what ids in them are called.
pub(crate) fn rows(
    events: &[EventRow],
    known: &BTreeMap<String, String>,
    form: Form,
    now: Time,
) -> String {
    if events.is_empty() {
        let nothing = match form.is_part {
            true => "No events match.\n",
            false => "Nothing has happened in this project yet.\n",
        };
        return nothing.to_owned();
    }
    let names = Names::of(events, known);
    let told = events.iter().filter(|event| form.shows(event));
    let rows = told.map(|event| {
        let who = match &event.r#as {
            Some(role) => line(&format!("{} as {role}", event.actor)),
            None => line(&event.actor),
        };
        vec![
            event.seq.to_string(),
            when(event, form, now),
            who,
            happened(&event.r#type),
            line(&names.about(event)),
        ]
    });
    aligned(rows.collect(), whole_width())
}
