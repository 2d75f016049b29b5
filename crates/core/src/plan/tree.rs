//! The tasks of a plan as a tree: one list in pre-order, in which a subtree is a range.

use super::after::open_before;
use crate::select::pre_order;
use crate::{Snapshot, Status, Tally, Todo};

/// The tasks in view, parents before children, siblings by position.
#[derive(Clone, Debug)]
pub struct Tree<'a> {
    branches: Vec<Branch<'a>>,
    snapshot: &'a Snapshot,
}

/// A task and its place in the tree.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'a> {
    pub todo: &'a Todo,
    /// Its parent's index.
    pub parent: Option<usize>,
    /// How many tasks are above it.
    pub depth: usize,
    /// The index after the last task below it.
    pub end: usize,
    /// Neither completed nor cancelled, and no task above it is cancelled.
    pub is_open: bool,
    /// Assigned and open (D-12).
    pub is_active: bool,
    /// A task below it is open.
    pub open_below: bool,
    /// It, or a task above it, comes after a task that is open.
    pub waits: bool,
    /// A task above it is cancelled.
    pub is_dropped: bool,
}

impl<'a> Tree<'a> {
    #[must_use]
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let todos = pre_order(snapshot);
        let mut branches: Vec<Branch<'a>> = Vec::with_capacity(todos.len());
        for (index, (todo, parent)) in todos.into_iter().enumerate() {
            let depth = parent.map_or(0, |parent| branches[parent].depth + 1);
            let is_dropped = parent.is_some_and(|parent| {
                let above: &Branch<'_> = &branches[parent];
                above.is_dropped || above.todo.status == Status::Cancelled
            });
            let is_open = !todo.status.is_settled() && !is_dropped;
            let is_active = is_open && todo.assignee.is_some();
            let (end, open_below) = (index + 1, false);
            let waits = parent.is_some_and(|parent| branches[parent].waits)
                || (!todo.after.is_empty() && open_before(snapshot, todo).next().is_some());
            branches.push(Branch {
                todo,
                parent,
                depth,
                end,
                is_open,
                is_active,
                open_below,
                waits,
                is_dropped,
            });
        }
        for index in (0..branches.len()).rev() {
            let Branch { parent, end, is_open, open_below, .. } = branches[index];
            if let Some(parent) = parent {
                branches[parent].end = branches[parent].end.max(end);
                branches[parent].open_below |= open_below || is_open;
            }
        }
        Self { branches, snapshot }
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

    /// Its children in order; for `None`, those at the top.
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

    /// The open tasks that a task waits for, its own before those of a task above it.
    #[must_use]
    pub fn waits_for(&self, of: usize) -> Vec<&'a Todo> {
        let own_and_above = std::iter::once(of).chain(self.above(of));
        let mut first = own_and_above.map(|at| self.first(at)).filter(|first| !first.is_empty());
        first.next().filter(|_| self.branches[of].waits).unwrap_or_default()
    }

    /// The open tasks that a task itself comes after.
    #[must_use]
    pub fn first(&self, of: usize) -> Vec<&'a Todo> {
        open_before(self.snapshot, self.branches[of].todo).collect()
    }

    /// The tasks without subtasks. The progress of a plan is counted by these alone: a task with
    /// subtasks is the sum of them, and would count twice.
    pub fn leaves(&self) -> impl Iterator<Item = &Branch<'a>> {
        let is_leaf = |(at, branch): &(usize, &Branch<'a>)| branch.end == at + 1;
        self.branches.iter().enumerate().filter(is_leaf).map(|(_, branch)| branch)
    }

    /// How many tasks without subtasks are in which status. An open task below a cancelled one
    /// counts as cancelled.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for leaf in self.leaves() {
            let is_left_out = leaf.is_dropped && !leaf.todo.status.is_settled();
            let status = if is_left_out { Status::Cancelled } else { leaf.todo.status };
            *tally.of(status) += 1;
        }
        tally
    }

    /// How many tasks without subtasks are not open, and how many there are.
    #[must_use]
    pub fn settled(&self) -> (usize, usize) {
        (self.leaves().filter(|leaf| !leaf.is_open).count(), self.leaves().count())
    }
}
