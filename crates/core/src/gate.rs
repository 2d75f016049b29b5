//! A gate: a pause until a person answers. One mechanism for a checkpoint, a question, a form, a
//! permission and an escalation.
//!
//! A gate is asked once and answered once, perhaps hours later or after a restart. Asking again in
//! the same words returns the open gate, or its answer once there is one (P-32).

mod answer;
mod collect;
pub mod details;
pub mod form;
mod open;
pub mod permission;
mod relay;

pub use answer::{AnswerGate, GateDecision};
pub use collect::CollectAnswer;
pub use details::Details;
pub use open::{Asked, Ground, OpenGate};
pub use permission::{AskPermission, RevokePermission};
pub use relay::{ClientAnswer, RelayAnswer};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{GateAnswered, GateCollected, GateOpened, GateSuperseded, PermissionRevoked};
use crate::issue::IssueStatus;
use crate::named::named;
use crate::{
    AgentPath, Event, GateId, Issue, IssueId, ProjectId, Reach, RunId, SessionId, Time, TodoId,
};

named! {
    /// What kind of pause it is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum GateKind {
        Checkpoint = "checkpoint",
        Ask = "ask",
        Form = "form",
        Permission = "permission",
        Escalation = "escalation",
    }
}

named! {
    /// What a checkpoint is for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Purpose {
        Pause = "pause",
        /// The agent says that the criteria are met, and asks to close the issue.
        SignOff = "sign_off",
    }
}

named! {
    /// The state of a gate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum GateState {
        Open = "open",
        Resumed = "resumed",
        Refused = "refused",
        /// It was asked again before anybody answered.
        Superseded = "superseded",
    }
}

/// A gate as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
    pub id: GateId,
    pub project_id: ProjectId,
    /// In JSON the fields `kind` and `details`.
    #[serde(flatten)]
    pub details: Details,
    /// Of a checkpoint.
    pub purpose: Option<Purpose>,
    pub state: GateState,
    pub session_id: Option<SessionId>,
    /// The issue the session was bound to.
    pub issue_id: Option<IssueId>,
    /// The item an escalation is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_id: Option<TodoId>,
    /// The run that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The reason, the question, the title, or the tool that permission is asked for.
    pub text: String,
    pub asked_by: String,
    /// The asker's reach: without a session, only an asker with the same reach finds this gate
    /// again.
    #[serde(default, skip_serializing_if = "Reach::is_default")]
    pub reach: Reach,
    pub agent: AgentPath,
    pub created_at: Time,
    /// The issue's revision when it was asked; once answered, the revision the answer is valid for.
    pub revision: Option<i64>,
    /// Of a sign-off: how the issue may end; absent in sign-offs of older versions, which allow
    /// both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<IssueStatus>,
    pub response: Option<Value>,
    pub answered_by: Option<String>,
    pub answered_at: Option<Time>,
    /// When the asker received the answer.
    pub collected_at: Option<Time>,
}

impl Gate {
    #[must_use]
    pub const fn kind(&self) -> GateKind {
        self.details.kind()
    }

    /// Does it still cover the issue's current state? A sign-off of an older version does not say
    /// what it covers, so any change counts there.
    #[must_use]
    pub fn is_current(&self, issue: &Issue) -> bool {
        match (self.end, self.revision) {
            (_, None) => false,
            (None, Some(revision)) => revision == issue.revision,
            (Some(_), Some(revision)) => issue.changed_since(revision).is_empty(),
        }
    }

    /// The message with the answer for the run that asked. A permission needs none: the tool's
    /// result shows it.
    #[must_use]
    pub fn news(&self) -> Option<String> {
        let said = match (self.kind(), self.state) {
            (GateKind::Permission, _) | (_, GateState::Open | GateState::Superseded) => {
                return None;
            }
            (_, GateState::Resumed) => "answered: continue",
            (_, GateState::Refused) => "answered: no",
        };
        let text = match &self.response {
            None | Some(Value::Null) => format!("The person {said} (“{}”).", self.text),
            Some(Value::String(words)) => {
                format!("The person {said} (“{}”). They say: {words}", self.text)
            }
            Some(other) => format!("The person {said} (“{}”). They say: {other}", self.text),
        };
        Some(text)
    }
}

/// Folds one event into a gate; says whether its row changed. Infallible, as `apply` is.
pub fn apply_gate(state: &mut Option<Gate>, event: &Event, at: Time) -> bool {
    match (event, state) {
        (Event::GateOpened(GateOpened { gate }), state) => {
            *state = Some(Gate::clone(gate));
            true
        }
        (Event::GateAnswered(answered), Some(gate)) if answered.gate_id == gate.id => {
            let GateAnswered { state, response, answered_by, revision, .. } = answered;
            gate.state = *state;
            gate.response.clone_from(response);
            gate.answered_by = Some(answered_by.clone());
            gate.answered_at = Some(at);
            gate.revision = *revision;
            true
        }
        (Event::GateSuperseded(GateSuperseded { gate_id, .. }), Some(gate))
            if *gate_id == gate.id =>
        {
            gate.state = GateState::Superseded;
            true
        }
        (Event::GateCollected(GateCollected { gate_id }), Some(gate)) if *gate_id == gate.id => {
            gate.collected_at = Some(at);
            true
        }
        (Event::PermissionRevoked(PermissionRevoked { gate_id, response }), Some(gate))
            if *gate_id == gate.id =>
        {
            gate.response = Some(response.clone());
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parsing_agree() {
        for kind in GateKind::ALL {
            assert_eq!(GateKind::parse(kind.name()), Some(kind));
        }
        for state in GateState::ALL {
            assert_eq!(GateState::parse(state.name()), Some(state));
        }
        for purpose in Purpose::ALL {
            assert_eq!(Purpose::parse(purpose.name()), Some(purpose));
        }
    }
}
