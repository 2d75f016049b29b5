//! The list of a session for people: each item with its mark and its id, then the progress.

use punchlist_core::todo::Priority;
use punchlist_ops::views::SessionListView;

use super::checklist::one;
use crate::output::{DIM, YELLOW, line};

pub(super) fn kept(output: &SessionListView) -> String {
    let mut shown = String::new();
    for item in &output.todos {
        let priority = match item.priority {
            Priority::Medium => String::new(),
            priority => format!(" ({})", priority.name()),
        };
        let content = format!("{}: {}{priority}", item.id, item.content);
        shown.push_str(&one(item.status.into(), &content, item.hold.as_ref(), &[], ""));
    }
    if shown.is_empty() {
        shown.push_str("The list is empty.\n");
    } else {
        let summary = &output.summary;
        let parts = [
            (summary.pending + summary.in_progress, "open"),
            (summary.held, "held"),
            (summary.completed, "completed"),
            (summary.cancelled, "cancelled"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, word)| format!("{count} {word}")).collect();
        shown.push_str(&format!("{DIM}{}{DIM:#}\n", parts.join(", ")));
    }
    for warning in &output.warnings {
        shown.push_str(&format!("{YELLOW}{}{YELLOW:#}\n", line(warning)));
    }
    if let Some(message) = &output.message {
        shown.push_str(&format!("{}\n", line(message)));
    }
    shown
}
