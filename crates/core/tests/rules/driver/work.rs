//! The driver's summary of its lists.

use proptest::prelude::*;
use punchlist_core::driver::Work;
use punchlist_core::{ListKind, Snapshot, Status, Time, Todo, select};

use super::case::{claim, hold, list, settle, with};
use crate::world::World;

/// A state of an item, besides pending.
pub(crate) const CHANGES: [fn(&mut Todo); 9] = [
    |_| {},
    |todo| todo.status = Status::InProgress,
    settle,
    |todo| todo.status = Status::Cancelled,
    |todo| todo.status = Status::Backlog,
    hold,
    claim,
    |todo| todo.defer_until = Some(Time::parse("2030-01-01T00:00:00Z").unwrap()),
    |todo| todo.title = "\u{2003} ".to_owned(),
];

/// Any list: items in any state, some below others.
pub(crate) fn any_list(items: &[(usize, usize)]) -> Snapshot {
    let titles: Vec<String> = (0..items.len()).map(|n| format!("item {n}")).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut snapshot = list(&titles);
    let ids: Vec<_> = snapshot.todos.keys().copied().collect();
    for (index, (change, parent)) in items.iter().enumerate() {
        with(&mut snapshot, index, |todo| {
            CHANGES[change % CHANGES.len()](todo);
            // Parents are always earlier items.
            todo.parent_id = ids[..index].get(*parent).copied();
        });
    }
    snapshot
}

/// S-11, D-20: high before medium before low, then the list's order; but an item that a turn has
/// started comes first.
#[test]
fn the_selector_chooses_the_next_item() {
    let mut world = World::new(ListKind::Session);
    world.create(&["low", "medium", "high", "high too"]);
    let priorities = ["low", "medium", "high", "high"];
    for (index, name) in priorities.iter().enumerate() {
        let priority = punchlist_core::todo::Priority::parse(name).unwrap();
        with(&mut world.state, index, |todo| todo.priority = priority);
    }
    let next = |state: &Snapshot| Work::of([state], world.now).next.unwrap().title;
    assert_eq!(next(&world.state), "high");
    with(&mut world.state, 2, settle);
    assert_eq!(next(&world.state), "high too");
    with(&mut world.state, 3, hold);
    assert_eq!(next(&world.state), "medium");
}

/// the first list with actionable items gives the next item; all lists are counted.
#[test]
fn x_7_the_most_urgent_list_comes_first() {
    let (turn, session) = (list(&["a"]), list(&["b", "c"]));
    let now = turn.list.created_at;
    let work = Work::of([&turn, &session], now);
    assert_eq!((work.actionable, work.next.unwrap().title.as_str()), (3, "a"));
    let mut done = turn;
    with(&mut done, 0, settle);
    let work = Work::of([&done, &session], now);
    assert_eq!((work.actionable, work.next.unwrap().title.as_str()), (2, "b"));
    assert_eq!((work.total, work.settled), (3, 1));
}

proptest! {
    /// P-1, P-4, S-10, S-28, D-17: in any list, items that are held, claimed, deferred, blank or
    /// above open items are not counted, and the next item is one of the counted.
    #[test]
    fn only_actionable_items_count(
        items in prop::collection::vec((0..CHANGES.len(), 0..8_usize), 0..12),
    ) {
        let list = any_list(&items);
        let now = Time::parse("2026-11-15T09:00:00Z").unwrap();
        let work = Work::of([&list], now);
        let is_open = |todo: &Todo| !todo.status.is_settled();
        let has_open_below = |todo: &Todo| {
            list.todos.values().any(|below| below.parent_id == Some(todo.id) && is_open(below))
        };
        let ready = |todo: &Todo| {
            matches!(todo.status, Status::Pending | Status::InProgress)
                && todo.hold.is_none()
                && todo.claim.is_none()
                && todo.defer_until.is_none()
                && !todo.title.trim().is_empty()
                && !has_open_below(todo)
        };
        let count = list.todos.values().filter(|todo| ready(todo)).count();
        prop_assert_eq!(work.actionable, count);
        prop_assert_eq!(work.next.is_some(), count > 0);
        if let Some(next) = &work.next {
            prop_assert!(ready(&list.todos[&next.id]));
        }
        prop_assert_eq!(work.total, list.todos.len());
        prop_assert!(select::ordered(&list).len() == list.todos.len());
    }

    /// F-14: any change of an item changes the fingerprint, except a start by the driver itself.
    #[test]
    fn every_change_of_an_item_changes_the_fingerprint(
        items in prop::collection::vec((0..CHANGES.len(), 0..8_usize), 1..8),
        at in 0..8_usize,
        change in 0..7_usize,
    ) {
        let before = any_list(&items);
        let mut after = before.clone();
        let at = at % items.len();
        with(&mut after, at, CHANGES[change]);
        let now = Time::parse("2026-11-15T09:00:00Z").unwrap();
        let (old, new) = (Work::of([&before], now), Work::of([&after], now));
        let told = |list: &Snapshot| {
            let todo = list.todos.values().nth(at).unwrap();
            (todo.status, todo.hold.is_some(), todo.claim.is_some())
        };
        let is_mark = old.next.as_ref().map(|next| next.id) == new.next.as_ref().map(|next| next.id)
            && new.next.as_ref().is_some_and(|next| after.todos.keys().nth(at) == Some(&next.id));
        if told(&before) == told(&after) {
            prop_assert_eq!(old.fingerprint, new.fingerprint);
        } else if !is_mark {
            prop_assert_ne!(old.fingerprint, new.fingerprint);
        }
    }
}
