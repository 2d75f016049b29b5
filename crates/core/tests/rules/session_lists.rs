//! Session lists: replacing the whole list by a model's own ids, the next item, and cancelled
//! items.

use proptest::prelude::*;
use punchlist_core::command::{
    CancelTodo, CreateTodos, HandOnTodos, HoldTodo, ListedTodo, NewTodo, ReplaceTodos, StartTodo,
};
use punchlist_core::issue::progress;
use punchlist_core::select::{incomplete, next};
use punchlist_core::session;
use punchlist_core::text::{Body, Content, Title};
use punchlist_core::todo::{HoldKind, Priority};
use punchlist_core::{
    Decision, ListKind, Refusal, Role, Snapshot, Status, Todo, TodoKind, Warning,
};

use crate::world::{World, actor};
use Priority::{High, Low, Medium};
use Status::{Cancelled, Completed, InProgress, Pending};

fn content(text: &str) -> Content {
    Content::new(text).unwrap()
}

fn item(id: &str, text: &str) -> ListedTodo {
    ListedTodo { external_id: Some(id.to_owned()), ..ListedTodo::titled(content(text)) }
}

fn stated(id: &str, text: &str, status: Status) -> ListedTodo {
    ListedTodo { status: Some(status), ..item(id, text) }
}

fn ranked(id: &str, text: &str, priority: Priority) -> ListedTodo {
    ListedTodo { priority: Some(priority), ..item(id, text) }
}

fn write(world: &mut World, items: &[ListedTodo]) -> Decision {
    world.ok(Role::Root, ReplaceTodos { items: items.to_vec() })
}

fn refused(world: &mut World, items: &[ListedTodo]) -> Refusal {
    let before = world.state.clone();
    let refusal = world.refused(Role::Root, ReplaceTodos { items: items.to_vec() });
    assert_eq!(before, world.state);
    refusal
}

fn in_view(state: &Snapshot) -> Vec<&Todo> {
    let mut todos: Vec<&Todo> = state.todos.values().collect();
    todos.retain(|todo| todo.removed_at.is_none());
    todos.sort_by_key(|todo| (todo.position, todo.created_at, todo.id));
    todos
}

/// Id, title, status and whether it is held, in list order.
fn shown(state: &Snapshot) -> Vec<(String, String, Status, bool)> {
    let one = |todo: &Todo| (todo.called(), todo.title.clone(), todo.status, todo.hold.is_some());
    in_view(state).into_iter().map(one).collect()
}

fn row(id: &str, text: &str, status: Status) -> (String, String, Status, bool) {
    (id.to_owned(), text.to_owned(), status, false)
}

#[test]
fn the_same_id_is_the_same_row_and_left_out_items_are_cancelled_by_the_writer() {
    // S-9, X-9, X-10, F-15
    let mut world = World::new(ListKind::Session);
    let first = [ranked("1", "a", High), stated("2", "b", InProgress), item("3", "c")];
    write(&mut world, &first);
    let rows = [row("1", "a", Pending), row("2", "b", InProgress), row("3", "c", Pending)];
    assert_eq!(shown(&world.state), rows);
    let before: Vec<_> = in_view(&world.state).iter().map(|todo| todo.id).collect();
    // Another title, place and status; the priority is not repeated.
    write(&mut world, &[stated("2", "b", Completed), stated("1", "a, better", InProgress)]);
    let todos = in_view(&world.state);
    let (a, b, c) = (&world.state.todos[&before[0]], &world.state.todos[&before[1]], todos[2]);
    assert_eq!((a.title.as_str(), a.status, a.priority), ("a, better", InProgress, High));
    assert_eq!((b.status, c.status, c.id), (Completed, Cancelled, before[2]));
    let by = c.settled_by.as_ref().unwrap();
    assert_eq!((by.role, by.principal.as_str()), (Role::Root, "root:primary"));
    assert_eq!(c.outcome.as_deref(), Some("left out of the new list"));
    // Completed items need not be repeated, and are not cancelled for that.
    write(&mut world, &[item("1", "a, better")]);
    assert_eq!(world.state.todos[&before[1]].status, Completed);
    assert_eq!(world.state.todos.len(), 3);
    // The same list again changes nothing.
    assert_eq!(write(&mut world, &[item("1", "a, better")]), Decision::default());
}

