//! Plans and agents for people: the tree with states, agents and the current position.

use punchlist_core::plan::{Need, PurgedPlan, Reason};
use punchlist_core::text::counted;
use punchlist_core::{Time, TodoId, plan};
use punchlist_ops::operations::{
    agent_list, plan as tool_of_plan, plan_current, plan_from_todo, plan_import, plan_list,
    plan_purge, plan_sync, plan_tick,
};
use punchlist_ops::views::{AgentView, PlanArchived, PlanView, TaskView};

use super::columns::{aligned, hanging};
use super::marks::Mark;
use super::times::day_or_time;
use super::{ago, did};
use crate::output::{self, BOLD, DIM, clean};

/// The mark after the current task.
pub(crate) const CURRENT: &str = "<-- current";

/// Below this many columns a tree is indented by less.
const NARROW: usize = 60;

/// The tree of a plan, one task a line.
pub(crate) fn tree(plan: &PlanView) -> String {
    if let Some(at) = plan.archived_at.filter(|_| plan.tasks.is_empty()) {
        let at = at.to_the_second();
        return format!("This plan was archived at {at}; --include-archived shows it.\n");
    }
    let mut shown = tasks(&plan.tasks, plan.current.as_ref());
    if let Some(at) = plan.archived_at {
        shown.push_str(&format!("{DIM}archived at {at}{DIM:#}\n"));
    }
    shown
}

fn tasks(tasks: &[TaskView], current: Option<&TaskView>) -> String {
    if tasks.is_empty() {
        return "There are no tasks in this plan.\n".to_owned();
    }
    let current = current.map(|task| task.id);
    let mut shown = String::new();
    let mut open: Vec<(usize, &TaskView)> = tasks.iter().rev().map(|task| (0, task)).collect();
    // Uses its own stack, so that a deep plan does not cause deep recursion.
    while let Some((depth, task)) = open.pop() {
        shown.push_str(&line(task, depth, current));
        open.extend(task.children.iter().rev().map(|child| (depth + 1, child)));
    }
    shown
}

/// A change of one task, in one line: the plan's progress, and the current task.
pub(super) fn changed(verb: &str, plan: &PlanView) -> String {
    let leaves = plan.leaves();
    let count =
        |test: &dyn Fn(plan::State) -> bool| leaves.iter().filter(|one| test(one.state)).count();
    let total = count(&|state| state != plan::State::Cancelled);
    let done = count(&|state| state == plan::State::Completed);
    let now = now(plan.current.as_ref());
    did(&format!("{verb};"), &format!("{done} of {total} tasks done{now}"))
}

/// The plans of a project, and their progress.
pub(super) fn listed(output: &plan_list::Output, now: Time) -> String {
    let plans = &output.plans;
    if plans.is_empty() && output.next_cursor.is_none() {
        return "No plans here. `punch plan import FILE` reads one.\n".to_owned();
    }
    let rows = plans.iter().map(|plan| {
        let archived = plan.archived_at.map(|at| format!("  archived {}", ago(at, now)));
        vec![
            output::line(&plan.plan_file),
            format!("{} of {} done", plan.completed, plan.open + plan.completed),
            ago(plan.created_at, now),
            format!("on {}{}", output::line(&plan.branch), archived.unwrap_or_default()),
        ]
    });
    aligned(rows.collect(), output::width()) + &super::more(output.next_cursor.as_ref())
}

/// Tasks are shown as `t12`.
fn number(task: &TaskView) -> String {
    task.seq.map(|seq| format!("t{seq} ")).unwrap_or_default()
}

/// An archived plan.
pub(super) fn archived(what: &str, plan: &PlanArchived) -> String {
    let (file, branch) = (output::line(&plan.plan_file), output::line(&plan.branch));
    let (open, settled) = (plan.open, counted(plan.settled, "task", "tasks"));
    let state = format!("{file} on {branch}: {settled} settled, {open} open");
    did(what, &format!("{state}; importing the file brings it back"))
}

/// The deleted plans.
pub(super) fn purged(output: &plan_purge::Output) -> String {
    if output.plans.is_empty() {
        return "Nothing was archived that long ago.\n".to_owned();
    }
    let line = |plan: &PurgedPlan| {
        let (file, branch) = (output::line(&plan.plan_file), output::line(&plan.branch));
        let (tasks, at) = (counted(plan.tasks, "task", "tasks"), plan.archived_at);
        format!("Removed {file} on {branch}: {tasks}, archived at {at}\n")
    };
    output.plans.iter().map(line).collect()
}

/// What an import did, and the current task.
pub(super) fn imported(output: &plan_import::Output) -> String {
    let of = &output.changes;
    let (added, moved, archived, unchanged) = (of.added, of.moved, of.archived, of.unchanged);
    let back = if output.unarchived { "; it was archived and is back" } else { "" };
    let now = now(output.current.as_ref());
    let changes = format!(
        "{added} added, {moved} moved, {archived} archived, {unchanged} unchanged{back}{now}"
    );
    did("Imported:", &changes)
}

fn now(current: Option<&TaskView>) -> String {
    match current {
        Some(task) => format!("; current: {}{}", number(task), output::line(&task.content)),
        None => String::new(),
    }
}

