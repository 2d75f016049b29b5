//! A run: one execution of an agent's loop, from a message to the end of the resulting work.
//!
//! A run is an ordinary row: its limits and usage, what it waits for, why it ended. The executing
//! process stores every step before it acts on it, so that another process can continue after a
//! crash. Lists, chat, gates and delegations are in their own tables; the row holds only the
//! progress.

pub mod begin;
mod change;
mod history;
mod host;
mod start;
mod take;

pub use self::host::RecordHosted;
pub use change::{
    CancelRun, ConfigureRun, DriveRun, Driven, RecordReply, RecordResult, RecordStart,
    RecordSummary, WakeRun, may_execute,
};
pub use history::{HISTORY_MAX, Kept, trim};
pub use start::StartRun;
pub use take::{DEATHS_MAX, TakeRun, Taken, WORKER_DIED, died};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::driver::{Budget, Counters, StopReason, Wait};
use crate::event::{
    RunCancelled, RunConfigured, RunContinued, RunStarted, RunStepped, RunStopped, RunWaited,
    RunWoken,
};
use crate::named::named;
use crate::{
    Actor, AgentPath, ConversationId, Credential, DelegationId, Event, ProjectId, Reach, Role,
    RunId, Scope, SessionId, Time,
};

named! {
    /// The state of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum RunState {
        Running = "running",
        /// It waits for an answer, for delegated work, or for a time.
        Waiting = "waiting",
        Ended = "ended",
    }
}

/// Who completes an item of a turn's plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The agent that keeps the plan.
    #[default]
    #[serde(rename = "self")]
    Own,
    /// The agent it was delegated to, by its report: the report completes the item automatically,
    /// and the agent that keeps the plan cannot complete it (F-7).
    Verified,
}

/// How a run behaves, copied when it began, so that machines with other configuration files agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The model, e.g. `anthropic:claude-sonnet-5`.
    pub model: String,
    /// The reasoning effort of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Does it continue by itself while its lists are open (S-2)?
    pub drives: bool,
    pub budget: Budget,
    /// The longest reply, in tokens.
    pub max_tokens: u32,
    /// The tools it may use; `None` means all tools of its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Additional instructions for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    #[serde(default)]
    pub completion: Completion,
    /// How many messages are shown to the model (S-23).
    pub history: u32,
    /// The template of the continuation prompt (D-16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<String>,
}

/// Who chose the settings of a run. An agent with a token may choose the model only for a run that
/// its own process executes, because a worker would execute it with the worker's rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsOf {
    /// They are fixed, for any process that executes it.
    #[default]
    Run,
    /// The starter chose them, and only its own process executes the run.
    Starter,
    /// The configuration of the process that executes it decides.
    Executor,
}

impl SettingsOf {
    #[must_use]
    pub const fn is_run(&self) -> bool {
        matches!(self, Self::Run)
    }
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub id: RunId,
    pub project_id: ProjectId,
    pub agent: AgentPath,
    pub role: Role,
    /// The mission that its agent leads, or whose pillar it owns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pillar: Option<String>,
    pub conversation_id: ConversationId,
    /// The message that began it.
    pub turn_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// A plan it works on, beside the lists of its turn, session and issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Scope>,
    /// The delegation it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation_id: Option<DelegationId>,
    pub settings: Settings,
    /// Its reach: no wider than its starter's.
    #[serde(default, skip_serializing_if = "Reach::is_default")]
    pub reach: Reach,
    /// Who chose the settings.
    #[serde(default, skip_serializing_if = "SettingsOf::is_run")]
    pub settings_of: SettingsOf,
    pub state: RunState,
    pub counters: Counters,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<Wait>,
    /// Somebody asked it to end, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Details, such as an error message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_detail: Option<String>,
    /// The stable code of an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_code: Option<String>,
    pub started_by: String,
    pub created_at: Time,
    pub updated_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
}

impl Run {
    /// The agent as it acts in this run.
    #[must_use]
    pub fn actor(&self) -> Actor {
        let mut actor = Actor::new(self.role, self.agent.clone());
        actor.mission.clone_from(&self.mission);
        actor.pillar.clone_from(&self.pillar);
        actor.reach.clone_from(&self.reach);
        actor.fixed = true;
        actor.proof = Some(Credential::Run(self.id));
        actor
    }

    /// Does a host execute it? Then no worker may.
    #[must_use]
    pub fn is_hosted(&self) -> bool {
        crate::host::is_hosted(&self.settings.model)
    }

    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.state, RunState::Ended)
    }

    /// Did it end before the model saw all messages? Not if somebody stopped it: then no answer is
    /// wanted.
    #[must_use]
    pub fn owes_an_answer(&self) -> bool {
        self.is_over()
            && self.stop_reason != Some(StopReason::Cancelled)
            && self.counters.has_news()
    }
}

/// Folds one event into a run; says whether its row changed. Infallible, as `apply` is.
pub fn apply_run(state: &mut Option<Run>, event: &Event, at: Time) -> bool {
    if let Event::RunStarted(RunStarted { run }) = event {
        *state = Some(Run::clone(run));
        return true;
    }
    let Some(run) = state else { return false };
    match event {
        Event::RunStepped(RunStepped { run_id, counters }) if *run_id == run.id => {
            run.counters.clone_from(counters);
        }
        Event::RunConfigured(RunConfigured { run_id, settings }) if *run_id == run.id => {
            run.settings = Settings::clone(settings);
            run.settings_of = SettingsOf::Run;
        }
        Event::RunContinued(RunContinued { run_id, counters, .. }) if *run_id == run.id => {
            run.counters.clone_from(counters);
            (run.state, run.waits_for) = (RunState::Running, None);
        }
        Event::RunWaited(RunWaited { run_id, waits_for, counters }) if *run_id == run.id => {
            run.counters.clone_from(counters);
            (run.state, run.waits_for) = (RunState::Waiting, Some(waits_for.clone()));
        }
        Event::RunWoken(RunWoken { run_id, counters, .. }) if *run_id == run.id => {
            run.counters.clone_from(counters);
            (run.state, run.waits_for) = (RunState::Running, None);
        }
        Event::RunCancelled(RunCancelled { run_id, reason }) if *run_id == run.id => {
            run.cancelled = Some(reason.clone());
        }
        Event::RunStopped(RunStopped { run_id, reason, detail, code, counters })
            if *run_id == run.id =>
        {
            run.counters.clone_from(counters);
            (run.state, run.waits_for) = (RunState::Ended, None);
            (run.stop_reason, run.ended_at) = (Some(*reason), Some(at));
            run.stop_detail.clone_from(detail);
            run.stop_code.clone_from(code);
        }
        _ => return false,
    }
    run.updated_at = at;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parsing_agree() {
        for state in RunState::ALL {
            assert_eq!(RunState::parse(state.name()), Some(state));
        }
    }
}
