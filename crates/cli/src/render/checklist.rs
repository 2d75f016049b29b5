//! Criteria and steps for people: a mark for each item, and under it what is worth knowing.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::hanging;
use super::{ago, list, text};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, line, width};

/// The answer of the tool `todo`.
pub(super) fn kept(answer: &Value, now: Time) -> String {
    let (criteria, steps): (Vec<&Value>, Vec<&Value>) =
        list(answer, "items").iter().partition(|item| item["kind"] == "criterion");
    let mut shown = sections(&criteria, &steps, now);
    let of = |name: &str| super::number(&answer["summary"], name);
    if of("total") > 0 {
        let held = match of("held") {
            0 => String::new(),
            held => format!(", {held} held"),
        };
        let (open, closed) = (of("open"), of("closed"));
        let issue = answer["issue"].as_i64().map(|number| format!("#{number}: "));
        let issue = issue.unwrap_or_default();
        shown.push_str(&format!("{DIM}{issue}{open} open, {closed} closed{held}{DIM:#}\n"));
    }
    if let Some(message) = answer["message"].as_str() {
        shown.push_str(&format!("{}\n", line(message)));
    }
    shown
}

/// Criteria first, then the steps under their phases.
pub(super) fn sections(criteria: &[&Value], steps: &[&Value], now: Time) -> String {
    let mut shown = String::new();
    if !criteria.is_empty() {
        shown.push_str(&format!("{BOLD}Criteria{BOLD:#}\n"));
    }
    for item in criteria {
        shown.push_str(&criterion(item, "  ", now));
    }
    let mut phase = None;
    for (n, item) in steps.iter().enumerate() {
        let here = item["phase"].as_str();
        if n == 0 || here != phase {
            let heading = here.map_or("Steps".to_owned(), line);
            let heading = hanging("", "", &heading, width());
            shown.push_str(&format!("{BOLD}{}{BOLD:#}\n", heading.trim_end()));
            phase = here;
        }
        shown.push_str(&one(item, "  "));
    }
    shown
}

/// A criterion, and whether somebody says it is met, on what evidence.
pub(super) fn criterion(item: &Value, indent: &str, now: Time) -> String {
    let mut shown = one(item, indent);
    let mut add = |text: &str| shown.push_str(&under(indent, text));
    let claim = &item["claim"];
    if let Some(by) = claim["by"].as_str() {
        let verb = if item["acceptedAt"].is_string() { "accepted; claimed" } else { "claimed" };
        add(&format!("{verb} by {by} {}", ago(&claim["at"], now)));
        if let Some(outcome) = claim["outcome"].as_str() {
            add(&format!("→ {outcome}"));
        }
        let evidence: Vec<&str> =
            list(claim, "evidence").iter().filter_map(Value::as_str).collect();
        let said = if evidence.is_empty() { "no evidence".to_owned() } else { evidence.join(", ") };
        add(&said);
    }
    let is_open = matches!(item["status"].as_str(), Some("pending" | "completed"));
    if is_open && item.get("ratifiedAt").is_some_and(Value::is_null) {
        add("proposed by an agent, not ratified");
    }
    shown
}

/// One item with its mark, its hold and its notes.
pub(super) fn one(item: &Value, indent: &str) -> String {
    let held = !item["hold"].is_null();
    let (mark, style) = match item["status"].as_str() {
        Some("completed") => ("[x]", GREEN),
        Some("abandoned" | "cancelled") => ("[-]", DIM),
        _ if held => ("[!]", RED),
        Some("in_progress") => ("[/]", CYAN),
        _ => ("[ ]", BOLD),
    };
    let (lead, shown) = (format!("{indent}{mark} "), format!("{indent}{style}{mark}{style:#} "));
    let mut shown = hanging(&lead, &shown, &text(item, "content"), width());
    if held && mark == "[!]" {
        let (kind, reason) = (text(&item["hold"], "kind"), text(&item["hold"], "reason"));
        let kind = kind.replace('_', " ");
        let lead = format!("{indent}    {kind}: ");
        let colored = format!("{indent}    {YELLOW}{kind}{YELLOW:#}: ");
        shown.push_str(&hanging(&lead, &colored, &reason, width()));
    }
    for note in list(item, "notes").iter().filter_map(Value::as_str) {
        let lead = format!("{indent}    note: ");
        shown.push_str(&hanging(&lead, &lead, &crate::output::clean(note), width()));
    }
    shown
}

fn under(indent: &str, text: &str) -> String {
    let lead = format!("{indent}    ");
    hanging(&lead, &lead, &line(text), width())
}
