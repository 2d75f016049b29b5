//! The work itself: somebody takes it, reports on it, or it is called off.
//!
//! Leases are judged by whoever holds them; here is only what a delegation's state allows.

use super::propose::{Proposal, proposal_in};
use super::{ATTEMPTS_MAX, Delegation, DelegationState, WORKERS};
use crate::event::{DelegationCancelled, DelegationFailed, DelegationReturned, DelegationStarted};
use crate::text::Body;
use crate::{Actor, Decision, Refusal, Refused, Role};

/// Begin to work on a delegation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakeDelegation;

/// Say what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportDelegation {
    pub report: Report,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The words of the worker, and what it proposes; a proposal may also stand in the words.
    Done {
        result: Body,
        proposal: Option<Proposal>,
    },
    Failed {
        error: Body,
    },
}

/// Call a delegation off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelDelegation {
    pub reason: Option<Body>,
}

impl TakeDelegation {
    pub fn decide(self, delegation: &Delegation, actor: &Actor) -> Result<Decision, Refused> {
        if !WORKERS.contains(&actor.role) {
            return Err(Refusal::MayNotDelegate { role: actor.role }.into());
        }
        over(delegation)?;
        let started = DelegationStarted {
            delegation_id: delegation.id,
            by: actor.principal.clone(),
            attempts: delegation.attempts + 1,
        };
        Ok(Decision { events: vec![started.into()], ..Decision::default() })
    }
}

impl ReportDelegation {
    pub fn decide(&self, delegation: &Delegation) -> Result<Decision, Refused> {
        over(delegation)?;
        let delegation_id = delegation.id;
        let event = match &self.report {
            Report::Done { result, proposal } => {
                let proposal = proposal.clone().or_else(|| proposal_in(result.as_str()));
                let result = result.as_str().to_owned();
                DelegationReturned { delegation_id, result, proposal }.into()
            }
            Report::Failed { error } => {
                let again = delegation.attempts < ATTEMPTS_MAX;
                let error = error.as_str().to_owned();
                DelegationFailed { delegation_id, error, again }.into()
            }
        };
        Ok(Decision { events: vec![event], ..Decision::default() })
    }
}

impl CancelDelegation {
    pub fn decide(&self, delegation: &Delegation, actor: &Actor) -> Result<Decision, Refused> {
        let own =
            delegation.parent_agent == actor.agent || delegation.delegated_by == actor.principal;
        if actor.role != Role::Operator && !own {
            return Err(Refusal::MayNotDelegate { role: actor.role }.into());
        }
        over(delegation)?;
        let reason = self.reason.as_ref().map(|reason| reason.as_str().to_owned());
        let cancelled = DelegationCancelled { delegation_id: delegation.id, reason };
        Ok(Decision { events: vec![cancelled.into()], ..Decision::default() })
    }
}

impl Delegation {
    /// What the chat it was handed out in is told of it (M-60, M-62).
    #[must_use]
    pub fn report_text(&self, title: Option<&str>) -> String {
        let what = title.unwrap_or(&self.kind);
        let words = |text: &Option<String>| text.clone().unwrap_or_default();
        match self.state {
            DelegationState::Returned => {
                format!("Worker completed TODO: {what}\n\n{}", words(&self.result))
            }
            DelegationState::Queued => {
                format!(
                    "Worker failed TODO: {what}; it is tried once more.\n\n{}",
                    words(&self.error)
                )
            }
            _ => format!("Worker failed TODO: {what}\n\n{}", words(&self.error)),
        }
    }
}

/// What is over stays so.
fn over(delegation: &Delegation) -> Result<(), Refused> {
    let (DelegationState::Queued | DelegationState::Running) = delegation.state else {
        let (delegation, state) = (delegation.id, delegation.state);
        return Err(Refusal::DelegationOver { delegation, state }.into());
    };
    Ok(())
}
