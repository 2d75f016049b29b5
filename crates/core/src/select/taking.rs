//! Which item a caller gets that asks for the next one (`todo_next`).
//!
//! A caller that asks twice gets the same item: what it holds comes first. In a plan the store finds
//! the item with SQL (`store/rows/take.rs`), because a plan may be long; a property test compares
//! both on generated plans.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{next, ordered};
use crate::plan::{Tree, dropped, waiting};
use crate::policy::{Wip, policy};
use crate::{Actor, Lease, Snapshot, Status, Time, Todo, TodoId, TodoKind};

/// The next item for a taker, whose holds that are over have been lifted. `clock` is the database's,
/// which leases end by.
#[must_use]
pub fn next_for<'a>(list: &'a Snapshot, taker: &Actor, now: Time, clock: Time) -> Option<&'a Todo> {
    match policy(list.list.kind()).wip {
        Wip::Many => next_of_many(list, taker, now, clock),
        wip => next_of_one(list, taker, (now, clock), wip),
    }
}

/// One item may be in progress. If another caller holds it, nothing can be taken; otherwise the
/// list's selector decides.
fn next_of_one<'a>(
    list: &'a Snapshot,
    taker: &Actor,
    (now, clock): (Time, Time),
    wip: Wip,
) -> Option<&'a Todo> {
    for todo in list.todos.values().filter(|todo| todo.status == Status::InProgress) {
        match list.leases.get(&todo.id).and_then(|lease| lease.held_by(clock)) {
            Some(holder) if holder == taker.principal.as_str() => return Some(todo),
            Some(_) => return None,
            // Only this item can be taken, because no second item may be started.
            None if wip == Wip::AtMostOne => return todo.is_actionable(now).then_some(todo),
            None => {}
        }
    }
    next(list, now)
}

/// Why an item in progress is offered, in the order of preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Begun {
    HeldByTaker,
    AssignedToTaker,
    /// It was taken, and nobody holds it any more.
    Abandoned,
}

/// Many items may be in progress: one that is begun, the deepest first; otherwise the first pending
/// item without children.
fn next_of_many<'a>(list: &'a Snapshot, taker: &Actor, now: Time, clock: Time) -> Option<&'a Todo> {
    let in_order = ordered(list);
    let parents: BTreeSet<TodoId> = in_order.iter().filter_map(|todo| todo.parent_id).collect();
    let is_open = |todo: &&&Todo| !todo.status.is_settled();
    let open_parents: BTreeSet<TodoId> =
        in_order.iter().filter(is_open).filter_map(|todo| todo.parent_id).collect();
    let (waiting, dropped) = (waiting(list), dropped(list));
    let begun = |todo: &Todo| {
        let lease = list.leases.get(&todo.id);
        match lease.and_then(|lease| lease.held_by(clock)) {
            Some(holder) if holder == taker.principal.as_str() => Some(Begun::HeldByTaker),
            Some(_) => None,
            None if todo.assignee.as_ref() == Some(&taker.agent) => Some(Begun::AssignedToTaker),
            // An assignment that somebody made does not end with the lease.
            None if todo.assignee.is_some() && !todo.assigned_by_taking => None,
            // The lease may have ended with a claim that was returned, or with a hold that is over.
            None => lease
                .filter(|lease| lease.holder.is_some() || todo.assigned_by_taking)
                .map(|_| Begun::Abandoned),
        }
    };
    let tree = Tree::of(list);
    let depths: BTreeMap<TodoId, usize> =
        tree.branches().iter().map(|branch| (branch.todo.id, branch.depth)).collect();
    let in_progress = in_order.iter().enumerate().filter_map(|(at, todo)| {
        let is_leaf = todo.status == Status::InProgress && !open_parents.contains(&todo.id);
        let is_free = is_leaf && todo.is_actionable(now) && !dropped.contains(&todo.id);
        let begun = begun(todo).filter(|_| is_free)?;
        // What the taker holds is its own, even if it waits for another task since.
        let is_ready = begun == Begun::HeldByTaker || !waiting.contains(&todo.id);
        is_ready.then(|| ((begun, Reverse(depths.get(&todo.id).copied()), at), *todo))
    });
    let first = in_progress.min_by_key(|(key, _)| *key).map(|(_, todo)| todo);
    first.or_else(|| {
        let mut pending = in_order.iter().copied().filter(|todo| {
            let is_free = !waiting.contains(&todo.id) && !dropped.contains(&todo.id);
            let is_ready = todo.is_actionable(now) && is_free;
            is_ready && todo.status == Status::Pending && !parents.contains(&todo.id)
        });
        pending.next()
    })
}

/// Why nothing can be taken from a list that allows one item in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idle<'a> {
    /// The one in progress is another caller's.
    Held(&'a Todo, &'a Lease),
    /// Items are open, but each is on hold, deferred, claimed or waiting.
    NoneReady,
    NoneOpen,
}

/// Why [`next_for`] finds nothing; the list is as it was given to that.
#[must_use]
pub fn idle(list: &Snapshot, clock: Time) -> Idle<'_> {
    let in_view = || list.todos.values().filter(|todo| todo.removed_at.is_none());
    let in_progress = in_view().filter(|todo| todo.status == Status::InProgress);
    let mut held = in_progress.filter_map(|todo| {
        let lease = list.leases.get(&todo.id).filter(|lease| lease.held_by(clock).is_some())?;
        Some((todo, lease))
    });
    let is_open = |todo: &Todo| todo.kind == TodoKind::Step && !todo.status.is_settled();
    match held.next() {
        Some((todo, lease)) => Idle::Held(todo, lease),
        None if in_view().any(is_open) => Idle::NoneReady,
        None => Idle::NoneOpen,
    }
}
