//! Collect the answer to a question, by the call that waits for it.
//!
//! The call knows its gate. Asking again in the same words would find that gate only until somebody
//! collects the answer, and would then open another: the person would be asked twice.

use serde::{Deserialize, Serialize};

use super::{Gate, GateState, OpenGate};
use crate::authority::{Action, Subject, may_any};
use crate::event::GateCollected;
use crate::{By, Decide, Decision, Refusal, Refused, SessionId};

/// Collect an answer, if there is one that nobody has collected. It never opens a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectAnswer {
    /// The question, as the waiting call asks it.
    pub question: OpenGate,
    /// The id of the gate, as the call got it.
    pub gate: String,
}

impl Decide for CollectAnswer {
    /// The gate, and the session of the caller.
    type On<'a> = (&'a Gate, Option<SessionId>);
    type Out = Decision;

    fn decide(
        &self,
        (gate, session): Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        if !may_any(actor.role, Subject::Gate, Action::Ask) {
            return Err(Refusal::MayNotAsk { role: actor.role }.into());
        }
        let is_named = self.gate == gate.id.to_string();
        if !is_named || !self.question.has_opened(gate, actor, session) {
            return Err(Refusal::OtherQuestion { gate: self.gate.clone() }.into());
        }
        let is_settled = matches!(gate.state, GateState::Resumed | GateState::Refused);
        let events = match is_settled && gate.collected_at.is_none() {
            true => vec![GateCollected { gate_id: gate.id }.into()],
            false => Vec::new(),
        };
        Ok(Decision { events, ..Decision::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Details;
    use crate::gate::details::Question;
    use crate::gate::relay::tests::gate;
    use crate::issue::IssueStatus;
    use crate::text::Body;
    use crate::{Actor, AgentPath, Event, Ids, Role, Time};
    use serde_json::json;

    fn collected(gate: &Gate, role: Role) -> Result<Vec<Event>, &'static str> {
        let question = OpenGate {
            details: Details::Ask(Question::default()),
            purpose: None,
            text: Body::new("Which  port?").unwrap(),
            end: IssueStatus::Resolved,
        };
        let command = CollectAnswer { question, gate: gate.id.to_string() };
        let actor = Actor::new(role, AgentPath::primary());
        let (now, mut ids) = (Time::from_micros(0), Ids::new(Time::from_micros(0), 1));
        let decided = command.decide((gate, None), By { actor: &actor, now, ids: &mut ids });
        decided.map(|decision| decision.events).map_err(|refused| refused.refusal.code())
    }

    #[test]
    fn an_answer_is_collected_once_and_nothing_else_changes() {
        for state in ["resumed", "refused"] {
            let answered = json!({ "state": state, "answeredBy": "operator" });
            let events = collected(&gate(&answered), Role::Root).unwrap();
            assert!(matches!(events.as_slice(), [Event::GateCollected(_)]), "{events:?}");
            let over = json!({ "state": state, "collectedAt": "2026-11-15T09:00:00Z" });
            assert_eq!(collected(&gate(&over), Role::Root), Ok(Vec::new()));
        }
        for state in ["open", "superseded"] {
            assert_eq!(collected(&gate(&json!({ "state": state })), Role::Root), Ok(Vec::new()));
        }
    }

    #[test]
    fn only_the_caller_that_asked_collects() {
        for other in [
            json!({ "askedBy": "root:other" }),
            json!({ "reach": { "project": "shop" } }),
            json!({ "sessionId": "01JCQ0000000000000000000AC" }),
            json!({ "text": "Which host?" }),
            json!({ "details": { "options": ["1"] } }),
        ] {
            assert_eq!(collected(&gate(&other), Role::Root), Err("unknown_gate"), "{other}");
        }
        assert_eq!(collected(&gate(&json!({})), Role::Worker), Err("not_permitted"));
    }
}
