//! A delegation: work handed to another agent, through one durable queue.
//!
//! A worker sees only what was forwarded to it, and touches no list. It proposes checklist items in
//! its result; the delegating agent accepts, changes or rejects them (K-48, K-49). The holder of a
//! delegation is kept in a lease, which is not part of the fold.

mod propose;
mod report;
mod start;

pub use propose::{DecideProposal, Proposal, ProposalDecision, ProposedItem, proposal_in};
pub use report::{
    BuryDelegation, CancelDelegation, HeartbeatDelegation, Report, ReportDelegation,
    TakeDelegation, free_from, has_died, is_free,
};
pub use start::Delegate;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{
    DelegationCancelled, DelegationFailed, DelegationQueued, DelegationReturned, DelegationStarted,
    ProposalDecided,
};
use crate::named::named;
use crate::{
    AgentPath, ConversationId, DelegationId, Event, IssueId, ProjectId, Reach, RunId, SessionId,
    Time, TodoId,
};

/// How often a delegation is tried: a failure is retried once.
pub const ATTEMPTS_MAX: i64 = 2;

/// How deep delegations nest: an agent that works on one may delegate again, and so on. A chain of
/// agents that only delegate ends here, whatever their models do.
pub const DEPTH_MAX: u32 = 8;

/// A worker that is silent for this many seconds counts as dead.
pub const LEASE_S: i64 = 30;

named! {
    /// Does the caller wait?
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Mode {
        Sync = "sync",
        Async = "async",
    }
}

named! {
    /// How a proposal is handled (K-51).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Review {
        /// It is stored without a review.
        Auto = "auto",
        /// The delegating agent decides.
        #[default]
        Review = "review",
    }
}

named! {
    /// The state of a delegation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum DelegationState {
        Queued = "queued",
        Running = "running",
        Returned = "returned",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

impl DelegationState {
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Returned | Self::Failed | Self::Cancelled)
    }
}

/// A delegation as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delegation {
    pub id: DelegationId,
    pub project_id: ProjectId,
    /// The specialist it is for.
    #[serde(rename = "type")]
    pub kind: String,
    /// What to do. The worker sees only this.
    pub mission: String,
    pub rationale: Option<String>,
    pub mode: Mode,
    pub state: DelegationState,
    /// As configured when the work was delegated, so that machines with other configuration files
    /// agree.
    pub review: Review,
    pub todo_id: Option<TodoId>,
    pub session_id: Option<SessionId>,
    /// Where a proposal goes.
    pub issue_id: Option<IssueId>,
    /// The chat where the work is done and reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// The run that delegated it, and is resumed with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    pub delegated_by: String,
    pub parent_agent: AgentPath,
    /// The reach of the work: no wider than that of the delegating agent.
    #[serde(default, skip_serializing_if = "Reach::is_default")]
    pub reach: Reach,
    /// The worker's place in the tree of agents.
    pub agent: AgentPath,
    pub attempts: i64,
    pub result: Option<String>,
    pub error: Option<String>,
    pub proposal: Option<Proposal>,
    pub decision: Option<ProposalDecision>,
    /// Why it was decided so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_reason: Option<String>,
    pub created_at: Time,
    pub updated_at: Time,
    pub finished_at: Option<Time>,
}

/// Folds one event into a delegation; says whether its row changed. Infallible, as `apply` is.
pub fn apply_delegation(state: &mut Option<Delegation>, event: &Event, at: Time) -> bool {
    if let Event::DelegationQueued(DelegationQueued { delegation }) = event {
        *state = Some(Delegation::clone(delegation));
        return true;
    }
    let Some(delegation) = state else { return false };
    match event {
        Event::DelegationStarted(DelegationStarted { delegation_id, attempts, .. })
            if *delegation_id == delegation.id =>
        {
            // A delegation that is over stays over. Events are numbered when their transaction
            // begins to write, so a start can be folded after the cancellation that followed it.
            if !delegation.state.is_over() {
                delegation.state = DelegationState::Running;
            }
            delegation.attempts = *attempts;
        }
        Event::DelegationReturned(DelegationReturned { delegation_id, result, proposal })
            if *delegation_id == delegation.id =>
        {
            delegation.state = DelegationState::Returned;
            delegation.result = Some(result.clone());
            delegation.proposal.clone_from(proposal);
            delegation.error = None;
            delegation.finished_at = Some(at);
        }
        Event::DelegationFailed(DelegationFailed { delegation_id, error, again })
            if *delegation_id == delegation.id =>
        {
            delegation.error = Some(error.clone());
            if *again {
                delegation.state = DelegationState::Queued;
            } else {
                delegation.state = DelegationState::Failed;
                delegation.finished_at = Some(at);
            }
        }
        Event::DelegationCancelled(DelegationCancelled { delegation_id, .. })
            if *delegation_id == delegation.id =>
        {
            delegation.state = DelegationState::Cancelled;
            delegation.finished_at = Some(at);
        }
        Event::ProposalDecided(ProposalDecided { delegation_id, decision, reason, .. })
            if *delegation_id == delegation.id =>
        {
            delegation.decision = Some(*decision);
            delegation.decision_reason.clone_from(reason);
        }
        _ => return false,
    }
    delegation.updated_at = delegation.updated_at.max(at);
    true
}
