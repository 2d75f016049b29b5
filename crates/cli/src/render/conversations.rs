//! A chat: who said what, and when.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::hanging;
use super::{ago, list, text};
use crate::output::{BOLD, DIM, clean, width};

pub(super) fn shown(answer: &Value, now: Time) -> String {
    let title = text(&answer["conversation"], "title");
    let mut shown = format!("{BOLD}{title}{BOLD:#}\n");
    for message in list(answer, "messages") {
        let kind = match message["kind"].as_str() {
            Some("synthetic") => ", written by punchlist",
            _ => "",
        };
        let (author, at) = (text(message, "author"), ago(&message["createdAt"], now));
        shown.push_str(&format!("\n{DIM}{author}, {at}{kind}{DIM:#}\n"));
        let said = clean(message["text"].as_str().unwrap_or_default());
        shown.push_str(&hanging("  ", "  ", &said, width()));
    }
    if list(answer, "messages").is_empty() {
        shown.push_str("No messages.\n");
    }
    shown
}
