//! Answer a gate. An answer counts once, whoever gives it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::permission::Allow;
use super::{Gate, GateKind, GateState, form};
use crate::event::{GateAnswerRefused, GateAnswered};
use crate::{Actor, Decision, Refusal, Refused, Role};

/// What a person says to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateDecision {
    Resume,
    Refuse,
}

/// Answer a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerGate {
    pub decision: GateDecision,
    pub response: Option<Value>,
}

impl Gate {
    /// Closes a question that nobody has to answer any more: what it was about has changed.
    #[must_use]
    pub fn supersede(&self, actor: &Actor) -> Decision {
        let answered = GateAnswered {
            gate_id: self.id,
            state: GateState::Superseded,
            response: None,
            answered_by: actor.principal.clone(),
            revision: None,
        };
        Decision { events: vec![answered.into()], ..Decision::default() }
    }
}

impl AnswerGate {
    /// May this be the answer? Looked at first, before anything that follows from it.
    pub fn check(&self, gate: &Gate, actor: &Actor) -> Result<(), Refused> {
        if actor.role != Role::Operator {
            let refusal = Refusal::MayNotAnswer { role: actor.role };
            // To answer oneself is the very thing gates are against: the try stays visible.
            let audit = GateAnswerRefused { gate_id: gate.id, refusal: refusal.clone() };
            return Err(Refused { refusal, audit: Some(Box::new(audit.into())) });
        }
        if gate.state != GateState::Open {
            let refusal = Refusal::AlreadyAnswered {
                gate: gate.id,
                state: gate.state,
                by: gate.answered_by.clone(),
                at: gate.answered_at,
            };
            return Err(refusal.into());
        }
        if gate.kind == GateKind::Form && self.decision == GateDecision::Resume {
            let response = self.response.as_ref().unwrap_or(&Value::Null);
            form::check_response(&gate.details, response)
                .map_err(|faults| Refusal::BadResponse { faults })?;
        }
        if gate.kind == GateKind::Permission && self.decision == GateDecision::Resume {
            let faults = vec!["`allow` must be `once` or `always`".to_owned()];
            Allow::of(self.response.as_ref()).ok_or(Refusal::BadResponse { faults })?;
        }
        Ok(())
    }

    /// `revision`: the issue's, after all that follows from the answer.
    pub fn decide(
        &self,
        gate: &Gate,
        actor: &Actor,
        revision: Option<i64>,
    ) -> Result<Decision, Refused> {
        self.check(gate, actor)?;
        let answered = GateAnswered {
            gate_id: gate.id,
            state: match self.decision {
                GateDecision::Resume => GateState::Resumed,
                GateDecision::Refuse => GateState::Refused,
            },
            response: self.response(gate),
            answered_by: actor.principal.clone(),
            revision,
        };
        Ok(Decision { events: vec![answered.into()], ..Decision::default() })
    }

    /// What is kept of it: of a permission how long it holds, however it was said.
    fn response(&self, gate: &Gate) -> Option<Value> {
        if gate.kind == GateKind::Permission && self.decision == GateDecision::Resume {
            return Allow::of(self.response.as_ref()).map(Allow::response);
        }
        self.response.clone()
    }
}
