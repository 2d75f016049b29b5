//! Where a project stands, in a few lines.

use punchlist_core::Time;
use serde_json::Value;

use super::columns::aligned;
use super::times::relative;
use super::{number, text};
use crate::output::{BOLD, DIM, width};

pub(super) fn render(answer: &Value, now: Time) -> String {
    let at = |value: &Value| value.as_str().and_then(Time::parse);
    let has_lists = answer["lists"].as_array().is_some_and(|lists| !lists.is_empty());
    let last = match at(&answer["lastEventAt"]) {
        Some(time) => format!("; last change {}", relative(time, now)),
        // A narrowed token is not told when others did something.
        None if has_lists => String::new(),
        None => "; nothing has happened yet".to_owned(),
    };
    let (project, actor) = (text(answer, "project"), text(answer, "actor"));
    let mut shown = format!("{BOLD}{project}{BOLD:#}  {DIM}you are {actor}{last}{DIM:#}\n");
    let lists = answer["lists"].as_array().map(Vec::as_slice).unwrap_or_default();
    if lists.is_empty() {
        shown.push_str("No lists yet. `punch demo` shows what they are for.\n");
        return shown;
    }
    let rows = lists.iter().map(|list| {
        let summary = &list["summary"];
        let open = number(summary, "pending") + number(summary, "inProgress");
        let age = at(&list["createdAt"]).map_or(String::new(), |t| relative(t, now));
        vec![
            text(list, "kind").into_owned(),
            format!("{open} open"),
            format!("{} done", number(summary, "completed")),
            age,
            text(list, "about").into_owned(),
        ]
    });
    shown.push_str(&aligned(rows.collect(), width()));
    if answer["more"] == true {
        shown.push_str(&format!("{DIM}… and older lists{DIM:#}\n"));
    }
    shown
}
