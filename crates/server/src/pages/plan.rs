//! One plan: its tree with the current task, the agents at work, and the progress of each branch.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use punchlist_core::plan::{Need, State};
use punchlist_core::{Time, TodoId};
use punchlist_ops::Error;
use punchlist_ops::operations::agent_list::{self, AgentList};
use punchlist_ops::operations::plan_tree::{self, PlanTree};
use punchlist_ops::views::agent::LeasedView;
use punchlist_ops::views::task::{TaskView, leaves};

use super::asking::{maybe, title};
use super::forms::{Done, Form, unknown};
use super::frame::{self, Head, Section, Shown};
use super::marks::{self, Shape};
use super::visit::Visit;
use super::{agents, parts, words};

/// How many tasks are drawn. A longer plan shows how many are left out.
const TASKS_MAX: usize = 2_000;

/// How many tasks that a task waits for are named.
const AWAITED_MAX: usize = 3;

/// Deeper tasks are drawn at this depth.
const DEPTH_MAX: usize = 12;

/// The progress of a branch, counted by its leaves.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    total: usize,
    completed: usize,
    claimed: usize,
    active: usize,
    held: usize,
    failed: usize,
    pending: usize,
}

impl Tally {
    fn add(&mut self, task: &TaskView) {
        match task.state {
            State::Cancelled => return,
            State::Completed => self.completed += 1,
            _ if task.claimed => self.claimed += 1,
            State::Active => self.active += 1,
            State::Blocked => self.held += 1,
            State::Failed => self.failed += 1,
            State::Pending => self.pending += 1,
        }
        self.total += 1;
    }

    /// Counts the leaves below a task, or the task itself if it is one.
    fn of(task: &TaskView) -> Self {
        let mut tally = Self::default();
        for leaf in leaves(std::slice::from_ref(task)) {
            tally.add(leaf);
        }
        tally
    }

    const fn is_finished(&self) -> bool {
        self.completed == self.total
    }

    const fn is_begun(&self) -> bool {
        self.completed + self.claimed + self.active + self.held + self.failed > 0
    }
}

/// The data for drawing the rows of the tree.
#[derive(Debug)]
struct Tree<'a> {
    visit: &'a Visit,
    /// The current task and the tasks above it, from the root.
    path: Vec<&'a TaskView>,
    leases: BTreeMap<TodoId, &'a LeasedView>,
    heartbeats: BTreeMap<&'a str, Time>,
    /// The tasks that others wait for, by what they are called there.
    awaited: BTreeMap<String, &'a TaskView>,
    left: Cell<usize>,
}

/// The path from the root to the task with this id.
fn path(roots: &[TaskView], id: Option<TodoId>) -> Vec<&TaskView> {
    let mut above: BTreeMap<TodoId, Option<&TaskView>> = BTreeMap::new();
    let mut left: Vec<(Option<&TaskView>, &TaskView)> =
        roots.iter().map(|root| (None, root)).collect();
    let mut found = None;
    while let Some((parent, task)) = left.pop() {
        above.insert(task.id, parent);
        if Some(task.id) == id {
            found = Some(task);
            break;
        }
        left.extend(task.children.iter().map(|child| (Some(task), child)));
    }
    let mut path = Vec::new();
    while let Some(task) = found {
        path.push(task);
        found = above.get(&task.id).copied().flatten();
    }
    path.reverse();
    path
}

/// The tasks that others wait for, by number or id.
fn awaited(roots: &[TaskView]) -> BTreeMap<String, &TaskView> {
    let (mut all, mut names) = (Vec::new(), BTreeSet::new());
    let mut left: Vec<&TaskView> = roots.iter().collect();
    while let Some(task) = left.pop() {
        left.extend(&task.children);
        names.extend(task.waits_for.iter().map(String::as_str));
        all.push(task);
    }
    let called =
        |task: &TaskView| task.seq.map_or_else(|| task.id.to_string(), |seq| format!("t{seq}"));
    let named = all.into_iter().map(|task| (called(task), task));
    named.filter(|(name, _)| names.contains(name.as_str())).collect()
}

