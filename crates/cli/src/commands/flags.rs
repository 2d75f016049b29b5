//! What people type for the fields of an operation: the flag or the place of each, and its help where
//! that differs from the operation's own words.
//!
//! `operation` makes the commands from it. The values are converted there, but for durations: a field
//! in seconds is typed as `90s` or `15m`.

use punchlist_core::{Span, delegation, lease};
use punchlist_ops::Operation;
use serde_json::Value;

/// Fields that have the name of a global flag. On a command with such a field the flag fills the
/// field, and does not describe the caller: `punch token new --agent coder` makes a token *for* the
/// coder. A value from the environment never fills a field. If the command takes such a field as a
/// positional argument, both ways work, and the positional one wins.
pub(super) const SHARED: [&str; 4] = ["agent", "session", "mission", "pillar"];

/// How long a lease lasts, in seconds. `--lease` is the number of a lease, so this flag has another
/// name.
pub(crate) const LEASE: &str = "leaseS";

/// The help of a field that is typed differently from its JSON.
pub(super) fn help(operation: &Operation, field: &str) -> Option<String> {
    match (operation.name, field) {
        ("event_list", "names") => {
            return Some("With --json: also the names of items, issues, sessions and runs".into());
        }
        ("event_list", "brief") => {
            return Some("With --json: leave out each step of a run and each message".into());
        }
        ("status", "only") => {
            let parts = "lists, waiting, reviews, running, issues, plans, missions, failed, held, \
                         ungoverned";
            return Some(format!("Show only this part; repeat it for more: {parts}"));
        }
        _ if field != LEASE => return None,
        _ => {}
    }
    let seconds = match operation.name.starts_with("delegation") {
        true => delegation::LEASE_S,
        false => lease::LEASE_S,
    };
    let ends = if operation.name == "delegation_heartbeat" { "; 0s releases it" } else { "" };
    let default = Span::seconds(seconds.unsigned_abs());
    Some(format!("How long you hold it from now, at most 1d{ends} [default: {default}]"))
}

/// A duration as people write it, in seconds. A number alone counts seconds, as `--lease-s` did;
/// anything else stays a text, which the operation refuses.
pub(super) fn seconds(text: &str) -> Value {
    match Span::parse(text) {
        Some(span) => span.as_seconds().into(),
        None => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
    }
}

/// The name of a positional argument. People know the number of an item's lease, not its epoch.
pub(super) fn place(field: &str) -> String {
    match field {
        "epoch" => "LEASE".to_owned(),
        "todoId" => "ITEM".to_owned(),
        "taskId" => "TASK".to_owned(),
        "number" => "ISSUE".to_owned(),
        "content" => "TEXT".to_owned(),
        _ => flag(field).replace('-', "_").trim_end_matches("_id").to_uppercase(),
    }
}

/// How people name an issue.
pub(super) const ISSUE: &str = "The issue: its number, or a unique part of its title";

/// What people may write in a place, where a call needs more.
pub(super) fn on_the_line(field: &str) -> Option<&'static str> {
    match field {
        "number" => Some(ISSUE),
        "todoId" => Some("The item: its number, its short id, or its text"),
        "taskId" => Some("The task: its number, its short id, or a part of its text"),
        "conversationId" => Some("The chat: its short id"),
        "delegationId" => Some("The delegation: its short id"),
        "run" => Some("The run: its short id"),
        _ => None,
    }
}

/// What people type for a field of an operation: its place or its flag.
pub(super) fn typed_as(operation: &Operation, path: &str) -> String {
    let field = path.split(['.', '[']).next().unwrap_or(path);
    // The error that none of them is given names all three.
    if takes_next(operation) && field.starts_with("number") {
        return "--issue, --plan or --session".to_owned();
    }
    // Of the caller, not of the input.
    if field == "project" && operation.input_schema()["properties"][field].is_null() {
        return "--project".to_owned();
    }
    match operation.surfaces.positional.contains(&field) {
        true => place(field),
        false => format!("--{}", flag_of(operation, field)),
    }
}

/// `nextCursor` is `--next-cursor`. `--project` always names the caller's project; a field of that
/// name gets another flag.
pub(super) fn flag(field: &str) -> String {
    if field == "project" {
        return "only-project".to_owned();
    }
    field.chars().fold(String::new(), |mut flag, c| {
        if c.is_uppercase() {
            flag.push('-');
        }
        flag.extend(c.to_lowercase());
        flag
    })
}

/// Is this a field that narrows a new token?
pub(super) fn narrows(operation: &Operation, field: &str) -> bool {
    operation.name == "token_new"
        && ["project", "mission", "pillar", "number", "planFile", "session"].contains(&field)
}

/// Does this take the next item of an issue, a plan or a session?
pub(super) fn takes_next(operation: &Operation) -> bool {
    operation.name == "todo_next"
}

/// Does a field that has the name of a global flag have a flag of its own here?
pub(super) fn has_own_flag(operation: &Operation, field: &str) -> bool {
    narrows(operation, field) || assigns(operation, field)
}

/// Is this the agent that a task is assigned to? `--agent` names the agent that the caller acts as.
fn assigns(operation: &Operation, field: &str) -> bool {
    operation.name == "task_assign" && field == "agent"
}

/// The flag of a field. Flags that narrow a token begin with `only`, so that flags about the caller
/// cannot be mistaken for them.
pub(super) fn flag_of(operation: &Operation, field: &str) -> String {
    match field {
        "agent" if assigns(operation, field) => "to".to_owned(),
        "epoch" => "lease".to_owned(),
        LEASE => "for".to_owned(),
        "number" if narrows(operation, field) => "only-issue".to_owned(),
        "planFile" if narrows(operation, field) => "only-plan".to_owned(),
        "planFile" if takes_next(operation) => "plan".to_owned(),
        "mission" | "pillar" | "session" if narrows(operation, field) => format!("only-{field}"),
        _ => flag(field),
    }
}
