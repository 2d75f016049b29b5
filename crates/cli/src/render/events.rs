//! The log, one line per event.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::aligned;
use super::text;
use super::times::relative;
use crate::output::{DIM, line, width};

pub(super) fn render(answer: &Value, now: Time) -> String {
    let events = answer["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    if events.is_empty() {
        return "Nothing has happened in this project yet.\n".to_owned();
    }
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
            about(&event["data"]),
        ]
    });
    let mut shown = aligned(rows.collect(), width());
    if let Some(cursor) = answer["nextCursor"].as_i64() {
        shown.push_str(&format!("{DIM}… more: punch log --after {cursor}{DIM:#}\n"));
    }
    shown
}

/// What an event is about, as far as a line can say it.
fn about(data: &Value) -> String {
    if let Some(number) = data["number"].as_i64() {
        return line(&format!("#{number} {}", text(data, "status")));
    }
    let issue = &data["issue"];
    if let (Some(number), Some(title)) = (issue["number"].as_i64(), issue["title"].as_str()) {
        return line(&format!("#{number} {title}"));
    }
    let title = data["todo"]["title"].as_str().or_else(|| data["title"].as_str());
    let said = title
        .or_else(|| data["outcome"].as_str())
        .or_else(|| data["note"]["text"].as_str())
        .or_else(|| data["name"].as_str())
        .or_else(|| data["file"].as_str())
        .or_else(|| data["todoId"].as_str());
    line(said.unwrap_or_default())
}
