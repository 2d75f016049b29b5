//! Which open tasks are dropped: a task above them is cancelled.
//!
//! A dropped task keeps its own status, so that reopening the task above it brings it back. Until
//! then nobody works on it, and it does not keep the tasks above it open.

use std::collections::BTreeSet;

use crate::policy::policy;
use crate::{Snapshot, Status, Todo, TodoId};

/// The nearest cancelled task above a task. The walk ends even if parents form a cycle, which only
/// a change from outside can cause.
#[must_use]
pub fn cancelled_above<'a>(snapshot: &'a Snapshot, todo: &Todo) -> Option<&'a Todo> {
    let above = |id: TodoId| snapshot.todo(id);
    let first = todo.parent_id.and_then(above);
    let mut way = std::iter::successors(first, |todo| todo.parent_id.and_then(above))
        .take(snapshot.todos.len());
    way.find(|todo| is_cancelled(todo))
}

fn is_cancelled(todo: &Todo) -> bool {
    todo.status == Status::Cancelled && todo.removed_at.is_none()
}

/// The open items of a list with a cancelled task above them.
#[must_use]
pub fn dropped(snapshot: &Snapshot) -> BTreeSet<TodoId> {
    let nested = |todo: &&Todo| todo.parent_id.is_some() && !todo.status.is_settled();
    // Most lists do not nest, or have no cancelled task.
    if !policy(snapshot.list.kind()).nests || !snapshot.todos.values().any(is_cancelled) {
        return BTreeSet::new();
    }
    let open = snapshot.todos.values().filter(nested);
    open.filter(|todo| cancelled_above(snapshot, todo).is_some()).map(|todo| todo.id).collect()
}
