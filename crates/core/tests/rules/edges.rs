//! Edge cases that no other test covers, each found by a surviving mutant (`cargo xtask mutants`).

use punchlist_core::authority::{Cell, Subject, owns_delegation, rows_of};
use punchlist_core::command::{AssignTodo, TakeTodo};
use punchlist_core::delegation::{
    DecideProposal, Delegation, Mode, Proposal, ProposalDecision, ProposedItem, Review,
    apply_delegation,
};
use punchlist_core::event::{TodoStarted, TodoYielded};
use punchlist_core::gate::{AnswerGate, Gate, GateDecision, GateKind, GateState};
use punchlist_core::plan::{Origin, opening};
use punchlist_core::select::next;
use punchlist_core::text::Content;
use punchlist_core::{
    Actor, AgentPath, By, Decide, Event, GateId, Ids, ListKind, ProjectId, Refusal, Role, Status,
    Time, TodoId, TodoKind, lease,
};
use serde_json::{Value, json};

use crate::plan_world::plan_world;
use crate::world::{World, actor, decided, details};

/// If the first item has children, the next item is an actionable step, neither a settled one nor a
/// criterion.
#[test]
fn the_next_item_below_another_is_an_actionable_step() {
    let mut world = World::new(ListKind::Turn);
    let ids = world.create(&["parent", "settled", "criterion", "child", "later"]);
    let todos = &mut world.state.todos;
    todos.get_mut(&ids[1]).unwrap().status = Status::Completed;
    todos.get_mut(&ids[2]).unwrap().kind = TodoKind::Criterion;
    todos.get_mut(&ids[3]).unwrap().parent_id = Some(ids[0]);
    assert_eq!(next(&world.state, world.now).map(|todo| todo.id), Some(ids[3]));
    world.state.todos.get_mut(&ids[3]).unwrap().removed_at = Some(world.now);
    assert_eq!(next(&world.state, world.now).map(|todo| todo.id), Some(ids[0]), "a leaf again");
}

fn taken(world: &mut World, role: Role, todo_id: punchlist_core::TodoId) -> Option<AgentPath> {
    let clock = world.now;
    let decision = world.ok(role, TakeTodo { todo_id, lease_s: 60, clock });
    let mut assignees = decision.events.iter().filter_map(|event| match event {
        Event::TodoTaken(taken) => Some(taken.assignee.clone()),
        _ => None,
    });
    assignees.next_back().unwrap()
}

/// Taking assigns an item in lists where an assignment means work in progress, and only if it is
/// not assigned to the taker already.
#[test]
fn taking_assigns_once_and_only_by_the_lists_policy() {
    let mut issue = World::new(ListKind::Issue);
    let step = issue.create(&["a step"])[0];
    assert_eq!(taken(&mut issue, Role::Root, step), None);
    let mut plan = World::new(ListKind::Plan);
    let tasks = plan.create(&["fresh", "assigned"]);
    assert_eq!(taken(&mut plan, Role::Root, tasks[0]), Some(AgentPath::primary()));
    let assign = AssignTodo { todo_id: tasks[1], assignee: AgentPath::primary(), is_known: true };
    plan.ok(Role::Operator, assign);
    assert_eq!(taken(&mut plan, Role::Root, tasks[1]), None);
}

fn proposed() -> Delegation {
    let now = Time::from_micros(1);
    let mut ids = Ids::new(now, 1);
    let command = crate::world::order("do it");
    let root = Actor::new(Role::Root, AgentPath::primary());
    let project = ProjectId::from(ids.ulid());
    let decision =
        command.decide((project, None, 1), By { actor: &root, now, ids: &mut ids }).unwrap();
    let mut made = None;
    apply_delegation(&mut made, &decision.events[0], now);
    let content = Content::new("measure").unwrap();
    let item = ProposedItem { content, phase: None, kind: TodoKind::Step };
    Delegation { proposal: Some(Proposal { items: vec![item] }), ..made.unwrap() }
}

