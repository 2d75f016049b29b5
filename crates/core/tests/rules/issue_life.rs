//! The life of an issue's checklist: steps and criteria, claims, sign-off, ledger lines.

use punchlist_core::command::{
    AdoptTodos, CancelTodo, CompleteTodo, CreateTodos, NewTodo, NoteTodo, RatifyTodo,
    RefuseSignOff, ReplaceTodos, SignOff, StartTodo,
};
use punchlist_core::command::{Command, ListedTodo};
use punchlist_core::gate::{
    Asked, Details, Gate, GateState, Ground, OpenGate, Purpose, apply_gate,
};
use punchlist_core::issue::address::{Precision, find, find_criterion};
use punchlist_core::issue::{Issue, IssueStatus, Part, context, ledger, progress};
use punchlist_core::session::{Session, SessionState};
use punchlist_core::text::{Body, Content};
use punchlist_core::{
    AgentPath, By, ConversationId, Decide, Decision, Event, IssueId, ListKind, ProjectId, Refusal,
    Role, SessionId, Snapshot, Status, Time, TodoId, TodoKind, Warning,
};

use crate::world::{World, actor};

fn content(text: &str) -> Content {
    Content::new(text).unwrap()
}

fn body(text: &str) -> Body {
    Body::new(text).unwrap()
}

fn items(kind: TodoKind, texts: &[&str]) -> CreateTodos {
    let new = |text: &&str| NewTodo { kind, ..NewTodo::titled(content(text)) };
    CreateTodos { items: texts.iter().map(new).collect() }
}

fn set(texts: &[&str]) -> ReplaceTodos {
    let listed = |text: &&str| ListedTodo::titled(content(text));
    ReplaceTodos { items: texts.iter().map(listed).collect() }
}

fn id(state: &Snapshot, text: &str) -> TodoId {
    find(state, text, Precision::Exact).unwrap()
}

fn statuses(state: &Snapshot) -> Vec<(String, Status)> {
    let todos = punchlist_core::select::ordered(state);
    todos.into_iter().map(|todo| (todo.title.clone(), todo.status)).collect()
}

fn done(state: &Snapshot, text: &str) -> CompleteTodo {
    let (todo_id, outcome) = (id(state, text), None);
    CompleteTodo { todo_id, outcome, evidence: vec![], metrics_impacted: vec![] }
}

/// K-15, K-16, K-20: one step is in progress; starting another puts it back; `done` starts the
/// first pending one.
#[test]
fn exactly_one_step_is_in_progress() {
    let mut world = World::new(ListKind::Issue);
    world.ok(Role::Root, items(TodoKind::Step, &["a", "b", "c"]));
    let named = |texts: [(&str, Status); 3]| texts.map(|(text, s)| (text.to_owned(), s)).to_vec();
    use Status::{Completed, InProgress, Pending};
    assert_eq!(statuses(&world.state), named([("a", InProgress), ("b", Pending), ("c", Pending)]));
    world.ok(Role::Root, StartTodo { todo_id: id(&world.state, "c"), reason: None });
    assert_eq!(statuses(&world.state), named([("a", Pending), ("b", Pending), ("c", InProgress)]));
    let command = done(&world.state, "c");
    world.ok(Role::Root, command);
    assert_eq!(
        statuses(&world.state),
        named([("a", InProgress), ("b", Pending), ("c", Completed)])
    );
    assert!(world.state.todo(id(&world.state, "c")).unwrap().settled_at.is_some());
}

/// K-13, K-17, K-33, D-22: `set` keeps the rows of unchanged texts, cancels missing ones, and never
/// changes criteria; done items stay done.
#[test]
fn set_keeps_rows_and_never_touches_criteria() {
    let mut world = World::new(ListKind::Issue);
    world.ok(Role::Operator, items(TodoKind::Criterion, &["it works"]));
    world.ok(Role::Root, set(&["a", "b", "c"]));
    let (a, b) = (id(&world.state, "a"), id(&world.state, "b"));
    let criterion = world.state.todo(id(&world.state, "it works")).unwrap().clone();
    world.ok(Role::Root, NoteTodo { todo_id: b, text: body("see RFC") });
    let command = done(&world.state, "a");
    world.ok(Role::Root, command);
    world.ok(Role::Root, set(&["d", "b", "a"]));
    assert_eq!(id(&world.state, "a"), a, "a completed step keeps its row");
    assert_eq!(world.state.todo(a).unwrap().status, Status::Completed);
    assert_eq!(id(&world.state, "b"), b);
    assert_eq!(world.state.todo(id(&world.state, "c")).unwrap().status, Status::Cancelled);
    assert_eq!(world.state.todo(criterion.id), Some(&criterion));
    assert_eq!(world.state.todos.len(), 5);
    // A cancelled text comes back as a new item.
    let abandoned = id(&world.state, "c");
    world.ok(Role::Root, set(&["c"]));
    assert_ne!(id(&world.state, "c"), abandoned);
    let twice = world.refused(Role::Root, set(&["x", " x "]));
    assert_eq!(twice, Refusal::DuplicateText { text: "x".into() });
}

