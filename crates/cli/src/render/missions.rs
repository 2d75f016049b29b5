//! Missions: how full, how the metrics stand, what waits for whom.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::{aligned, hanging};
use super::{ago, list, number, text};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, clean, line, width};

/// What making or updating one answers.
pub(super) fn initialised(answer: &Value) -> String {
    let mission = &answer["mission"];
    let slug = text(mission, "slug");
    let changes = list(answer, "changes");
    if changes.is_empty() {
        return format!("Mission {BOLD}{slug}{BOLD:#} is as its file says; nothing changed.\n");
    }
    let mut shown = format!("Mission {BOLD}{slug}{BOLD:#}:\n");
    for change in changes.iter().filter_map(Value::as_str) {
        shown.push_str(&format!("  {}\n", line(change)));
    }
    let next = format!("See it with `punch mission status {slug}`.");
    shown.push_str(&format!("{DIM}{next}{DIM:#}\n"));
    shown
}

pub(super) fn listed(answer: &Value, now: Time) -> String {
    let missions = list(answer, "missions");
    if missions.is_empty() {
        return "No missions here; `punch mission new` makes one.\n".to_owned();
    }
    let rows = missions.iter().map(|mission| {
        let counts = &mission["counts"];
        let next = match ago(&mission["nextCycleAt"], now) {
            next if next.is_empty() => "no cycle due".to_owned(),
            next => format!("plans {next}"),
        };
        vec![
            text(mission, "slug").into_owned(),
            text(mission, "status").into_owned(),
            format!("{}/{}", number(counts, "active"), number(counts, "activeLimit")),
            next,
            text(mission, "name").into_owned(),
        ]
    });
    aligned(rows.collect(), width())
}

/// What pausing and resuming answer.
pub(super) fn standing(answer: &Value) -> String {
    let mission = &answer["mission"];
    let mut shown = format!(
        "Mission {BOLD}{}{BOLD:#} is {}.\n",
        text(mission, "slug"),
        text(mission, "status")
    );
    for pillar in list(mission, "pillars") {
        shown.push_str(&format!("  {}: {}\n", text(pillar, "slug"), text(pillar, "status")));
    }
    shown
}

/// One item, with how full its mission is now.
pub(super) fn todo(answer: &Value) -> String {
    let todo = &answer["todo"];
    let mut shown = String::new();
    if answer["recommended"] == Value::Bool(true) {
        shown.push_str(&format!("{YELLOW}Recommended to the lead{YELLOW:#}; nothing changed.\n"));
    }
    shown.push_str(&todo_line(todo, "", width()));
    if let Some(warning) = answer["warning"].as_str() {
        shown.push_str(&hanging("  ", "  ", &clean(warning), width()));
    }
    for warning in list(answer, "warnings").iter().filter_map(Value::as_str) {
        shown.push_str(&hanging("  ", "  ", &clean(warning), width()));
    }
    let queued: Vec<String> =
        list(answer, "metricsQueued").iter().filter_map(Value::as_str).map(line).collect();
    if !queued.is_empty() {
        shown.push_str(&format!("  measured again: {}\n", queued.join(", ")));
    }
    shown.push_str(&format!("  {DIM}{}{DIM:#}\n", fullness(&answer["counts"])));
    shown
}

pub(super) fn todos(answer: &Value) -> String {
    let todos = list(answer, "todos");
    let mut shown = String::new();
    if todos.is_empty() {
        shown.push_str("No todos to show.\n");
    }
    for todo in todos {
        shown.push_str(&todo_line(todo, "", width()));
    }
    shown.push_str(&format!("{DIM}{}{DIM:#}\n", fullness(&answer["counts"])));
    if let Some(cursor) = answer["nextCursor"].as_str() {
        shown.push_str(&format!("{DIM}… more: the same with --cursor {cursor}{DIM:#}\n"));
    }
    shown
}

/// What a cycle did.
pub(super) fn cycled(answer: &Value, now: Time) -> String {
    if answer["ran"] != Value::Bool(true) {
        return "Nothing ran: the mission rests, or is not due.\n".to_owned();
    }
    let mut shown = String::from("A cycle ran.\n");
    for (field, words) in [
        ("escalated", "asked about"),
        ("demoted", "put back"),
        ("cancelled", "cancelled"),
        ("reviewQueue", "waits for review"),
        ("planned", "asked to plan"),
    ] {
        for title in list(answer, field).iter().filter_map(Value::as_str) {
            shown.push_str(&format!("  {words}: {}\n", line(title)));
        }
    }
    if number(answer, "archived") > 0 {
        shown.push_str(&format!("  put away: {} settled todos\n", number(answer, "archived")));
    }
    let next = ago(&answer["nextCycleAt"], now);
    if !next.is_empty() {
        shown.push_str(&format!("{DIM}the next one is due {next}{DIM:#}\n"));
    }
    shown
}

fn fullness(counts: &Value) -> String {
    format!(
        "{}/{} active, {}/{} in backlog",
        number(counts, "active"),
        number(counts, "activeLimit"),
        number(counts, "backlog"),
        number(counts, "backlogLimit")
    )
}

/// One item behind an indent.
pub(super) fn todo_line(todo: &Value, indent: &str, wide: usize) -> String {
    let overdue = todo["overdue"] == Value::Bool(true);
    let (mark, colour) = match todo["status"].as_str() {
        _ if overdue => ("!", RED),
        Some("completed") => ("✓", GREEN),
        Some("cancelled") => ("✗", DIM),
        Some("in_progress") => ("▶", CYAN),
        Some("pending") => ("○", CYAN),
        _ => ("·", DIM),
    };
    let mut facts = vec![text(todo, "status").into_owned(), text(todo, "priority").into_owned()];
    if let Some(deadline) = todo["deadline"].as_str() {
        facts.push(format!("due {}", line(deadline)));
    }
    if overdue {
        facts.push("overdue".to_owned());
    }
    if todo["claim"].is_object() {
        facts.push(format!("claimed by {}", text(&todo["claim"], "by")));
    }
    let said = format!(
        "{} ({}) {} [{}]",
        text(todo, "title"),
        facts.join(", "),
        text(todo, "pillarSlug"),
        text(todo, "id")
    );
    let lead = format!("{indent}{colour}{mark}{colour:#} ");
    hanging(&format!("{indent}  "), &lead, &said, wide)
}
