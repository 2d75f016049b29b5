//! Finds the current task of a plan (D-12, D-13), and the reason for it.
//!
//! A candidate is an open task with no open task below it: an open leaf, or a parent that is ready
//! to close. The current task is the first actionable candidate in pre-order under the deepest
//! active task; if there is none, under the next active task, and then anywhere. If nothing is
//! actionable, the first open candidate is current. `todo_next` has its own rule
//! (`select::next_for`): it prefers what the taker holds.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tree::{Branch, Tree};
use crate::select::Place;
use crate::text::normalised;
use crate::{Snapshot, Time, Todo, TodoId};

/// The current task, by its index in the tree, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub current: Option<usize>,
    pub reason: Reason,
}

impl Position {
    #[must_use]
    pub fn todo_id(&self, tree: &Tree<'_>) -> Option<TodoId> {
        self.current.map(|index| tree.branches()[index].todo.id)
    }
}

/// Why this task is current, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The first open leaf under the deepest assigned task.
    UnderActive,
    /// No task is assigned; this is the first open leaf.
    FirstOpen,
    /// It is open, and all tasks below it are settled.
    ReadyToClose,
    /// Every task is completed or cancelled.
    AllSettled,
    /// There are no tasks.
    NoTasks,
}

/// Finds the current task.
#[must_use]
pub fn position(tree: &Tree<'_>, now: Time) -> Position {
    let branches = tree.branches();
    let mut active: Vec<usize> =
        (0..branches.len()).filter(|index| branches[*index].is_active).collect();
    // The deepest come first, in pre-order.
    active.sort_unstable_by_key(|index| (Reverse(branches[*index].depth), *index));
    let is_candidate = |index: &usize| branches[*index].is_open && !branches[*index].open_below;
    let is_ready = |index: &usize| {
        let Branch { todo, waits, .. } = branches[*index];
        is_candidate(index) && !waits && todo.is_actionable(now)
    };
    let below = |at: &usize| *at..branches[*at].end;
    let ready = active.iter().find_map(|at| below(at).find(is_ready));
    let first_open = || match active.first() {
        Some(at) => below(at).find(is_candidate),
        None => (0..branches.len()).find(is_candidate),
    };
    let current = ready.or_else(|| (0..branches.len()).find(is_ready)).or_else(first_open);
    let under_active = |index: usize| active.iter().any(|at| below(at).contains(&index));
    let reason = match current.map(|index| (index, branches[index].end)) {
        None if branches.is_empty() => Reason::NoTasks,
        None => Reason::AllSettled,
        Some((index, end)) if end > index + 1 => Reason::ReadyToClose,
        Some((index, _)) if under_active(index) => Reason::UnderActive,
        Some(_) => Reason::FirstOpen,
    };
    Position { current, reason }
}

/// Why a task cannot be worked on now, in a few words; `None` if it can, or if it waits for its
/// reviewer.
#[must_use]
pub fn badge(tree: &Tree<'_>, at: usize, now: Time) -> Option<String> {
    let todo = tree.branches()[at].todo;
    let hold = todo.hold.as_ref().filter(|hold| !hold.is_over(now));
    if let Some(hold) = hold {
        return Some(format!("{}: {}", hold.kind.name(), normalised(&hold.reason)));
    }
    let until = todo.defer_until.filter(|until| *until > now);
    let deferred = until.map(|until| format!("deferred until {until}"));
    deferred.or_else(|| waits_for(&tree.waits_for(at)))
}

/// `waits for t3, t4`; none: it waits for no task.
pub(super) fn waits_for(first: &[&Todo]) -> Option<String> {
    let named = |todo: &&Todo| match todo.seq {
        Some(seq) => format!("t{seq}"),
        None => format!("`{}`", normalised(&todo.title)),
    };
    let names: Vec<String> = first.iter().map(named).collect();
    (!names.is_empty()).then(|| format!("waits for {}", names.join(", ")))
}

/// The open tasks below a task, parents before children.
#[must_use]
pub fn open_below(snapshot: &Snapshot, id: TodoId) -> Vec<TodoId> {
    let tree = Tree::of(snapshot);
    let branches = tree.branches();
    let at = branches.iter().position(|branch| branch.todo.id == id);
    let below = at.map_or(0..0, |at| at + 1..branches[at].end);
    branches[below].iter().filter(|branch| branch.is_open).map(|branch| branch.todo.id).collect()
}

/// The open task without children that comes first by depth, then by age, then by position: the
/// order of the original design's query (O-12, D-14).
#[must_use]
pub fn first_leaf_by_depth(tree: &Tree<'_>) -> Option<usize> {
    let branches = tree.branches();
    let is_leaf =
        |(index, branch): &(usize, &Branch<'_>)| branch.is_open && branch.end == index + 1;
    let leaves = branches.iter().enumerate().filter(is_leaf);
    let first = leaves.min_by_key(|(_, branch)| {
        let Place { position, created_at, id } = Place::of(branch.todo);
        (branch.depth, created_at, position, id)
    });
    first.map(|(index, _)| index)
}
