//! A chat: who said what, and when.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::{aligned, hanging};
use super::{ago, list, text};
use crate::output::{BOLD, DIM, clean, line, width};

pub(super) fn shown(answer: &Value, now: Time) -> String {
    let title = text(&answer["conversation"], "title");
    let mut shown = format!("{BOLD}{title}{BOLD:#}\n");
    for message in list(answer, "messages") {
        let kind = match message["kind"].as_str() {
            Some("synthetic") => ", written by punchlist",
            Some("report") => ", a report",
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

pub(super) fn listed(answer: &Value) -> String {
    let conversations = list(answer, "conversations");
    if conversations.is_empty() {
        return "No conversations to show.\n".to_owned();
    }
    let rows = conversations.iter().map(|conversation| {
        let field = |name| text(conversation, name).into_owned();
        vec![field("id"), field("channel"), field("title")]
    });
    let mut shown = aligned(rows.collect(), width());
    if let Some(cursor) = answer["nextCursor"].as_str() {
        shown.push_str(&format!("{DIM}… more: the same with --cursor {cursor}{DIM:#}\n"));
    }
    shown
}

pub(super) fn posted(answer: &Value) -> String {
    let mut shown = format!("Posted; the {} reads it next.\n", text(answer, "addressee"));
    if let Some(done) = answer["done"].as_str() {
        shown.push_str(&format!("{}\n", line(done)));
    }
    shown
}
