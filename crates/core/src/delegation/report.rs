//! Commands on delegated work: take it, keep it, report on it, cancel it.
//!
//! The worker holds a delegation by a lease, checked by the database's clock, which the command
//! brings. A write that does not name the caller's current lease is refused and logged.

use serde::{Deserialize, Serialize};

use super::propose::{Proposal, proposal_in};
use super::{ATTEMPTS_MAX, Delegation, DelegationState};
use crate::authority::{Action, Subject, may, may_any, owns_delegation};
use crate::event::{
    DelegationCancelled, DelegationFailed, DelegationRefused, DelegationReturned, DelegationStarted,
};
use crate::run::{RunState, died};
use crate::text::Body;
use crate::{Actor, By, Decide, Decision, Lease, Refusal, Refused, Run, Time};

/// Begin to work on a delegation, with a lease of `lease_s` seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeDelegation {
    pub lease_s: i64,
    pub clock: Time,
}

/// End a delegation whose workers keep dying.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuryDelegation;

/// Extend the lease to `lease_s` seconds from now; 0 gives the work back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeartbeatDelegation {
    pub epoch: i64,
    pub lease_s: i64,
    pub clock: Time,
}

/// Report the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportDelegation {
    pub report: Report,
    pub epoch: i64,
    pub clock: Time,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The worker's text, and its proposal; a proposal may also be inside the text.
    Done {
        result: Body,
        proposal: Option<Proposal>,
    },
    Failed {
        error: Body,
    },
}

impl Report {
    /// The worker's text about finished work.
    #[must_use]
    pub fn result(&self) -> Option<&str> {
        match self {
            Self::Done { result, .. } => Some(result.as_str()),
            Self::Failed { .. } => None,
        }
    }
}

/// Cancel a delegation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelDelegation {
    pub reason: Option<Body>,
}

impl Decide for TakeDelegation {
    type On<'a> = (&'a Delegation, Option<&'a Lease>);
    type Out = (Decision, Lease);

    /// `lease`: the last known lease.
    fn decide(
        &self,
        (delegation, lease): Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        if !may_any(actor.role, Subject::Delegation, Action::Take) {
            return Err(Refusal::MayNotDelegate { role: actor.role }.into());
        }
        over(delegation)?;
        let started = DelegationStarted {
            delegation_id: delegation.id,
            by: actor.principal.clone(),
            // Continuing work that was given back is not a new attempt.
            attempts: delegation.attempts + i64::from(!was_given_back(delegation, lease)),
        };
        let epoch = lease.map_or(0, |lease| lease.epoch) + 1;
        let until = self.clock.plus_seconds(self.lease_s);
        let lease = Lease { holder: Some(actor.principal.clone()), epoch, until };
        Ok((Decision { events: vec![started.into()], ..Decision::default() }, lease))
    }
}

impl Decide for HeartbeatDelegation {
    type On<'a> = (&'a Delegation, Option<&'a Lease>);
    type Out = Lease;

    fn decide(
        &self,
        (delegation, lease): Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        fence(delegation, lease, self.epoch, self.clock, actor)?;
        // A worker learns from its next heartbeat that the work was cancelled (F-2).
        over(delegation)?;
        let until = self.clock.plus_seconds(self.lease_s);
        let holder = (self.lease_s > 0).then(|| actor.principal.clone());
        Ok(Lease { holder, epoch: self.epoch, until })
    }
}

impl Decide for BuryDelegation {
    type On<'a> = (&'a Delegation, Option<&'a Lease>, Option<&'a Run>);
    type Out = Option<Decision>;

    /// Returns `None` if somebody may still work on it. `lease`: the last known lease; `run`: its
    /// run, which counts worker deaths since its last step. Without a run every attempt counts as a
    /// death.
    fn decide(
        &self,
        (delegation, lease, run): Self::On<'_>,
        _: By<'_>,
    ) -> Result<Self::Out, Refused> {
        if !has_died(delegation, lease) {
            return Ok(None);
        }
        let deaths = match run.filter(|run| !run.is_over()) {
            Some(run) => i64::from(run.counters.deaths) + 1,
            None => delegation.attempts,
        };
        if deaths < ATTEMPTS_MAX {
            return Ok(None);
        }
        let error = died(u32::try_from(deaths).unwrap_or(u32::MAX));
        let failed = DelegationFailed { delegation_id: delegation.id, error, again: false };
        Ok(Some(Decision { events: vec![failed.into()], ..Decision::default() }))
    }
}

impl Decide for ReportDelegation {
    type On<'a> = (&'a Delegation, Option<&'a Lease>);
    type Out = (Decision, Lease);