#[test]
fn a_settled_row_is_final_and_a_new_row_takes_its_id() {
    // at most one item in view has an id, whatever a model does with it.
    let said = ["none", "pending", "in_progress", "completed", "cancelled"];
    for settled in [Completed, Cancelled] {
        for (n, said) in said.into_iter().enumerate() {
            for text in ["a", "b"] {
                let mut world = World::new(ListKind::Session);
                write(&mut world, &[stated("1", "a", settled)]);
                let old = in_view(&world.state)[0].id;
                let status = Status::parse(said);
                write(&mut world, &[ListedTodo { status, ..item("1", text) }]);
                let stays =
                    text == "a" && (status == Some(settled) || (n == 0 && settled == Completed));
                let expected = status.unwrap_or(if stays { settled } else { Pending });
                assert_eq!(shown(&world.state), [row("1", text, expected)], "{settled} {said}");
                assert_eq!(in_view(&world.state)[0].id == old, stays, "{settled} {said} {text}");
                assert_eq!(world.state.todos[&old].status, settled, "no row is reopened");
            }
        }
    }
}

#[test]
fn items_without_an_id_are_matched_by_title_and_get_an_id() {
    //
    let mut world = World::new(ListKind::Session);
    let plain = |text: &str| ListedTodo::titled(content(text));
    write(&mut world, &[plain("a"), plain("b")]);
    let ids: Vec<_> = in_view(&world.state).iter().map(|todo| todo.id).collect();
    for todo in in_view(&world.state) {
        assert_eq!(todo.external_id.as_deref(), Some(todo.id.to_string().as_str()));
    }
    let done = ListedTodo { status: Some(Completed), ..plain(" a ") };
    write(&mut world, &[plain("b"), done]);
    let a = &world.state.todos[&ids[0]];
    assert_eq!((a.status, world.state.todos.len()), (Completed, 2));
    // A given id names the row; an item with an id is matched before one without.
    let own = ids[1].to_string();
    write(&mut world, &[plain("b"), stated(&own, "b, too", InProgress)]);
    assert_eq!(world.state.todos[&ids[1]].status, InProgress);
    assert_eq!(world.state.todos.len(), 3);
}

#[test]
fn at_most_one_is_in_progress_and_the_refusal_names_both() {
    //
    let mut world = World::new(ListKind::Session);
    let two = [stated("1", "a", InProgress), item("2", "b"), stated("3", "c", InProgress)];
    let titles = vec!["a".to_owned(), "c".to_owned()];
    assert_eq!(refused(&mut world, &two), Refusal::SeveralInProgress { titles });
    write(&mut world, &[stated("1", "a", InProgress), item("2", "b")]);
    // An item without a status stays in progress, and counts.
    let refusal = refused(&mut world, &[item("1", "a"), stated("2", "b", InProgress)]);
    assert_eq!(refusal.code(), "one_in_progress");
    // The same list can free the place, also by leaving the item out.
    write(&mut world, &[stated("2", "b", InProgress), stated("1", "a", Pending)]);
    write(&mut world, &[stated("1", "a", InProgress)]);
    let rows = [row("1", "a", InProgress), row("2", "b", Cancelled)];
    assert_eq!(shown(&world.state), rows);
    let same = [item("1", "a"), item("1", "b")];
    assert_eq!(refused(&mut world, &same), Refusal::DuplicateId { id: "1".to_owned() });
}

#[test]
fn blank_items_are_skipped_and_a_list_of_only_blank_items_is_empty() {
    // S-28, S-29
    let mut world = World::new(ListKind::Session);
    let blank = |id: &str| ListedTodo { title: None, ..item(id, "x") };
    let decision = write(&mut world, &[blank("1"), item("2", "b"), ListedTodo::default()]);
    assert_eq!(decision.warnings, [Warning::Blank { number: 1 }, Warning::Blank { number: 3 }]);
    assert_eq!(shown(&world.state), [row("2", "b", Pending)]);
    // A known id without a title keeps its title.
    write(&mut world, &[ListedTodo { status: Some(InProgress), ..blank("2") }]);
    assert_eq!(shown(&world.state), [row("2", "b", InProgress)]);
    let mut world = World::new(ListKind::Session);
    let decision = write(&mut world, &[blank("1"), blank("2")]);
    assert_eq!((decision.events.len(), decision.warnings.len()), (0, 2));
    assert_eq!(incomplete(&world.state, world.now), [] as [&Todo; 0]);
    assert_eq!(next(&world.state, world.now), None);
}