/// "waits for t4 Store addresses". A branch unfolds at a press, so it has no links.
fn waits(tree: &Tree<'_>, task: &TaskView, is_linked: bool) -> Markup {
    let left = task.waits_for.len().saturating_sub(AWAITED_MAX);
    html! {
        @if !task.waits_for.is_empty() {
            span.amber {
                "waits for "
                @for (n, name) in task.waits_for.iter().take(AWAITED_MAX).enumerate() {
                    @if n > 0 { ", " }
                    @let one = tree.awaited.get(name);
                    @let title = one.map_or("", |one| one.content.as_str());
                    @match one.filter(|_| is_linked) {
                        Some(one) => a href={"#task-" (one.id)} { (name) " " (title) },
                        None => { (name) " " (title) },
                    }
                }
                @if left > 0 { " and " (left) " more" }
            }
        }
    }
}

pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let file = visit.part("file");
    let branch = visit.query("branch");
    let input = plan_tree::Input {
        plan_file: title(file)?,
        branch: maybe(branch),
        include_archived: Some(true),
    };
    let plan = visit.run::<PlanTree>(input)?;
    let known = visit.run::<AgentList>(agent_list::Input::MOST)?;
    // The first heading of a plan is its name.
    let (name, tasks) = match plan.tasks.as_slice() {
        [root] if !root.children.is_empty() => (root.content.as_str(), root.children.as_slice()),
        all => (file, all),
    };
    let current = plan.current.as_ref().map(|task| task.id);
    let tree = Tree {
        visit,
        path: path(&plan.tasks, current),
        leases: known.leases.iter().map(|one| (one.todo_id, one)).collect(),
        heartbeats: known.agents.iter().map(|one| (one.agent.as_str(), one.heartbeat_at)).collect(),
        awaited: awaited(&plan.tasks),
        left: Cell::new(TASKS_MAX),
    };
    let mut tally = Tally::default();
    for task in tasks {
        let of = Tally::of(task);
        tally.total += of.total;
        tally.completed += of.completed;
        tally.claimed += of.claimed;
        tally.active += of.active;
        tally.held += of.held;
        tally.failed += of.failed;
        tally.pending += of.pending;
    }
    let crumbs =
        [(visit.project().to_owned(), visit.at("")), ("Plans".to_owned(), visit.at("/plans"))];
    let body = html! {
        (frame::head(&Head {
            crumbs: &crumbs,
            title: html! { (name) },
            sub: html! {
                p {
                    span.mono { (file) } @if let Some(branch) = branch { " on branch " span.mono { (branch) } } ". "
                    (tally.completed) " of "
                    (words::count(i64::try_from(tally.total).unwrap_or(0), "task", "tasks")) " completed."
                    @if let Some(at) = plan.archived_at { " Archived " (words::ago(at, visit.now())) "." }
                }
            },
            actions: None,
        }))
        div.columns {
            div.main-col {
                @if tasks.is_empty() {
                    (parts::empty(
                        "No tasks yet",
                        "A plan is a markdown file with tasks.",
                        &format!("punch plan import {}", shlex::try_quote(file).unwrap_or_default()),
                    ))
                } @else {
                    div.card.tree id="tree" { @for task in tasks { (node(&tree, task, 0)) } }
                    @if tree.left.get() == 0 { p.hint { "Only the first " (TASKS_MAX) " tasks are shown." } }
                }
            }
            (rail(visit, &tree, tasks, tally))
        }
    };
    let (title, bar) = (name.to_owned(), name.to_owned());
    Ok(Shown {
        title,
        bar,
        back: Some(visit.at("/plans")),
        section: Section::Plans,
        actions: html! {},
        body,
    })
}

