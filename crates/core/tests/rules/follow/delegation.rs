//! Work that is delegated, comes back, fails or is cancelled.

use punchlist_core::command::{ClaimTodo, CompleteTodo, HoldTodo, UnholdTodo};
use punchlist_core::conversation::{MessageKind, Speaker};
use punchlist_core::delegation::{
    CancelDelegation, Delegate, Delegation, DelegationState, Mode, Proposal, Review,
    apply_delegation,
};
use punchlist_core::driver::{Budget, Trigger};
use punchlist_core::event::{ListArchived, TodoCancelled, TodoCompleted, TodoRemoved};
use punchlist_core::follow::delegation::{self as follow, Reported};
use punchlist_core::follow::{Settled, Then};
use punchlist_core::run::{Completion, RunState};
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::{HoldKind, SettledBy};
use punchlist_core::{
    Actor, AgentPath, ArchiveReason, By, Command, ConversationId, Decide, Decision, Event, Ids,
    IssueId, ListKind, ProjectId, Role, RunId, Time, TodoId,
};

use crate::driver::case::{hold, list, run};
use crate::world::World;

const NOW: Time = Time::from_micros(1);

fn chat() -> ConversationId {
    ConversationId::from(Ids::new(NOW, 5).ulid())
}

fn item() -> TodoId {
    TodoId::from(Ids::new(NOW, 6).ulid())
}

fn caller() -> RunId {
    RunId::from(Ids::new(NOW, 7).ulid())
}

fn worker() -> Actor {
    Actor::new(Role::Worker, AgentPath::parse("lead.subagents.coder").unwrap())
}

/// Delegated work without an item.
fn queued() -> Delegation {
    let order = crate::world::order("look");
    let lead = Actor::new(Role::Lead, AgentPath::parse("lead").unwrap());
    let ids = &mut Ids::new(NOW, 8);
    let project = ProjectId::from(ids.ulid());
    let decision = order.decide((project, None, 1), By { actor: &lead, now: NOW, ids }).unwrap();
    let mut state = None;
    assert!(apply_delegation(&mut state, &decision.events[0], NOW));
    state.unwrap()
}

fn came_back() -> Delegation {
    let result = Some("it works".to_owned());
    Delegation { state: DelegationState::Returned, result, ..queued() }
}

fn failed() -> Delegation {
    let error = Some("e".repeat(400));
    Delegation { state: DelegationState::Failed, error, ..queued() }
}

fn change(actor: Actor, command: impl Into<Command>) -> Then {
    Then::Change { actor: Box::new(actor), todo_id: item(), command: Box::new(command.into()) }
}

fn post(kind: MessageKind, text: String) -> Then {
    Then::Post { chat: chat(), speaker: Speaker::Assistant, kind, text }
}

fn wake(news: Option<String>) -> Then {
    Then::Wake { run: caller(), by: Trigger::DelegationReturned, news }
}

/// M-60 to M-62, S-25, F-7, F-8: a report is posted in its chat and the item is claimed, a failure
/// holds the item, and the delegating run is resumed.
#[test]
fn what_follows_from_a_report() {
    let (todo_id, evidence) = (item(), Vec::new());
    let claim = ClaimTodo {
        todo_id,
        outcome: Some("it works".to_owned()),
        evidence: evidence.clone(),
        clock: None,
    };
    let claimer = Actor { principal: worker().principal, ..Actor::system() };
    let kind = HoldKind::Failed;
    let reason = Body::new(&format!("coder failed: {}", "e".repeat(300))).unwrap();
    let held = change(Actor::system(), HoldTodo { todo_id, kind, reason, until: None });
    let outcome = Some("it works".to_owned());
    let complete = CompleteTodo { todo_id, outcome, evidence, metrics_impacted: Vec::new() };
    let mut verified = run(Budget::default());
    verified.settings.completion = Completion::Verified;
    let own = run(Budget::default());
    let report = MessageKind::Report;

    let in_chat = |base: Delegation| Delegation {
        conversation_id: Some(chat()),
        todo_id: Some(todo_id),
        ..base
    };
    let handed_by = |base: Delegation, mode| Delegation {
        run_id: Some(caller()),
        todo_id: Some(todo_id),
        mode,
        ..base
    };
    let again = Delegation {
        state: DelegationState::Queued,
        error: Some("once".to_owned()),
        ..in_chat(queued())
    };
    let on = |run, list| Reported { by: &WORKER, title: Some("Fix it"), run, list };
    static WORKER: std::sync::LazyLock<Actor> = std::sync::LazyLock::new(worker);
    let (done, broken) = (in_chat(came_back()), in_chat(failed()));
    let for_root = Actor::new(Role::Root, came_back().parent_agent);
    let for_root = Actor { principal: worker().principal, ..for_root };
    let about = Delegation { todo_id: Some(todo_id), ..came_back() };
    let sync = handed_by(came_back(), Mode::Sync);
    let asynchronous = handed_by(came_back(), Mode::Async);
    let turn = Some(ListKind::Turn);
    for (name, delegation, on, then) in [
        ("nothing is asked for", came_back(), on(None, None), vec![]),
        (
            "done, in a chat",
            done.clone(),
            on(None, Some(ListKind::Pillar)),
            vec![
                post(report, done.report_text(Some("Fix it"))),
                Then::CallUpon(chat()),
                change(claimer, claim.clone()),
            ],
        ),
        (
            "a plan task is claimed",
            about.clone(),
            on(None, Some(ListKind::Plan)),
            vec![change(for_root, claim)],
        ),
        ("a step is settled by its own agent", about, on(None, Some(ListKind::Issue)), vec![]),
        (
            "failed for good, in a chat",
            broken.clone(),
            on(None, None),
            vec![
                post(report, broken.report_text(Some("Fix it"))),
                Then::CallUpon(chat()),
                held.clone(),
            ],
        ),
        (
            "failed, and is tried once more",
            again.clone(),
            on(None, None),
            vec![post(report, again.report_text(Some("Fix it")))],
        ),
        (
            "verified by its report",
            sync.clone(),
            on(Some(&verified), turn),
            vec![change(verified.actor(), complete), wake(None)],
        ),
        ("the agent says so itself", sync.clone(), on(Some(&own), turn), vec![wake(None)]),
        (
            "not on a turn's plan",
            sync,
            on(Some(&verified), Some(ListKind::Session)),
            vec![wake(None)],
        ),
        (
            "nobody waits on the spot",
            asynchronous.clone(),
            on(None, None),
            vec![wake(Some(asynchronous.news()))],
        ),
        (
            "failed for a run",
            handed_by(failed(), Mode::Sync),
            on(Some(&verified), turn),
            vec![held, wake(None)],
        ),
    ] {
        assert_eq!(follow::reported(&delegation, &on), then, "{name}");
    }
}