#[test]
fn of_conflicting_items_the_higher_then_the_earlier_wins_and_the_other_is_held() {
    // S-30, Q-S3
    let against = |id: &str, text: &str, other: &str| ListedTodo {
        conflicts_with: Some(other.to_owned()),
        ..item(id, text)
    };
    let high = |id: &str, text: &str| ranked(id, text, High);
    for (items, held) in [
        (vec![item("1", "a"), item("2", " a  ")], vec!["2"]),
        (vec![item("1", "a"), high("2", "a")], vec!["1"]),
        (vec![item("1", "a"), item("2", "A")], vec![]),
        (vec![item("1", "a"), against("2", "b", "1")], vec!["2"]),
        (vec![against("1", "a", "2"), high("2", "b")], vec!["1"]),
        (vec![against("1", "a", "1")], vec![]),
        // A settled item conflicts with nothing.
        (vec![stated("1", "a", Completed), item("2", "a")], vec![]),
        // A loser conflicts with no further item.
        (vec![high("1", "a"), against("2", "b", "1"), against("3", "c", "2")], vec!["2"]),
        (vec![stated("1", "a", InProgress), high("2", "a")], vec!["1"]),
    ] {
        let mut world = World::new(ListKind::Session);
        let decision = write(&mut world, &items);
        let found: Vec<_> = shown(&world.state).into_iter().filter(|row| row.3).collect();
        let ids: Vec<_> = found.iter().map(|row| row.0.as_str()).collect();
        assert_eq!(ids, held, "{items:?}");
        assert_eq!(decision.warnings.len(), held.len());
        assert!(found.iter().all(|row| row.2 == Pending), "it waits: {found:?}");
        assert_eq!(
            incomplete(&world.state, world.now).iter().filter(|t| t.hold.is_some()).count(),
            0
        );
    }
    let mut world = World::new(ListKind::Session);
    let refusal = refused(&mut world, &[against("1", "a", "9")]);
    assert_eq!(refusal.code(), "unknown_todo");
    // The message names both; the hold ends with the conflict.
    let decision = write(&mut world, &[item("1", "a"), against("2", "b", "1")]);
    assert_eq!(
        decision.warnings[0].to_string(),
        "`b` conflicts with `a`, which comes first. Held."
    );
    let hold = in_view(&world.state)[1].hold.clone().unwrap();
    assert_eq!(hold.reason, "conflicts with `a`, which comes first");
    let done = [
        stated("1", "a", Completed),
        ListedTodo { status: Some(InProgress), ..against("2", "b", "1") },
    ];
    write(&mut world, &done);
    assert_eq!(shown(&world.state), [row("1", "a", Completed), row("2", "b", InProgress)]);
}

#[test]
fn a_hold_set_by_somebody_stays_and_a_held_item_is_not_started() {
    // D-19, Q-S3
    let mut world = World::new(ListKind::Session);
    write(&mut world, &[item("1", "a"), item("2", "b")]);
    let todo_id = in_view(&world.state)[0].id;
    let reason = Body::new("two tries: no network").unwrap();
    world.ok(Role::Root, HoldTodo { todo_id, kind: HoldKind::Failed, reason, until: None });
    assert_eq!(refused(&mut world, &[stated("1", "a", InProgress)]).code(), "held");
    write(&mut world, &[item("1", "a"), item("2", "a")]);
    let holds: Vec<_> =
        in_view(&world.state).iter().map(|t| t.hold.as_ref().map(|hold| hold.kind)).collect();
    assert_eq!(holds, [Some(HoldKind::Failed), Some(HoldKind::Blocked)]);
    // Open, but not actionable; it can still be completed.
    assert_eq!(next(&world.state, world.now), None);
    write(&mut world, &[stated("1", "a", Completed), item("2", "a")]);
    assert_eq!(next(&world.state, world.now).map(|todo| todo.called()).as_deref(), Some("2"));
}

#[test]
fn the_next_item_is_chosen_by_priority_and_then_by_list_order() {
    // S-10, S-11, D-20: a high pending item comes before a medium one in progress.
    for (items, expected) in [
        (vec![ranked("1", "a", Low), ranked("2", "b", Medium), ranked("3", "c", High)], "321"),
        (vec![ranked("1", "a", High), ranked("2", "b", High)], "12"),
        (vec![stated("1", "a", InProgress), ranked("2", "b", High)], "21"),
        (vec![item("2", "b"), stated("1", "a", InProgress)], "21"),
        (vec![stated("1", "a", Completed), stated("2", "b", Cancelled), item("3", "c")], "3"),
        (vec![stated("1", "a", Completed)], ""),
    ] {
        let mut world = World::new(ListKind::Session);
        write(&mut world, &items);
        let found: Vec<String> =
            incomplete(&world.state, world.now).iter().map(|todo| todo.called()).collect();
        assert_eq!(found.concat(), expected);
        let first = next(&world.state, world.now).map(|todo| todo.called());
        assert_eq!(first, found.into_iter().next());
    }
}

