//! One item of any list, and who holds it.

use punchlist_core::Time;
use serde_json::Value;

use super::text;
use super::times::relative;
use crate::output::{BOLD, DIM, YELLOW, line};

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