/// The delegating principal decides, here root:primary. The operator and the system may decide for
/// it, a worker may not.
#[test]
fn a_proposal_is_decided_by_the_delegating_principal() {
    let delegation = proposed();
    let command = DecideProposal { decision: ProposalDecision::Accept, items: None, reason: None };
    let other = AgentPath::parse("other").unwrap();
    for role in Role::ALL {
        for (agent, own) in [(AgentPath::primary(), true), (other.clone(), false)] {
            let by = Actor::new(role, agent);
            let decided = decided(&command, &delegation, &by, Time::from_micros(0));
            let expected = match role {
                Role::System | Role::Operator => true,
                Role::Worker | Role::Lead | Role::Owner => false,
                Role::Root => own,
            };
            assert_eq!(decided.is_ok(), expected, "{role} {own}");
            if !expected {
                let delegator = AgentPath::primary();
                let refusal = decided.unwrap_err().refusal;
                assert_eq!(refusal, Refusal::NotYourProposal { delegator }, "{role} {own}");
            }
        }
    }
}

fn gate(kind: GateKind) -> Gate {
    let mut ids = Ids::new(Time::from_micros(0), 3);
    Gate {
        id: GateId::from(ids.ulid()),
        project_id: ProjectId::from(ids.ulid()),
        details: details(kind),
        purpose: None,
        state: GateState::Open,
        session_id: None,
        issue_id: None,
        todo_id: None,
        run_id: None,
        text: "may I?".into(),
        asked_by: "root:primary".into(),
        reach: punchlist_core::Reach::default(),
        agent: AgentPath::primary(),
        created_at: Time::from_micros(2),
        revision: None,
        end: None,
        response: None,
        answered_by: None,
        answered_at: None,
        collected_at: None,
    }
}

/// A given permission stores how long it is valid; every other answer is stored as given.
#[test]
fn only_a_permission_changes_the_stored_answer() {
    use GateDecision::{Refuse, Resume};
    let cases: [(GateKind, GateDecision, Option<Value>, Option<Value>); 7] = [
        (GateKind::Permission, Resume, None, Some(json!({ "allow": "once" }))),
        (GateKind::Permission, Resume, Some(json!("always")), Some(json!({ "allow": "always" }))),
        (GateKind::Permission, Refuse, Some(json!("not that one")), Some(json!("not that one"))),
        (GateKind::Permission, Refuse, None, None),
        (GateKind::Ask, Resume, Some(json!("blue")), Some(json!("blue"))),
        (GateKind::Ask, Resume, None, None),
        (GateKind::Checkpoint, Refuse, Some(json!(["no"])), Some(json!(["no"]))),
    ];
    for (kind, decision, response, kept) in cases {
        let answer = AnswerGate::plain(decision, response);
        let decided =
            decided(&answer, (&gate(kind), None), &actor(Role::Operator), Time::from_micros(0))
                .unwrap();
        let [Event::GateAnswered(answered)] = &*decided.events else { panic!("{decided:?}") };
        assert_eq!(answered.response, kept, "{kind:?} {decision:?}");
    }
}

/// The root task of a plan from a line has all that an import needs.
#[test]
fn a_plan_from_a_line_has_its_name_its_reason_and_its_number() {
    let world = plan_world();
    let origin = Origin { file: "TODO.md".to_owned(), line: "- [ ] Add  it".to_owned() };
    let content = Content::new("Add  it").unwrap();
    let command = opening(&world.state, "docs/plans/add-it.md", content, &origin, 7).unwrap();
    let [root] = &*command.items else { panic!("{command:?}") };
    assert_eq!(root.external_id.as_deref(), Some("Add it"));
    assert_eq!(root.seq, Some(7));
    let reason = root.justification.as_ref().unwrap().as_str();
    assert!(reason.contains("TODO.md") && reason.contains("Add  it"), "{reason}");
}

