//! The effects of single commands by kind of list, where a table does not show them.

use punchlist_core::authority::{Action, Denial};
use punchlist_core::command::{
    AcceptTodo, AssignTodo, CancelTodo, ClaimTodo, CompleteTodo, CreateTodos, DeferTodo,
    DemoteTodo, HoldTodo, ListedTodo, NewTodo, NoteTodo, PromoteTodo, ReplaceTodos, ReturnTodo,
    ReviseTodo, StartTodo,
};
use punchlist_core::deadline::Deadline;
use punchlist_core::effect::Effect;
use punchlist_core::evidence::{Evidence, EvidenceKind};
use punchlist_core::select;
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::{HoldKind, Priority, Wish};
use punchlist_core::{
    AgentPath, Event, ListKind, MetricId, Refusal, Role, Status, Todo, TodoId, TodoKind, Warning,
};

use crate::world::{World, actor};

fn titled(text: &str) -> NewTodo {
    NewTodo::titled(Title::new(text).unwrap())
}

fn complete(todo_id: TodoId, outcome: Option<&str>) -> CompleteTodo {
    let outcome = outcome.map(str::to_owned);
    CompleteTodo { todo_id, outcome, evidence: vec![], metrics_impacted: vec![] }
}

fn titles(world: &World) -> Vec<(String, Status)> {
    select::ordered(&world.state).into_iter().map(|t| (t.title.clone(), t.status)).collect()
}

#[test]
fn a_turn_item_completed_without_a_start_gets_both_times_and_needs_an_outcome() {
    // T-36, Q-T1
    let mut world = World::new(ListKind::Turn);
    let id = world.create(&["a"])[0];
    let root = actor(Role::Root);
    let refused = world.run(&root, complete(id, Some("  "))).unwrap_err();
    assert_eq!(refused.refusal, Refusal::OutcomeRequired);
    let refused = world.run(&root, CancelTodo { todo_id: id, outcome: None }).unwrap_err();
    assert_eq!(refused.refusal, Refusal::OutcomeRequired);
    world.run(&root, complete(id, Some("done"))).unwrap();
    let todo = &world.state.todos[&id];
    assert_eq!(todo.outcome.as_deref(), Some("done"));
    assert_eq!((todo.started_at, todo.settled_at), (Some(world.now), Some(world.now)));
    let refused = world.run(&root, complete(id, Some("again"))).unwrap_err();
    assert_eq!(refused.refusal.code(), "already_settled");
}

#[test]
fn a_turn_list_has_one_item_in_progress_and_no_backlog() {
    // T-2, T-34
    let mut world = World::new(ListKind::Turn);
    let ids = world.create(&["a", "b"]);
    let root = actor(Role::Root);
    world.run(&root, StartTodo { todo_id: ids[0], reason: None }).unwrap();
    let refused =
        world.run(&root, StartTodo { todo_id: ids[1], reason: None }).unwrap_err().refusal;
    assert_eq!(refused, Refusal::OneInProgress { todo_id: ids[0], title: "a".into() });
    let refused = world
        .run(&actor(Role::Operator), DemoteTodo { todo_id: ids[1], reason: None })
        .unwrap_err()
        .refusal;
    assert!(matches!(refused, Refusal::NotPermitted { denial: Denial::NoSuchAct, .. }));
}

#[test]
fn positions_continue_after_the_last_in_a_second_batch_too() {
    // T-5, T-11, F-9
    let mut world = World::new(ListKind::Turn);
    world.create(&["a", "b"]);
    let mut early = titled("first");
    early.position = Some(0);
    let mut late = titled("late");
    late.position = Some(7);
    let items = vec![titled("c"), late, titled("d"), early];
    world.run(&actor(Role::Root), CreateTodos { items }).unwrap();
    let order: Vec<_> =
        select::ordered(&world.state).iter().map(|t| (t.title.as_str(), t.position)).collect();
    let expected = [("a", 0), ("first", 0), ("b", 1), ("c", 2), ("late", 7), ("d", 8)];
    assert_eq!(order, expected);
}