#[test]
fn in_other_lists_the_item_in_progress_comes_first() {
    // D-20
    for kind in [ListKind::Turn, ListKind::Issue] {
        let mut world = World::new(kind);
        let ids = world.create(&["a", "b"]);
        world.ok(Role::Operator, StartTodo { todo_id: ids[1], reason: None });
        assert_eq!(next(&world.state, world.now).map(|todo| todo.id), Some(ids[1]), "{kind}");
    }
}

#[test]
fn counts_selection_and_driver_agree_that_nothing_is_left() {
    // D-17: counts, the next item and the reason to stop all use the same predicate.
    let mut world = World::new(ListKind::Session);
    write(&mut world, &[item("1", "a"), item("2", "a"), item("3", "c")]);
    let todo = in_view(&world.state)[2].id;
    // A row without a title can only come from outside; it is not actionable.
    world.state.todos.get_mut(&todo).unwrap().title = "  ".to_owned();
    let found: Vec<String> =
        incomplete(&world.state, world.now).iter().map(|todo| todo.called()).collect();
    assert_eq!(found, ["1"]);
}

#[test]
fn a_list_limits_the_items_in_view_and_loses_no_row() {
    // S-24
    let mut world = World::new(ListKind::Session);
    for round in 0..12 {
        let id = |n: usize| format!("{round}-{n}");
        let items: Vec<_> = (0..100).map(|n| item(&id(n), &id(n))).collect();
        write(&mut world, &items);
    }
    let in_view = in_view(&world.state);
    assert_eq!((in_view.len(), world.state.todos.len()), (1000, 1200));
    assert_eq!(incomplete(&world.state, world.now).len(), 100, "open ones never leave the view");
    assert!(in_view.iter().all(|todo| !todo.called().starts_with("0-")), "the oldest go first");
}

#[test]
fn items_cancelled_by_an_agent_are_visible() {
    // P-9, F-15: the agent's own cancellations count, a person's do not.
    let (mine, yours) = (Role::Root, Role::Operator);
    let cases = [
        (vec![], None),
        (vec![(yours, 0)], None),
        (vec![(mine, 0), (mine, 1), (mine, 2)], Some("3 of 5 cancelled by the agent")),
        (vec![(mine, 0), (yours, 1)], Some("1 of 5 cancelled by the agent")),
    ];
    for kind in [ListKind::Session, ListKind::Issue, ListKind::Turn] {
        for (cancelled, expected) in &cases {
            let mut world = World::new(kind);
            let ids = world.create(&["a", "b", "c", "d", "e"]);
            for (role, n) in cancelled {
                let outcome = Some("no".to_owned());
                world.ok(*role, CancelTodo { todo_id: ids[*n], outcome });
            }
            assert_eq!(progress::given_up(&world.state).as_deref(), *expected, "{kind}");
        }
    }
    // Leaving an item out cancels it; an item that comes back under its id was not given up.
    let mut world = World::new(ListKind::Session);
    write(&mut world, &[item("1", "a"), item("2", "b"), item("3", "c")]);
    write(&mut world, &[item("3", "c")]);
    assert_eq!(progress::given_up(&world.state).unwrap(), "2 of 3 cancelled by the agent");
    write(&mut world, &[item("1", "a"), item("3", "c")]);
    assert_eq!(progress::given_up(&world.state).unwrap(), "1 of 3 cancelled by the agent");
}

#[test]
fn handing_on_keeps_settled_items_and_cancels_nothing() {
    //
    let mut world = World::new(ListKind::Session);
    let begun = ListedTodo { status: Some(InProgress), ..ranked("2", "b", Low) };
    let items = [
        stated("1", "a", Completed),
        begun,
        item("3", "c"),
        item("4", "c"),
        ranked("5", "e", High),
        item("6", "d"),
    ];
    write(&mut world, &items);
    let mut checklist = World::new(ListKind::Issue);
    checklist.create(&["d"]);
    let steps = session::steps(&world.state, &checklist.state).unwrap();
    let told: Vec<_> = steps
        .iter()
        .map(|step| (step.item.title.as_str(), step.item.priority, step.is_begun))
        .collect();
    let expected = [("e", High, false), ("c", Medium, false), ("b", Low, true)];
    assert_eq!(told, expected);
    assert!(steps.iter().all(|step| step.hold.is_none()));
    // An item that is also a criterion would be lost, so nothing is handed on.
    let mut judged = World::new(ListKind::Issue);
    let criterion =
        NewTodo { kind: TodoKind::Criterion, ..NewTodo::titled(Title::new("e").unwrap()) };
    judged.ok(Role::Operator, CreateTodos { items: vec![criterion] });
    let refused = session::steps(&world.state, &judged.state).unwrap_err();
    assert_eq!(refused, Refusal::DuplicateText { text: "e".to_owned() });
    world.ok(Role::Root, HandOnTodos { to: Title::new("issue #7").unwrap() });
    assert_eq!(shown(&world.state), [row("1", "a", Completed)]);
    assert_eq!(progress::given_up(&world.state), None);
    let handed = world.state.todos.values().filter(|todo| todo.removed_at.is_some());
    assert!(handed.clone().all(|todo| todo.outcome.as_deref() == Some("handed on to issue #7")));
    assert_eq!(handed.count(), 5);
    assert_eq!(
        world.refused(Role::Worker, HandOnTodos { to: Title::new("x").unwrap() }).code(),
        "not_permitted"
    );
}