/// Stored names are read back as their variants, and other texts are not.
#[test]
fn stored_names_are_read_back() {
    use punchlist_core::command::OldStatus;
    use punchlist_core::delegation::DelegationState;
    for status in OldStatus::ALL {
        assert_eq!(OldStatus::parse(status.name()), Some(status));
    }
    assert_eq!(OldStatus::parse("x"), None);
    for mode in [Mode::Sync, Mode::Async] {
        assert_eq!(Mode::parse(mode.name()), Some(mode));
    }
    for review in [Review::Auto, Review::Review] {
        assert_eq!(Review::parse(review.name()), Some(review));
    }
    for state in DelegationState::ALL {
        assert_eq!(DelegationState::parse(state.name()), Some(state));
    }
    for kind in GateKind::ALL {
        assert_eq!(GateKind::parse(kind.name()), Some(kind));
    }
    assert_eq!((Mode::parse("x"), Review::parse("x")), (None, None));
    assert_eq!((DelegationState::parse("x"), GateKind::parse("x")), (None, None));
}

/// Events of another delegation or run change nothing here.
#[test]
fn an_event_of_another_aggregate_changes_nothing() {
    use punchlist_core::driver::{Budget, StopReason, Trigger, Wait};
    use punchlist_core::event::{
        DelegationCancelled, DelegationFailed, DelegationReturned, DelegationStarted,
        ProposalDecided, RunCancelled, RunContinued, RunStepped, RunStopped, RunWaited, RunWoken,
    };
    use punchlist_core::run::apply_run;
    use punchlist_core::{DelegationId, RunId};
    let at = Time::from_micros(99);
    let mut ids = Ids::new(Time::from_micros(7), 9);
    let own = proposed();
    let delegation_events = |delegation_id: DelegationId| -> [Event; 5] {
        let (by, error) = ("worker:w".to_owned(), "no".to_owned());
        let decision = ProposalDecision::Reject;
        [
            DelegationStarted { delegation_id, by, attempts: 9 }.into(),
            DelegationReturned { delegation_id, result: "r".into(), proposal: None }.into(),
            DelegationFailed { delegation_id, error, again: false }.into(),
            DelegationCancelled { delegation_id, reason: None }.into(),
            ProposalDecided { delegation_id, decision, items: Vec::new(), reason: None }.into(),
        ]
    };
    for event in delegation_events(DelegationId::from(ids.ulid())) {
        let mut state = Some(own.clone());
        assert!(!apply_delegation(&mut state, &event, at), "{event:?}");
        assert_eq!(state, Some(own.clone()), "{event:?}");
    }
    for event in delegation_events(own.id) {
        assert!(apply_delegation(&mut Some(own.clone()), &event, at), "{event:?}");
    }
    let own = crate::driver::case::run(Budget::default());
    let run_events = |run_id: RunId| -> [Event; 6] {
        let mut counters = own.counters.clone();
        counters.calls = 77;
        let (reason, trigger) = (StopReason::Drained, Trigger::Resumed);
        [
            RunStepped { run_id, counters: counters.clone() }.into(),
            RunContinued { run_id, todo_id: None, trigger, counters: counters.clone() }.into(),
            RunWaited { run_id, waits_for: Wait::Pause, counters: counters.clone() }.into(),
            RunWoken { run_id, by: trigger, counters: counters.clone() }.into(),
            RunCancelled { run_id, reason: "enough".to_owned() }.into(),
            RunStopped { run_id, reason, detail: None, code: None, counters }.into(),
        ]
    };
    for event in run_events(RunId::from(ids.ulid())) {
        let mut state = Some(own.clone());
        assert!(!apply_run(&mut state, &event, at), "{event:?}");
        assert_eq!(state, Some(own.clone()), "{event:?}");
    }
    for event in run_events(own.id) {
        assert!(apply_run(&mut Some(own.clone()), &event, at), "{event:?}");
    }
}

/// A lease ends as soon as its item is not worked on any more, for each reason alone.
#[test]
fn a_lease_ends_with_each_reason_alone() {
    use punchlist_core::lease::{Lease, ends_with};
    let mut world = World::new(ListKind::Plan);
    let id = world.create(&["a task"])[0];
    let mut todo = world.state.todos[&id].clone();
    assert!(ends_with(&todo), "it has not been begun");
    todo.status = Status::InProgress;
    assert!(!ends_with(&todo));
    let mut claimed = todo.clone();
    crate::driver::case::claim(&mut claimed);
    let mut held = todo.clone();
    crate::driver::case::hold(&mut held);
    todo.status = Status::Completed;
    assert!(ends_with(&claimed) && ends_with(&held) && ends_with(&todo));
    let until = Time::from_micros(10);
    let lease = Lease { holder: Some("root:primary".to_owned()), epoch: 1, until };
    assert_eq!(lease.held_by(Time::from_micros(9)), Some("root:primary"));
    assert_eq!(lease.held_by(until), None, "it ends at its end");
    assert_eq!(Lease { holder: None, ..lease }.held_by(Time::from_micros(9)), None);
}

