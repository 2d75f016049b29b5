//! The length limit of the lists of issues and sessions. Longer lists from before lose nothing.

use punchlist_core::command::{
    CancelTodo, Command, CompleteTodo, CreateTodos, EditChecklist, ImportTodos, ListedTodo,
    NewTodo, ReopenTodo, ReplaceTodos,
};
use punchlist_core::issue::checklist::{Notes, parse};
use punchlist_core::policy::OPEN_MAX;
use punchlist_core::text::{Content, Title};
use punchlist_core::{ListKind, Refusal, Role, Status, TodoId, apply};

use crate::world::World;

const LIMIT: usize = OPEN_MAX as usize;

fn lines(mark: &str, range: std::ops::Range<usize>) -> String {
    range.map(|n| format!("- [{mark}] item {n}\n")).collect()
}

fn import(text: &str) -> ImportTodos {
    ImportTodos { lines: parse(text).unwrap() }
}

fn titles(range: std::ops::Range<usize>) -> Vec<NewTodo> {
    range.map(|n| NewTodo::titled(Title::new(&format!("item {n}")).unwrap())).collect()
}

fn listed(range: std::ops::Range<usize>) -> ReplaceTodos {
    let item = |n: usize| ListedTodo::titled(Content::new(&format!("item {n}")).unwrap());
    ReplaceTodos { items: range.map(item).collect() }
}

fn full(open: u64, added: u64) -> Refusal {
    Refusal::ListFull { limit: OPEN_MAX, open, added }
}

/// A list with this many open items, as if from before the limit.
fn with(kind: ListKind, count: usize) -> World {
    let mut world = World::new(kind);
    for start in (0..count).step_by(LIMIT) {
        let mut part = World::new(kind);
        part.ok(Role::Root, CreateTodos { items: titles(start..count.min(start + LIMIT)) });
        for (event, at) in &part.log {
            let mut event = event.clone();
            // Each world generates the same ids.
            if let punchlist_core::Event::TodoCreated(created) = &mut event {
                created.todo.position += i64::try_from(start).unwrap();
                let seed = u128::try_from(created.todo.position).unwrap() << 64;
                created.todo.id = TodoId::from(punchlist_core::Ids::new(*at, seed).ulid());
                apply(&mut world.state, &event, *at);
            }
        }
    }
    assert_eq!(world.state.tally.open(), count as u64);
    world
}

#[test]
fn every_way_to_add_stops_at_the_limit() {
    let edit = |text: &str| EditChecklist {
        lines: parse(text).unwrap(),
        notes: Notes::new(),
        basis: None,
    };
    let ways: [(Command, Command); 4] = [
        (import(&lines(" ", 0..LIMIT)).into(), import(&lines(" ", 0..LIMIT + 1)).into()),
        (
            CreateTodos { items: titles(0..LIMIT) }.into(),
            CreateTodos { items: titles(0..LIMIT + 1) }.into(),
        ),
        (listed(0..LIMIT).into(), listed(0..LIMIT + 1).into()),
        (edit(&lines(" ", 0..LIMIT)).into(), edit(&lines(" ", 0..LIMIT + 1)).into()),
    ];
    for (fits, too_long) in ways {
        let mut world = World::new(ListKind::Issue);
        assert_eq!(world.refused(Role::Operator, too_long), full(0, OPEN_MAX + 1));
        world.ok(Role::Operator, fits);
        assert_eq!(world.state.tally.open(), OPEN_MAX);
        let one = CreateTodos { items: titles(9_999..10_000) };
        assert_eq!(world.refused(Role::Operator, one), full(OPEN_MAX, 1));
    }
    let mut session = World::new(ListKind::Session);
    assert_eq!(session.refused(Role::Root, listed(0..LIMIT + 1)), full(0, OPEN_MAX + 1));
    session.ok(Role::Root, listed(0..LIMIT));
    // The same number of other items replaces them.
    session.ok(Role::Root, listed(LIMIT..2 * LIMIT));
    assert_eq!(session.state.tally.open(), OPEN_MAX);
}

/// Items settled at once are not open, but one call still adds no more than the limit.
#[test]
fn one_call_adds_no_more_than_the_limit_whatever_it_settles() {
    let mut world = World::new(ListKind::Issue);
    let refusal = world.refused(Role::Operator, import(&lines("-", 0..LIMIT + 1)));
    assert_eq!(refusal, full(0, OPEN_MAX + 1));
    world.ok(Role::Operator, import(&lines("-", 0..LIMIT)));
    world.ok(Role::Operator, import(&lines(" ", 0..LIMIT)));
    assert_eq!(world.state.tally.total(), 2 * OPEN_MAX);
}

/// A list from before the limit can be worked off like any other; it only cannot grow.
#[test]
fn a_longer_list_can_be_settled_and_shortened_but_not_extended() {
    let count = LIMIT + 500;
    for kind in [ListKind::Issue, ListKind::Session] {
        let mut world = with(kind, count);
        let open = count as u64;
        let one = || CreateTodos { items: titles(9_000..9_001) };
        assert_eq!(world.refused(Role::Root, one()), full(open, 1));
        let ids: Vec<TodoId> = world.state.todos.keys().copied().take(3).collect();
        let (evidence, metrics_impacted) = (Vec::new(), Vec::new());
        let complete = CompleteTodo { todo_id: ids[0], outcome: None, evidence, metrics_impacted };
        world.ok(Role::Root, complete);
        world.ok(Role::Root, CancelTodo { todo_id: ids[1], outcome: None });
        assert_eq!(world.state.tally.open(), open - 2);
        assert_eq!(world.refused(Role::Root, one()), full(open - 2, 1));
        // Shorter than before, but still too long.
        world.ok(Role::Root, listed(0..LIMIT + 100));
        assert!(world.state.tally.open() < open - 2);
        if kind == ListKind::Issue {
            let again = ReopenTodo { todo_id: ids[0], reason: Some("again".to_owned()) };
            let refusal = world.refused(Role::Operator, again);
            assert!(matches!(refusal, Refusal::ListFull { .. }), "{refusal:?}");
        }
    }
}

/// Plans, turns and pillars have limits of their own, or none.
#[test]
fn other_lists_have_no_such_limit() {
    for kind in [ListKind::Turn, ListKind::Plan] {
        let mut world = World::new(kind);
        world.ok(Role::Root, CreateTodos { items: titles(0..LIMIT + 1) });
    }
}

/// Look-ups by text use an index: ten times the lines take about ten times as long, not a hundred
/// times. The results do not change.
#[test]
fn listed_texts_are_found_quickly_in_long_lists() {
    let mut world = World::new(ListKind::Issue);
    world.ok(Role::Operator, import(&lines(" ", 0..LIMIT)));
    let again = world.ok(Role::Operator, import(&lines(" ", 0..LIMIT)));
    assert_eq!((again.events.len(), again.warnings.len()), (0, LIMIT));
    // An item is found by its new text, and no longer by its old one.
    let first = world.state.todos.values().find(|todo| todo.title == "item 1").unwrap().id;
    world.ok(Role::Root, CancelTodo { todo_id: first, outcome: None });
    let back = world.ok(Role::Operator, import("- [ ] item 1\n- [ ] item  2\n"));
    assert_eq!(back.warnings.len(), 1);
    assert_eq!(world.state.todos.values().filter(|todo| todo.title == "item 1").count(), 2);
    assert_eq!(world.state.todos[&first].status, Status::Cancelled);
}
