//! The tasks of a plan as callers see them: a tree, with states that are derived.

use punchlist_core::plan::{self, Tree};
use punchlist_core::{Agents, Snapshot, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::call::Call;

/// A task of a plan, with what hangs under it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    pub id: String,
    /// Its number in the whole store; it works wherever an id does.
    pub seq: Option<i64>,
    pub parent_id: Option<String>,
    pub content: String,
    pub state: plan::State,
    /// The agent it is assigned to.
    pub agent: Option<String>,
    /// What it asks of whoever orchestrates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<plan::Need>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// Its maker says it is done, and its reviewer has not judged it yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub claimed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub defer_until: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[schemars(with = "Vec<serde_json::Value>")]
    pub children: Vec<TaskView>,
}

/// A plan: its tree, where the work stands, and both as text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanView {
    pub tasks: Vec<TaskView>,
    /// The task the work stands at.
    pub current: Option<TaskView>,
    /// The tree as text, with the position.
    pub markdown: String,
    /// Since when it is archived, where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub archived_at: Option<Time>,
}

impl PlanView {
    pub(crate) fn of(call: &mut Call<'_, '_>, snapshot: &Snapshot) -> Result<Self, Error> {
        let (agents, now) = (call.known_agents()?, call.envelope().now);
        let tree = Tree::of(snapshot);
        let current = plan::position(&tree, now).current.map(|at| one(&tree, at, &agents));
        let rendered = plan::render(snapshot, &agents, plan::Form::Tree, None, now);
        let (tasks, archived_at) = (nested(&tree, &agents), snapshot.list.archived_at);
        Ok(Self { tasks, current, markdown: rendered.text, archived_at })
    }

    /// A plan that is not there.
    pub(crate) const fn nothing() -> Self {
        Self { tasks: Vec::new(), current: None, markdown: String::new(), archived_at: None }
    }
}

/// The tree, children in their parents. Built from the end, so that no depth of a plan is a depth
/// of the stack.
fn nested(tree: &Tree<'_>, agents: &Agents) -> Vec<TaskView> {
    let mut waiting: Vec<Vec<TaskView>> = (0..tree.len()).map(|_| Vec::new()).collect();
    let mut roots = Vec::new();
    for at in (0..tree.len()).rev() {
        let mut task = one(tree, at, agents);
        task.children = std::mem::take(&mut waiting[at]);
        task.children.reverse();
        match tree.branches()[at].parent {
            Some(parent) => waiting[parent].push(task),
            None => roots.push(task),
        }
    }
    roots.reverse();
    roots
}

/// One task, without what hangs under it.
pub(crate) fn one(tree: &Tree<'_>, at: usize, agents: &Agents) -> TaskView {
    let todo = tree.branches()[at].todo;
    TaskView {
        id: todo.id.to_string(),
        seq: todo.seq,
        parent_id: todo.parent_id.map(|id| id.to_string()),
        content: todo.title.clone(),
        state: plan::state(todo, agents),
        agent: todo.assignee.as_ref().map(ToString::to_string),
        needs: plan::need(todo, agents),
        hold: todo.hold.as_deref().map(|hold| hold.reason.clone()),
        claimed: todo.claim.is_some() && !todo.status.is_settled(),
        defer_until: todo.defer_until.filter(|_| !todo.status.is_settled()),
        outcome: todo.outcome.clone(),
        children: Vec::new(),
    }
}
