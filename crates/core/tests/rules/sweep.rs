//! What a cycle does to the list of a pillar: late, stale and long settled items, each once.

use punchlist_core::command::{
    CancelTodo, ClaimTodo, CompleteTodo, CreateTodos, DeferTodo, NewTodo, ReviseTodo, StartTodo,
    SweepTodos,
};
use punchlist_core::deadline::Deadline;
use punchlist_core::mission::{OverduePending, escalation, warning};
use punchlist_core::text::Title;
use punchlist_core::{Event, ListKind, Role, Status, Time, TodoId};

use crate::world::{World, actor};

/// Three of four are active, with a past deadline where given.
fn late() -> Deadline {
    Deadline::parse("2026-11-14").unwrap()
}

fn sweep() -> SweepTodos {
    SweepTodos {
        timezone: "UTC".into(),
        overdue_pending: OverduePending::Demote,
        archive_after_days: 30,
        backlog_stale_days: 30,
        auto_cancel_stale_backlog: false,
    }
}

fn new(world: &mut World, status: Status, deadline: Option<Deadline>) -> TodoId {
    let new = NewTodo { status, deadline, ..NewTodo::titled(Title::new("item").unwrap()) };
    let decision = world.ok(Role::Lead, CreateTodos { items: vec![new] });
    match &decision.events[..] {
        [Event::TodoCreated(created)] => created.todo.id,
        other => panic!("{other:?}"),
    }
}

/// What a cycle did, as event names.
fn swept(world: &mut World, sweep: &SweepTodos) -> Vec<(&'static str, TodoId)> {
    let decision = world.ok(Role::System, sweep.clone());
    let told = |event: &Event| match event {
        Event::TodoEscalated(e) => ("escalated", e.todo_id),
        Event::TodoDemoted(e) => ("demoted", e.todo_id),
        Event::TodoCancelled(e) => ("cancelled", e.todo_id),
        Event::TodoArchived(e) => ("archived", e.todo_id),
        other => panic!("{other:?}"),
    };
    decision.events.iter().map(told).collect()
}

fn day(world: &mut World, text: &str) {
    world.now = Time::parse(text).unwrap();
}

/// M-73, M-75, D-6: a late item that was never started is put back, cancelled or kept, and always
/// escalated; one in progress is only escalated.
#[test]
fn overdue_items_are_handled_as_the_mission_says() {
    for (overdue_pending, then, status) in [
        (OverduePending::Demote, Some("demoted"), Status::Backlog),
        (OverduePending::Cancel, Some("cancelled"), Status::Cancelled),
        (OverduePending::Keep, None, Status::Pending),
    ] {
        let mut world = World::new(ListKind::Pillar);
        let waiting = new(&mut world, Status::Pending, Some(late()));
        let working = new(&mut world, Status::Pending, Some(late()));
        new(&mut world, Status::Pending, None);
        world.ok(Role::Lead, StartTodo { todo_id: working, reason: None });
        let sweep = SweepTodos { overdue_pending, ..sweep() };
        let mut expected = vec![("escalated", waiting)];
        expected.extend(then.map(|then| (then, waiting)));
        expected.push(("escalated", working));
        assert_eq!(swept(&mut world, &sweep), expected);
        assert_eq!(world.state.todos[&waiting].status, status);
        assert_eq!(world.state.todos[&working].status, Status::InProgress);
        if status == Status::Cancelled {
            let reason = world.state.todos[&waiting].outcome.as_deref();
            assert_eq!(reason, Some("overdue and never started"));
        }
    }
}

