//! Edge cases of working on an item, each found by a surviving mutant: taking it, keeping its
//! lease, assigning it, and reporting a result too late.

use punchlist_core::authority::{Action, Denial, owns};
use punchlist_core::command::{
    AssignTodo, ClaimTodo, CompleteTodo, HeartbeatTodo, ReleaseTodo, TakeTodo,
};
use punchlist_core::delegation::DelegationState;
use punchlist_core::event::{CommandRefused, TodoAssigned, TodoStarted, TodoTaken};
use punchlist_core::select::next_for;
use punchlist_core::{
    Actor, AgentPath, Command, DelegationId, Event, Ids, Lease, ListKind, Refusal, Refused, Role,
    Status, Time, TodoId, TodoKind,
};

use crate::world::{World, actor};

fn root(agent: &str) -> Actor {
    Actor::new(Role::Root, AgentPath::parse(agent).unwrap())
}

fn take(
    world: &mut World,
    by: &Actor,
    todo_id: TodoId,
    clock: Time,
) -> Result<Vec<Event>, Refusal> {
    let decided = world.run(by, TakeTodo { todo_id, lease_s: 60, clock });
    decided.map(|decision| decision.events).map_err(|refused| refused.refusal)
}

fn leased(by: &Actor, epoch: i64, clock: Time) -> Lease {
    Lease { holder: Some(by.principal.clone()), epoch, until: clock.plus_seconds(60) }
}

/// P-2: in a list with one item in progress, a second item can be taken only when the lease on the
/// first one is over. In a list with many, leases do not exclude each other.
#[test]
fn while_an_item_is_leased_no_other_can_be_taken_where_only_one_may_be_in_progress() {
    let by = root("primary");
    for kind in [ListKind::Session, ListKind::Issue] {
        let mut world = World::new(kind);
        let ids = world.create(&["first", "second"]);
        let clock = world.now;
        take(&mut world, &by, ids[0], clock).unwrap();
        let one = Refusal::OneInProgress { todo_id: ids[0], title: "first".to_owned() };
        assert_eq!(take(&mut world, &by, ids[1], clock), Err(one), "{kind}");
        assert_eq!(take(&mut world, &by, ids[0], clock), Ok(vec![]), "{kind}: its own, again");
    }
    let mut issue = World::new(ListKind::Issue);
    let ids = issue.create(&["first", "second"]);
    let clock = issue.now;
    take(&mut issue, &by, ids[0], clock).unwrap();
    let later = clock.plus_seconds(60);
    let events = take(&mut issue, &by, ids[1], later).unwrap();
    let lease = leased(&by, 1, later);
    let taken = TodoTaken { todo_id: ids[1], lease, assignee: None, started_at: None };
    assert_eq!(events.last(), Some(&taken.into()), "the lease on the first is over");
    let mut plan = World::new(ListKind::Plan);
    let ids = plan.create(&["first", "second"]);
    let clock = plan.now;
    for todo_id in ids {
        let events = take(&mut plan, &by, todo_id, clock).unwrap();
        let (lease, assignee) = (leased(&by, 1, clock), Some(by.agent.clone()));
        let taken = TodoTaken { todo_id, lease, assignee, started_at: Some(plan.now) };
        assert_eq!(events, [taken.into()]);
    }
}

