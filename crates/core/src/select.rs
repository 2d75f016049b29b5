//! Which items come first, and which one is next, by the list's selector.
//!
//! The same order is used everywhere: in views, by the driver, and when an item is started because
//! none is in progress. What a caller may take next also depends on the caller: `next_for`.

mod taking;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::plan::{dropped, waiting};
use crate::policy::{Selector, policy};
use crate::text::normalised;
use crate::{Snapshot, Status, Time, Todo, TodoId, TodoKind};

pub use taking::{Idle, idle, next_for};

/// The loaded items in view in the order of the list's selector; ties go to the older, then to the id.
#[must_use]
pub fn ordered(snapshot: &Snapshot) -> Vec<&Todo> {
    let selector = policy(snapshot.list.kind()).selector;
    let in_view = |todo: &&Todo| todo.removed_at.is_none();
    let mut todos: Vec<&Todo> = snapshot.todos.values().filter(in_view).collect();
    match selector {
        Selector::PreOrder => {
            return pre_order(snapshot).into_iter().map(|(todo, _)| todo).collect();
        }
        Selector::Position => todos.sort_unstable_by(|a, b| by_position(a, b)),
        Selector::PriorityThenPosition => todos.sort_unstable_by(|a, b| by_priority(a, b)),
        Selector::PhaseThenPosition => {
            let phases = phase_ranks(&todos);
            // Criteria come before all steps, as in the checklist.
            todos.sort_by_cached_key(|todo| {
                let phase = phase_of(todo).and_then(|phase| phases.get(&phase)).copied();
                (todo.kind == TodoKind::Step, phase, Place::of(todo))
            });
        }
        Selector::Oldest => todos.sort_unstable_by(|a, b| age(a, b)),
    }
    todos
}

/// The items that can be worked on now, in order: actionable steps without children. Used to count
/// what is left, to pick from it, and to decide whether to continue (D-17, S-12).
#[must_use]
pub fn incomplete(snapshot: &Snapshot, now: Time) -> Vec<&Todo> {
    let mut todos = ordered(snapshot);
    let parents: BTreeSet<TodoId> = todos.iter().filter_map(|todo| todo.parent_id).collect();
    let (waiting, dropped) = (waiting(snapshot), dropped(snapshot));
    let ready = |todo: &Todo| {
        let is_free = !waiting.contains(&todo.id) && !dropped.contains(&todo.id);
        todo.is_actionable(now) && todo.kind == TodoKind::Step && is_free
    };
    todos.retain(|todo| ready(todo) && !parents.contains(&todo.id));
    todos
}

/// The next item to work on: the first of them, or the one in progress if the list prefers it.
#[must_use]
pub fn next(snapshot: &Snapshot, now: Time) -> Option<&Todo> {
    let Some(mut first) = First::of(snapshot) else { return next_in_order(snapshot, now) };
    for todo in snapshot.todos.values().filter(|todo| todo.removed_at.is_none()) {
        first.see(todo, todo.is_actionable(now));
    }
    first.found(snapshot, now)
}

/// Finds the first item of a long list in one pass, without sorting it: the list does not fit the
/// CPU cache, and most lists have no nested items.
pub(crate) struct First<'a> {
    by: fn(&Todo, &Todo) -> Ordering,
    prefers_in_progress: bool,
    best: Option<&'a Todo>,
    parents: BTreeSet<TodoId>,
}

impl<'a> First<'a> {
    /// `None` if this list must be sorted for that.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let policy = policy(snapshot.list.kind());
        let by: fn(&Todo, &Todo) -> Ordering = match policy.selector {
            Selector::Position => by_position,
            Selector::PriorityThenPosition => by_priority,
            Selector::Oldest => age,
            Selector::PreOrder | Selector::PhaseThenPosition => return None,
        };
        let prefers_in_progress = policy.prefers_in_progress;
        Some(Self { by, prefers_in_progress, best: None, parents: BTreeSet::new() })
    }

    /// Looks at the next item in view.
    pub(crate) fn see(&mut self, todo: &'a Todo, is_actionable: bool) {
        self.parents.extend(todo.parent_id);
        let is_ready = is_actionable && todo.kind == TodoKind::Step;
        if is_ready && self.best.is_none_or(|best| self.order(todo, best).is_lt()) {
            self.best = Some(todo);
        }
    }

    /// The first of all items seen. The list is read again only if that item has children.
    pub(crate) fn found(self, snapshot: &'a Snapshot, now: Time) -> Option<&'a Todo> {
        if self.best.is_none_or(|best| !self.parents.contains(&best.id)) {
            return self.best;
        }
        let in_view = snapshot.todos.values().filter(|todo| todo.removed_at.is_none());
        let leaves = in_view.filter(|todo| {
            let is_ready = todo.kind == TodoKind::Step && todo.is_actionable(now);
            is_ready && !self.parents.contains(&todo.id)
        });
        leaves.min_by(|a, b| self.order(a, b))
    }

    fn order(&self, a: &Todo, b: &Todo) -> Ordering {
        let is_later = |todo: &Todo| self.prefers_in_progress && todo.status != Status::InProgress;
        is_later(a).cmp(&is_later(b)).then_with(|| (self.by)(a, b))
    }
}