/// K-31, K-32, D-26, P-21: steps belong to the agent; on a criterion its `done` is a claim, and it
/// can neither start, drop nor ratify one.
#[test]
fn an_agent_claims_a_criterion_and_no_more() {
    let mut world = World::new(ListKind::Issue);
    world.ok(Role::Root, items(TodoKind::Criterion, &["it works"]));
    let todo_id = id(&world.state, "it works");
    assert_eq!(world.state.todo(todo_id).unwrap().ratified_at, None, "proposed (Q-K2)");
    let started = world.refused(Role::Root, StartTodo { todo_id, reason: None });
    assert_eq!(started.code(), "criterion_not_startable");
    for command in [
        Command::from(CancelTodo { todo_id, outcome: None }),
        RatifyTodo { todo_id }.into(),
        SignOff::default().into(),
        RefuseSignOff { todo_ids: None, feedback: body("no") }.into(),
    ] {
        assert_eq!(world.refused(Role::Root, command.clone()).code(), "not_permitted");
        assert_eq!(world.refused(Role::Worker, command).code(), "not_permitted");
    }
    let command = done(&world.state, "it works");
    world.ok(Role::Root, command);
    let todo = world.state.todo(todo_id).unwrap();
    assert_eq!((todo.status, todo.claim.is_some()), (Status::Pending, true));
    world.ok(Role::Operator, RatifyTodo { todo_id });
    assert!(world.state.todo(todo_id).unwrap().ratified_at.is_some());
    let again = world.refused(Role::Operator, RatifyTodo { todo_id });
    assert_eq!(again.code(), "already_ratified");
}