/// A hold from failed work is lifted when the item is delegated again; any other hold stays.
#[test]
fn a_new_order_lifts_a_failure_and_no_other_hold() {
    let mut todo = list(&["a"]).todos.into_values().next().unwrap();
    assert_eq!(follow::tried_again(&todo), None);
    hold(&mut todo);
    assert_eq!(follow::tried_again(&todo), None);
    todo.hold.as_mut().unwrap().kind = HoldKind::Failed;
    let (todo_id, actor) = (todo.id, Box::new(Actor::system()));
    let command = Box::new(UnholdTodo { todo_id }.into());
    assert_eq!(follow::tried_again(&todo), Some(Then::Change { actor, todo_id, command }));
    assert_eq!(follow::handed_on(&queued()), None);
    let chatted = Delegation { conversation_id: Some(chat()), ..queued() };
    let order = post(MessageKind::Text, "look".to_owned());
    assert_eq!(follow::handed_on(&chatted), Some(order));
}

/// F-2: cancelling work ends its run and resumes the run that waits; work that is over does not
/// change.
#[test]
fn what_follows_from_a_cancellation() {
    let called = Delegation { state: DelegationState::Cancelled, ..queued() };
    let waited = Delegation { run_id: Some(caller()), ..called.clone() };
    let going = run(Budget::default());
    let mut over = going.clone();
    over.state = RunState::Ended;
    let ends = Then::EndRun {
        actor: Box::new(Actor { agent: going.agent.clone(), ..Actor::system() }),
        run: going.id,
        reason: "the work was called off",
    };
    let told = wake(Some(waited.news()));
    for (delegation, run, then) in [
        (&called, None, vec![]),
        (&called, Some(&over), vec![]),
        (&called, Some(&going), vec![ends.clone()]),
        (&waited, Some(&going), vec![ends, told.clone()]),
        (&waited, None, vec![told]),
    ] {
        assert_eq!(follow::called_off(delegation, run), then);
    }
    assert_eq!(follow::call_off(&called, "no"), None);
    let actor = Actor { agent: queued().parent_agent, ..Actor::system() };
    let cancel = CancelDelegation { reason: Body::new("no").ok() };
    assert_eq!(follow::call_off(&queued(), "no"), Some((actor, cancel)));
}