#[test]
fn the_kind_of_list_decides_whether_priority_or_position_counts() {
    // X-2, S-11
    for (kind, expected) in [
        (ListKind::Turn, ["low first", "high second"]),
        (ListKind::Session, ["high second", "low first"]),
    ] {
        let mut world = World::new(kind);
        let mut low = titled("low first");
        low.priority = Priority::Low;
        let mut high = titled("high second");
        high.priority = Priority::High;
        world.run(&actor(Role::Root), CreateTodos { items: vec![low, high] }).unwrap();
        let order: Vec<_> = select::ordered(&world.state).iter().map(|t| t.title.clone()).collect();
        assert_eq!(order, expected, "{kind}");
        let next = select::next(&world.state, world.now).unwrap();
        assert_eq!(next.title, expected[0], "{kind}");
    }
}

#[test]
fn an_issue_keeps_exactly_one_step_in_progress() {
    // K-15, K-20
    let mut world = World::new(ListKind::Issue);
    let ids = world.create(&["a", "b", "c"]);
    let root = actor(Role::Root);
    let status =
        |world: &World| ids.iter().map(|id| world.state.todos[id].status).collect::<Vec<_>>();
    use Status::{Completed, InProgress, Pending};
    assert_eq!(status(&world), [InProgress, Pending, Pending]);
    world.run(&root, StartTodo { todo_id: ids[2], reason: None }).unwrap();
    assert_eq!(status(&world), [Pending, Pending, InProgress]);
    world.run(&root, complete(ids[2], None)).unwrap();
    assert_eq!(status(&world), [InProgress, Pending, Completed]);
    let reason = Body::new("waits for the key").unwrap();
    world
        .run(&root, HoldTodo { todo_id: ids[0], kind: HoldKind::Blocked, reason, until: None })
        .unwrap();
    assert_eq!(status(&world), [Pending, InProgress, Completed]);
}

/// A deferred step comes back when its time is over; the next command, whatever it is, starts it.
#[test]
fn a_step_that_became_ready_by_itself_is_promoted_with_the_next_command() {
    // K-20, P-27
    let mut world = World::new(ListKind::Issue);
    let id = world.create(&["a"])[0];
    let operator = actor(Role::Operator);
    let until = Some(world.now.plus_seconds(2));
    world.run(&operator, DeferTodo { todo_id: id, until }).unwrap();
    assert_eq!(world.state.todos[&id].status, Status::Pending);
    let note = || NoteTodo { todo_id: id, text: Body::new("still resting").unwrap() };
    world.run(&operator, note()).unwrap();
    assert_eq!(world.state.todos[&id].status, Status::InProgress);
}

/// M-77: a deadline is extended, not moved into the past.
#[test]
fn a_deadline_is_moved_only_to_a_later_date() {
    let mut world = World::new(ListKind::Pillar);
    let id = world.create(&["a"])[0];
    let lead = actor(Role::Lead);
    let revise = |deadline: &str| ReviseTodo {
        todo_id: id,
        title: None,
        priority: None,
        position: None,
        deadline: Deadline::parse(deadline),
        reason: Some("it takes longer".to_owned()),
    };
    let refused = world.run(&lead, revise("2020-01-01")).unwrap_err();
    assert_eq!(refused.refusal, Refusal::PastDate { given: "2020-01-01".to_owned() });
    world.run(&lead, revise("2199-01-01")).unwrap();
    assert_eq!(world.state.todos[&id].deadline, Deadline::parse("2199-01-01"));
}