/// K-35: a sign-off accepts the claimed criteria and ratifies all. K-39: a refusal reopens only the
/// named ones, with a note.
#[test]
fn a_sign_off_judges_the_criteria() {
    let mut world = World::new(ListKind::Issue);
    world.ok(Role::Root, items(TodoKind::Criterion, &["fast", "small", "pretty"]));
    for text in ["fast", "small"] {
        let command = done(&world.state, text);
        world.ok(Role::Root, command);
    }
    let fast = find_criterion(&world.state, "fast", Precision::Exact).unwrap();
    let refused = RefuseSignOff { todo_ids: Some(vec![fast]), feedback: body("measure it") };
    let decision = world.ok(Role::Operator, refused);
    assert_eq!(world.state.todo(fast).unwrap().claim, None);
    assert!(world.state.todo(id(&world.state, "small")).unwrap().claim.is_some());
    let notes: Vec<&str> = decision
        .events
        .iter()
        .filter_map(|event| match event {
            Event::TodoNoted(noted) => Some(noted.note.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(notes, ["measure it"]);
    world.ok(Role::Operator, SignOff::default());
    let small = world.state.todo(id(&world.state, "small")).unwrap();
    assert_eq!((small.status, small.ratified_at.is_some()), (Status::Completed, true));
    let open = world.state.todo(fast).unwrap();
    assert_eq!((open.status, open.ratified_at.is_some()), (Status::Pending, true));
    // Criteria accepted before can be reopened, too.
    let todo_ids = Some(vec![id(&world.state, "small")]);
    world.ok(Role::Operator, RefuseSignOff { todo_ids, feedback: body("it grew") });
    assert_eq!(world.state.todo(id(&world.state, "small")).unwrap().status, Status::Pending);
    let todo_ids = Some(vec![id(&world.state, "pretty")]);
    let nothing = RefuseSignOff { todo_ids, feedback: body("x") };
    assert_eq!(world.refused(Role::Operator, nothing).code(), "no_claim");
}

/// K-49, K-52, D-22: adopted items keep the worker's path; listed texts are skipped.
#[test]
fn a_workers_proposal_keeps_its_origin() {
    let mut world = World::new(ListKind::Issue);
    world.ok(Role::Root, items(TodoKind::Step, &["a"]));
    let origin_agent = AgentPath::parse("primary.subagents.coder").unwrap();
    let new = |text: &str| NewTodo::titled(content(text));
    let adopt = AdoptTodos { items: vec![new("a"), new("b")], origin_agent: origin_agent.clone() };
    assert_eq!(world.refused(Role::Worker, adopt.clone()).code(), "not_permitted");
    let decision = world.ok(Role::Root, adopt);
    assert_eq!(decision.warnings, [Warning::AlreadyListed { text: "a".into() }]);
    assert_eq!(world.state.todo(id(&world.state, "b")).unwrap().origin_agent, origin_agent);
    assert_eq!(world.state.todo(id(&world.state, "a")).unwrap().origin_agent.as_str(), "primary");
}

pub(crate) fn issue() -> Issue {
    let mut ids = punchlist_core::Ids::new(Time::from_micros(0), 3);
    Issue {
        id: IssueId::from(ids.ulid()),
        project_id: ProjectId::from(ids.ulid()),
        number: 4,
        title: "Log in fails".into(),
        body: String::new(),
        status: IssueStatus::InProgress,
        assignment: None,
        revision: 7,
        judged: std::collections::BTreeMap::new(),
        created_by: "operator".into(),
        created_at: Time::from_micros(0),
        updated_at: Time::from_micros(0),
        defer_until: None,
        labels: Vec::new(),
        priority: None,
        assignee: None,
        status_reason: None,
    }
}

/// The ledger lines of a change, and the new revision.
fn told(world: &mut World, role: Role, command: impl Into<Command>) -> (Vec<String>, Option<i64>) {
    let (command, issue) = (command.into(), issue());
    let decided: Decision = world.ok(role, command.clone());
    let mut ids = punchlist_core::Ids::new(Time::from_micros(9), 4);
    let (actor, now) = (actor(role), Time::from_micros(9));
    let followed = ledger::follow(&issue, &world.state, &command, &decided, &actor, now, &mut ids);
    let mut lines = Vec::new();
    let mut revision = None;
    for event in followed.events {
        match event {
            Event::IssueUpdated(e) => lines.push(e.update.text),
            Event::ChecklistChanged(e) => revision = Some(e.revision),
            other => panic!("{other:?}"),
        }
    }
    (lines, revision)
}

/// K-26, K-27: routine moves and notes write no line; a claim, a single ratification, a drop, an
/// approved sublist and a refused sign-off write one each. Every change raises the revision.
#[test]
fn the_ledger_records_decisions_and_not_routine_moves() {
    let mut world = World::new(ListKind::Issue);
    let quiet = (Vec::<String>::new(), Some(8));
    assert_eq!(told(&mut world, Role::Root, items(TodoKind::Step, &["a", "b"])), quiet);
    assert_eq!(told(&mut world, Role::Root, items(TodoKind::Criterion, &["fast", "small"])), quiet);
    let todo_id = id(&world.state, "b");
    assert_eq!(told(&mut world, Role::Root, StartTodo { todo_id, reason: None }), quiet);
    let note = NoteTodo { todo_id, text: body("hm") };
    assert_eq!(told(&mut world, Role::Root, note), quiet);
    let command = done(&world.state, "b");
    assert_eq!(told(&mut world, Role::Root, command), quiet);
    let drop = CancelTodo { todo_id: id(&world.state, "a"), outcome: None };
    assert_eq!(told(&mut world, Role::Root, drop), quiet);

    let one = |line: &str| (vec![line.to_owned()], Some(8));
    let command = done(&world.state, "fast");
    let claimed = "Criterion claimed by root:primary: fast (no evidence)";
    assert_eq!(told(&mut world, Role::Root, command), one(claimed));
    let ratify = RatifyTodo { todo_id: id(&world.state, "small") };
    assert_eq!(told(&mut world, Role::Operator, ratify), one("Criterion ratified: small"));
    let refuse = RefuseSignOff { todo_ids: None, feedback: body("slow") };
    let refused = "Sign-off refused: slow. Open again: `fast`.";
    assert_eq!(told(&mut world, Role::Operator, refuse), one(refused));
    assert_eq!(told(&mut world, Role::Operator, SignOff::default()), quiet);
    let drop = CancelTodo { todo_id: id(&world.state, "small"), outcome: None };
    assert_eq!(told(&mut world, Role::Operator, drop), one("Criterion dropped: small"));
    let adopt = AdoptTodos {
        items: vec![NewTodo::titled(content("x")), NewTodo::titled(content("y"))],
        origin_agent: AgentPath::parse("primary.subagents.w").unwrap(),
    };
    let approved = "Sublist of primary.subagents.w approved: 2 items.";
    assert_eq!(told(&mut world, Role::Root, adopt), one(approved));
}

/// K-19, K-24: an agent gives the exact text; a person may be brief; nothing is guessed.
#[test]
fn items_are_addressed_by_their_text() {
    let mut world = World::new(ListKind::Issue);
    world
        .ok(Role::Root, items(TodoKind::Step, &["Write the tests", "Run the tests", "Ship 🚢 it"]));
    let state = &world.state;
    let exact = |text: &str| find(state, text, Precision::Exact);
    assert_eq!(exact("  Write   the tests "), Ok(id(state, "Write the tests")));
    let Err(Refusal::NoSuchText { nearest, .. }) = exact("write the tests") else { panic!() };
    assert_eq!(nearest[0], "Write the tests");
    let miss = exact("task-3").unwrap_err();
    assert!(miss.hint().contains("addressed by their text, not by an id"), "{}", miss.hint());
    let brief = |text: &str| find(state, text, Precision::Brief);
    assert_eq!(brief("write THE tests"), Ok(id(state, "Write the tests")));
    assert_eq!(brief("ship"), Ok(id(state, "Ship 🚢 it")));
    let ambiguous = brief("the tests").unwrap_err();
    assert_eq!(ambiguous.code(), "ambiguous_text");
    assert_eq!(brief("deploy").unwrap_err().code(), "no_such_text");
    let empty = World::new(ListKind::Issue);
    let refusal = find(&empty.state, "x", Precision::Exact).unwrap_err();
    assert!(refusal.to_string().contains("the list is empty"), "{refusal}");
}

/// P-9: it is visible if an agent cancels most of its plan; a person's cancellations do not count.
#[test]
fn steps_cancelled_by_an_agent_are_visible() {
    let mut world = World::new(ListKind::Issue);
    world.ok(Role::Root, items(TodoKind::Step, &["a", "b", "c", "d", "e"]));
    for (role, text) in
        [(Role::Root, "a"), (Role::Root, "b"), (Role::Root, "c"), (Role::Operator, "d")]
    {
        let todo_id = id(&world.state, text);
        world.ok(role, CancelTodo { todo_id, outcome: None });
    }
    assert_eq!(progress::line(&world.state), "4 of 5 closed, 3 of 5 cancelled by the agent");
}

/// P-7, P-1: the context shows closed and open items, and what is held and why; it keeps its budget
/// and counts the omitted ones.
#[test]
fn the_context_states_open_and_closed_within_its_budget() {
    let mut world = World::new(ListKind::Issue);
    world.ok(Role::Operator, items(TodoKind::Criterion, &["it works"]));
    world.ok(Role::Root, items(TodoKind::Step, &["read", "fix", "test"]));
    let command = done(&world.state, "read");
    world.ok(Role::Root, command);
    let hold = punchlist_core::command::HoldTodo {
        todo_id: id(&world.state, "test"),
        kind: punchlist_core::todo::HoldKind::Blocked,
        reason: body("no key"),
        until: None,
    };
    world.ok(Role::Root, hold);
    let text = context::render(&issue(), Some(&world.state), &[], context::BUDGET);
    assert_eq!(
        text,
        "Issue #4 (in_progress): Log in fails\n\
         Checklist: 1 of 4 closed, 1 held, 0 of 1 criteria met.\n\
         Criteria (1):\n- [ ] it works\n\
         Open steps (2):\n- [/] fix\n- [!] test (held: no key)\n\
         Closed steps (1):\n- [x] read"
    );
    let many: Vec<String> = (0..500).map(|n| format!("step {n} with some words")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    world.ok(Role::Root, items(TodoKind::Step, &many));
    for budget in [100, 300, context::BUDGET, 5_000] {
        let text = context::render(&issue(), Some(&world.state), &[], budget);
        assert!(text.chars().count() <= budget, "{budget}");
        assert!(budget < 300 || text.contains("… and "), "{text}");
    }
}

pub(crate) fn session() -> Session {
    let mut ids = punchlist_core::Ids::new(Time::from_micros(0), 31);
    Session {
        id: SessionId::from(ids.ulid()),
        project_id: issue().project_id,
        title: "work".into(),
        state: SessionState::Active,
        bound_issue: Some(issue().id),
        conversation_id: ConversationId::from(ids.ulid()),
        host: None,
        external_id: None,
        directory: None,
        paused_by: None,
        reach: punchlist_core::Reach::default(),
        started_by: "root:primary".into(),
        created_at: Time::from_micros(0),
        updated_at: Time::from_micros(0),
        ended_at: None,
    }
}

fn checkpoint(text: &str, purpose: Option<Purpose>) -> OpenGate {
    let (text, details) = (body(text), Details::Checkpoint {});
    OpenGate { details, purpose, text, end: IssueStatus::Resolved }
}

fn ask(command: &OpenGate, issue: &Issue, checklist: &Snapshot, earlier: &[Gate]) -> Asked {
    let session = session();
    let ground = Ground {
        run_id: None,
        project_id: issue.project_id,
        session: Some(&session),
        issue: Some(issue),
        checklist: Some(checklist),
        earlier,
    };
    let mut ids = punchlist_core::Ids::new(Time::from_micros(5), 99);
    command
        .decide(&ground, By { actor: &actor(Role::Root), now: Time::from_micros(5), ids: &mut ids })
        .unwrap()
}

fn opened(asked: Asked) -> Gate {
    let Asked::New { opened, .. } = asked else { panic!("{asked:?}") };
    let mut gate = None;
    for event in &opened.events {
        apply_gate(&mut gate, event, Time::from_micros(5));
    }
    gate.unwrap()
}

/// K-34: a checkpoint is a sign-off once every criterion is claimed, else a pause. P-32: asking
/// again finds the same gate; its answer is delivered once; a changed issue is a new question.
#[test]
fn a_checkpoint_is_asked_once_and_answered_once() {
    let mut world = World::new(ListKind::Issue);
    world.ok(Role::Root, items(TodoKind::Criterion, &["fast", "small"]));
    let issue = issue();
    let command = done(&world.state, "fast");
    world.ok(Role::Root, command);
    let pause = opened(ask(&checkpoint("look", None), &issue, &world.state, &[]));
    assert_eq!(pause.purpose, Some(Purpose::Pause));
    let command = done(&world.state, "small");
    world.ok(Role::Root, command);
    let sign_off = checkpoint("met", None);
    let asked = ask(&sign_off, &issue, &world.state, std::slice::from_ref(&pause));
    let Asked::New { superseded, .. } = &asked else { panic!("{asked:?}") };
    assert_eq!(superseded.len(), 1, "the older checkpoint gives way");
    let gate = opened(asked);
    assert_eq!((gate.purpose, gate.revision), (Some(Purpose::SignOff), Some(7)));
    let again = |gate: &Gate, issue: &Issue| {
        ask(&sign_off, issue, &world.state, std::slice::from_ref(gate))
    };
    assert_eq!(again(&gate, &issue), Asked::Standing(gate.id));
    let answered = Gate { state: GateState::Resumed, ..gate.clone() };
    assert!(matches!(again(&answered, &issue), Asked::Answered(id, _) if id == gate.id));
    let collected = Gate { collected_at: Some(Time::from_micros(6)), ..answered.clone() };
    assert!(matches!(again(&collected, &issue), Asked::New { .. }));
    // After a change of steps the question is the same. After a change of a claim it is another
    // one.
    let stepped = Issue { revision: 8, ..issue };
    assert_eq!(again(&gate, &stepped), Asked::Standing(gate.id));
    let changed = Issue { judged: [(Part::Claims, 8)].into(), ..stepped };
    assert!(matches!(again(&gate, &changed), Asked::New { .. }));
    assert!(matches!(again(&answered, &changed), Asked::New { .. }));
}
