//! The log, one line per event.

use punchlist_core::Time;
use punchlist_ops::operations::event_list::{EventRow, Output};

use super::columns::aligned;
use super::event_words::Names;
use super::times::relative;
use crate::output::{DIM, line, width};

pub(super) fn render(output: &Output, now: Time) -> String {
    let mut shown = rows(&output.events, now);
    if let Some(cursor) = output.next_cursor {
        shown.push_str(&format!("{DIM}… more: punch log --after {cursor}{DIM:#}\n"));
    }
    shown
}

pub(crate) fn rows(events: &[EventRow], now: Time) -> String {
    if events.is_empty() {
        return "Nothing has happened in this project yet.\n".to_owned();
    }
    let names = Names::of(events);
    let rows = events.iter().map(|event| {
        let who = match &event.r#as {
            Some(role) => line(&format!("{} as {role}", event.actor)),
            None => line(&event.actor),
        };
        vec![
            event.seq.to_string(),
            relative(event.at, now),
            who,
            line(&event.r#type).replace('_', " "),
            line(&names.about(event)),
        ]
    });
    aligned(rows.collect(), width())
}
