//! The tasks of a plan as callers see them: a tree, with derived states.

use punchlist_core::plan::{self, LEVELS_MAX, Tree};
use punchlist_core::{Agents, Snapshot, Time, Todo, TodoId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::call::Call;

/// A task of a plan, with its subtasks.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    pub id: TodoId,
    /// Its number in the whole store; it is accepted wherever an id is.
    pub seq: Option<i64>,
    pub parent_id: Option<TodoId>,
    pub content: String,
    pub state: plan::State,
    /// The agent it is assigned to.
    pub agent: Option<String>,
    /// What it needs from the orchestrator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<plan::Need>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// Its maker says it is done, and its reviewer has not judged it yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub claimed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defer_until: Option<Time>,
    /// The ids of the tasks that must be settled first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub after: Vec<TodoId>,
    /// The open tasks that it waits for, or that a task above it waits for, e.g. t3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub waits_for: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[schemars(with = "Vec<serde_json::Value>")]
    pub children: Vec<TaskView>,
}

/// A plan: its tree and its current task, also as text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanView {
    pub tasks: Vec<TaskView>,
    /// The current task.
    pub current: Option<TaskView>,
    /// The tree as text, with the current task marked.
    pub markdown: String,
    /// When it was archived, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Time>,
}

impl PlanView {
    pub(crate) fn of(call: &mut Call<'_, '_>, snapshot: &Snapshot) -> Result<Self, Error> {
        let (agents, now) = (call.known_agents()?, call.envelope().now);
        let tree = Tree::of(snapshot);
        let place = plan::position(&tree, now);
        let current = place.current.map(|at| one(&tree, at, &agents));
        // For models, and the same at any width. For people the tasks are drawn to their terminal.
        let markdown = plan::render_whole(&tree, place, &agents, &snapshot.list.scope, now);
        let (tasks, archived_at) = (nested(&tree, &agents), snapshot.list.archived_at);
        Ok(Self { tasks, current, markdown, archived_at })
    }

    /// The tasks without subtasks, by which progress is counted (`core::plan::Tree::leaves`).
    #[must_use]
    pub fn leaves(&self) -> Vec<&TaskView> {
        leaves(&self.tasks)
    }

    /// The view of a missing plan.
    pub(crate) const fn nothing() -> Self {
        Self { tasks: Vec::new(), current: None, markdown: String::new(), archived_at: None }
    }
}

/// The tasks below these that have no subtasks, without the open ones below a cancelled task. It
/// works without recursion, because a plan may be deep.
#[must_use]
pub fn leaves(tasks: &[TaskView]) -> Vec<&TaskView> {
    let mut leaves = Vec::new();
    let mut left: Vec<(&TaskView, bool)> = tasks.iter().map(|task| (task, false)).collect();
    while let Some((task, below_cancelled)) = left.pop() {
        let is_settled = matches!(task.state, plan::State::Completed | plan::State::Cancelled);
        if !task.children.is_empty() {
            let below_cancelled = below_cancelled || task.state == plan::State::Cancelled;
            left.extend(task.children.iter().map(|child| (child, below_cancelled)));
        } else if is_settled || !below_cancelled {
            leaves.push(task);
        }
    }
    leaves
}

/// Nests the tasks under their parents, without recursion. Those who write, read or drop the answer
/// do recurse, so tasks below the deepest allowed level (older versions did not limit it) follow the
/// task at that level, in the order of the plan; `parent_id` still names their parents.
fn nested(tree: &Tree<'_>, agents: &Agents) -> Vec<TaskView> {
    let branches = tree.branches();
    let mut holders: Vec<Option<usize>> = Vec::with_capacity(branches.len());
    for branch in branches {
        let holder = match branch.parent {
            Some(parent) if branch.depth >= LEVELS_MAX => holders[parent],
            parent => parent,
        };
        holders.push(holder);
    }
    let mut waiting: Vec<Vec<TaskView>> = branches.iter().map(|_| Vec::new()).collect();
    let mut roots = Vec::new();
    for (at, holder) in holders.into_iter().enumerate().rev() {
        let mut task = one(tree, at, agents);
        task.children = std::mem::take(&mut waiting[at]);
        task.children.reverse();
        match holder {
            Some(holder) => waiting[holder].push(task),
            None => roots.push(task),
        }
    }
    roots.reverse();
    roots
}

/// One task, without its subtasks.
pub(crate) fn one(tree: &Tree<'_>, at: usize, agents: &Agents) -> TaskView {
    let todo = tree.branches()[at].todo;
    TaskView {
        id: todo.id,
        seq: todo.seq,
        parent_id: todo.parent_id,
        content: todo.title.clone(),
        state: plan::state(todo, agents),
        agent: todo.assignee.as_ref().map(ToString::to_string),
        needs: plan::need(todo, agents),
        hold: todo.hold.as_deref().map(|hold| hold.reason.clone()),
        claimed: todo.claim.is_some() && !todo.status.is_settled(),
        defer_until: todo.defer_until.filter(|_| !todo.status.is_settled()),
        after: todo.after.clone(),
        waits_for: waits_for(tree, at),
        outcome: todo.outcome.clone(),
        children: Vec::new(),
    }
}

/// The numbers of the open tasks that an open task waits for.
fn waits_for(tree: &Tree<'_>, at: usize) -> Vec<String> {
    if !tree.branches()[at].is_open {
        return Vec::new();
    }
    let called =
        |todo: &Todo| todo.seq.map_or_else(|| todo.id.to_string(), |seq| format!("t{seq}"));
    tree.waits_for(at).into_iter().map(called).collect()
}