    /// Returns the lease with the outcome.
    fn decide(
        &self,
        (delegation, lease): Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        fence(delegation, lease, self.epoch, self.clock, actor)?;
        // A late result changes nothing, but is logged (F-2).
        over(delegation).map_err(|refused| logged(delegation, refused.refusal))?;
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
        let lease = Lease { holder: None, epoch: self.epoch, until: self.clock };
        Ok((Decision { events: vec![event], ..Decision::default() }, lease))
    }
}

impl Decide for CancelDelegation {
    type On<'a> = &'a Delegation;
    type Out = Decision;

    fn decide(
        &self,
        delegation: Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        if !may(actor, Subject::Delegation, Action::Cancel, || owns_delegation(actor, delegation)) {
            return Err(Refusal::MayNotDelegate { role: actor.role }.into());
        }
        over(delegation)?;
        let reason = self.reason.as_ref().map(|reason| reason.as_str().to_owned());
        let cancelled = DelegationCancelled { delegation_id: delegation.id, reason };
        Ok(Decision { events: vec![cancelled.into()], ..Decision::default() })
    }
}

impl Delegation {
    /// The message for the delegating run, if that run does not wait for the result.
    #[must_use]
    pub fn news(&self) -> String {
        let (id, kind) = (self.id, &self.kind);
        match (self.state, &self.result, &self.error) {
            (DelegationState::Returned, Some(result), _) => {
                format!("Delegation {id} ({kind}) came back:\n\n{result}")
            }
            (DelegationState::Failed, _, Some(error)) => {
                format!("Delegation {id} ({kind}) failed:\n\n{error}")
            }
            (state, ..) => format!("Delegation {id} ({kind}) is {}.", state.name()),
        }
    }

    /// The report for the chat where the work was delegated (M-60, M-62).
    #[must_use]
    pub fn report_text(&self, title: Option<&str>) -> String {
        let what = title.unwrap_or(&self.kind);
        let words = |text: &Option<String>| text.clone().unwrap_or_default();
        match self.state {
            DelegationState::Returned => {
                format!("Worker completed TODO “{what}”\n\n{}", words(&self.result))
            }
            DelegationState::Queued => {
                format!(
                    "Worker failed TODO “{what}”; it is tried once more.\n\n{}",
                    words(&self.error)
                )
            }
            _ => format!("Worker failed TODO “{what}”\n\n{}", words(&self.error)),
        }
    }
}

/// From when on may a worker take it? At any time if it is queued, else when its lease is over; not
/// while its run waits for an answer. The store repeats this in SQL.
#[must_use]
pub fn free_from(
    delegation: &Delegation,
    lease: Option<&Lease>,
    run: Option<&Run>,
) -> Option<Time> {
    if run.is_some_and(|run| run.state == RunState::Waiting) {
        return None;
    }
    match delegation.state {
        DelegationState::Queued => Some(Time::from_micros(0)),
        DelegationState::Running => lease.map(|lease| lease.until),
        DelegationState::Returned | DelegationState::Failed | DelegationState::Cancelled => None,
    }
}

/// May a worker take it now?
#[must_use]
pub fn is_free(
    delegation: &Delegation,
    lease: Option<&Lease>,
    run: Option<&Run>,
    clock: Time,
) -> bool {
    free_from(delegation, lease, run).is_some_and(|at| at <= clock)
}

/// Did its worker die? The caller has checked that the lease is over.
#[must_use]
pub fn has_died(delegation: &Delegation, lease: Option<&Lease>) -> bool {
    let is_held = lease.is_some_and(|lease| lease.holder.is_some());
    delegation.state == DelegationState::Running && is_held
}

fn was_given_back(delegation: &Delegation, lease: Option<&Lease>) -> bool {
    delegation.state == DelegationState::Running && !has_died(delegation, lease)
}

/// Checks that the actor is the holder and names its current lease.
fn fence(
    delegation: &Delegation,
    lease: Option<&Lease>,
    epoch: i64,
    clock: Time,
    actor: &Actor,
) -> Result<(), Refused> {
    let holder = lease.and_then(|lease| lease.held_by(clock));
    let current = lease.map_or(0, |lease| lease.epoch);
    let is_own = holder == Some(actor.principal.as_str());
    if is_own && current == epoch {
        return Ok(());
    }
    let (id, holder) = (delegation.id, holder.map(str::to_owned));
    let over = delegation.state.is_over().then_some(delegation.state);
    let refusal = Refusal::StaleDelegation { delegation: id, epoch, current, holder, is_own, over };
    Err(logged(delegation, refusal))
}

/// A refusal that is logged.
fn logged(delegation: &Delegation, refusal: Refusal) -> Refused {
    let (delegation_id, said) = (delegation.id, None);
    let audit = DelegationRefused { delegation_id, refusal: refusal.clone(), said };
    Refused { refusal, audit: Some(Box::new(audit.into())) }
}

