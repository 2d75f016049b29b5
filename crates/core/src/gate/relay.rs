//! Relay the answer of a client's user to a question that was asked through that client.
//!
//! A client may answer without asking its user, so this is only for questions and forms. Gates that
//! judge the agent's work (sign-offs, permissions, escalations) are never answered this way.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Details, Gate, GateDecision, GateState, OpenGate};
use crate::authority::{Action, Subject, may_any};
use crate::event::{GateAnswerRefused, GateAnswered, GateCollected};
use crate::{By, Decide, Decision, Refusal, Refused, SessionId};

/// The answer of a client's user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientAnswer {
    /// The id of the gate, as it was given to the client.
    pub gate: String,
    pub decision: GateDecision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    /// It did not come as the result of a call, but in a message of its own. So nobody has received
    /// it yet, and the call that asked collects it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_apart: bool,
}

/// Relay an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayAnswer {
    /// The question, as it is asked again.
    pub question: OpenGate,
    pub answer: ClientAnswer,
}

/// The gate, the session of the caller, and the revision of the gate's issue.
type Ground<'a> = (&'a Gate, Option<SessionId>, Option<i64>);

impl Decide for RelayAnswer {
    type On<'a> = Ground<'a>;
    type Out = Decision;

    /// The first answer counts. If somebody else answered first, the caller gets that answer.
    fn decide(
        &self,
        (gate, session, revision): Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let can_be_relayed = matches!(gate.details, Details::Ask(_) | Details::Form(_));
        if !can_be_relayed || !may_any(actor.role, Subject::Gate, Action::Ask) {
            let refusal = Refusal::MayNotAnswer { role: actor.role };
            let audit = GateAnswerRefused { gate_id: gate.id, refusal: refusal.clone() };
            return Err(Refused { refusal, audit: Some(Box::new(audit.into())) });
        }
        let is_named = self.answer.gate == gate.id.to_string();
        if !is_named || !self.question.has_opened(gate, actor, session) {
            return Err(Refusal::OtherQuestion { gate: self.answer.gate.clone() }.into());
        }
        let is_settled = matches!(gate.state, GateState::Resumed | GateState::Refused);
        let mut events = Vec::new();
        if gate.state == GateState::Open {
            events.push(self.answered(gate, actor.agent.as_str(), revision)?);
        }
        let is_new = gate.state == GateState::Open || is_settled && gate.collected_at.is_none();
        if is_new && !self.answer.is_apart {
            events.push(GateCollected { gate_id: gate.id }.into());
        }
        Ok(Decision { events, ..Decision::default() })
    }
}

impl RelayAnswer {
    fn answered(
        &self,
        gate: &Gate,
        agent: &str,
        revision: Option<i64>,
    ) -> Result<crate::Event, Refused> {
        let ClientAnswer { decision, response, .. } = &self.answer;
        if *decision == GateDecision::Resume {
            let response = response.as_ref().unwrap_or(&Value::Null);
            let fits = match &gate.details {
                Details::Form(form) => form.check_response(response),
                Details::Ask(question) => one_of(&question.options, response),
                _ => Ok(()),
            };
            fits.map_err(|faults| Refusal::BadResponse { faults })?;
        }
        let answered = GateAnswered {
            gate_id: gate.id,
            state: match decision {
                GateDecision::Resume => GateState::Resumed,
                GateDecision::Refuse => GateState::Refused,
            },
            response: response.clone(),
            answered_by: format!("client:{agent}"),
            revision,
        };
        Ok(answered.into())
    }
}

