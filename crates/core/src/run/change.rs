//! Commands that advance a run: a reply, a result, the driver's verdict, a wake-up, a cancellation.

use serde::{Deserialize, Serialize};

use super::{Run, RunState, Settings, SettingsOf};
use crate::authority::{Action, Subject, may, owns_run};
use crate::driver::{self, Facts, Spent, StopReason, Trigger, Verdict, Wait};
use crate::effect::Effect;
use crate::event::{
    RunCancelled, RunConfigured, RunContinued, RunStepped, RunStopped, RunWaited, RunWoken,
};
use crate::{Actor, By, Decide, Decision, Event, Refusal, Refused, TodoId};

/// The model replied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordReply {
    pub spent: Spent,
    /// Fingerprint of its tool calls; `None` if it calls nothing.
    pub calls: Option<u64>,
    /// The model's context window, in tokens.
    pub window: Option<u64>,
    /// How many messages there were when the model was called; `None` means all known ones.
    pub heard: Option<u32>,
}

/// A tool has its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordResult {
    /// It changed something.
    pub changed: bool,
    /// It changed a list.
    pub touched_list: bool,
    /// An external tool failed during work on this item.
    pub failed_on: Option<TodoId>,
}

/// An external tool is about to be called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordStart {
    pub call_id: String,
}

/// Earlier messages no longer fit, and were summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordSummary {
    pub spent: Spent,
}

/// Ask the driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveRun {
    /// The error message, if there was an error.
    pub detail: Option<String>,
    /// Its stable code.
    pub code: Option<String>,
}

/// The driver's verdict, and the decision that records it.
#[derive(Clone, Debug)]
pub struct Driven {
    pub verdict: Verdict,
    pub decision: Decision,
}

/// Something it waits for has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeRun {
    pub by: Trigger,
    /// It comes with a message that the model must see.
    pub said: bool,
}

/// A process takes over a run, with its own settings for it. Decided for the actor that started the
/// process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigureRun {
    /// `None` if the process has no model for the agent.
    pub settings: Option<Settings>,
}

/// Ask a run to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRun {
    pub reason: String,
    /// A process executes it, and will end it.
    pub executed: bool,
}

impl Decide for RecordReply {
    type On<'a> = &'a Run;
    type Out = Decision;

    fn decide(&self, run: Self::On<'_>, _: By<'_>) -> Result<Self::Out, Refused> {
        going(run)?;
        let mut counters = run.counters.clone();
        counters.replied(self.spent, self.calls);
        counters.window = self.window.or(counters.window);
        counters.answered = self.heard.unwrap_or(counters.heard);
        Ok(only(RunStepped { run_id: run.id, counters }))
    }
}

impl Decide for RecordResult {
    type On<'a> = &'a Run;
    type Out = (Decision, Option<TodoId>);

    /// Also returns whether the item has failed too often.
    fn decide(&self, run: Self::On<'_>, _: By<'_>) -> Result<Self::Out, Refused> {
        going(run)?;
        let mut counters = run.counters.clone();
        (counters.started, counters.deaths) = (None, 0);
        if self.changed {
            counters.changed(self.touched_list);
        }
        let given_up = self.failed_on.filter(|todo| counters.failed(*todo));
        if counters == run.counters {
            return Ok((Decision::default(), given_up));
        }
        Ok((only(RunStepped { run_id: run.id, counters }), given_up))
    }
}

impl Decide for RecordStart {
    type On<'a> = &'a Run;
    type Out = Decision;

    fn decide(&self, run: Self::On<'_>, _: By<'_>) -> Result<Self::Out, Refused> {
        going(run)?;
        let mut counters = run.counters.clone();
        (counters.started, counters.deaths) = (Some(self.call_id.clone()), 0);
        Ok(only(RunStepped { run_id: run.id, counters }))
    }
}

impl Decide for RecordSummary {
    type On<'a> = &'a Run;
    type Out = Decision;

    fn decide(&self, run: Self::On<'_>, _: By<'_>) -> Result<Self::Out, Refused> {
        going(run)?;
        let mut counters = run.counters.clone();
        counters.spent(self.spent);
        // The size of the next call is not known before it is made.
        (counters.context_tokens, counters.deaths) = (0, 0);
        Ok(only(RunStepped { run_id: run.id, counters }))
    }
}

impl Decide for DriveRun {
    type On<'a> = (&'a Run, &'a Facts<'a>);
    type Out = Driven;

    fn decide(&self, (run, facts): Self::On<'_>, _: By<'_>) -> Result<Self::Out, Refused> {
        going(run)?;
        let (verdict, counters) = driver::decide(facts);
        let run_id = run.id;
        let (trigger, detail, code) = (facts.trigger, self.detail.clone(), self.code.clone());
        let event: Option<Event> = match &verdict {
            Verdict::Continue { prompted: false, .. } => (counters != run.counters)
                .then(|| RunStepped { run_id, counters: counters.clone() }.into()),
            Verdict::Continue { todo, prompted: true } => {
                Some(RunContinued { run_id, todo_id: *todo, trigger, counters }.into())
            }
            Verdict::Wait(wait) => {
                Some(RunWaited { run_id, waits_for: wait.clone(), counters }.into())
            }
            Verdict::Stop(reason) => {
                Some(RunStopped { run_id, reason: *reason, detail, code, counters }.into())
            }
        };
        let events = event.into_iter().collect();
        Ok(Driven { verdict, decision: Decision { events, ..Decision::default() } })
    }
}