/// The answer of the tool `plan`.
pub(super) fn tool(output: &tool_of_plan::Output) -> String {
    if output.tasks.is_empty() && !output.markdown.is_empty() {
        return format!("{}\n", clean(&output.markdown));
    }
    tasks(&output.tasks, output.current.as_ref())
}

/// One task: its mark and number, its text, and its agent. A text that does not fit continues on
/// the next line.
fn line(task: &TaskView, depth: usize, current: Option<TodoId>) -> String {
    let mark = Mark::from(task.state).or_claimed(task.claimed);
    let style = if mark == Mark::Open { anstyle::Style::new() } else { mark.style() };
    let mark = mark.text();
    let width = output::width();
    // At least half of the width is for the text, at any depth.
    let step = if width < NARROW { 2 } else { 4 };
    let indent = " ".repeat((depth * step).min(width / 2));
    let number = number(task);
    let lead = format!("{indent}{mark} {number}");
    let shown = format!("{indent}{style}{mark}{style:#} {DIM}{number}{DIM:#}");
    let note = note(task);
    let here = match current {
        Some(id) if task.id == id => format!("  {CURRENT}"),
        _ => String::new(),
    };
    let text = format!("{} {note}{here}", output::line(&task.content));
    let block = hanging(&lead, &shown, &text, width);
    // Coloured if it is not broken over lines, as is nearly always the case.
    let block = replace_last(&block, &note, &format!("{DIM}{note}{DIM:#}"));
    match here.is_empty() {
        true => block,
        false => replace_last(&block, CURRENT, &format!("{BOLD}{CURRENT}{BOLD:#}")),
    }
}

/// The agent of a task, its state and reason, and what it needs.
fn note(task: &TaskView) -> String {
    let agent = task.agent.as_deref().map(|agent| format!("@{}, ", clean(agent)));
    let agent = agent.unwrap_or_default();
    let mut state = if task.claimed { "claimed".to_owned() } else { task.state.to_string() };
    if let Some(hold) = &task.hold {
        state.push_str(&format!(": {}", output::line(hold)));
    }
    if let Some(until) = task.defer_until {
        state.push_str(&format!(", deferred until {}", day_or_time(until)));
    }
    if !task.waits_for.is_empty() {
        state.push_str(&format!(", waits for {}", task.waits_for.join(", ")));
    }
    let needs = match task.needs {
        Some(Need::Reassignment) => ", needs reassignment",
        Some(Need::Completion) => ", needs completion",
        None => "",
    };
    format!("({agent}{state}{needs})")
}

fn replace_last(text: &str, from: &str, to: &str) -> String {
    match text.rfind(from) {
        Some(at) => format!("{}{to}{}", &text[..at], &text[at + from.len()..]),
        None => text.to_owned(),
    }
}

/// The name of a plan that was opened from a line of a backlog.
pub(super) fn opened(output: &plan_from_todo::Output) -> String {
    let (plan, file) = (output::line(&output.plan_file), output::line(&output.file));
    let number = output.line_number;
    let now = now(output.current.as_ref());
    let what = format!("the plan {plan} from line {number} of {file}; no file was written{now}");
    did("Opened", &what)
}

/// Which line was ticked.
pub(super) fn ticked(output: &plan_tick::Output) -> String {
    let (file, line) = (output::line(&output.file), output::line(&output.line));
    format!("Ticked line {} of {file}: {}\n", output.line_number, line.trim())
}

/// The checkboxes to tick; `punch plan sync` has its own output.
pub(super) fn to_tick(output: &plan_sync::Output) -> String {
    let line =
        |edit: &plan_sync::Edit| format!("{:>4}  {}\n", edit.line, output::line(&edit.after));
    match output.edits.is_empty() {
        true => "Every completed task is ticked already.\n".to_owned(),
        false => output.edits.iter().map(line).collect(),
    }
}

/// The current task.
pub(super) fn current(output: &plan_current::Output) -> String {
    let reason = match output.reason {
        Reason::UnderActive => "the first open task below one that somebody works on",
        Reason::FirstOpen => "the first open task; nobody works on one",
        Reason::ReadyToClose => "everything below it is done; complete it",
        Reason::AllSettled => "every task is completed or cancelled",
        Reason::NoTasks => "the plan has no tasks",
    };
    match &output.current {
        None => format!("Nothing is current: {reason}.\n"),
        Some(task) => format!("{}{DIM}{reason}{DIM:#}\n", line(task, 0, None)),
    }
}

/// The text of a plan, as agents get it.
pub(super) fn rendered(text: &str) -> String {
    let text = clean(text);
    if text.is_empty() || text.ends_with('\n') { text } else { format!("{text}\n") }
}

/// An agent.
pub(super) fn agent(agent: &AgentView, now: Time) -> String {
    let (path, status) = (output::line(&agent.agent), agent.status);
    let note = agent.note.as_deref().map(|note| format!(": {}", output::line(note)));
    let heard = ago(agent.heartbeat_at, now);
    let note = note.unwrap_or_default();
    format!("{path}  {BOLD}{status}{BOLD:#}{note}  {DIM}seen {heard}{DIM:#}\n")
}

/// Several of them.
pub(super) fn agents(output: &agent_list::Output, now: Time) -> String {
    if output.agents.is_empty() {
        return "No agent is registered.\n".to_owned();
    }
    let shown: String = output.agents.iter().map(|one| agent(one, now)).collect();
    shown + &super::more(output.next_cursor.as_ref())
}