fn state(task: &TaskView) -> marks::State {
    match task.state {
        State::Completed => marks::State::new(marks::completed(), "completed", "green"),
        State::Cancelled => marks::State::new(marks::cancelled(), "cancelled", "grey"),
        _ if task.claimed => marks::State::new(marks::claimed(Shape::Round), "claimed", "violet"),
        State::Blocked => marks::State::new(marks::held(), "held: blocked", "amber"),
        State::Failed => marks::State::new(marks::failed(), "held: failed", "red"),
        State::Active => marks::State::new(marks::in_progress(), "in progress", "accent"),
        State::Pending => marks::State::new(marks::pending(Shape::Round), "pending", "grey"),
    }
}

/// A task with its subtasks. A branch that is finished or not started is folded.
fn node(tree: &Tree<'_>, task: &TaskView, depth: usize) -> Markup {
    if tree.left.get() == 0 {
        return html! {};
    }
    tree.left.set(tree.left.get() - 1);
    if task.children.is_empty() || depth >= DEPTH_MAX {
        return html! {
            (leaf(tree, task))
            @if depth >= DEPTH_MAX { (flat(tree, task)) }
        };
    }
    let tally = Tally::of(task);
    // A task whose subtasks are all done may itself be the current one.
    let is_current = tree.path.last().is_some_and(|current| current.id == task.id);
    let is_above = !is_current && tree.path.iter().any(|above| above.id == task.id);
    let mark = match task.state {
        State::Completed | State::Cancelled | State::Blocked | State::Failed => state(task).mark,
        _ if tally.is_begun() => marks::in_progress(),
        _ => marks::pending(Shape::Round),
    };
    html! {
        details.branch id={"task-" (task.id)} open[is_above || (tally.is_begun() && !tally.is_finished())] {
            summary {
                (parts::chevron()) (mark)
                span.task-title {
                    (task.content)
                    @if is_current { " " span.current-tag { "Current" } }
                    @if !task.waits_for.is_empty() { span.below { (waits(tree, task, false)) } }
                }
                span.task-agent { (task.agent.as_deref().unwrap_or_default()) }
                span.progress-of {
                    span.words { (tally.completed) " of " (tally.total) }
                    (parts::bar(tally.completed, tally.claimed, tally.total, "green"))
                }
            }
            div.twigs { @for child in &task.children { (node(tree, child, depth + 1)) } }
        }
    }
}

/// Tasks that are too deep to be nested, in order.
fn flat(tree: &Tree<'_>, task: &TaskView) -> Markup {
    let mut left: Vec<&TaskView> = task.children.iter().rev().collect();
    let mut below = Vec::new();
    while let Some(task) = left.pop().filter(|_| tree.left.get() > 0) {
        tree.left.set(tree.left.get() - 1);
        below.push(task);
        left.extend(task.children.iter().rev());
    }
    html! { @for task in below { (leaf(tree, task)) } }
}

fn leaf(tree: &Tree<'_>, task: &TaskView) -> Markup {
    let visit = tree.visit;
    let state = state(task);
    let is_current = tree.path.last().is_some_and(|current| current.id == task.id);
    let class = match (is_current, task.state) {
        (true, _) => "task current",
        (_, State::Cancelled) => "task gone",
        _ => "task",
    };
    let deferred = task.defer_until.filter(|until| *until > visit.now());
    html! {
        div class=(class) id={"task-" (task.id)} data-item="" aria-current=[is_current.then_some("step")] {
            (state.mark)
            div.task-title {
                a href=(visit.at(&format!("/todos/{}", task.id))) { (task.content) }
                @if is_current { " " span.current-tag { "Current" } }
                p.below {
                    (waits(tree, task, true))
                    @if let Some(hold) = &task.hold { span { (hold) } }
                    @if let Some(until) = deferred { span { "deferred until " (words::until(until, visit.now())) } }
                    @match task.needs {
                        Some(Need::Reassignment) => span.amber { "Its agent failed or is gone: it needs another one." },
                        Some(Need::Completion) => span.amber {
                            "Its agent says that it is through: complete it or reopen it."
                        }
                        ,
                        None => {},
                    }
                    @if let Some(lease) = tree.leases.get(&task.id) {
                        span { "Lease until " (words::clock(lease.lease_until)) }
                    }
                    @if let Some(at) = task.agent.as_deref().filter(|_| task.state == State::Active)
                        .and_then(|agent| tree.heartbeats.get(agent)) {
                        span { "last heartbeat " (words::ago(*at, visit.now())) }
                    }
                    @if let Some(outcome) = task.outcome.as_deref().filter(|_| task.state == State::Cancelled) {
                        span { (outcome) }
                    }
                }
            }
            span.task-agent { (task.agent.as_deref().unwrap_or_default()) }
            (state.shown())
        }
    }
}