/// P-2: a caller that asks for its next item gets what it holds, then what is assigned to it, then
/// what a silent holder left, then the first pending item. Where only one may be in progress, the
/// item of another holder leaves nothing to take.
#[test]
fn the_next_item_depends_on_who_asks_and_on_leases() {
    let (me, other) = (root("primary"), root("other"));
    let next = |world: &World, by: &Actor, clock: Time| {
        next_for(&world.state, by, world.now, clock).map(|todo| todo.title.clone())
    };
    let some = |title: &str| Some(title.to_owned());
    let mut plan = World::new(ListKind::Plan);
    let ids = plan.create(&["first", "second", "third"]);
    let clock = plan.now;
    assert_eq!(next(&plan, &me, clock), some("first"));
    take(&mut plan, &other, ids[0], clock).unwrap();
    assert_eq!(next(&plan, &me, clock), some("second"), "another caller holds the first");
    assert_eq!(next(&plan, &other, clock), some("first"), "its own");
    let later = clock.plus_seconds(60);
    assert_eq!(next(&plan, &me, later), some("first"), "the lease is over");
    take(&mut plan, &me, ids[2], later).unwrap();
    assert_eq!(next(&plan, &me, later), some("third"), "its own comes before an abandoned one");
    let after = later.plus_seconds(60);
    assert_eq!(next(&plan, &me, after), some("third"), "it is still assigned to the caller");
    for (kind, abandoned) in [(ListKind::Session, "first"), (ListKind::Issue, "first")] {
        let mut world = World::new(kind);
        let ids = world.create(&["first", "second"]);
        let clock = world.now;
        take(&mut world, &other, ids[0], clock).unwrap();
        assert_eq!(next(&world, &other, clock), some("first"), "{kind}: its own");
        assert_eq!(next(&world, &me, clock), None, "{kind}: another caller holds it");
        let later = clock.plus_seconds(60);
        assert_eq!(next(&world, &me, later), some(abandoned), "{kind}: the lease is over");
    }
}

/// P-2: the heartbeat must name the epoch of the caller's own running lease. Otherwise it is refused
/// with the current state, and logged.
#[test]
fn a_heartbeat_without_the_callers_current_lease_is_refused_and_logged() {
    let (by, other) = (root("primary"), root("other"));
    let mut world = World::new(ListKind::Session);
    let todo_id = world.create(&["item"])[0];
    let clock = world.now;
    let beat = |world: &mut World, by: &Actor, epoch: i64, clock: Time| {
        let decided = world.run(by, HeartbeatTodo { todo_id, epoch, clock });
        decided.map(|decision| decision.events)
    };
    let stale_of = |is_own: bool, epoch: i64, current: i64, holder: Option<&Actor>| {
        let holder = holder.map(|holder| holder.principal.clone());
        let refusal = Refusal::StaleEpoch { todo_id, epoch, current, holder, is_own };
        let (action, said) = (Action::Take, None);
        let audit = CommandRefused { todo_id, action, refusal: refusal.clone(), said };
        Err(Refused { refusal, audit: Some(Box::new(audit.into())) })
    };
    let stale = |epoch, current, holder| stale_of(false, epoch, current, holder);
    assert_eq!(beat(&mut world, &by, 0, clock), stale(0, 0, None), "never taken");
    take(&mut world, &by, todo_id, clock).unwrap();
    assert_eq!(beat(&mut world, &by, 1, clock), Ok(vec![]));
    let own = stale_of(true, 2, 1, Some(&by));
    assert_eq!(beat(&mut world, &by, 2, clock), own, "another epoch");
    assert_eq!(beat(&mut world, &other, 1, clock), stale(1, 1, Some(&by)), "another's lease");
    let end = clock.plus_seconds(60);
    assert_eq!(beat(&mut world, &by, 1, end), stale(1, 1, None), "it is over");
    take(&mut world, &other, todo_id, end).unwrap();
    assert_eq!(beat(&mut world, &by, 1, end), stale(1, 2, Some(&other)), "taken by another");
    assert_eq!(beat(&mut world, &other, 2, end), Ok(vec![]));
}

