//! Runs: a table of many, a block for one, and the words for how one ended.

use punchlist_core::Time;
use punchlist_core::driver::StopReason;
use serde_json::Value;

use super::columns::{aligned, hanging};
use super::{ago, list, number, text};
use crate::output::{BOLD, DIM, GREEN, YELLOW, clean, line, width};

pub(super) fn listed(answer: &Value, now: Time) -> String {
    let runs = list(answer, "runs");
    if runs.is_empty() {
        return "No runs to show. `punch run \"…\"` begins one.\n".to_owned();
    }
    let rows = runs.iter().map(|run| {
        vec![
            text(run, "id").into_owned(),
            state(run),
            ago(&run["updatedAt"], now),
            text(run, "agent").into_owned(),
            text(run, "model").into_owned(),
        ]
    });
    let mut shown = aligned(rows.collect(), width());
    if let Some(cursor) = answer["nextCursor"].as_str() {
        shown.push_str(&format!("{DIM}… more: the same with --cursor {cursor}{DIM:#}\n"));
    }
    shown
}

/// What it waits for, or why it ended, in a word.
fn state(run: &Value) -> String {
    let waits = run["waitsFor"]["kind"].as_str().map(|kind| format!("waits: {kind}"));
    let ended = run["stopReason"].as_str().map(str::to_owned);
    line(&ended.or(waits).unwrap_or_else(|| text(run, "state").into_owned()))
}

/// An answer `{run}`, perhaps with what it said and the items of its lists.
pub(super) fn shown(answer: &Value, now: Time) -> String {
    let run = &answer["run"];
    if run.is_null() {
        return "There is nothing to answer.\n".to_owned();
    }
    let (agent, model) = (text(run, "agent"), text(run, "model"));
    let mut shown = format!("{BOLD}{agent}{BOLD:#} {DIM}{model}{DIM:#}\n");
    let mut add = |text: &str| shown.push_str(&hanging("  ", "  ", text, width()));
    let (since, by) = (ago(&run["createdAt"], now), text(run, "startedBy"));
    add(&format!("{}; started {since} by {by}", stands(run)));
    if let Some(said) = answer["text"].as_str().filter(|said| !said.is_empty()) {
        add(&clean(said));
    }
    for item in list(answer, "done").iter().chain(list(answer, "left")) {
        add(&item_line(item));
    }
    add(&used(run));
    add(&format!("run {}", text(run, "id")));
    shown
}

/// A run that was asked to end.
pub(super) fn stopped(answer: &Value) -> String {
    let run = &answer["run"];
    let id = text(run, "id");
    match run["endedAt"].is_string() {
        true => format!("{GREEN}Stopped{GREEN:#} run {id}.\n"),
        false => format!("{YELLOW}Asked{YELLOW:#} run {id} to end; it will in a moment.\n"),
    }
}

/// How a run stands, in words.
pub(crate) fn stands(run: &Value) -> String {
    if let Some(reason) = reason(run) {
        let detail = run["stopDetail"].as_str().map(|detail| format!(" ({})", line(detail)));
        return format!("ended: {}{}", reason.words(), detail.unwrap_or_default());
    }
    match run["waitsFor"]["kind"].as_str() {
        Some("gate") => "waits for an answer (`punch inbox`)".to_owned(),
        Some("delegations") => "waits for work that was handed on".to_owned(),
        Some("pause") => "paused (`punch session resume` lets it go on)".to_owned(),
        Some(kind) => line(kind),
        None => text(run, "state").into_owned(),
    }
}

pub(crate) fn reason(run: &Value) -> Option<StopReason> {
    serde_json::from_value(run["stopReason"].clone()).ok()
}

/// An item of a run's lists in one line.
pub(crate) fn item_line(item: &Value) -> String {
    let mark = match item["status"].as_str() {
        Some("completed") => "[x]",
        Some("cancelled") => "[-]",
        Some("in_progress") => "[/]",
        _ => "[ ]",
    };
    let why = if item["hold"].is_string() {
        format!(" ({})", text(item, "hold"))
    } else if item["claimed"] == true {
        " (waits for its reviewer)".to_owned()
    } else if item["status"] == "cancelled" && item["outcome"].is_string() {
        format!(" (cancelled: {})", text(item, "outcome"))
    } else {
        String::new()
    };
    format!("{mark} {}{why}", text(item, "title"))
}

/// The calls and tokens of a run, and their cost where the model has a price.
pub(crate) fn used(run: &Value) -> String {
    let count = |n: i64, one: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{} {one}s", grouped(n)),
    };
    let usage = &run["usage"];
    let cost = usage["costUsd"].as_f64().map(|cost| format!(", ${cost:.4}"));
    format!(
        "{}, {}, {} tokens in, {} out{}",
        count(number(run, "iterations"), "model call"),
        count(number(run, "continuations"), "continuation"),
        grouped(number(usage, "inputTokens")),
        grouped(number(usage, "outputTokens")),
        cost.unwrap_or_default(),
    )
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if n < 0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let shown = [0, 7, 999, 1000, 123_456, 1_234_567, -1234].map(grouped);
        assert_eq!(shown, ["0", "7", "999", "1,000", "123,456", "1,234,567", "-1,234"]);
    }
}