/// The sidebar of the tree: the path to the current task, the agents, and the totals.
fn rail(visit: &Visit, tree: &Tree<'_>, tasks: &[TaskView], tally: Tally) -> Markup {
    let mut by_agent: BTreeMap<&str, (usize, usize, bool, bool)> = BTreeMap::new();
    let mut left: Vec<&TaskView> = tasks.iter().collect();
    while let Some(task) = left.pop() {
        left.extend(&task.children);
        let Some(agent) = task.agent.as_deref() else { continue };
        let (all, done, busy, held) = by_agent.entry(agent).or_default();
        *all += usize::from(task.state != State::Cancelled);
        *done += usize::from(task.state == State::Completed);
        *busy |= task.state == State::Active;
        *held |= matches!(task.state, State::Blocked | State::Failed);
    }
    let busy = by_agent.values().filter(|(.., busy, _)| *busy).count();
    let above = tree.path.len().saturating_sub(1);
    let sums = [
        (marks::completed(), "Completed", tally.completed),
        (marks::in_progress(), "In progress", tally.active),
        (marks::claimed(Shape::Round), "Claimed", tally.claimed),
        (marks::held(), "Held", tally.held),
        (marks::failed(), "Failed", tally.failed),
        (marks::pending(Shape::Round), "Pending", tally.pending),
    ];
    html! {
        aside.rail aria-label="About this plan" {
            details.rail-part id="position" {
                (parts::rail_head("position-title", "Current position", &html! {}))
                @for task in tree.path.iter().skip(usize::from(above > 0)).take(above.saturating_sub(1)) {
                    p.hint { (task.content) }
                }
                @match tree.path.last() {
                    Some(current) => {
                        p.rail-title { a href={"#task-" (current.id)} { (current.content) } }
                        p.hint {
                            @let lease = tree.leases.get(&current.id);
                            @match (&current.agent, lease.and_then(|lease| lease.started_at)) {
                                (Some(agent), Some(at)) => {
                                    (agent) " has worked on it for " (words::since(at, visit.now())) "."
                                }
                                (Some(agent), None) => { "Assigned to " (agent) "." }
                                (None, _) => "Nobody works on it yet.",
                            }
                        }
                    }
                    None => p.hint { "Nothing is left to do." },
                }
            }
            details.rail-part id="agents" {
                (parts::rail_head("agents-title", "Agents", &html! { @if busy > 0 { span.beside { (busy) " busy" } } }))
                @if by_agent.is_empty() { p.hint { "No task is assigned." } }
                @for (agent, (all, done, is_busy, is_held)) in by_agent.iter().take(agents::SHOWN) {
                    article.rail-row id={"agent-" (agent)} {
                        p.rail-head {
                            @if *is_busy { (marks::in_progress()) } @else if *is_held { (marks::held()) } @else {
                                (marks::pending(Shape::Round))
                            }
                            b { (agent) }
                            @if *is_held && !*is_busy { span.when { span.amber { "held" } } }
                        }
                        p.hint {
                            (words::count(i64::try_from(*all).unwrap_or(0), "task", "tasks")) ", " (done) " completed"
                        }
                    }
                }
            }
            details.rail-part id="progress" {
                (parts::rail_head("progress-title", "Progress", &html! {}))
                dl.sums {
                    @for (mark, word, count) in &sums {
                        @if *count > 0 { dt { (mark) " " (word) } dd { (count) } }
                    }
                }
            }
        }
    }
}

pub(crate) fn act(_: &Visit, form: &Form) -> Result<Done, Error> {
    Err(unknown(form))
}