/// A stale lease says who holds the item now, and what helps: the caller itself may, or nobody.
#[test]
fn a_stale_lease_says_who_holds_the_item() {
    let todo_id = TodoId::from(Ids::new(Time::from_micros(0), 1).ulid());
    let delegation = DelegationId::from(Ids::new(Time::from_micros(0), 2).ulid());
    let (stop, take) = (
        "stop working on it: somebody else holds it now",
        "take it first; the answer says its epoch",
    );
    for (current, holder, is_own, words, hint) in [
        (2, Some("root:b"), false, "(the newest is 2, held by root:b)", stop),
        (
            2,
            Some("root:a"),
            true,
            "you hold it by lease 2, not 1",
            "give epoch 2; if another process took it in your name, stop",
        ),
        (0, None, false, "nobody has taken it yet", take),
        (3, None, false, "nobody holds it now (you named lease 1, the newest was 3)", take),
    ] {
        let (epoch, holder) = (1, holder.map(str::to_owned));
        let over = None;
        for refusal in [
            Refusal::StaleEpoch { todo_id, epoch, current, holder: holder.clone(), is_own },
            Refusal::StaleDelegation { delegation, epoch, current, holder, is_own, over },
        ] {
            assert!(refusal.to_string().ends_with(words), "{refusal}");
            assert_eq!((refusal.code(), refusal.hint().as_str()), ("stale_epoch", hint));
        }
    }
    let over = Some(DelegationState::Returned);
    let (epoch, current, holder, is_own) = (1, 1, None, false);
    let over = Refusal::StaleDelegation { delegation, epoch, current, holder, is_own, over };
    assert!(over.to_string().ends_with(" is returned already"), "{over}");
    assert_eq!(over.hint(), "stop working on it: no further report is accepted");
}

/// assigning starts an item only in plans, and only one that is not in progress.
#[test]
fn assigning_starts_a_pending_task_of_a_plan_and_nothing_else() {
    let agents = ["primary.subagents.a", "primary.subagents.b"];
    let [first, second] = agents.map(|agent| AgentPath::parse(agent).unwrap());
    let assign = |world: &mut World, role: Role, todo_id: TodoId, to: &AgentPath| {
        world.ok(role, AssignTodo { todo_id, assignee: to.clone(), is_known: true }).events
    };
    let assigned = |todo_id: TodoId, to: &AgentPath| -> Event {
        TodoAssigned { todo_id, assignee: Some(to.clone()) }.into()
    };
    let mut plan = World::new(ListKind::Plan);
    let todo_id = plan.create(&["task"])[0];
    let events = assign(&mut plan, Role::Root, todo_id, &first);
    let started = TodoStarted { todo_id, started_at: plan.now, reason: None };
    assert_eq!(events, [assigned(todo_id, &first), started.into()]);
    let events = assign(&mut plan, Role::Root, todo_id, &second);
    assert_eq!(events, [assigned(todo_id, &second)], "it is in progress already");
    assert_eq!(assign(&mut plan, Role::Root, todo_id, &second), [], "it is the second's already");
    let mut pillar = World::new(ListKind::Pillar);
    let todo_id = pillar.create(&["item"])[0];
    let events = assign(&mut pillar, Role::Lead, todo_id, &first);
    assert_eq!(events, [assigned(todo_id, &first)], "a pillar's item stays pending");
}

