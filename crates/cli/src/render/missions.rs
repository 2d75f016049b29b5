//! Missions: how full they are, the state of their metrics, and what waits for whom.

use punchlist_core::text::counted;
use punchlist_core::{Status, Time};
use punchlist_ops::call::Counts;
use punchlist_ops::operations::{
    mission_cycle, mission_init, mission_list, mission_todo_complete, mission_todo_create,
    mission_todo_list, mission_todo_update,
};
use punchlist_ops::views::{MissionTodoView, MissionView};

use super::columns::{aligned, hanging};
use super::{ago, short};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, clean, line, width};

/// The answer of `mission_init`.
pub(super) fn initialised(output: &mission_init::Output) -> String {
    let slug = line(&output.mission.slug);
    if output.changes.is_empty() {
        return format!("Mission {BOLD}{slug}{BOLD:#} is as its file says; nothing changed.\n");
    }
    let mut shown = format!("Mission {BOLD}{slug}{BOLD:#}:\n");
    for change in &output.changes {
        shown.push_str(&format!("  {}\n", line(change)));
    }
    let next = format!("See it with `punch mission status {slug}`.");
    shown.push_str(&format!("{DIM}{next}{DIM:#}\n"));
    shown
}

pub(super) fn listed(output: &mission_list::Output, now: Time) -> String {
    if output.missions.is_empty() && output.next_cursor.is_none() {
        return "No missions here; `punch mission new` makes one.\n".to_owned();
    }
    let rows = output.missions.iter().map(|mission| {
        let next = match mission.next_cycle_at {
            None => "no cycle due".to_owned(),
            Some(next) => format!("next cycle {}", ago(next, now)),
        };
        vec![
            line(&mission.slug),
            mission.status.name().to_owned(),
            format!("{}/{}", mission.counts.active, mission.counts.active_limit),
            next,
            line(&mission.name),
        ]
    });
    aligned(rows.collect(), width()) + &super::more(output.next_cursor.as_ref())
}

/// The answer of pausing and resuming.
pub(super) fn standing(mission: &MissionView) -> String {
    let (slug, status) = (line(&mission.slug), mission.status.name());
    let mut shown = format!("Mission {BOLD}{slug}{BOLD:#} is {status}");
    for pillar in mission.pillars.iter().filter(|pillar| pillar.status != mission.status) {
        shown.push_str(&format!("; {} is {}", line(&pillar.slug), pillar.status.name()));
    }
    shown + ".\n"
}

pub(super) fn created(output: &mission_todo_create::Output) -> String {
    todo(&output.todo, output.warning.iter(), &[], &output.counts)
}

pub(super) fn updated(output: &mission_todo_update::Output) -> String {
    let changed = todo(&output.todo, output.warning.iter(), &[], &output.counts);
    if output.recommended != Some(true) {
        return changed;
    }
    format!("{YELLOW}Recommended to the lead{YELLOW:#}; nothing changed.\n{changed}")
}

pub(super) fn completed(output: &mission_todo_complete::Output) -> String {
    todo(&output.todo, output.warnings.iter(), &output.metrics_queued, &output.counts)
}

/// One item, with how full its mission is now.
fn todo<'w>(
    todo: &MissionTodoView,
    warnings: impl Iterator<Item = &'w String>,
    queued: &[String],
    counts: &Counts,
) -> String {
    let mut shown = todo_line_and(todo, &format!("; {}", fullness(counts)), "", width());
    for warning in warnings {
        shown.push_str(&hanging("  ", "  ", &clean(warning), width()));
    }
    if !queued.is_empty() {
        shown.push_str(&format!("  measured again: {}\n", line(&queued.join(", "))));
    }
    shown
}

pub(super) fn todos(output: &mission_todo_list::Output) -> String {
    let mut shown = String::new();
    if output.todos.is_empty() {
        shown.push_str("No todos to show.\n");
    }
    for todo in &output.todos {
        shown.push_str(&todo_line(todo, "", width()));
    }
    shown.push_str(&format!("{DIM}{}{DIM:#}\n", fullness(&output.counts)));
    shown + &super::more(output.next_cursor.as_ref())
}

/// What a cycle did.
pub(super) fn cycled(output: &mission_cycle::Output, now: Time) -> String {
    if !output.ran {
        return "Nothing ran: the mission is paused or not due.\n".to_owned();
    }
    let mut shown = String::from("A cycle ran.\n");
    for (titles, words) in [
        (&output.escalated, "asked about"),
        (&output.demoted, "moved to the backlog"),
        (&output.cancelled, "cancelled"),
        (&output.review_queue, "waits for review"),
        (&output.planned, "asked to plan"),
    ] {
        for title in titles {
            shown.push_str(&format!("  {words}: {}\n", line(title)));
        }
    }
    if output.archived > 0 {
        let todos = counted(output.archived, "settled todo", "settled todos");
        shown.push_str(&format!("  put away: {todos}\n"));
    }
    if let Some(next) = output.next_cycle_at {
        shown.push_str(&format!("{DIM}the next one is due {}{DIM:#}\n", ago(next, now)));
    }
    shown
}

fn fullness(counts: &Counts) -> String {
    format!(
        "{}/{} active, {}/{} in backlog",
        counts.active, counts.active_limit, counts.backlog, counts.backlog_limit
    )
}

/// One item, indented.
pub(super) fn todo_line(todo: &MissionTodoView, indent: &str, wide: usize) -> String {
    todo_line_and(todo, "", indent, wide)
}

/// One item, and more words in the same line.
fn todo_line_and(todo: &MissionTodoView, more: &str, indent: &str, wide: usize) -> String {
    let (mark, colour) = match todo.status {
        _ if todo.overdue => ("!", RED),
        Status::Completed => ("✓", GREEN),
        Status::Cancelled => ("✗", DIM),
        Status::InProgress => ("▶", CYAN),
        Status::Pending => ("○", CYAN),
        Status::Backlog => ("·", DIM),
    };
    let mut facts = vec![todo.status.name().to_owned(), todo.priority.name().to_owned()];
    if let Some(deadline) = todo.deadline {
        facts.push(format!("due {deadline}"));
    }
    if todo.overdue {
        facts.push("overdue".to_owned());
    }
    if let Some(claim) = &todo.claim {
        facts.push(format!("claimed by {}", line(&claim.by)));
    }
    let (title, facts) = (line(&todo.title), facts.join(", "));
    let (pillar, id) = (line(&todo.pillar_slug), short(&todo.id));
    let said = format!("{title} ({facts}) {pillar} [{id}]{more}");
    let lead = format!("{indent}{colour}{mark}{colour:#} ");
    hanging(&format!("{indent}  "), &lead, &said, wide)
}