impl WakeRun {
    /// Wakes a run, perhaps with a message. For a user message or a tick, the message is in the
    /// chat already.
    #[must_use]
    pub const fn with(by: Trigger, news: Option<&str>) -> Self {
        let said = news.is_some() || matches!(by, Trigger::UserMessage | Trigger::Tick);
        Self { by, said }
    }
}

impl Decide for WakeRun {
    type On<'a> = &'a Run;
    type Out = Option<Decision>;

    /// A run that is over stays over. A run that is being executed just continues; its driver finds
    /// the new message before it stops or waits. A person's message always resets the counters that
    /// limit the model (S-19).
    fn decide(&self, run: Self::On<'_>, _: By<'_>) -> Result<Self::Out, Refused> {
        if run.is_over() {
            return Ok(None);
        }
        let (run_id, mut counters) = (run.id, run.counters.clone());
        if self.by == Trigger::UserMessage {
            counters.begin(&run.settings.budget);
        }
        counters.heard = counters.heard.saturating_add(u32::from(self.said));
        // Only an explicit resume ends an explicit pause (P-10).
        let paused = run.waits_for == Some(Wait::Pause) && self.by != Trigger::Resumed;
        if run.state != RunState::Waiting || paused {
            let heard = counters != run.counters;
            return Ok(heard.then(|| only(RunStepped { run_id, counters })));
        }
        let effects = match run.delegation_id {
            None if !run.is_hosted() => vec![Effect::Drive { run_id }],
            _ => Vec::new(),
        };
        let woken = RunWoken { run_id, by: self.by, counters };
        Ok(Some(Decision { events: vec![woken.into()], effects, ..Decision::default() }))
    }
}

impl Decide for ConfigureRun {
    type On<'a> = &'a Run;
    type Out = Decision;

    /// Refuses a process whose starter may not execute this run. Ends a run with settings that its
    /// starter chose, if another process takes it. A run that an agent queued gets the settings of
    /// the executing process.
    fn decide(&self, run: Self::On<'_>, By { actor, .. }: By<'_>) -> Result<Self::Out, Refused> {
        may_execute(run, actor)?;
        Ok(self.settle(run, actor))
    }
}

impl ConfigureRun {
    fn settle(&self, run: &Run, executor: &Actor) -> Decision {
        let stop = |code: &str, detail: &str| {
            let (run_id, reason, counters) = (run.id, StopReason::Error, run.counters.clone());
            let (code, detail) = (Some(code.to_owned()), Some(detail.to_owned()));
            only(RunStopped { run_id, reason, detail, code, counters })
        };
        match (run.settings_of, &self.settings) {
            _ if run.is_over() => Decision::default(),
            (SettingsOf::Run, _) => Decision::default(),
            (SettingsOf::Starter, _) if executor.principal == run.started_by => Decision::default(),
            (SettingsOf::Starter, _) => {
                let detail = "the process that started it is gone, and only that agent's own may \
                              go on with it";
                stop("starter_gone", detail)
            }
            (SettingsOf::Executor, Some(settings)) => {
                let settings = Box::new(settings.clone());
                only(RunConfigured { run_id: run.id, settings })
            }
            (SettingsOf::Executor, None) => {
                stop("no_model", "the process that executes it has no model for this agent")
            }
        }
    }
}

impl Decide for CancelRun {
    type On<'a> = &'a Run;
    type Out = Decision;

    fn decide(&self, run: Self::On<'_>, By { actor, .. }: By<'_>) -> Result<Self::Out, Refused> {
        // The run's own agent and its starter may stop it.
        let own = || run.agent == actor.agent || run.started_by == actor.principal;
        if !may(actor, Subject::Run, Action::Stop, own) {
            return Err(Refusal::MayNotRun { role: actor.role }.into());
        }
        going(run)?;
        let (run_id, reason) = (run.id, self.reason.clone());
        let mut events = vec![RunCancelled { run_id, reason }.into()];
        // No process executes it, so nobody else would end it.
        if run.state == RunState::Waiting || !self.executed {
            let (reason, detail) = (StopReason::Cancelled, Some(self.reason.clone()));
            let counters = run.counters.clone();
            events.push(RunStopped { run_id, reason, detail, code: None, counters }.into());
        }
        Ok(Decision { events, ..Decision::default() })
    }
}

/// May the actor that started a process execute this run? Checked before the process takes the run.
pub fn may_execute(run: &Run, executor: &Actor) -> Result<(), Refused> {
    if run.is_hosted() {
        return Err(Refusal::HostedRun { run: run.id, model: run.settings.model.clone() }.into());
    }
    if may(executor, Subject::Run, Action::Resume, || owns_run(executor, run)) {
        return Ok(());
    }
    Err(Refusal::MayNotRun { role: executor.role }.into())
}

/// Refuses a run that is over.
fn going(run: &Run) -> Result<(), Refused> {
    match run.stop_reason {
        None => Ok(()),
        Some(reason) => Err(Refusal::RunOver { run: run.id, reason }.into()),
    }
}

fn only(event: impl Into<Event>) -> Decision {
    Decision { events: vec![event.into()], ..Decision::default() }
}
