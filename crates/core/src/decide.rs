//! Commands on what is no list: issues, sessions, gates, delegations, runs, missions, metrics, plans
//! put away, and agents.
//!
//! `Command` is the closed enum of the commands on a list: they are all decided on one kind of state,
//! and stored in wishes. Every other aggregate has its own state, and its rules look at neighbours of
//! other kinds, so each command says in its type what it is decided on and what comes of it. The
//! trait is sealed: the list below is all there are (ADR 0024).

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Actor, Ids, Refused, Time};

/// A command as data, and the rule that says yes or no to it. Pure: the same arguments give the same
/// answer.
pub trait Decide: sealed::Closed + Serialize + DeserializeOwned {
    /// What it is decided on: the aggregate as it is, and all else that the rule depends on.
    type On<'a>;

    /// What comes of it: the events, and what the caller needs besides.
    type Out;

    fn decide(&self, on: Self::On<'_>, by: By<'_>) -> Result<Self::Out, Refused>;
}

/// Who gives a command, and when, and the ids of what it makes.
#[derive(Debug)]
pub struct By<'a> {
    pub actor: &'a Actor,
    pub now: Time,
    pub ids: &'a mut Ids,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Decides a command whose rule asks for neither the time nor ids.
    pub(crate) fn decided<C: Decide>(
        command: &C,
        on: C::On<'_>,
        actor: &Actor,
    ) -> Result<C::Out, Refused> {
        let now = Time::from_micros(0);
        command.decide(on, By { actor, now, ids: &mut Ids::new(now, 1) })
    }
}

mod sealed {
    /// Keeps the set of commands closed.
    pub trait Closed {}
}

macro_rules! closed {
    ($($module:ident: $($name:ident),+;)+) => {
        $($(impl sealed::Closed for crate::$module::$name {})+)+
    };
}

closed! {
    issue: CreateIssue, TransitionIssue, CommentIssue, LinkIssues, UnlinkIssues, CloseAsDuplicate,
        DeferIssue, AssignIssue;
    session: StartSession, BindSession, UnbindSession, PromoteSession, PauseSession, ResumeSession,
        EndSession, AdoptSession, ReopenSession;
    gate: OpenGate, AnswerGate, RelayAnswer, AskPermission, RevokePermission;
    delegation: Delegate, TakeDelegation, HeartbeatDelegation, ReportDelegation, BuryDelegation,
        CancelDelegation, DecideProposal;
    run: StartRun, TakeRun, ConfigureRun, RecordReply, RecordResult, RecordStart, RecordSummary,
        DriveRun, WakeRun, CancelRun, RecordHosted;
    mission: InitMission, SetStanding, RunCycle, Escalate;
    metric: RecordReading, CollectMetrics, FailCollection;
    plan: PurgePlans;
    agent: RegisterAgent, SetAgentStatus;
}
