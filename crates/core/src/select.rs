//! Which items come first, and which one is next, by the list's selector.
//!
//! The order here is the order everywhere: in views, in what the driver hands out, and in what
//! is promoted when nothing is in progress.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::policy::{Selector, policy};
use crate::{Snapshot, Status, Time, Todo, TodoId, TodoKind};

/// The loaded items in view in the order of the list's selector; ties go to the older, then to the id.
#[must_use]
pub fn ordered(snapshot: &Snapshot) -> Vec<&Todo> {
    let selector = policy(snapshot.list.kind()).selector;
    let in_view = |todo: &&Todo| todo.removed_at.is_none();
    let mut todos: Vec<&Todo> = snapshot.todos.values().filter(in_view).collect();
    match selector {
        Selector::PreOrder => return pre_order(snapshot),
        Selector::Position => todos.sort_by(|a, b| a.position.cmp(&b.position).then(age(a, b))),
        Selector::PriorityThenPosition => todos.sort_by(|a, b| {
            a.priority.cmp(&b.priority).then(a.position.cmp(&b.position)).then(age(a, b))
        }),
        Selector::PhaseThenPosition => {
            let phases = phase_ranks(snapshot);
            let rank = |todo: &Todo| todo.phase.as_deref().and_then(|p| phases.get(p)).copied();
            todos.sort_by(|a, b| {
                rank(a).cmp(&rank(b)).then(a.position.cmp(&b.position)).then(age(a, b))
            });
        }
        Selector::Oldest => todos.sort_by(|a, b| age(a, b)),
    }
    todos
}

/// The next item to work on: what is in progress first, then the first actionable one.
#[must_use]
pub fn next(snapshot: &Snapshot, now: Time) -> Option<&Todo> {
    let todos = ordered(snapshot);
    let ready = |todo: &&&Todo| todo.is_actionable(now) && todo.kind == TodoKind::Step;
    let leaf = |todo: &&&Todo| !snapshot.todos.values().any(|t| t.parent_id == Some(todo.id));
    todos
        .iter()
        .filter(ready)
        .find(|todo| todo.status == Status::InProgress && leaf(todo))
        .or_else(|| todos.iter().filter(ready).find(leaf))
        .copied()
}

fn age(a: &Todo, b: &Todo) -> Ordering {
    a.created_at.cmp(&b.created_at).then(a.id.cmp(&b.id))
}

/// Phases in the order in which they first appeared; items without one come before them all.
fn phase_ranks(snapshot: &Snapshot) -> BTreeMap<&str, TodoId> {
    let mut ranks = BTreeMap::new();
    for todo in snapshot.todos.values() {
        if let Some(phase) = todo.phase.as_deref() {
            let first = ranks.entry(phase).or_insert(todo.id);
            *first = (*first).min(todo.id);
        }
    }
    ranks
}

/// Parents before children, siblings by position. What hangs on an item that is not loaded
/// stands at the top.
fn pre_order(snapshot: &Snapshot) -> Vec<&Todo> {
    let mut children: BTreeMap<Option<TodoId>, Vec<&Todo>> = BTreeMap::new();
    for todo in snapshot.todos.values() {
        let parent = todo.parent_id.filter(|parent| snapshot.todos.contains_key(parent));
        children.entry(parent).or_default().push(todo);
    }
    for siblings in children.values_mut() {
        siblings.sort_by(|a, b| b.position.cmp(&a.position).then(age(b, a)));
    }
    let mut open = children.remove(&None).unwrap_or_default();
    let mut result = Vec::with_capacity(snapshot.todos.len());
    while let Some(todo) = open.pop() {
        result.push(todo);
        open.extend(children.remove(&Some(todo.id)).unwrap_or_default());
    }
    result
}
