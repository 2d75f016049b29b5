//! One item of any list, and who holds it.

use punchlist_core::Time;
use serde_json::Value;

use super::times::relative;
use super::{list, text};
use crate::output::{BOLD, DIM, GREEN, RED, YELLOW, line};

/// An answer `{todo}` or `{todo, epoch, leaseUntil}`.
pub(super) fn render(answer: &Value, now: Time) -> String {
    let todo = &answer["todo"];
    if todo.is_null() {
        return "Nothing to take.\n".to_owned();
    }
    let (title, status, id) = (text(todo, "title"), text(todo, "status"), text(todo, "id"));
    let mut shown = format!("{BOLD}{title}{BOLD:#}  {status}\n  {DIM}{id}{DIM:#}\n");
    let mut add = |text: String| shown.push_str(&format!("  {}\n", line(&text)));
    if let Some(agent) = todo["assignee"].as_str() {
        add(format!("assigned to {agent}"));
    }
    if let Some(by) = todo["claim"]["by"].as_str() {
        add(format!("claimed by {by}, waits for its reviewer"));
    }
    if let Some(reason) = todo["hold"]["reason"].as_str() {
        add(format!("on hold ({}): {reason}", text(&todo["hold"], "kind")));
    }
    let at = |value: &Value| value.as_str().and_then(Time::parse);
    if let Some(until) = at(&todo["deferUntil"]) {
        add(format!("rests; back {}", relative(until, now)));
    }
    if let Some(outcome) = todo["outcome"].as_str() {
        add(format!("→ {outcome}"));
    }
    if let (Some(epoch), Some(until)) = (answer["epoch"].as_i64(), at(&answer["leaseUntil"])) {
        let ends = relative(until, now);
        shown.push_str(&format!(
            "  {YELLOW}yours{YELLOW:#}, epoch {epoch}; the lease ends {ends}\n"
        ));
    }
    shown
}

/// An answer of `todo_show`: badges first, then the words, then what happened.
pub(super) fn shown(answer: &Value, now: Time) -> String {
    let todo = &answer["todo"];
    let mut text_of = String::new();
    for badge in list(answer, "badges").iter().filter_map(Value::as_str) {
        let colour = match badge {
            "overdue" | "failed" => RED,
            "completed" => GREEN,
            "blocked" | "awaiting_approval" | "claimed" => YELLOW,
            _ => DIM,
        };
        text_of.push_str(&format!("{colour}[{}]{colour:#} ", line(badge)));
    }
    text_of.push_str(&format!("{BOLD}{}{BOLD:#}\n", text(todo, "title")));
    let mut add = |label: &str, value: &str| {
        if !value.trim().is_empty() {
            text_of.push_str(&format!("  {DIM}{label:<10}{DIM:#} {}\n", line(value)));
        }
    };
    add("id", todo["id"].as_str().unwrap_or_default());
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let place = [words(&answer["list"]["mission"]), words(&answer["list"]["pillar"])];
    add("in", place.join("/").trim_matches('/'));
    let plan = [words(&answer["list"]["planFile"]), words(&answer["list"]["branch"])];
    add(
        "plan",
        &plan.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" on "),
    );
    add("agent", &words(&todo["assignee"]));
    add("priority", &words(&todo["priority"]));
    if let (Some(day), Some(left)) = (todo["deadline"].as_str(), answer["daysLeft"].as_i64()) {
        let when = match left {
            0 => "today".to_owned(),
            1.. => format!("in {left} days"),
            _ => format!("{} days ago", -left),
        };
        add("deadline", &format!("{day}, {when}"));
    }
    add("what", &words(&todo["description"]));
    add("done when", &words(&todo["completionCriteria"]));
    add("on hold", &words(&todo["hold"]["reason"]));
    add("outcome", &words(&todo["outcome"]));
    for note in list(answer, "notes") {
        add("note", &format!("{} ({})", words(&note["text"]), words(&note["author"])));
    }
    for one in list(answer, "delegations") {
        let (kind, state) = (words(&one["type"]), words(&one["state"]));
        add("handed to", &format!("{kind}: {state}"));
    }
    for late in list(answer, "lateReports") {
        let (said, by) = (words(&late["outcome"]), words(&late["by"]));
        add("late", &format!("{said} ({by})"));
    }
    let messages = list(answer, "messages");
    if !messages.is_empty() {
        text_of.push_str(&format!("\n{DIM}while it was worked on{DIM:#}\n"));
    }
    for message in messages {
        let at = message["createdAt"].as_str().and_then(Time::parse);
        let at = at.map(|at| relative(at, now)).unwrap_or_default();
        let (author, said) = (text(message, "author"), words(&message["text"]));
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        text_of.push_str(&format!("  {BOLD}{author}{BOLD:#} {DIM}{at}{DIM:#}  {}\n", line(&said)));
    }
    text_of
}