/// Refuses a delegation that is over.
fn over(delegation: &Delegation) -> Result<(), Refused> {
    let (DelegationState::Queued | DelegationState::Running) = delegation.state else {
        let (delegation, state) = (delegation.id, delegation.state);
        return Err(Refusal::DelegationOver { delegation, state }.into());
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use crate::decide::tests::decided;
    use crate::delegation::{Delegate, Mode, Review, apply_delegation};
    use crate::text::Title;
    use crate::{AgentPath, Event, Ids, ProjectId};

    const CLOCK: Time = Time::from_micros(1_000_000_000);

    fn actor(name: &str) -> Actor {
        let path = AgentPath::parse(&format!("primary.subagents.{name}")).unwrap();
        Actor { principal: format!("worker:{name}"), ..Actor::new(Role::Worker, path) }
    }

    fn queued() -> Delegation {
        let mut ids = Ids::new(CLOCK, 7);
        let root = Actor::new(Role::Root, AgentPath::primary());
        let (kind, mission) = (Title::new("coder").unwrap(), Body::new("look").unwrap());
        let (mode, review) = (Mode::Async, Review::default());
        let (todo_id, conversation_id, run_id) = (None, None, None);
        let rationale = None;
        let order =
            Delegate { kind, mission, rationale, mode, review, todo_id, conversation_id, run_id };
        let project = ProjectId::from(ids.ulid());
        let decision = order
            .decide((project, None, 1), By { actor: &root, now: CLOCK, ids: &mut ids })
            .unwrap();
        let mut state = None;
        assert!(apply_delegation(&mut state, &decision.events[0], CLOCK));
        state.unwrap()
    }

    /// F-2: a result that comes after the work was cancelled is refused and logged.
    #[test]
    fn a_late_result_is_logged_and_ignored() {
        let holder = actor("a");
        let mut state = Some(queued());
        let take = TakeDelegation { lease_s: 30, clock: CLOCK };
        let (decision, lease) = decided(&take, (state.as_ref().unwrap(), None), &holder).unwrap();
        apply_delegation(&mut state, &decision.events[0], CLOCK);
        let root = Actor::new(Role::Root, AgentPath::primary());
        let cancel = CancelDelegation { reason: None };
        let decision = decided(&cancel, state.as_ref().unwrap(), &root).unwrap();
        apply_delegation(&mut state, &decision.events[0], CLOCK);
        let report = Report::Done { result: Body::new("done").unwrap(), proposal: None };
        let report = ReportDelegation { report, epoch: 1, clock: CLOCK };
        let refused =
            decided(&report, (state.as_ref().unwrap(), Some(&lease)), &holder).unwrap_err();
        assert_eq!(refused.refusal.code(), "delegation_over");
        assert!(matches!(refused.audit.as_deref(), Some(Event::DelegationRefused(_))));
    }

    /// Only the holder may write, naming the current lease; a refusal is logged.
    #[test]
    fn only_the_holder_with_its_current_epoch_writes() {
        let delegation = queued();
        let (holder, other) = (actor("a"), actor("b"));
        let take = TakeDelegation { lease_s: 30, clock: CLOCK };
        let remembered = Lease { holder: None, epoch: 4, until: CLOCK };
        let (_, lease) = decided(&take, (&delegation, Some(&remembered)), &holder).unwrap();
        let until = CLOCK.plus_seconds(30);
        assert_eq!(lease, Lease { holder: Some("worker:a".into()), epoch: 5, until });
        for (lease, who, epoch, after_s, fits) in [
            (Some(&lease), &holder, 5, 0, true),
            (Some(&lease), &holder, 5, 29, true),
            (Some(&lease), &holder, 5, 30, false),
            (Some(&lease), &holder, 4, 0, false),
            (Some(&lease), &holder, 6, 0, false),
            (Some(&lease), &other, 5, 0, false),
            (Some(&remembered), &holder, 4, 0, false),
            (None, &holder, 0, 0, false),
        ] {
            let clock = CLOCK.plus_seconds(after_s);
            let error = Body::new("it broke").unwrap();
            let report = ReportDelegation { report: Report::Failed { error }, epoch, clock };
            let reported =
                decided(&report, (&delegation, lease), who).map(|(_, lease)| lease.holder);
            let renewed = HeartbeatDelegation { epoch, lease_s: 30, clock };
            let renewed = decided(&renewed, (&delegation, lease), who).map(|lease| lease.until);
            if fits {
                assert_eq!((reported, renewed), (Ok(None), Ok(clock.plus_seconds(30))));
                continue;
            }
            let refused = reported.unwrap_err();
            assert_eq!(renewed.unwrap_err(), refused);
            assert_eq!(refused.refusal.code(), "stale_epoch");
            let (delegation_id, refusal) = (delegation.id, refused.refusal.clone());
            let line = Event::from(DelegationRefused { delegation_id, refusal, said: None });
            assert_eq!(refused.audit, Some(Box::new(line)));
        }
    }
}
