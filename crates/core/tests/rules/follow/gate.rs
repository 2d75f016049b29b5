//! The answer to a gate.

use punchlist_core::command::{CancelTodo, RefuseSignOff, ReviseTodo, SignOff};
use punchlist_core::deadline::Deadline;
use punchlist_core::driver::Trigger;
use punchlist_core::follow::Then;
use punchlist_core::follow::gate as follow;
use punchlist_core::gate::{AnswerGate, GateDecision, GateKind, GateState};
use punchlist_core::text::Body;
use punchlist_core::{
    Command, Gate, GateId, Ids, ListKind, ProjectId, RunId, SessionId, Time, TodoId,
};
use serde_json::{Value, json};

use crate::world::{World, details};

fn call_of(program: &str) -> Value {
    json!({ "run": "r", "call": "c", "input": {}, "digest": "d",
        "definition": { "command": program } })
}

fn gate(seed: u128) -> Gate {
    let mut ids = Ids::new(Time::from_micros(0), seed);
    serde_json::from_value(json!({
        "id": GateId::from(ids.ulid()), "projectId": ProjectId::from(ids.ulid()),
        "kind": "permission", "purpose": null, "state": "open", "sessionId": null,
        "issueId": null, "text": "ls", "details": call_of("ls"),
        "askedBy": "root:primary", "agent": "primary", "createdAt": "2026-11-15T09:00:00Z",
        "revision": null, "response": null, "answeredBy": null, "answeredAt": null,
        "collectedAt": null,
    }))
    .unwrap()
}

fn answer(decision: GateDecision, response: Value) -> AnswerGate {
    AnswerGate::plain(decision, Some(response))
}

/// The run that asked is resumed with the answer, and so is every run of its session.
#[test]
fn an_answer_wakes_the_runs_that_wait_for_it() {
    let mut ids = Ids::new(Time::from_micros(0), 3);
    let (run, session) = (RunId::from(ids.ulid()), SessionId::from(ids.ulid()));
    let by = Trigger::GateAnswered;
    let resumed = Gate { state: GateState::Resumed, ..gate(1) };
    let asked = Gate { run_id: Some(run), ..resumed.clone() };
    let both = Gate { session_id: Some(session), ..asked.clone() };
    let wake = Then::Wake { run, by, news: asked.news() };
    for (gate, then) in [
        (resumed, vec![]),
        (asked, vec![wake.clone()]),
        (both, vec![wake, Then::WakeSession { session, by }]),
    ] {
        assert_eq!(follow::answered(&gate), then);
    }
}

/// S-31: a standing permission answers the open questions about the same call, and no others.
#[test]
fn a_standing_permission_answers_the_same_question() {
    let (same, mut other, mut closed) = (gate(2), gate(3), gate(4));
    other.details =
        serde_json::from_value(json!({ "kind": "permission", "details": call_of("rm") })).unwrap();
    closed.state = GateState::Refused;
    let others = [gate(1), same.clone(), other, closed];
    let given = |allow: &str| Gate {
        state: GateState::Resumed,
        response: Some(json!({ "allow": allow })),
        ..gate(1)
    };
    assert_eq!(follow::answers_too(&given("always"), &others), vec![same.id]);
    assert_eq!(follow::answers_too(&given("once"), &others), vec![]);
}

/// M-77: an answer extends or cancels the item; refusing the question does not change it.
#[test]
fn an_answer_to_an_escalation_changes_its_item() {
    let todo_id = TodoId::from(Ids::new(Time::from_micros(0), 9).ulid());
    let asked = Gate { details: details(GateKind::Escalation), todo_id: Some(todo_id), ..gate(1) };
    let cancel = |words: &str| {
        let outcome = Some(format!("answered: {words}"));
        Some((todo_id, Command::from(CancelTodo { todo_id, outcome })))
    };
    let (title, priority, position) = (None, None, None);
    let reason = Some("answered: extend to 2026-12-01".to_owned());
    let deadline = Deadline::parse("2026-12-01");
    let revise = ReviseTodo { todo_id, title, priority, position, deadline, reason };
    let extend = Some((todo_id, Command::from(revise)));
    let resume = GateDecision::Resume;
    for (gate, answer, expected) in [
        (&asked, answer(resume, json!("cancel it, please")), cancel("cancel it, please")),
        (&asked, answer(resume, json!({ "cancel": true })), cancel("cancel")),
        (&asked, answer(resume, json!({ "extend": "2026-12-01" })), extend.clone()),
        (&asked, answer(resume, json!("extend to 2026-12-01")), extend),
        (&asked, answer(GateDecision::Refuse, json!("cancel")), None),
        (&gate(1), answer(resume, json!("cancel")), None),
    ] {
        assert_eq!(follow::overdue(gate, &answer), Ok(expected), "{answer:?}");
    }
    for unclear in [json!("maybe"), json!({}), json!(3), Value::Null] {
        let refused = follow::overdue(&asked, &answer(resume, unclear.clone())).unwrap_err();
        assert_eq!(refused.code(), "bad_response", "{unclear}");
    }
}

/// A sign-off accepts the criteria; its refusal reopens the named ones, or all, with the feedback.
#[test]
fn a_sign_off_judges_the_criteria() {
    let mut world = World::new(ListKind::Issue);
    let ids = world.create(&["it is fast", "it is small"]);
    for id in &ids {
        world.state.todos.get_mut(id).unwrap().kind = punchlist_core::TodoKind::Criterion;
    }
    let judged = |answer: &AnswerGate, reopen: Option<&[String]>| {
        follow::judgement(answer, &world.state, reopen)
    };
    let yes = AnswerGate { accept_unclaimed: true, ..answer(GateDecision::Resume, Value::Null) };
    assert_eq!(judged(&yes, None), Ok(SignOff { accept_unclaimed: true }.into()));
    let named = ["FAST".to_owned()];
    let refusal = GateDecision::Refuse;
    for (response, reopen, todo_ids, words) in [
        (json!("too slow"), None, None, "too slow"),
        (Value::Null, None, None, "sign-off refused"),
        (json!({ "why": "slow" }), None, None, "why: slow"),
        (json!({ "limit": 3 }), None, None, "limit: 3"),
        (json!(7), Some(&named[..]), Some(vec![ids[0]]), "7"),
    ] {
        let feedback = Body::new(words).unwrap();
        let expected = Command::from(RefuseSignOff { todo_ids, feedback });
        assert_eq!(judged(&answer(refusal, response), reopen), Ok(expected), "{words}");
    }
    let unknown = ["it is blue".to_owned()];
    assert!(judged(&answer(refusal, Value::Null), Some(&unknown)).is_err());
}
