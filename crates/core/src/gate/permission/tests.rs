//! Tests of permissions: who may ask, which ones are standing, and revoking them.

use ulid::Ulid;

use super::*;
use crate::Role;
use crate::{Actor, Ids, Time};

fn id(n: u128) -> GateId {
    GateId::from(Ulid(n))
}

fn project() -> ProjectId {
    ProjectId::from(Ulid(1))
}

/// A gate about the tool `deploy` of the agent `coder`, answered in this minute.
fn gate(n: u128, state: GateState, response: Value, minute: i64) -> Gate {
    let answered = state != GateState::Open;
    Gate {
        run_id: None,
        id: id(n),
        project_id: project(),
        details: Details::Permission(WantedCall {
            run: "r".to_owned(),
            call: "c".to_owned(),
            input: json!({}),
            digest: "d".to_owned(),
            definition: is("x"),
        }),
        purpose: None,
        state,
        session_id: None,
        issue_id: None,
        todo_id: None,
        text: "deploy".to_owned(),
        asked_by: "system:runner".to_owned(),
        reach: crate::Reach::default(),
        agent: AgentPath::parse("coder").unwrap(),
        created_at: Time::from_micros(0),
        revision: None,
        end: None,
        response: (!response.is_null()).then_some(response),
        answered_by: answered.then(|| "operator".to_owned()),
        answered_at: answered.then(|| Time::from_micros(0).plus_seconds(60 * minute)),
        collected_at: None,
    }
}

fn is(program: &str) -> Value {
    json!({ "command": [program] })
}

fn always() -> Value {
    Allow::Always.response()
}

#[test]
fn a_response_says_once_or_always_and_nothing_else() {
    for (response, expected) in [
        (None, Some(Allow::Once)),
        (Some(Value::Null), Some(Allow::Once)),
        (Some(json!("once")), Some(Allow::Once)),
        (Some(json!("always")), Some(Allow::Always)),
        (Some(json!({ "allow": "once" })), Some(Allow::Once)),
        (Some(json!({ "allow": "always" })), Some(Allow::Always)),
        (Some(json!({ "allow": "never" })), None),
        (Some(json!({ "allow": true })), None),
        (Some(json!({})), None),
        (Some(json!({ "allow": "always", "revokedAt": "x" })), None),
        (Some(json!(true)), None),
        (Some(json!("yes")), None),
        (Some(json!(["always"])), None),
    ] {
        assert_eq!(Allow::of(response.as_ref()), expected, "{response:?}");
    }
}

/// The latest answer counts; a permission given once and an open question do not count.
#[test]
fn a_standing_permission_is_valid_until_a_later_no() {
    let resumed = |n, response, minute| gate(n, GateState::Resumed, response, minute);
    let refused = |n, minute| gate(n, GateState::Refused, Value::Null, minute);
    let open = |n| gate(n, GateState::Open, Value::Null, 0);
    let once = || Allow::Once.response();
    for (gates, expected) in [
        (vec![], None),
        (vec![open(1)], None),
        (vec![resumed(1, once(), 1)], None),
        (vec![resumed(1, always(), 1)], Some(1)),
        (vec![resumed(1, always(), 1), resumed(2, once(), 2), open(3)], Some(1)),
        (vec![resumed(1, always(), 1), refused(2, 2)], None),
        (vec![refused(2, 2), resumed(1, always(), 1)], None),
        (vec![refused(1, 1), resumed(2, always(), 2)], Some(2)),
        (vec![resumed(2, always(), 1), refused(1, 1)], Some(2)),
        (vec![refused(2, 1), resumed(1, always(), 1)], None),
    ] {
        let found = standing(&gates, &is("x")).map(|gate| gate.id);
        assert_eq!(found, expected.map(id), "{gates:?}");
        assert_eq!(standing(&gates, &is("y")), None, "another program is another tool");
    }
}

fn ask(role: Role, agent: &str, of: &str, earlier: &[Gate]) -> Result<Permitted, Refusal> {
    let path = |text| AgentPath::parse(text).unwrap();
    let command = AskPermission {
        tool: Title::new("deploy").unwrap(),
        agent: path(of),
        run: Title::new("r").unwrap(),
        call: Title::new("c").unwrap(),
        input: json!({}),
        digest: "d".to_owned(),
        definition: is("x"),
    };
    let (session, issue) = (None, None);
    let ground = PermissionGround { project_id: project(), session, issue, earlier, run_id: None };
    let actor = Actor::new(role, path(agent));
    let mut ids = Ids::new(Time::from_micros(0), 1);
    let decided =
        command.decide(&ground, By { actor: &actor, now: Time::from_micros(0), ids: &mut ids });
    decided.map_err(|refused| refused.refusal)
}

