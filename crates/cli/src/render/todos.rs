//! One item of any list, and who holds it.

use punchlist_core::Time;
use punchlist_ops::operations::todo_show;
use punchlist_ops::views::{NothingReason, TakenTodo, TodoView, WhyNothing};

use super::times::{day_or_time, relative};
use super::{did, short};
use crate::output::{BOLD, DIM, GREEN, RED, YELLOW, line};

/// What taking answers, in one line.
pub(super) fn taken(output: &TakenTodo, now: Time) -> String {
    match &output.todo {
        None => format!("Nothing to take{}.\n", nothing(output.why.as_ref(), now)),
        Some(todo) => {
            let renew = format!("todo heartbeat {}", id(todo));
            let lease = held_until(output.epoch, output.lease_until, &renew, now);
            did("Yours:", &format!("{}; {lease}", what(todo, now)))
        }
    }
}

/// Why there is nothing to take, after a colon; empty if the answer does not say.
fn nothing(why: Option<&WhyNothing>, now: Time) -> String {
    let Some(why) = why else { return String::new() };
    match why.reason {
        NothingReason::NoneOpen => ": no item is open".to_owned(),
        NothingReason::NoneReady => ": every open item is on hold, deferred or claimed".to_owned(),
        NothingReason::HeldByAnother => {
            let said = |text: &Option<String>| line(text.as_deref().unwrap_or("another caller"));
            let lease =
                why.until.map(|until| format!(" (the lease ends {})", relative(until, now)));
            format!(
                ": `{}` is in progress, held by {}{}; only one item may be in progress here",
                said(&why.title),
                said(&why.holder),
                lease.unwrap_or_default()
            )
        }
    }
}

/// Until when it is held, and the command that renews the lease.
pub(super) fn held_until(
    number: Option<i64>,
    until: Option<Time>,
    renew: &str,
    now: Time,
) -> String {
    let (Some(number), Some(until)) = (number, until) else { return String::new() };
    format!("the lease ends {} (renew it: punch {renew} {number})", relative(until, now))
}

/// One line about a change: what was done to which item, and what is true of it now.
pub(super) fn changed(verb: &str, todo: &TodoView, now: Time) -> String {
    did(verb, &what(todo, now))
}

/// An item, and what is true of it.
fn what(todo: &TodoView, now: Time) -> String {
    let mut text = format!("{} ({})", line(&todo.title), id(todo));
    let mut add = |fact: &str| text.push_str(&format!("; {}", line(fact)));
    if let Some(hold) = &todo.hold {
        add(&format!("{}: {}", hold.kind.name().replace('_', " "), hold.reason));
        if let Some(until) = hold.until {
            add(&format!("tried again {}", relative(until, now)));
        }
    }
    if let Some(until) = todo.defer_until {
        add(&format!("deferred until {}, {}", day_or_time(until), relative(until, now)));
    }
    if todo.claim.is_some() && !todo.status.is_settled() {
        add("waits for its reviewer");
    }
    if let Some(outcome) = &todo.outcome {
        add(&format!("→ {outcome}"));
    }
    text
}

/// An item that was deferred, or is no longer.
pub(super) fn deferred(todo: &TodoView, now: Time) -> String {
    let verb = if todo.defer_until.is_some() { "Deferred" } else { "No longer deferred:" };
    changed(verb, todo, now)
}

/// What an item is named by: its number where it has one, else its short id.
fn id(todo: &TodoView) -> String {
    todo.seq.map_or_else(|| short(&todo.id.to_string()).to_owned(), |seq| format!("t{seq}"))
}

/// An answer of `todo_show`: badges first, then the words, then what happened.
pub(super) fn shown(output: &todo_show::Output, now: Time) -> String {
    let todo = &output.todo;
    let mut text = String::new();
    for badge in &output.badges {
        let colour = match badge.as_str() {
            "overdue" | "failed" => RED,
            "completed" => GREEN,
            "blocked" | "awaiting_approval" | "claimed" => YELLOW,
            _ => DIM,
        };
        let badge = line(badge).replace('_', " ");
        text.push_str(&format!("{colour}[{badge}]{colour:#} "));
    }
    text.push_str(&format!("{BOLD}{}{BOLD:#}\n", line(&todo.title)));
    let mut add = |label: &str, value: &str| {
        if !value.trim().is_empty() {
            text.push_str(&format!("  {DIM}{label:<10}{DIM:#} {}\n", line(value)));
        }
    };
    let joined = |parts: [&Option<String>; 2], between: &str| {
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(between)
    };
    let list = &output.list;
    add("id", &id(todo));
    add("in", &joined([&list.mission, &list.pillar], "/"));
    add("plan", &joined([&list.plan_file, &list.branch], " on "));
    add("agent", todo.assignee.as_deref().unwrap_or_default());
    add("priority", todo.priority.name());
    if let (Some(day), Some(left)) = (todo.deadline, output.days_left) {
        let when = match left {
            0 => "today".to_owned(),
            1.. => format!("in {left} days"),
            _ => format!("{} days ago", -left),
        };
        add("deadline", &format!("{day}, {when}"));
    }
    add("what", &todo.description);
    add("done when", &todo.completion_criteria);
    let hold = todo.hold.as_ref().map(|hold| match hold.until {
        Some(until) => format!("{} (tried again {})", hold.reason, relative(until, now)),
        None => hold.reason.clone(),
    });
    add("on hold", &hold.unwrap_or_default());
    add("outcome", todo.outcome.as_deref().unwrap_or_default());
    for note in &output.notes {
        add("note", &format!("{} ({})", note.text, note.author));
    }
    for one in &output.delegations {
        add("handed to", &format!("{}: {}", one.kind, one.state.name()));
    }
    for late in &output.late_reports {
        add("late", &format!("{} ({})", late.outcome, late.by));
    }
    if !output.messages.is_empty() {
        text.push_str(&format!("\n{DIM}while it was worked on{DIM:#}\n"));
    }
    for message in &output.messages {
        let (author, at) = (line(&message.author), relative(message.created_at, now));
        let said = message.text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("  {BOLD}{author}{BOLD:#} {DIM}{at}{DIM:#}  {}\n", line(&said)));
    }
    text
}
