//! Where a project stands, in a few lines.

use punchlist_core::Time;
use punchlist_ops::operations::status::Output;

use super::columns::aligned;
use super::times::relative;
use crate::output::{BOLD, DIM, line, width};

pub(super) fn render(output: &Output, now: Time) -> String {
    let last = match output.last_event_at {
        Some(time) => format!("; last change {}", relative(time, now)),
        // A narrowed token is not told when others did something.
        None if !output.lists.is_empty() => String::new(),
        None => "; nothing has happened yet".to_owned(),
    };
    let (project, actor) = (line(&output.project), line(&output.actor));
    let mut shown = format!("{BOLD}{project}{BOLD:#}  {DIM}you are {actor}{last}{DIM:#}\n");
    if output.lists.is_empty() {
        shown.push_str("No lists yet. `punch demo` shows what they are for.\n");
        return shown;
    }
    let rows = output.lists.iter().map(|list| {
        let summary = &list.summary;
        vec![
            list.kind.name().to_owned(),
            format!("{} open", summary.pending + summary.in_progress),
            format!("{} done", summary.completed),
            relative(list.created_at, now),
            line(&list.about),
        ]
    });
    shown.push_str(&aligned(rows.collect(), width()));
    if output.more {
        shown.push_str(&format!("{DIM}… and older lists{DIM:#}\n"));
    }
    shown
}