#[test]
fn the_runner_asks_for_any_agent_and_a_root_for_its_own() {
    for (role, agent, of, may) in [
        (Role::System, "runner", "coder", true),
        (Role::Root, "primary", "primary", true),
        (Role::Root, "primary", "primary.subagents.coder", true),
        (Role::Root, "primary", "coder", false),
        (Role::Worker, "coder", "coder", false),
        (Role::Owner, "coder", "coder", false),
        (Role::Operator, "primary", "primary", false),
    ] {
        let asked = ask(role, agent, of, &[]);
        assert_eq!(matches!(asked, Ok(Permitted::New(_))), may, "{role} {of}");
    }
}

#[test]
fn the_same_call_is_the_same_question() {
    let said = |state| {
        let gates = [gate(7, state, Value::Null, 1)];
        ask(Role::System, "runner", "coder", &gates).unwrap()
    };
    for state in [GateState::Open, GateState::Resumed, GateState::Refused] {
        assert_eq!(said(state), Permitted::Said(id(7)), "{state:?}");
    }
    assert!(matches!(said(GateState::Superseded), Permitted::New(_)));
    let of = |gate: &Gate| gate.details.wanted_call().unwrap().clone();
    let same = of(&gate(7, GateState::Resumed, Value::Null, 1));
    for other in [
        WantedCall { run: "r2".to_owned(), ..same.clone() },
        WantedCall { call: "c2".to_owned(), ..same.clone() },
        WantedCall { digest: "e".to_owned(), ..same.clone() },
        WantedCall { definition: is("y"), ..same.clone() },
    ] {
        let mut gate = gate(7, GateState::Resumed, Value::Null, 1);
        gate.details = Details::Permission(other.clone());
        let asked = ask(Role::System, "runner", "coder", &[gate]).unwrap();
        assert!(matches!(asked, Permitted::New(_)), "{other:?}");
    }
    // A standing permission given meanwhile ends the wait.
    let gates = [gate(1, GateState::Open, Value::Null, 0), {
        let mut other = gate(2, GateState::Resumed, always(), 1);
        other.details = Details::Permission(WantedCall { call: "c2".to_owned(), ..same });
        other
    }];
    let asked = ask(Role::System, "runner", "coder", &gates).unwrap();
    assert_eq!(asked, Permitted::Standing(id(2)));
}

#[test]
fn only_the_operator_revokes_and_only_standing_permissions() {
    let revoke = |gate: &Gate, role| {
        let actor = Actor::new(role, AgentPath::primary());
        {
            let (actor, now, ids) =
                (&actor, Time::from_micros(9), &mut Ids::new(Time::from_micros(9), 3));
            RevokePermission {}.decide(gate, By { actor, now, ids })
        }
    };
    let mut standing = Some(gate(1, GateState::Resumed, always(), 1));
    for role in Role::ALL.into_iter().filter(|role| *role != Role::Operator) {
        let refused = revoke(standing.as_ref().unwrap(), role).unwrap_err();
        assert_eq!(
            (refused.refusal, refused.audit.is_some()),
            (Refusal::MayNotAnswer { role }, true)
        );
    }
    let decision = revoke(standing.as_ref().unwrap(), Role::Operator).unwrap();
    for event in &decision.events {
        assert!(super::super::apply_gate(&mut standing, event, Time::from_micros(9)));
    }
    let revoked = standing.unwrap();
    assert!(!revoked.is_standing_permission());
    assert_eq!(revoke(&revoked, Role::Operator), Ok(Decision::default()), "twice is no mistake");
    for (state, response) in [
        (GateState::Open, Value::Null),
        (GateState::Refused, Value::Null),
        (GateState::Resumed, Allow::Once.response()),
    ] {
        let refused = revoke(&gate(1, state, response, 1), Role::Operator).unwrap_err();
        assert_eq!(refused.refusal, Refusal::NoPermission { gate: id(1) });
    }
}
