//! A delegation as callers see it.

use punchlist_core::delegation::{DelegationState, Mode, Proposal, ProposalDecision, Review};
use punchlist_core::{ConversationId, Delegation, DelegationId, SessionId, Time, TodoId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Work delegated to another agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DelegationView {
    pub id: DelegationId,
    /// The specialist.
    #[serde(rename = "type")]
    pub kind: String,
    /// The work.
    pub mission: String,
    pub rationale: Option<String>,
    pub mode: Mode,
    pub state: DelegationState,
    /// How a proposal is handled.
    pub review: Review,
    pub todo_id: Option<TodoId>,
    pub session: Option<SessionId>,
    /// The chat it is worked on in, where it belongs to a pillar.
    pub conversation_id: Option<ConversationId>,
    pub delegated_by: String,
    /// The worker's path.
    pub agent: String,
    pub attempts: i64,
    pub result: Option<String>,
    pub error: Option<String>,
    pub proposal: Option<Proposal>,
    /// The decision on the proposal.
    pub decision: Option<ProposalDecision>,
    /// Why it was decided so, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_reason: Option<String>,
    pub created_at: Time,
    pub updated_at: Time,
    pub finished_at: Option<Time>,
}

/// An answer with one delegation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OneDelegation {
    pub delegation: DelegationView,
}

impl From<Delegation> for OneDelegation {
    fn from(delegation: Delegation) -> Self {
        Self { delegation: delegation.into() }
    }
}

impl From<Delegation> for DelegationView {
    fn from(delegation: Delegation) -> Self {
        Self {
            id: delegation.id,
            kind: delegation.kind,
            mission: delegation.mission,
            rationale: delegation.rationale,
            mode: delegation.mode,
            state: delegation.state,
            review: delegation.review,
            todo_id: delegation.todo_id,
            session: delegation.session_id,
            conversation_id: delegation.conversation_id,
            delegated_by: delegation.delegated_by,
            agent: delegation.agent.to_string(),
            attempts: delegation.attempts,
            result: delegation.result,
            error: delegation.error,
            proposal: delegation.proposal,
            decision: delegation.decision,
            decision_reason: delegation.decision_reason,
            created_at: delegation.created_at,
            updated_at: delegation.updated_at,
            finished_at: delegation.finished_at,
        }
    }
}