/// Each event of a gate changes only that gate.
#[test]
fn an_event_of_another_gate_changes_nothing() {
    use punchlist_core::event::{GateAnswered, GateCollected, GateSuperseded, PermissionRevoked};
    use punchlist_core::gate::apply_gate;
    let own = gate(GateKind::Ask);
    let at = Time::from_micros(99);
    let events = |gate_id: GateId| -> [Event; 4] {
        let (response, revision) = (Some(json!("yes")), Some(4));
        let (state, answered_by) = (GateState::Resumed, "operator".to_owned());
        [
            GateAnswered { gate_id, state, response, answered_by, revision }.into(),
            GateCollected { gate_id }.into(),
            GateSuperseded { gate_id, by: gate_id }.into(),
            PermissionRevoked { gate_id, response: json!("never") }.into(),
        ]
    };
    let other = GateId::from(Ids::new(Time::from_micros(5), 8).ulid());
    for event in events(other) {
        let mut state = Some(own.clone());
        assert!(!apply_gate(&mut state, &event, at), "{event:?}");
        assert_eq!(state, Some(own.clone()), "{event:?}");
    }
    for event in events(own.id) {
        let mut state = Some(own.clone());
        assert!(apply_gate(&mut state, &event, at), "{event:?}");
        assert_ne!(state, Some(own.clone()), "{event:?}");
    }
}

/// A new task gets its description from the file.
#[test]
fn a_new_task_has_its_description() {
    use punchlist_core::command::ImportPlan;
    use punchlist_core::plan::parse;
    let mut world = World::new(ListKind::Plan);
    let root = parse("# P\n\n- [ ] one\n\n  words beside it\n", "p").unwrap().root;
    world.ok(Role::Root, ImportPlan { root, next_seq: 1 });
    let one = world.state.todos.values().find(|todo| todo.title == "one").unwrap();
    assert_eq!(one.description, "words beside it");
}

/// A lease ends when the item is given back, even if the item is in progress again at once.
#[test]
fn giving_back_ends_a_lease_and_starting_does_not() {
    let now = Time::from_micros(1);
    let todo_id = TodoId::from(Ids::new(now, 1).ulid());
    assert!(lease::ended_by(&Event::TodoYielded(TodoYielded { todo_id, reason: None })));
    let started = TodoStarted { todo_id, started_at: now, reason: None };
    assert!(!lease::ended_by(&Event::TodoStarted(started)));
}

/// The delegating actor is identified by its principal; only the driver is identified by its agent.
#[test]
fn a_delegation_belongs_to_its_delegating_principal() {
    let delegation = proposed();
    let maker = Actor::new(Role::Root, AgentPath::primary());
    assert!(owns_delegation(&maker, &delegation));
    let other = Actor::new(Role::Root, AgentPath::parse("primary.helper").unwrap());
    assert!(!owns_delegation(&other, &delegation));
    let driver = |agent: &str| Actor::new(Role::System, AgentPath::parse(agent).unwrap());
    assert!(owns_delegation(&driver("primary"), &delegation));
    assert!(!owns_delegation(&driver("primary.helper"), &delegation));
    let lead = Actor::new(Role::Lead, AgentPath::primary());
    assert!(!owns_delegation(&lead, &delegation), "another role of the same name");
}

/// Exactly the subjects with a row of `own` have a text for it.
#[test]
fn subjects_with_a_row_of_own_have_a_text_for_it() {
    for subject in Subject::ALL {
        let mut cells = rows_of(subject).iter().flat_map(|(_, cells)| cells);
        let depends = cells.any(|cell| matches!(cell, Cell::Own | Cell::Grant | Cell::Wish));
        assert_eq!(subject.own_means().is_some(), depends, "{subject}");
    }
}
