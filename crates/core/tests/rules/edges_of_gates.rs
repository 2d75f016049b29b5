//! Edge cases of gates, each found by a surviving mutant: when a question is the same as an earlier
//! one, what it replaces, and which answers are accepted.

use punchlist_core::event::{
    GateAnswerRefused, GateAnswered, GateCollected, GateOpened, GateSuperseded,
};
use punchlist_core::gate::details::Question;
use punchlist_core::gate::form::Form;
use punchlist_core::gate::{
    AnswerGate, Asked, Details, Gate, GateDecision, GateKind, GateState, Ground, OpenGate, Purpose,
};
use punchlist_core::issue::{Issue, IssueStatus};
use punchlist_core::session::Session;
use punchlist_core::text::Body;
use punchlist_core::{
    Actor, AgentPath, By, Decide, Decision, Event, GateId, Ids, Reach, Refusal, Refused, Role, Time,
};
use serde_json::{Value, json};

use crate::issue_life::{issue, session};
use crate::world::{actor, decided, details};

const NOW: Time = Time::from_micros(5);

fn question(kind: GateKind) -> OpenGate {
    let (text, end) = (Body::new("Which port?").unwrap(), IssueStatus::Resolved);
    OpenGate { details: details(kind), purpose: None, text, end }
}

fn asked(
    command: &OpenGate,
    session: Option<&Session>,
    issue: Option<&Issue>,
    earlier: &[Gate],
) -> Result<Asked, Refused> {
    let project_id = self::issue().project_id;
    let ground = Ground { run_id: None, project_id, session, issue, checklist: None, earlier };
    let by = Actor::new(Role::Root, AgentPath::primary());
    command.decide(&ground, By { actor: &by, now: NOW, ids: &mut Ids::new(NOW, 99) })
}

/// An earlier gate of the same actor for this question, with other values where given.
fn gate(command: &OpenGate, seed: u128) -> Gate {
    Gate {
        id: GateId::from(Ids::new(NOW, seed).ulid()),
        project_id: issue().project_id,
        details: command.details.clone(),
        purpose: command.purpose,
        state: GateState::Open,
        session_id: None,
        issue_id: None,
        todo_id: None,
        run_id: None,
        text: command.text.as_str().to_owned(),
        asked_by: "root:primary".into(),
        reach: Reach::default(),
        agent: AgentPath::primary(),
        created_at: NOW,
        revision: None,
        end: None,
        response: None,
        answered_by: None,
        answered_at: None,
        collected_at: None,
    }
}

fn events(events: Vec<Event>) -> Decision {
    Decision { events, ..Decision::default() }
}

/// The gate that a question opens when no earlier one is the same.
fn new(command: &OpenGate) -> Asked {
    let opened = GateOpened { gate: Box::new(gate(command, 99)) };
    Asked::New { opened: events(vec![opened.into()]), superseded: vec![] }
}

/// P-32: asking again in the same words finds the gate; any other part makes another question.
#[test]
fn a_question_is_the_same_only_if_all_its_parts_are() {
    let command = question(GateKind::Ask);
    let earlier = gate(&command, 7);
    let again = |gate: Gate| asked(&command, None, None, &[gate]);
    assert_eq!(again(earlier.clone()), Ok(Asked::Standing(earlier.id)));
    let spaced = Gate { text: " Which  port? ".to_owned(), ..earlier.clone() };
    assert_eq!(again(spaced), Ok(Asked::Standing(earlier.id)), "the same words");
    let narrowed = Reach { number: Some(4), ..Reach::default() };
    for other in [
        Gate { details: details(GateKind::Form), ..earlier.clone() },
        Gate { text: "Which host?".to_owned(), ..earlier.clone() },
        Gate { details: Details::Ask(Question { options: vec!["1".into()] }), ..earlier.clone() },
        Gate { issue_id: Some(issue().id), ..earlier.clone() },
        Gate { reach: narrowed.clone(), ..earlier.clone() },
        Gate { end: Some(IssueStatus::Rejected), ..earlier.clone() },
        Gate { state: GateState::Superseded, ..earlier.clone() },
    ] {
        assert_eq!(again(other.clone()), Ok(new(&command)), "{other:?}");
    }
    let elsewhere = Gate { reach: narrowed, ..earlier.clone() };
    let (session, issue) = (session(), issue());
    let in_session = Gate { issue_id: Some(issue.id), ..elsewhere };
    let found = asked(&command, Some(&session), Some(&issue), &[in_session]);
    assert_eq!(found, Ok(Asked::Standing(earlier.id)), "the session's, whatever the reach");
}