/// F-2: on a list of any kind, work on a settled item stops, and all work on an archived plan. Items
/// that are handed on to an issue are not given up.
#[test]
fn work_on_settled_items_stops() {
    let by = Actor::new(Role::Root, AgentPath::primary());
    let settled_by = || SettledBy { principal: by.principal.clone(), role: by.role };
    for kind in ListKind::ALL {
        let mut world = World::new(kind);
        let ids = world.create(&["a", "b"]);
        let list = &world.state.list;
        let completed = Event::from(TodoCompleted {
            todo_id: ids[0],
            outcome: None,
            evidence: vec![],
            started_at: NOW,
            self_accepted: false,
            settled_at: NOW,
            settled_by: settled_by(),
        });
        let cancelled = Event::from(TodoCancelled {
            todo_id: ids[1],
            outcome: None,
            settled_at: NOW,
            settled_by: settled_by(),
        });
        let removed = Event::from(TodoRemoved { todo_id: ids[1], removed_at: NOW });
        let (scope, reason) = (list.scope.clone(), ArchiveReason::Finished);
        let archived = Event::from(ListArchived { scope, archived_at: NOW, reason });
        let stop = |settled, reason| {
            let by = Box::new(by.clone());
            Then::StopWork { list: list.id, settled, reason, by }
        };
        let first = stop(Settled::Items(vec![ids[0]]), "the todo was completed");
        let second = stop(Settled::Items(vec![ids[1]]), "the todo was cancelled");
        let gone = if kind == ListKind::Session { vec![] } else { vec![second.clone()] };
        for (events, then) in [
            (vec![], vec![]),
            (vec![removed.clone()], vec![]),
            (vec![cancelled.clone(), completed], vec![first, second]),
            (vec![cancelled, removed], gone),
            (vec![archived], vec![stop(Settled::List, "the plan was archived")]),
        ] {
            let decided = Decision { events, ..Decision::default() };
            assert_eq!(follow::settled(list, &decided, &by), then, "{kind}: {decided:?}");
        }
    }
}

/// F-2: the work ends also if an item above was settled, but not if its own worker did that.
#[test]
fn work_ends_with_its_item_unless_its_worker_settled_it() {
    let [own, above, other] = [1, 2, 3].map(|n| TodoId::from(Ids::new(NOW, n).ulid()));
    let line = [own, above];
    let live = queued();
    let lead = Actor::new(Role::Lead, AgentPath::parse("lead").unwrap());
    let outside = Actor { principal: "worker:w".to_owned(), ..worker() };
    let mut helper = outside;
    helper.agent = AgentPath::parse("w").unwrap();
    let items = |id| Settled::Items(vec![id]);
    for (name, work, holder, settled, by, ends) in [
        ("queued", &live, None, items(own), &lead, true),
        ("held", &live, Some("worker:w"), items(own), &lead, true),
        ("an item above", &live, None, items(above), &lead, true),
        ("another item", &live, None, items(other), &lead, false),
        ("all of it", &live, None, Settled::List, &lead, true),
        ("over", &came_back(), None, items(own), &lead, false),
        ("by its agent", &live, None, items(own), &worker(), false),
        ("by its holder", &live, Some("worker:w"), items(own), &helper, false),
        ("by another worker", &live, Some("worker:v"), items(own), &helper, true),
        // Without names of its own, the holder may be the delegator too.
        ("by the delegator", &live, Some("lead:lead"), items(own), &lead, true),
    ] {
        assert_eq!(follow::is_moot(work, holder, &line, (&settled, by)), ends, "{name}");
    }
}

/// M-51: returned work goes back to the agent of ours that did it last, and to no other.
#[test]
fn returned_work_goes_back_to_the_agent_that_did_it() {
    let done = Delegation { conversation_id: Some(chat()), ..came_back() };
    let order = Delegate {
        kind: Title::new("coder").unwrap(),
        mission: Body::new("measure it").unwrap(),
        rationale: None,
        mode: Mode::Async,
        review: Review::Review,
        todo_id: Some(item()),
        conversation_id: Some(chat()),
        run_id: None,
    };
    for (last, is_ours, expected) in [
        (Some(&done), true, Some(order)),
        (Some(&done), false, None),
        (Some(&failed()), true, None),
        (None, true, None),
    ] {
        assert_eq!(follow::hand_back(last, is_ours, item(), "measure it"), expected);
    }
    assert_eq!(follow::hand_back(Some(&done), true, item(), " "), None, "nothing was said");
}

/// K-51: only if the policy says so, and if there is a checklist.
#[test]
fn a_proposal_is_adopted_at_once_only_by_policy() {
    let issue_id = Some(IssueId::from(Ids::new(NOW, 9).ulid()));
    let proposal = Some(Proposal { items: Vec::new() });
    let auto = Delegation { review: Review::Auto, issue_id, proposal, ..came_back() };
    assert!(follow::adopts_at_once(&auto));
    for other in [
        Delegation { review: Review::Review, ..auto.clone() },
        Delegation { issue_id: None, ..auto.clone() },
        Delegation { proposal: None, ..auto },
    ] {
        assert!(!follow::adopts_at_once(&other));
    }
}

/// Sessions belong to root and the operator; other roles may not name one.
#[test]
fn only_roles_with_sessions_delegate_in_one() {
    for role in Role::ALL {
        let actor = Actor::new(role, AgentPath::primary());
        let has_one = matches!(role, Role::Operator | Role::Root);
        let named = follow::in_own_session(&actor, true).ok();
        let unnamed = follow::in_own_session(&actor, false).ok();
        assert_eq!((named, unnamed), (has_one.then_some(true), Some(has_one)), "{role}");
    }
}
