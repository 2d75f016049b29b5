//! Commands on everything except lists: issues, sessions, gates, delegations, runs, missions,
//! metrics, archived plans, agents, and projects.
//!
//! `Command` is the closed enum of the commands on a list: they share one kind of state, and are
//! stored in recommendations. Every other aggregate has its own state, and its rules depend on
//! other aggregates, so the type of each command names its input and its output. The trait is
//! sealed: the list below is complete (ADR 0024).

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Actor, Ids, Refused, Time};

/// A command as data, and the rule that accepts or refuses it. Pure: the same arguments give the
/// same answer.
pub trait Decide: sealed::Closed + Serialize + DeserializeOwned {
    /// The input of the decision: the aggregate's state, and whatever else the rule depends on.
    type On<'a>;

    /// The output: the events, and what else the caller needs.
    type Out;

    fn decide(&self, on: Self::On<'_>, by: By<'_>) -> Result<Self::Out, Refused>;
}

/// Who gives a command and when, and the ids for new things.
#[derive(Debug)]
pub struct By<'a> {
    pub actor: &'a Actor,
    pub now: Time,
    pub ids: &'a mut Ids,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Decides a command whose rule needs neither the time nor ids.
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

        /// The names of all commands of this kind.
        pub const COMMANDS: &[&str] = &[$($(stringify!($name)),+),+];
    };
}

closed! {
    issue: CreateIssue, TransitionIssue, CommentIssue, LinkIssues, UnlinkIssues, CloseAsDuplicate,
        DeferIssue, AssignIssue, UpdateIssue;
    session: StartSession, BindSession, UnbindSession, PromoteSession, PauseSession, ResumeSession,
        EndSession, AdoptSession, ReopenSession, TitleSession;
    gate: OpenGate, AnswerGate, RelayAnswer, CollectAnswer, AskPermission, RevokePermission;
    delegation: Delegate, TakeDelegation, HeartbeatDelegation, ReportDelegation, BuryDelegation,
        CancelDelegation, DecideProposal;
    run: StartRun, TakeRun, ConfigureRun, RecordReply, RecordResult, RecordStart, RecordSummary,
        DriveRun, WakeRun, CancelRun, RecordHosted;
    mission: InitMission, SetStanding, RunCycle, Escalate;
    metric: RecordReading, CollectMetrics, FailCollection;
    plan: PurgePlans;
    agent: RegisterAgent, SetAgentStatus;
    project: MergeProjects;
}