/// M-79, D-5: escalated once for each deadline, however often a cycle runs; a new deadline that
/// passes is escalated again.
#[test]
fn a_person_is_asked_once_for_each_deadline() {
    let mut world = World::new(ListKind::Pillar);
    let id = new(&mut world, Status::Pending, Some(late()));
    world.ok(Role::Lead, StartTodo { todo_id: id, reason: None });
    assert_eq!(swept(&mut world, &sweep()), [("escalated", id)]);
    assert_eq!(world.state.todos[&id].overdue_notified_for, Some(late()));
    for _ in 0..3 {
        assert_eq!(swept(&mut world, &sweep()), []);
    }
    let extend = |to: &str| ReviseTodo {
        todo_id: id,
        title: None,
        priority: None,
        position: None,
        deadline: Deadline::parse(to),
        reason: None,
    };
    world.ok(Role::Lead, extend("2026-11-20"));
    assert_eq!(swept(&mut world, &sweep()), [], "it is not late any more");
    day(&mut world, "2026-11-21T00:00:00Z");
    assert_eq!(swept(&mut world, &sweep()), [("escalated", id)]);
}

/// D-8, M-23: a date ends with its day in the mission's time zone; a time is used as given.
#[test]
fn a_date_ends_with_its_day() {
    for (deadline, timezone, last, first) in [
        ("2026-11-20", "UTC", "2026-11-20T23:59:50Z", "2026-11-21T00:00:00Z"),
        ("2026-11-20", "Europe/Berlin", "2026-11-20T22:59:50Z", "2026-11-20T23:00:00Z"),
        ("2026-11-20T10:00:00Z", "Europe/Berlin", "2026-11-20T09:59:50Z", "2026-11-20T10:00:00Z"),
    ] {
        let mut world = World::new(ListKind::Pillar);
        let id = new(&mut world, Status::Pending, Deadline::parse(deadline));
        let timezone = timezone.to_owned();
        let sweep = SweepTodos { timezone, overdue_pending: OverduePending::Keep, ..sweep() };
        day(&mut world, last);
        assert_eq!(swept(&mut world, &sweep), [], "{deadline}");
        day(&mut world, first);
        assert_eq!(swept(&mut world, &sweep), [("escalated", id)], "{deadline}");
    }
}

/// M-78, P-27: backlog, deferred and settled items are never late.
#[test]
fn what_is_not_active_is_not_overdue() {
    let mut world = World::new(ListKind::Pillar);
    new(&mut world, Status::Backlog, Some(late()));
    let resting = new(&mut world, Status::Pending, Some(late()));
    let until = Time::parse("2026-11-18T00:00:00Z");
    world.ok(Role::Lead, DeferTodo { todo_id: resting, until });
    let gone = new(&mut world, Status::Pending, Some(late()));
    world.ok(Role::Lead, CancelTodo { todo_id: gone, outcome: Some("no".into()) });
    assert_eq!(swept(&mut world, &sweep()), []);
    day(&mut world, "2026-11-18T00:00:00Z");
    let back = swept(&mut world, &sweep());
    assert_eq!(back, [("escalated", resting), ("demoted", resting)], "it is back");
}

/// D-6: if the backlog is full, the item stays; the person is still asked, once.
#[test]
fn a_late_item_stays_if_the_backlog_is_full() {
    let mut world = World::new(ListKind::Pillar);
    new(&mut world, Status::Backlog, None);
    let (first, second) = (
        new(&mut world, Status::Pending, Some(late())),
        new(&mut world, Status::Pending, Some(late())),
    );
    // Two places, one of them taken: there is none for the second late item.
    assert_eq!(
        swept(&mut world, &sweep()),
        [("escalated", first), ("demoted", first), ("escalated", second)]
    );
    assert_eq!(world.state.todos[&second].status, Status::Pending);
    assert_eq!(swept(&mut world, &sweep()), []);
}