/// A client offers its user only the options, so no other answer can come from the user. The operator
/// may answer anything.
fn one_of(options: &[String], response: &Value) -> Result<(), Vec<String>> {
    let is_it = |option: &String| response.as_str().is_some_and(|it| it.trim() == option.trim());
    if options.is_empty() || options.iter().any(is_it) {
        return Ok(());
    }
    let options: Vec<String> = options.iter().map(|option| format!("`{option}`")).collect();
    Err(vec![format!("it must be one of {}", options.join(", "))])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::gate::details::{Question, tests::stored};
    use crate::issue::IssueStatus;
    use crate::text::Body;
    use crate::{Actor, AgentPath, Event, Ids, Role, Time};
    use serde_json::json;

    pub(in crate::gate) fn gate(more: &Value) -> Gate {
        let mut gate = json!({
            "id": "01JCQ0000000000000000000AB", "projectId": "01JCQ0000000000000000000AA",
            "kind": "ask", "purpose": null, "state": "open", "sessionId": null, "issueId": null,
            "text": "Which port?", "details": {}, "askedBy": "root:primary", "agent": "primary",
            "createdAt": "2026-11-15T09:00:00Z", "revision": null, "response": null,
            "answeredBy": null, "answeredAt": null, "collectedAt": null,
        });
        for (name, value) in more.as_object().unwrap() {
            gate[name] = value.clone();
        }
        serde_json::from_value(gate).unwrap()
    }

    fn relayed(gate: &Gate, role: Role) -> Result<Vec<Event>, &'static str> {
        relayed_in(gate, role, false)
    }

    fn relayed_in(gate: &Gate, role: Role, is_apart: bool) -> Result<Vec<Event>, &'static str> {
        let question = OpenGate {
            details: Details::Ask(Question::default()),
            purpose: None,
            text: Body::new("Which port?").unwrap(),
            end: IssueStatus::Resolved,
        };
        let response = Some(json!("8080"));
        let (gate_id, decision) = (gate.id.to_string(), GateDecision::Resume);
        let answer = ClientAnswer { gate: gate_id, decision, response, is_apart };
        let command = RelayAnswer { question, answer };
        let actor = Actor::new(role, AgentPath::primary());
        let (now, mut ids) = (Time::from_micros(0), Ids::new(Time::from_micros(0), 1));
        let decided = command.decide((gate, None, None), By { actor: &actor, now, ids: &mut ids });
        decided.map(|decision| decision.events).map_err(|refused| refused.refusal.code())
    }

    #[test]
    fn first_answer_counts_and_later_ones_change_nothing() {
        let events = relayed(&gate(&json!({})), Role::Root).unwrap();
        let [Event::GateAnswered(answered), Event::GateCollected(_)] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert_eq!(
            (answered.answered_by.as_str(), &answered.response, answered.state),
            ("client:primary", &Some(json!("8080")), GateState::Resumed)
        );
        let by_operator = json!({ "state": "refused", "answeredBy": "operator" });
        let events = relayed(&gate(&by_operator), Role::Root).unwrap();
        assert!(matches!(events.as_slice(), [Event::GateCollected(_)]), "{events:?}");
        let over = json!({ "state": "resumed", "collectedAt": "2026-11-15T09:00:00Z" });
        assert_eq!(relayed(&gate(&over), Role::Root), Ok(Vec::new()));
    }

    /// An answer in a message of its own is collected by the call that asked, even if that call
    /// must be made again.
    #[test]
    fn an_answer_apart_from_the_call_is_left_to_be_collected() {
        let events = relayed_in(&gate(&json!({})), Role::Root, true).unwrap();
        assert!(matches!(events.as_slice(), [Event::GateAnswered(_)]), "{events:?}");
        let before = json!({ "state": "resumed", "answeredBy": "operator" });
        assert_eq!(relayed_in(&gate(&before), Role::Root, true), Ok(Vec::new()));
    }

    #[test]
    fn an_answer_that_was_not_offered_leaves_the_question_open() {
        let offered = |options: &[&str]| {
            let gate = gate(&json!({ "details": { "options": options } }));
            let options = options.iter().map(|&option| option.to_owned()).collect();
            let details = Details::Ask(Question { options });
            let text = Body::new("Which port?").unwrap();
            let question = OpenGate { details, purpose: None, text, end: IssueStatus::Resolved };
            let said = |decision, response: Value| {
                let (gate_id, response) = (gate.id.to_string(), Some(response));
                let answer = ClientAnswer { gate: gate_id, decision, response, is_apart: false };
                let command = RelayAnswer { question: question.clone(), answer };
                let actor = Actor::new(Role::Root, AgentPath::primary());
                let (now, mut ids) = (Time::from_micros(0), Ids::new(Time::from_micros(0), 1));
                let by = By { actor: &actor, now, ids: &mut ids };
                let decided = command.decide((&gate, None, None), by);
                decided.map(drop).map_err(|refused| refused.refusal.to_string())
            };
            [
                said(GateDecision::Resume, json!("8080")),
                said(GateDecision::Resume, json!("80")),
                said(GateDecision::Resume, json!(8080)),
                said(GateDecision::Refuse, Value::Null),
            ]
        };
        let words = "the response does not fit: it must be one of ` 8080`, `8443`".to_owned();
        let refused = || Err(words.clone());
        assert_eq!(offered(&[" 8080", "8443"]), [Ok(()), refused(), refused(), Ok(())]);
        assert_eq!(offered(&[]), [Ok(()), Ok(()), Ok(()), Ok(())]);
    }

    /// P-21: a gate that judges work is not answered by the client of the working agent.
    #[test]
    fn only_own_questions_and_forms_can_be_relayed() {
        for kind in ["checkpoint", "permission", "escalation"] {
            for purpose in [Value::Null, json!("pause"), json!("sign_off")] {
                let judged =
                    gate(&json!({ "kind": kind, "purpose": purpose, "details": stored(kind) }));
                for role in Role::ALL {
                    assert_eq!(relayed(&judged, role), Err("not_permitted"), "{kind} {role}");
                }
            }
        }
        for role in [Role::Worker, Role::Owner, Role::System] {
            assert_eq!(relayed(&gate(&json!({})), role), Err("not_permitted"), "{role}");
        }
        for other in [
            json!({ "askedBy": "root:other" }),
            json!({ "reach": { "project": "shop" } }),
            json!({ "sessionId": "01JCQ0000000000000000000AC" }),
            json!({ "text": "Which host?" }),
            json!({ "kind": "form" }),
            json!({ "details": { "options": ["1"] } }),
        ] {
            assert_eq!(relayed(&gate(&other), Role::Root), Err("unknown_gate"), "{other}");
        }
    }
}