#[test]
fn a_criterion_is_claimed_by_the_agent_and_accepted_by_the_operator() {
    // K-32, D-26, X-3, P-21
    let mut world = World::new(ListKind::Issue);
    let mut criterion = titled("it works");
    criterion.kind = TodoKind::Criterion;
    let root = actor(Role::Root);
    world.run(&root, CreateTodos { items: vec![criterion] }).unwrap();
    let id = *world.state.todos.keys().next().unwrap();
    assert_eq!(world.state.todos[&id].ratified_at, None);
    let refused = world.run(&root, StartTodo { todo_id: id, reason: None }).unwrap_err();
    assert_eq!(refused.refusal.code(), "criterion_not_startable");
    world.run(&root, complete(id, None)).unwrap();
    let todo = &world.state.todos[&id];
    assert_eq!((todo.status, todo.claim.is_some()), (Status::Pending, true));
    assert!(!todo.is_actionable(world.now));
    let refused = world.run(&root, AcceptTodo { todo_id: id, outcome: None }).unwrap_err();
    let audit = refused.audit.expect("a denied judgement leaves a line");
    assert!(matches!(
        *audit,
        Event::CommandRefused(ref e) if e.action == Action::Accept && e.todo_id == id
    ));
    let refused = world.run(&root, CancelTodo { todo_id: id, outcome: None }).unwrap_err();
    assert_eq!(refused.refusal.code(), "not_permitted");
    let feedback = Body::new("not on Windows").unwrap();
    world.run(&actor(Role::Operator), ReturnTodo { todo_id: id, feedback }).unwrap();
    assert!(world.state.todos[&id].is_actionable(world.now));
    world.run(&root, complete(id, None)).unwrap();
    world.run(&actor(Role::Operator), AcceptTodo { todo_id: id, outcome: None }).unwrap();
    assert_eq!(world.state.todos[&id].status, Status::Completed);
}

#[test]
fn a_pillar_spills_then_refuses_and_only_the_lead_completes() {
    let mut world = World::new(ListKind::Pillar);
    let lead = actor(Role::Lead);
    let one = |n: usize| CreateTodos { items: vec![titled(&format!("item {n}"))] };
    for n in 0..3 {
        assert_eq!(world.run(&lead, one(n)).unwrap().warnings, []);
    }
    let over = world.run(&lead, one(3)).unwrap().warnings;
    assert_eq!(over, [Warning::OverActiveLimit { limit: 3, active: 4 }]);
    let spilled = world.run(&lead, one(4)).unwrap().warnings;
    assert_eq!(spilled, [Warning::SpilledToBacklog { limit: 3 }]);
    assert_eq!(
        spilled[0].to_string(),
        "Active TODO limit (3) reached. Created in backlog instead."
    );
    world.run(&lead, one(5)).unwrap();
    let refusal = world.run(&lead, one(6)).unwrap_err().refusal;
    assert_eq!(
        refusal.to_string(),
        "Backlog limit (2) reached. Cancel or complete existing items first."
    );
    let ids: Vec<TodoId> = world.state.todos.keys().copied().collect();
    let refusal = world.run(&lead, complete(ids[0], Some("ok"))).unwrap_err().refusal;
    assert_eq!(refusal.code(), "wrong_status");
    world.run(&lead, StartTodo { todo_id: ids[0], reason: None }).unwrap();
    let owner = actor(Role::Owner);
    let refused = world.run(&owner, complete(ids[0], Some("ok"))).unwrap_err();
    assert_eq!(refused.refusal.code(), "not_permitted");
    let evidence = vec![];
    let claim = ClaimTodo { todo_id: ids[0], outcome: Some("built".into()), evidence, clock: None };
    world.run(&owner, claim).unwrap();
    let metric = MetricId::parse("01JCQ0000000000000000000AB").unwrap();
    let metrics_impacted = vec![metric];
    let outcome = Some("42 s".to_owned());
    let done = CompleteTodo { todo_id: ids[0], outcome, evidence: vec![], metrics_impacted };
    let decision = world.run(&lead, done).unwrap();
    let todo_id = Some(ids[0]);
    assert_eq!(decision.effects, [Effect::CollectMetric { metric_id: metric, todo_id }]);
}