/// P-32: an answer is delivered once.
#[test]
fn asking_again_collects_the_answer_once() {
    let command = question(GateKind::Ask);
    for state in [GateState::Resumed, GateState::Refused] {
        let answered = Gate { state, ..gate(&command, 7) };
        let again = asked(&command, None, None, std::slice::from_ref(&answered));
        let collected = events(vec![GateCollected { gate_id: answered.id }.into()]);
        assert_eq!(again, Ok(Asked::Answered(answered.id, collected)));
        let collected = Gate { collected_at: Some(NOW), ..answered };
        assert_eq!(asked(&command, None, None, &[collected]), Ok(new(&command)));
    }
}

/// An older version accepted a default that is shorter than its field allows.
#[test]
fn answer_to_a_form_that_would_be_refused_today_is_still_collected() {
    let schema = json!({"properties": {"a": {"type": "string", "minLength": 1, "default": ""}}});
    let command = OpenGate { details: Details::Form(Form(schema)), ..question(GateKind::Form) };
    let open = gate(&command, 7);
    let again = |gate: &Gate| asked(&command, None, None, std::slice::from_ref(gate));
    assert_eq!(again(&open), Ok(Asked::Standing(open.id)));
    let answered = Gate { state: GateState::Resumed, ..open };
    let collected = events(vec![GateCollected { gate_id: answered.id }.into()]);
    assert_eq!(again(&answered), Ok(Asked::Answered(answered.id, collected)));
    let over = Gate { collected_at: Some(NOW), ..answered };
    let code = |asked: Result<Asked, Refused>| asked.map_err(|refused| refused.refusal.code());
    assert_eq!(code(again(&over)), Err("bad_form"), "a new question");
}

/// A pause and a sign-off in the same words are two questions for a caller that names the purpose;
/// without a purpose the open one counts.
#[test]
fn a_named_purpose_is_a_part_of_the_question() {
    let plain = question(GateKind::Checkpoint);
    let pause = OpenGate { purpose: Some(Purpose::Pause), ..plain.clone() };
    let (session, issue) = (session(), issue());
    let issue_id = Some(issue.id);
    let sign_off = Gate {
        purpose: Some(Purpose::SignOff),
        issue_id,
        revision: Some(issue.revision),
        end: Some(IssueStatus::Resolved),
        ..gate(&pause, 7)
    };
    let earlier = std::slice::from_ref(&sign_off);
    let found = asked(&plain, Some(&session), Some(&issue), earlier);
    assert_eq!(found, Ok(Asked::Standing(sign_off.id)));
    let opened = GateOpened {
        gate: Box::new(Gate {
            session_id: Some(session.id),
            issue_id,
            revision: Some(issue.revision),
            ..gate(&pause, 99)
        }),
    };
    let by = GateId::from(Ids::new(NOW, 99).ulid());
    let replaced = GateSuperseded { gate_id: sign_off.id, by };
    let superseded = vec![(sign_off.id, events(vec![replaced.into()]))];
    let expected = Asked::New { opened: events(vec![opened.into()]), superseded };
    assert_eq!(asked(&pause, Some(&session), Some(&issue), earlier), Ok(expected));
}

/// A new checkpoint replaces the actor's open checkpoints, and nothing else; another question
/// replaces nothing.
#[test]
fn a_checkpoint_replaces_open_checkpoints_only() {
    let other = |kind, seed, state| Gate {
        text: "Something else".to_owned(),
        state,
        ..gate(&question(kind), seed)
    };
    let open = other(GateKind::Checkpoint, 1, GateState::Open);
    let narrowed = Reach { number: Some(4), ..Reach::default() };
    let earlier = [
        open.clone(),
        other(GateKind::Checkpoint, 2, GateState::Resumed),
        other(GateKind::Ask, 3, GateState::Open),
        Gate { reach: narrowed, ..other(GateKind::Checkpoint, 4, GateState::Open) },
    ];
    let command = question(GateKind::Checkpoint);
    let paused = OpenGate { purpose: Some(Purpose::Pause), ..command.clone() };
    let by = GateId::from(Ids::new(NOW, 99).ulid());
    let replaced = GateSuperseded { gate_id: open.id, by };
    let Asked::New { opened, .. } = new(&paused) else { panic!() };
    let superseded = vec![(open.id, events(vec![replaced.into()]))];
    let expected = Asked::New { opened, superseded };
    assert_eq!(asked(&command, None, None, &earlier), Ok(expected));
    let command = question(GateKind::Ask);
    assert_eq!(asked(&command, None, None, &earlier), Ok(new(&command)), "a question");
}

