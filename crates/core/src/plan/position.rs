//! Where the work stands: the one task that is current (D-12, D-13), and why it is this one.
//!
//! A candidate is an open task with no open task below it: an open leaf, or a parent that is
//! ready to close. The first one in pre-order under the deepest active task is current; where
//! nothing is active, the first one of all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tree::{Branch, Tree};
use crate::TodoId;
use crate::select::Place;

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

/// Why this task is current, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The first open leaf under the deepest task that somebody has.
    UnderActive,
    /// Nobody has a task; this is the first open leaf.
    FirstOpen,
    /// All below it is settled, and it is still open.
    ReadyToClose,
    /// Every task is completed or cancelled.
    AllSettled,
    /// There are no tasks.
    NoTasks,
}

/// Where the work stands.
#[must_use]
pub fn position(tree: &Tree<'_>) -> Position {
    let branches = tree.branches();
    // The first of the deepest ones.
    let active = (0..branches.len())
        .filter(|index| branches[*index].is_active)
        .min_by_key(|index| (std::cmp::Reverse(branches[*index].depth), *index));
    let (first, end) = active.map_or((0, branches.len()), |at| (at, branches[at].end));
    let is_candidate = |index: &usize| branches[*index].is_open && !branches[*index].open_below;
    let current = (first..end).find(is_candidate);
    let reason = match current.map(|index| (index, branches[index].end)) {
        None if branches.is_empty() => Reason::NoTasks,
        None => Reason::AllSettled,
        Some((index, end)) if end > index + 1 => Reason::ReadyToClose,
        Some(_) if active.is_some() => Reason::UnderActive,
        Some(_) => Reason::FirstOpen,
    };
    Position { current, reason }
}

/// The open task without children that comes first by depth, then by age, then by position: what
/// the first design's query asks for (O-12, D-14).
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