/// Q-M5: stale backlog items are cancelled only if the mission says so, with that reason, and not
/// while they are deferred.
#[test]
fn stale_backlog_items_are_cancelled_only_if_the_mission_says_so() {
    let mut world = World::new(ListKind::Pillar);
    let old = new(&mut world, Status::Backlog, None);
    let resting = new(&mut world, Status::Backlog, None);
    let active = new(&mut world, Status::Pending, None);
    world
        .ok(Role::Lead, DeferTodo { todo_id: resting, until: Time::parse("2027-06-01T00:00:00Z") });
    let prune = SweepTodos { auto_cancel_stale_backlog: true, ..sweep() };
    day(&mut world, "2026-12-15T07:00:00Z");
    assert_eq!(swept(&mut world, &prune), [], "not thirty days yet");
    day(&mut world, "2026-12-15T09:00:00Z");
    assert_eq!(swept(&mut world, &sweep()), [], "only a mark in the prompt");
    assert_eq!(swept(&mut world, &prune), [("cancelled", old)]);
    assert_eq!(world.state.todos[&old].outcome.as_deref(), Some("stale backlog"));
    let by = world.state.todos[&old].settled_by.as_ref().map(|by| by.role);
    assert_eq!(by, Some(Role::System), "the log says that nobody decided it");
    assert_eq!(world.state.todos[&active].status, Status::Pending);
}

/// Q-M2: items settled long ago are archived once; zero days: never.
#[test]
fn items_settled_long_ago_are_archived() {
    let mut world = World::new(ListKind::Pillar);
    let (done, dropped) =
        (new(&mut world, Status::Pending, None), new(&mut world, Status::Pending, None));
    world.ok(Role::Lead, StartTodo { todo_id: done, reason: None });
    let outcome = Some("done".to_owned());
    let (evidence, metrics_impacted) = (vec![], vec![]);
    let complete = CompleteTodo { todo_id: done, outcome, evidence, metrics_impacted };
    world.ok(Role::Lead, complete);
    world.ok(Role::Lead, CancelTodo { todo_id: dropped, outcome: Some("no".into()) });
    day(&mut world, "2026-12-15T07:00:00Z");
    assert_eq!(swept(&mut world, &sweep()), []);
    day(&mut world, "2026-12-15T09:00:00Z");
    let never = SweepTodos { archive_after_days: 0, ..sweep() };
    assert_eq!(swept(&mut world, &never), []);
    assert_eq!(swept(&mut world, &sweep()), [("archived", done), ("archived", dropped)]);
    assert_eq!(world.state.todos[&done].status, Status::Completed, "nothing is lost");
    assert_eq!(swept(&mut world, &sweep()), []);
}

/// M-74, M-76: the wording of the design, with the item's status and since when it is late.
#[test]
fn an_escalation_names_the_status_and_since_when() {
    let mut world = World::new(ListKind::Pillar);
    let id = new(&mut world, Status::Pending, Some(late()));
    assert_eq!(
        escalation(&world.state.todos[&id]),
        "TODO overdue: item. Status: pending since 2026-11-15. Please advise: extend deadline or \
         cancel?"
    );
    day(&mut world, "2026-11-17T10:00:00Z");
    world.ok(Role::Lead, StartTodo { todo_id: id, reason: None });
    assert_eq!(
        escalation(&world.state.todos[&id]),
        "TODO overdue: item. Status: in_progress since 2026-11-17. Please advise: extend deadline or \
         cancel?"
    );
    let told = warning(&world.state.todos[&id]);
    assert!(told.starts_with("TODO overdue: item was due 2026-11-14."), "{told}");
    assert!(told.contains("extended") && told.contains("cancelled"), "{told}");
}

/// Only the scheduler, the operator and the lead sweep; and items in review stay (P-32).
#[test]
fn others_do_not_sweep() {
    for role in Role::ALL {
        let mut world = World::new(ListKind::Pillar);
        let id = new(&mut world, Status::Pending, Some(late()));
        world.ok(Role::Lead, StartTodo { todo_id: id, reason: None });
        let claim =
            ClaimTodo { todo_id: id, outcome: Some("done".into()), evidence: vec![], clock: None };
        world.ok(Role::Owner, claim);
        let decided = world.run(&actor(role), sweep());
        let may = matches!(role, Role::Operator | Role::Lead | Role::System);
        assert_eq!(decided.is_ok(), may, "{role}");
        let todo = &world.state.todos[&id];
        assert!(todo.claim.is_some() && todo.status == Status::InProgress, "{role}");
    }
}