/// An assignment that somebody made survives the agent's own lease and release; one made by taking
/// ends with them, until somebody assigns the task to the agent that took it.
#[test]
fn only_an_assignment_made_by_taking_ends_with_the_lease_or_the_release() {
    let (first, second, boss) = (root("first"), root("second"), root("boss"));
    let assign =
        |to: &Actor, todo_id| AssignTodo { todo_id, assignee: to.agent.clone(), is_known: true };
    let release = |todo_id, unassigns| ReleaseTodo {
        todo_id,
        epoch: None,
        reason: None,
        clock: Time::from_micros(0),
        unassigns,
    };
    let mut world = World::new(ListKind::Plan);
    let [assigned, taken] = world.create(&["assigned", "taken"])[..] else { unreachable!() };
    let clock = world.now;
    let later = clock.plus_seconds(60);
    world.run(&boss, assign(&first, assigned)).unwrap();
    for todo_id in [assigned, taken] {
        take(&mut world, &first, todo_id, clock).unwrap();
    }
    let next = next_for(&world.state, &second, later, later).map(|todo| todo.id);
    assert_eq!(next, Some(taken), "the lease on both is over");
    let refused = take(&mut world, &second, assigned, later).unwrap_err();
    assert_eq!(refused.code(), "assigned_to_another");
    // The agent's own release ends its lease alone, and the task is still in progress.
    world.run(&first, release(assigned, false)).unwrap();
    let todo = world.state.todo(assigned).unwrap();
    assert_eq!((todo.assignee.as_ref(), todo.status), (Some(&first.agent), Status::InProgress));
    assert_eq!(take(&mut world, &second, assigned, later).unwrap_err().code(), refused.code());
    world.run(&first, release(taken, false)).unwrap();
    let todo = world.state.todo(taken).unwrap();
    assert_eq!((todo.assignee.as_ref(), todo.status), (None, Status::Pending));
    // One who may assign takes the assignment back, also its own.
    world.run(&first, release(assigned, true)).unwrap();
    assert_eq!(world.state.todo(assigned).unwrap().assignee, None);
    take(&mut world, &second, taken, later).unwrap();
    let events = world.run(&boss, assign(&second, taken)).unwrap().events;
    let assignee = Some(second.agent.clone());
    assert_eq!(events, [TodoAssigned { todo_id: taken, assignee }.into()], "it lasts from now on");
    let over = later.plus_seconds(60);
    assert_eq!(take(&mut world, &first, taken, over).unwrap_err().code(), refused.code());
}

/// Q-O3: a worker whose task was given to another may not settle it, but its result is logged.
#[test]
fn a_result_reported_too_late_is_kept_in_the_log() {
    let mut world = World::new(ListKind::Plan);
    let todo_id = world.create(&["task"])[0];
    let outcome = Some("it works".to_owned());
    let complete = CompleteTodo {
        todo_id,
        outcome: outcome.clone(),
        evidence: vec![],
        metrics_impacted: vec![],
    };
    let claim = ClaimTodo { todo_id, outcome: outcome.clone(), evidence: vec![], clock: None };
    for command in [Command::from(complete), Command::from(claim)] {
        let action = command.action();
        let refused = world.run(&actor(Role::Worker), command).unwrap_err();
        let refusal = Refusal::NotPermitted {
            role: Role::Worker,
            action,
            list: ListKind::Plan,
            todo_kind: TodoKind::Step,
            denial: Denial::NotYours,
        };
        let said = outcome.clone();
        let audit = CommandRefused { todo_id, action, refusal: refusal.clone(), said };
        assert_eq!(refused, Refused { refusal, audit: Some(Box::new(audit.into())) });
    }
}

/// Lists of turns, sessions and issues belong to root; in a plan a worker owns what it was
/// assigned, and in a pillar also its lead and its owner do.
#[test]
fn each_kind_of_list_has_its_owners() {
    use Role::{Lead, Operator, Owner, Root, System, Worker};
    for (kind, owners, with_assignment) in [
        (ListKind::Turn, &[Operator, Root, System][..], &[Operator, Root, System][..]),
        (ListKind::Session, &[Operator, Root, System], &[Operator, Root, System]),
        (ListKind::Issue, &[Operator, Root, System], &[Operator, Root, System]),
        (ListKind::Plan, &[Operator, Root, System], &[Operator, Root, Worker, System]),
        (
            ListKind::Pillar,
            &[Operator, Lead, Owner, System],
            &[Operator, Lead, Owner, Worker, System],
        ),
    ] {
        let mut world = World::new(kind);
        let id = world.create(&["item"])[0];
        let owned = |world: &World| -> Vec<Role> {
            let todo = world.state.todo(id);
            Role::ALL.into_iter().filter(|role| owns(&actor(*role), &world.state, todo)).collect()
        };
        assert_eq!(owned(&world), owners, "{kind}");
        let worker = actor(Worker).agent;
        world.state.todos.get_mut(&id).unwrap().assignee = Some(worker);
        assert_eq!(owned(&world), with_assignment, "{kind}, assigned to the worker");
    }
}