fn any_item() -> impl Strategy<Value = ListedTodo> {
    let status = prop::sample::select(vec![
        None,
        Some(Pending),
        Some(InProgress),
        Some(Completed),
        Some(Cancelled),
    ]);
    let priority = prop::sample::select(vec![None, Some(High), Some(Medium), Some(Low)]);
    let id = || proptest::option::of((0..6u8).prop_map(|n| format!("own-{n}")));
    let title = proptest::option::of((0..5u8).prop_map(|n| content(&format!("item {n}"))));
    let conflicts_with = proptest::option::weighted(0.1, (0..6u8).prop_map(|n| format!("own-{n}")));
    (id(), title, status, priority, conflicts_with).prop_map(
        |(external_id, title, status, priority, conflicts_with)| ListedTodo {
            external_id,
            title,
            phase: None,
            status,
            priority,
            conflicts_with,
        },
    )
}

/// Something that happens to the list besides the model's writes.
fn any_between() -> impl Strategy<Value = Option<(usize, bool)>> {
    proptest::option::weighted(0.3, (0..6usize, any::<bool>()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// S-9, S-11, S-28, Q-S3, X-4, X-9: for any writes of a model, in any order.
    #[test]
    fn any_lists_keep_the_invariants(
        rounds in proptest::collection::vec((proptest::collection::vec(any_item(), 0..7), any_between()), 1..14)
    ) {
        let mut world = World::new(ListKind::Session);
        for (items, between) in rounds {
            if let Some((which, starts)) = between
                && let Some(todo_id) = world.state.todos.keys().nth(which).copied()
            {
                let reason = Body::new("no key").unwrap();
                // A refusal is fine; the invariants must be kept either way.
                let _ = if starts {
                    world.run(&actor(Role::Root), StartTodo { todo_id, reason: None })
                } else {
                    world.run(&actor(Role::Root), HoldTodo { todo_id, kind: HoldKind::Blocked, reason, until: None })
                };
            }
            let before = world.state.clone();
            let written = world.run(&actor(Role::Root), ReplaceTodos { items: items.clone() });
            let after = &world.state;
            if written.is_err() {
                prop_assert_eq!(&before, after);
                continue;
            }
            let begun = after.todos.values().filter(|todo| todo.status == InProgress).count();
            prop_assert!(begun <= 1);
            for (id, todo) in &before.todos {
                let now = &after.todos[id];
                prop_assert!(!todo.status.is_settled() || now.status == todo.status);
            }
            let ids: std::collections::BTreeSet<_> =
                in_view(after).iter().map(|todo| todo.called()).collect();
            prop_assert_eq!(ids.len(), in_view(after).len(), "one item in view for each id");
            prop_assert!(in_view(after).len() <= 1000);
            let open = after.todos.values().filter(|todo| !todo.status.is_settled());
            prop_assert!(open.clone().all(|todo| todo.removed_at.is_none()));
            prop_assert!(open.count() <= items.len(), "what is not on the list is not open");
            let ready = incomplete(after, world.now);
            let texts: std::collections::BTreeSet<_> =
                ready.iter().map(|todo| todo.title.as_str()).collect();
            prop_assert_eq!(texts.len(), ready.len(), "no two of the same words are to be done");
            prop_assert_eq!(next(after, world.now), ready.first().copied());
        }
    }
}

#[test]
fn a_models_ids_are_matched_only_in_lists_addressed_by_them() {
    // An issue's list is addressed by text: a model's ids are ignored for matching.
    let mut world = World::new(ListKind::Issue);
    world.ok(Role::Root, CreateTodos { items: vec![NewTodo::titled(content("a"))] });
    write(&mut world, &[item("1", "b"), item("2", "a")]);
    let titles: Vec<_> = in_view(&world.state).iter().map(|t| t.title.clone()).collect();
    assert_eq!((titles.concat().as_str(), world.state.todos.len()), ("ba", 2));
}
