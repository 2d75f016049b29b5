//! The tasks of a plan as a tree: one list in pre-order, in which a subtree is a range.

use std::collections::BTreeMap;

use crate::select::ordered;
use crate::{Snapshot, Status, Todo, TodoId};

/// The tasks in view, parents before children, siblings by position.
#[derive(Clone, Debug)]
pub struct Tree<'a> {
    branches: Vec<Branch<'a>>,
}

/// A task and its place in the tree.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'a> {
    pub todo: &'a Todo,
    /// Its parent's index.
    pub parent: Option<usize>,
    /// How many stand above it.
    pub depth: usize,
    /// The index behind the last task below it.
    pub end: usize,
    /// A task below it is open.
    pub open_below: bool,
}

impl Branch<'_> {
    #[must_use]
    pub const fn is_open(&self) -> bool {
        !self.todo.status.is_settled()
    }

    /// Assigned and open (D-12).
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.is_open() && self.todo.assignee.is_some()
    }
}

impl<'a> Tree<'a> {
    #[must_use]
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let todos = ordered(snapshot);
        let places: BTreeMap<TodoId, usize> =
            todos.iter().enumerate().map(|(index, todo)| (todo.id, index)).collect();
        let mut branches: Vec<Branch<'a>> = Vec::with_capacity(todos.len());
        for (index, todo) in todos.into_iter().enumerate() {
            let parent = todo.parent_id.and_then(|id| places.get(&id)).copied();
            let depth = parent.map_or(0, |parent| branches[parent].depth + 1);
            branches.push(Branch { todo, parent, depth, end: index + 1, open_below: false });
        }
        for index in (0..branches.len()).rev() {
            let Branch { parent, end, open_below, .. } = branches[index];
            let open = open_below || branches[index].is_open();
            if let Some(parent) = parent {
                branches[parent].end = branches[parent].end.max(end);
                branches[parent].open_below |= open;
            }
        }
        Self { branches }
    }

    /// All tasks, in pre-order.
    #[must_use]
    pub fn branches(&self) -> &[Branch<'a>] {
        &self.branches
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.branches.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// Its children in order; without a task, those at the top.
    pub fn children(&self, of: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        let (first, end) = match of {
            None => (0, self.branches.len()),
            Some(index) => (index + 1, self.branches[index].end),
        };
        let next = move |at: usize| (at < end).then_some(at);
        std::iter::successors(next(first), move |at| next(self.branches[*at].end))
    }

    /// The tasks above one, the nearest first.
    pub fn above(&self, of: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.branches[of].parent, |at| self.branches[*at].parent)
    }

    /// How many tasks are completed, cancelled, and there at all.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        let count = |status| self.branches.iter().filter(|b| b.todo.status == status).count();
        (count(Status::Completed), count(Status::Cancelled), self.branches.len())
    }
}
