//! Plans and agents for people: the tree with states, agents and the current position.

use anstyle::Style;
use punchlist_core::Time;
use serde_json::Value;

use super::columns::hanging;
use super::{ago, list, number, text};
use crate::output::{self, BOLD, CYAN, DIM, GREEN, RED, clean};

/// What stands behind the current task.
pub(crate) const CURRENT: &str = "<-- current";

/// Below this many columns a tree is indented by less.
const NARROW: usize = 60;

/// The tree of a plan, one task a line.
pub(crate) fn tree(answer: &Value) -> String {
    let current = answer["current"]["id"].as_str();
    let mut shown = String::new();
    let mut open: Vec<(usize, &Value)> =
        list(answer, "tasks").iter().rev().map(|task| (0, task)).collect();
    // A stack of its own: how deep a plan nests is not how deep a program recurses.
    while let Some((depth, task)) = open.pop() {
        shown.push_str(&line(task, depth, current));
        open.extend(list(task, "children").iter().rev().map(|child| (depth + 1, child)));
    }
    if shown.is_empty() {
        return "There are no tasks in this plan.\n".to_owned();
    }
    if let Some(at) = answer["archivedAt"].as_str() {
        shown.push_str(&format!("{DIM}archived at {}{DIM:#}\n", clean(at)));
    }
    shown
}

/// A plan that was put away.
pub(crate) fn archived(what: &str, answer: &Value) -> String {
    let (file, branch) = (text(answer, "planFile"), text(answer, "branch"));
    let (open, settled) = (number(answer, "open"), number(answer, "settled"));
    format!(
        "{what} {BOLD}{file}{BOLD:#} on {branch}: {settled} tasks settled, {open} open.\n\
         {DIM}Importing the file brings it back.{DIM:#}\n"
    )
}

/// What was deleted for good.
pub(crate) fn purged(answer: &Value) -> String {
    let plans = list(answer, "plans");
    if plans.is_empty() {
        return "Nothing was archived that long ago.\n".to_owned();
    }
    let line = |plan: &Value| {
        let (file, branch) = (text(plan, "planFile"), text(plan, "branch"));
        let (tasks, at) = (number(plan, "tasks"), text(plan, "archivedAt"));
        format!("Removed {file} on {branch}: {tasks} tasks, archived at {at}\n")
    };
    plans.iter().map(line).collect()
}

/// What an import did, and the tree it led to.
pub(crate) fn imported(answer: &Value) -> String {
    let count = |name: &str| answer["changes"][name].as_u64().unwrap_or_default();
    let counts = ["added", "moved", "archived", "unchanged"].map(|n| format!("{} {n}", count(n)));
    let back = if answer["unarchived"] == true { "; it was archived and is back" } else { "" };
    format!("{}{}{back}\n", tree(answer), counts.join(", "))
}

/// Whatever the tool was asked for.
pub(crate) fn tool(answer: &Value) -> String {
    match answer["markdown"].as_str() {
        Some(text) if !text.is_empty() && list(answer, "tasks").is_empty() => {
            format!("{}\n", clean(text))
        }
        _ => tree(answer),
    }
}

/// One task: its mark and number, its text, and who has it. What does not fit into the width goes
/// on below the text.
fn line(task: &Value, depth: usize, current: Option<&str>) -> String {
    let state = task["state"].as_str().unwrap_or_default();
    let (mark, style) = match state {
        "completed" => ("[x]", GREEN),
        "cancelled" => ("[-]", DIM),
        "blocked" | "failed" => ("[!]", RED),
        "active" => ("[/]", CYAN),
        _ => ("[ ]", Style::new()),
    };
    let width = output::width();
    // Half of the width is for the text, however deep it hangs.
    let step = if width < NARROW { 2 } else { 4 };
    let indent = " ".repeat((depth * step).min(width / 2));
    let number = task["seq"].as_i64().map(|seq| format!("{seq} ")).unwrap_or_default();
    let lead = format!("{indent}{mark} {number}");
    let shown = format!("{indent}{style}{mark}{style:#} {DIM}{number}{DIM:#}");
    let agent = task["agent"].as_str().map(|agent| format!("@{}, ", clean(agent)));
    let needs = task["needs"].as_str().map(|need| format!(", needs {need}"));
    let note = format!("({}{state}{})", agent.unwrap_or_default(), needs.unwrap_or_default());
    let here = match current {
        Some(id) if task["id"].as_str() == Some(id) => format!("  {CURRENT}"),
        _ => String::new(),
    };
    let text = format!("{} {note}{here}", text(task, "content"));
    let block = hanging(&lead, &shown, &text, width);
    // Coloured where it stands in one piece, which is nearly always.
    let block = replace_last(&block, &note, &format!("{DIM}{note}{DIM:#}"));
    match here.is_empty() {
        true => block,
        false => replace_last(&block, CURRENT, &format!("{BOLD}{CURRENT}{BOLD:#}")),
    }
}

fn replace_last(text: &str, from: &str, to: &str) -> String {
    match text.rfind(from) {
        Some(at) => format!("{}{to}{}", &text[..at], &text[at + from.len()..]),
        None => text.to_owned(),
    }
}

/// What a plan that was opened from a line of a backlog is called.
pub(crate) fn opened(answer: &Value) -> String {
    let (plan, file) = (text(answer, "planFile"), text(answer, "file"));
    let number = answer["lineNumber"].as_u64().unwrap_or_default();
    format!(
        "{}Opened the plan {BOLD}{plan}{BOLD:#} from line {number} of {file}; no file was written\n",
        tree(answer)
    )
}

/// Which line was ticked.
pub(crate) fn ticked(answer: &Value) -> String {
    let (file, line) = (text(answer, "file"), text(answer, "line"));
    let number = answer["lineNumber"].as_u64().unwrap_or_default();
    format!("Ticked line {number} of {file}: {}\n", line.trim())
}

/// Where the work stands.
pub(crate) fn current(answer: &Value) -> String {
    let reason = text(answer, "reason").replace('_', " ");
    match &answer["current"] {
        Value::Null => format!("Nothing is current: {reason}.\n"),
        task => format!("{}{DIM}{reason}{DIM:#}\n", line(task, 0, None)),
    }
}

/// A plan as an agent gets it: text, as it is.
pub(crate) fn rendered(answer: &Value) -> String {
    let text = clean(answer["text"].as_str().unwrap_or_default());
    if text.is_empty() || text.ends_with('\n') { text } else { format!("{text}\n") }
}

/// An agent, or several.
pub(crate) fn agents(answer: &Value, now: Time) -> String {
    let agents = match &answer["agent"] {
        Value::Null => list(answer, "agents"),
        agent => std::slice::from_ref(agent),
    };
    if agents.is_empty() {
        return "No agent is registered.\n".to_owned();
    }
    let line = |agent: &Value| {
        let (path, status) = (text(agent, "agent"), text(agent, "status"));
        let note = agent["note"].as_str().map(|note| format!(": {}", output::line(note)));
        let heard = ago(&agent["heartbeatAt"], now);
        let note = note.unwrap_or_default();
        format!("{path}  {BOLD}{status}{BOLD:#}{note}  {DIM}heard of {heard}{DIM:#}\n")
    };
    agents.iter().map(line).collect()
}
