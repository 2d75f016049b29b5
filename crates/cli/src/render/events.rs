//! The log, one line per event.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::aligned;
use super::event_words::Names;
use super::text;
use super::times::relative;
use crate::output::{DIM, line, width};

pub(super) fn render(answer: &Value, now: Time) -> String {
    let events = answer["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    if events.is_empty() {
        return "Nothing has happened in this project yet.\n".to_owned();
    }
    let names = Names::of(events);
    let rows = events.iter().map(|event| {
        let at = event["at"].as_str().and_then(Time::parse);
        let who = match event["as"].as_str() {
            Some(role) => format!("{} as {role}", text(event, "actor")),
            None => text(event, "actor").into_owned(),
        };
        vec![
            event["seq"].to_string(),
            at.map_or(String::new(), |at| relative(at, now)),
            who,
            text(event, "type").replace('_', " "),
            line(&names.about(event)),
        ]
    });
    let mut shown = aligned(rows.collect(), width());
    if let Some(cursor) = answer["nextCursor"].as_i64() {
        shown.push_str(&format!("{DIM}… more: punch log --after {cursor}{DIM:#}\n"));
    }
    shown
}
