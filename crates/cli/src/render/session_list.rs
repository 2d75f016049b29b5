//! The list of a session for people: each item with its mark and its id, then how far it is.

use serde_json::{Value, json};

use super::checklist::one;
use super::{list, number, text};
use crate::output::{DIM, YELLOW, line};

pub(super) fn kept(answer: &Value) -> String {
    let mut shown = String::new();
    for item in list(answer, "todos") {
        let priority = match item["priority"].as_str() {
            None | Some("medium") => String::new(),
            Some(priority) => format!(" ({priority})"),
        };
        let mut item = item.clone();
        item["content"] =
            json!(format!("{}: {}{priority}", text(&item, "id"), text(&item, "content")));
        shown.push_str(&one(&item, ""));
    }
    if shown.is_empty() {
        shown.push_str("The list is empty.\n");
    } else {
        let of = |name: &str| number(&answer["summary"], name);
        let parts = [
            (of("pending") + of("inProgress"), "open"),
            (of("held"), "held"),
            (of("completed"), "completed"),
            (of("cancelled"), "cancelled"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, word)| format!("{count} {word}")).collect();
        shown.push_str(&format!("{DIM}{}{DIM:#}\n", parts.join(", ")));
    }
    for warning in list(answer, "warnings").iter().filter_map(Value::as_str) {
        shown.push_str(&format!("{YELLOW}{}{YELLOW:#}\n", line(warning)));
    }
    if let Some(message) = answer["message"].as_str() {
        shown.push_str(&format!("{}\n", line(message)));
    }
    shown
}