#[test]
fn an_owners_recommendation_is_kept_and_changes_nothing() {
    let mut world = World::new(ListKind::Pillar);
    let mut item = titled("later");
    item.status = Status::Backlog;
    world.run(&actor(Role::Lead), CreateTodos { items: vec![item] }).unwrap();
    let id = *world.state.todos.keys().next().unwrap();
    let before = world.state.clone();
    let wish = PromoteTodo { todo_id: id, reason: Some("metrics slip".into()) };
    let decision = world.run(&actor(Role::Owner), wish.clone()).unwrap();
    assert_eq!(decision.warnings, [Warning::Recommended { todo_id: id, action: Action::Promote }]);
    let expected = Wish {
        by: "owner:primary".into(),
        at: world.now,
        action: Action::Promote,
        command: Box::new(wish.clone().into()),
    };
    let todo = &world.state.todos[&id];
    assert_eq!(todo.wishes, [expected]);
    let unwished =
        Todo { wishes: Vec::new(), updated_at: before.todos[&id].updated_at, ..todo.clone() };
    assert_eq!(unwished, before.todos[&id]);
    let mut stranger = actor(Role::Owner);
    stranger.pillar = Some("another".into());
    let refusal = world.run(&stranger, wish).unwrap_err().refusal;
    assert!(matches!(refusal, Refusal::NotPermitted { denial: Denial::NotYours, .. }));
    // The lead makes the change with one call, and the recommendation is gone.
    world.run(&actor(Role::Lead), PromoteTodo { todo_id: id, reason: None }).unwrap();
    let todo = &world.state.todos[&id];
    assert_eq!((todo.status, &todo.wishes[..]), (Status::Pending, &[][..]));
}

/// D-2: if the mission allows it, an owner rebalances directly; only the lead starts items.
#[test]
fn an_owner_rebalances_if_the_mission_allows_it() {
    let mut world = World::new(ListKind::Pillar);
    world.state.terms.owner_may_rebalance = true;
    let id = world.create(&["now"])[0];
    let owner = actor(Role::Owner);
    world.run(&owner, DemoteTodo { todo_id: id, reason: None }).unwrap();
    world.run(&owner, PromoteTodo { todo_id: id, reason: None }).unwrap();
    assert_eq!(world.state.todos[&id].status, Status::Pending);
    let start = StartTodo { todo_id: id, reason: None };
    let decision = world.run(&owner, start).unwrap();
    assert_eq!(decision.warnings, [Warning::Recommended { todo_id: id, action: Action::Start }]);
}

/// P-24: if the mission requires a kind of evidence, a claim without it is refused.
#[test]
fn a_claim_without_the_required_evidence_is_refused() {
    let mut world = World::new(ListKind::Pillar);
    world.state.terms.claim_evidence = vec![EvidenceKind::Test, EvidenceKind::Commit];
    let todo_id = world.create(&["now"])[0];
    let lead = actor(Role::Lead);
    world.run(&lead, StartTodo { todo_id, reason: None }).unwrap();
    let claim = |texts: &[&str]| {
        let evidence = texts.iter().map(|text| Evidence::parse(text).unwrap()).collect();
        ClaimTodo { todo_id, outcome: Some("done".into()), evidence, clock: None }
    };
    let owner = actor(Role::Owner);
    let refusal = world.run(&owner, claim(&["test:all"])).unwrap_err().refusal;
    assert_eq!(refusal, Refusal::EvidenceRequired { missing: vec![EvidenceKind::Commit] });
    world.run(&owner, claim(&["test:all", "commit:0123abc"])).unwrap();
}