fn next_in_order(snapshot: &Snapshot, now: Time) -> Option<&Todo> {
    let ready = incomplete(snapshot, now);
    let begun = ready
        .iter()
        .filter(|_| policy(snapshot.list.kind()).prefers_in_progress)
        .find(|todo| todo.status == Status::InProgress);
    begun.or_else(|| ready.first()).copied()
}

fn by_position(a: &Todo, b: &Todo) -> Ordering {
    a.position.cmp(&b.position).then_with(|| age(a, b))
}

fn by_priority(a: &Todo, b: &Todo) -> Ordering {
    a.priority.cmp(&b.priority).then_with(|| by_position(a, b))
}

fn age(a: &Todo, b: &Todo) -> Ordering {
    a.created_at.cmp(&b.created_at).then(a.id.cmp(&b.id))
}

/// The place of an item in its phase: position, then age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) position: i64,
    pub(crate) created_at: Time,
    pub(crate) id: TodoId,
}

impl Place {
    pub(crate) const fn of(todo: &Todo) -> Self {
        Self { position: todo.position, created_at: todo.created_at, id: todo.id }
    }
}

/// The phase an item is shown under, normalised for comparison. A criterion has none.
pub(crate) fn phase_of(todo: &Todo) -> Option<String> {
    let phase = todo.phase.as_deref().filter(|_| todo.kind == TodoKind::Step).map(normalised);
    phase.filter(|phase| !phase.is_empty())
}

/// Phases in the order of their first items; items without a phase come first. New items come last,
/// so this is the order in which the phases appeared, until somebody moves items.
fn phase_ranks(todos: &[&Todo]) -> BTreeMap<String, Place> {
    let mut ranks = BTreeMap::new();
    for todo in todos {
        if let Some(phase) = phase_of(todo) {
            let first = ranks.entry(phase).or_insert(Place::of(todo));
            *first = (*first).min(Place::of(todo));
        }
    }
    ranks
}

/// Parents before children, siblings by position, each with the index of its parent in this order.
/// An item whose parent is not loaded or not in view is at the top; a cycle is cut at its first
/// item.
///
/// Each item is read once and its sort keys are copied into one place: the items of a long list do
/// not fit the CPU cache, so reading them again and again would be slow.
pub(crate) fn pre_order(snapshot: &Snapshot) -> Vec<(&Todo, Option<usize>)> {
    let in_view = |todo: &&Todo| todo.removed_at.is_none();
    // In the order of their ids, as in the map.
    let todos: Vec<&Todo> = snapshot.todos.values().filter(in_view).collect();
    let ids: Vec<TodoId> = todos.iter().map(|todo| todo.id).collect();
    let row = |id: TodoId| ids.binary_search(&id).ok();
    let mut siblings: Vec<(Option<usize>, Place, usize)> = todos
        .iter()
        .enumerate()
        .map(|(at, todo)| (todo.parent_id.and_then(row), Place::of(todo), at))
        .collect();
    siblings.sort_unstable();
    // The index of each item's first child; those at the top come first.
    let mut first_child = vec![siblings.len(); todos.len() + 1];
    for (index, (parent, ..)) in siblings.iter().enumerate().rev() {
        first_child[parent.map_or(0, |parent| parent + 1)] = index;
    }
    let mut result = Vec::with_capacity(todos.len());
    let mut shown = vec![false; todos.len()];
    // The next sibling on each level, and the place of their parent in the result.
    let mut open = vec![(first_child[0], None, None)];
    let mut rest = siblings.iter();
    loop {
        while let Some((index, parent, place)) = open.pop() {
            let Some((_, _, at)) = siblings.get(index).filter(|(of, ..)| *of == parent) else {
                continue;
            };
            open.push((index + 1, parent, place));
            if std::mem::replace(&mut shown[*at], true) {
                continue;
            }
            open.push((first_child[at + 1], Some(*at), Some(result.len())));
            result.push((todos[*at], place));
        }
        // The remaining items form a cycle, which can only come from outside. They are not hidden:
        // the first item of the cycle is put at the top.
        let Some((_, _, at)) = rest.find(|(_, _, at)| !shown[*at]) else {
            return result;
        };
        shown[*at] = true;
        open.push((first_child[at + 1], Some(*at), Some(result.len())));
        result.push((todos[*at], None));
    }
}