/// The authority table decides who may ask, and a refusal names the role.
#[test]
fn only_operator_lead_and_root_may_ask() {
    let command = question(GateKind::Ask);
    let project_id = issue().project_id;
    let (session, issue, checklist, run_id) = (None, None, None, None);
    let ground = Ground { run_id, project_id, session, issue, checklist, earlier: &[] };
    for role in Role::ALL {
        let result = decided(&command, &ground, &actor(role), NOW).map(drop);
        let expected = match role {
            Role::Operator | Role::Lead | Role::Root => Ok(()),
            _ => Err(Refusal::MayNotAsk { role }.into()),
        };
        assert_eq!(result, expected, "{role}");
    }
}

fn answered(gate: &Gate, by: &Actor, decision: GateDecision, response: Option<Value>) -> Answered {
    decided(&AnswerGate::plain(decision, response), (gate, Some(9)), by, NOW)
}

type Answered = Result<Decision, Refused>;

/// A form can be refused without its fields; a yes must fill them.
#[test]
fn a_refused_form_needs_no_fields() {
    use GateDecision::{Refuse, Resume};
    let properties = json!({ "port": { "type": "number" } });
    let form = Form(json!({ "properties": properties, "required": ["port"] }));
    let gate = Gate { details: Details::Form(form), ..gate(&question(GateKind::Form), 7) };
    let operator = actor(Role::Operator);
    let stored = |state, response: Option<Value>| {
        let (gate_id, answered_by) = (gate.id, operator.principal.clone());
        let answered = GateAnswered { gate_id, state, response, answered_by, revision: Some(9) };
        Ok(events(vec![answered.into()]))
    };
    let filled = Some(json!({ "port": 80 }));
    let yes = answered(&gate, &operator, Resume, filled.clone());
    assert_eq!(yes, stored(GateState::Resumed, filled));
    assert_eq!(answered(&gate, &operator, Refuse, None), stored(GateState::Refused, None));
    let empty = answered(&gate, &operator, Resume, None).unwrap_err();
    assert_eq!((empty.refusal.code(), empty.audit), ("bad_response", None));
}

/// A gate is answered once, and only by the operator. An agent's attempt is logged.
#[test]
fn only_the_operator_answers_and_only_once() {
    let open = gate(&question(GateKind::Ask), 7);
    for role in Role::ALL {
        let result = answered(&open, &actor(role), GateDecision::Resume, None);
        if role == Role::Operator {
            assert!(result.is_ok());
            continue;
        }
        let refusal = Refusal::MayNotAnswer { role };
        let audit = GateAnswerRefused { gate_id: open.id, refusal: refusal.clone() };
        assert_eq!(result, Err(Refused { refusal, audit: Some(Box::new(audit.into())) }), "{role}");
    }
    let over = Gate {
        state: GateState::Refused,
        answered_by: Some("operator".to_owned()),
        answered_at: Some(NOW),
        response: Some(json!("no")),
        ..open
    };
    let refusal = Refusal::AlreadyAnswered {
        gate: over.id,
        state: GateState::Refused,
        by: Some("operator".to_owned()),
        at: Some(NOW),
        response: Some(Box::new(json!("no"))),
    };
    let again = answered(&over, &actor(Role::Operator), GateDecision::Resume, None);
    assert_eq!(again, Err(refusal.into()));
}

/// A question whose subject has changed is closed without an answer.
#[test]
fn a_superseded_gate_has_no_answer() {
    let gate = gate(&question(GateKind::Escalation), 7);
    let system = actor(Role::System);
    let (state, answered_by) = (GateState::Superseded, system.principal.clone());
    let (gate_id, response, revision) = (gate.id, None, None);
    let closed = GateAnswered { gate_id, state, response, answered_by, revision };
    assert_eq!(gate.supersede(&system), events(vec![closed.into()]));
}