#[test]
fn a_worker_splits_and_completes_its_own_plan_task_and_no_other() {
    // O-18, X-5, X-12
    let mut world = World::new(ListKind::Plan);
    let ids = world.create(&["mine", "other"]);
    let worker = actor(Role::Worker);
    let assignee = AgentPath::parse("primary.subagents.w").unwrap();
    let assign = AssignTodo { todo_id: ids[0], assignee, is_known: true };
    world.run(&actor(Role::Root), assign).unwrap();
    assert_eq!(world.state.todos[&ids[0]].status, Status::InProgress);
    let under = |parent| {
        let mut new = titled("part");
        new.parent_id = parent;
        CreateTodos { items: vec![new] }
    };
    world.run(&worker, under(Some(ids[0]))).unwrap();
    for parent in [Some(ids[1]), None] {
        let refusal = world.run(&worker, under(parent)).unwrap_err().refusal;
        assert!(matches!(refusal, Refusal::NotPermitted { denial: Denial::NotYours, .. }));
    }
    let note = NoteTodo { todo_id: ids[0], text: Body::new("halfway").unwrap() };
    world.run(&worker, note).unwrap();
    let part = world.state.todos.values().find(|todo| todo.title == "part").unwrap().id;
    world.run(&worker, complete(part, None)).unwrap();
    world.run(&worker, complete(ids[0], None)).unwrap();
    assert_eq!(
        world.run(&worker, complete(ids[1], None)).unwrap_err().refusal.code(),
        "not_permitted"
    );
}

#[test]
fn replacing_keeps_rows_of_the_same_text_and_cancels_what_is_left_out() {
    // D-22, K-33, X-10
    let mut world = World::new(ListKind::Issue);
    let mut criterion = titled("it works");
    criterion.kind = TodoKind::Criterion;
    world.create(&["keep", "drop"]);
    world.run(&actor(Role::Operator), CreateTodos { items: vec![criterion] }).unwrap();
    let listed = |text: &str| ListedTodo::titled(Title::new(text).unwrap());
    let root = actor(Role::Root);
    let twice = ReplaceTodos { items: vec![listed("x"), listed("x")] };
    assert_eq!(world.run(&root, twice).unwrap_err().refusal.code(), "duplicate_text");
    let items = vec![listed("new"), listed(" keep ")];
    world.run(&root, ReplaceTodos { items }).unwrap();
    let expected = [
        ("it works".to_owned(), Status::Pending),
        ("new".to_owned(), Status::Pending),
        ("keep".to_owned(), Status::InProgress),
        ("drop".to_owned(), Status::Cancelled),
    ];
    assert_eq!(titles(&world), expected);
}

/// A new item comes last: among its siblings if it has a parent, else in the list.
#[test]
fn a_new_item_comes_after_its_siblings() {
    let mut world = World::new(ListKind::Plan);
    let ids = world.create(&["a", "b", "c"]);
    let mut add = |title: &str, parent_id: Option<TodoId>, position: Option<i64>| {
        let title = Title::new(title).unwrap();
        let item = NewTodo { parent_id, position, ..NewTodo::titled(title) };
        let decision = world.ok(Role::Root, CreateTodos { items: vec![item] });
        let Some(Event::TodoCreated(created)) = decision.events.first() else { panic!() };
        created.todo.position
    };
    for (title, parent, position, expected) in [
        ("a1", Some(ids[0]), None, 0),
        ("a2", Some(ids[0]), None, 1),
        ("b1", Some(ids[1]), None, 0),
        ("a9", Some(ids[0]), Some(9), 9),
        ("a10", Some(ids[0]), None, 10),
        ("d", None, None, 11),
    ] {
        assert_eq!(add(title, parent, position), expected, "{title}");
    }
}

/// For people to read: the article is right for every kind of list.
#[test]
fn a_refusal_names_every_kind_of_list_in_english() {
    use punchlist_core::authority::{Action, Denial};
    for list in punchlist_core::ListKind::ALL {
        for denial in [Denial::Role, Denial::NotYours, Denial::NoSuchAct] {
            let refusal = punchlist_core::Refusal::NotPermitted {
                role: punchlist_core::Role::Worker,
                action: Action::Take,
                list,
                todo_kind: punchlist_core::TodoKind::Step,
                denial,
            };
            let said = refusal.to_string();
            assert!(!said.contains(" a issue"), "{said}");
        }
    }
}
