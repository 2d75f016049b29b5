//! What moves a run on: a reply, a result, the driver's word, a wake-up, somebody's stop.

use std::hash::Hash;

use super::{Run, RunState, Settings, SettingsOf};
use crate::authority::{Action, Subject, may, owns_run};
use crate::driver::{self, Facts, Spent, StopReason, Trigger, Verdict, Wait};
use crate::effect::Effect;
use crate::event::{
    RunCancelled, RunConfigured, RunContinued, RunStepped, RunStopped, RunWaited, RunWoken,
};
use crate::{Actor, Decision, Event, Refusal, Refused, TodoId};

/// The model replied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordReply<C> {
    pub spent: Spent,
    /// What it calls, as far as it tells one reply from another.
    pub calls: C,
    pub has_calls: bool,
    /// What fits into one call of it.
    pub window: Option<u64>,
    /// How much had been said when it was called; none: all that is known.
    pub heard: Option<u32>,
}

/// A tool has its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordResult {
    /// It changed something.
    pub changed: bool,
    /// What it changed is on the lists.
    pub touched_list: bool,
    /// An outside tool failed, while this item was worked on.
    pub failed_on: Option<TodoId>,
}

/// An outside tool is about to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordStart {
    pub call_id: String,
}

/// What was said before does not fit any more, and was summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSummary {
    pub spent: Spent,
}

/// Ask the driver.
#[derive(Clone, Copy, Debug)]
pub struct DriveRun<'a> {
    pub facts: &'a Facts<'a>,
    /// The words of an error, where there was one.
    pub detail: Option<&'a str>,
    /// Its stable code.
    pub code: Option<&'a str>,
}

/// What the driver said, and what it leaves.
#[derive(Clone, Debug)]
pub struct Driven {
    pub verdict: Verdict,
    pub decision: Decision,
}

/// Something it waits for has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeRun {
    pub by: Trigger,
    /// Something was said with it that the model has to see.
    pub said: bool,
}

/// A process takes a run over, with the settings that it would give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigureRun<'a> {
    /// The actor that started the process.
    pub executor: &'a Actor,
    /// None: it has no model for the agent.
    pub settings: Option<Settings>,
}

/// Ask a run to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelRun {
    pub reason: String,
    /// A process goes on with it, and will end it.
    pub executed: bool,
}

impl<C: Hash> RecordReply<C> {
    pub fn decide(&self, run: &Run) -> Result<Decision, Refused> {
        going(run)?;
        let mut counters = run.counters.clone();
        counters.replied(self.spent, &self.calls, self.has_calls);
        counters.window = self.window.or(counters.window);
        counters.answered = self.heard.unwrap_or(counters.heard);
        Ok(only(RunStepped { run_id: run.id, counters }))
    }
}

impl RecordResult {
    /// Says also whether the item has failed once too often.
    pub fn decide(self, run: &Run) -> Result<(Decision, Option<TodoId>), Refused> {
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

impl RecordStart {
    pub fn decide(&self, run: &Run) -> Result<Decision, Refused> {
        going(run)?;
        let mut counters = run.counters.clone();
        (counters.started, counters.deaths) = (Some(self.call_id.clone()), 0);
        Ok(only(RunStepped { run_id: run.id, counters }))
    }
}

impl RecordSummary {
    pub fn decide(self, run: &Run) -> Result<Decision, Refused> {
        going(run)?;
        let mut counters = run.counters.clone();
        counters.spent(self.spent);
        // How much the next call takes is not known before it is made.
        (counters.context_tokens, counters.deaths) = (0, 0);
        Ok(only(RunStepped { run_id: run.id, counters }))
    }
}

impl DriveRun<'_> {
    pub fn decide(self, run: &Run) -> Result<Driven, Refused> {
        going(run)?;
        let (verdict, counters) = driver::decide(self.facts);
        let run_id = run.id;
        let (trigger, detail) = (self.facts.trigger, self.detail.map(str::to_owned));
        let code = self.code.map(str::to_owned);
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
    /// What is over stays so. A run that somebody executes goes on as it does, and its driver sees
    /// before it lies down that something was said. A person's word resets what is counted against
    /// the model, whenever it comes (S-19).
    #[must_use]
    pub fn decide(self, run: &Run) -> Option<Decision> {
        if run.is_over() {
            return None;
        }
        let (run_id, mut counters) = (run.id, run.counters.clone());
        if self.by == Trigger::UserMessage {
            counters.begin(&run.settings.budget);
        }
        counters.heard = counters.heard.saturating_add(u32::from(self.said));
        // An explicit pause outlives everything but an explicit resume (P-10).
        let paused = run.waits_for == Some(Wait::Pause) && self.by != Trigger::Resumed;
        if run.state != RunState::Waiting || paused {
            return (counters != run.counters).then(|| only(RunStepped { run_id, counters }));
        }
        let effects = match run.delegation_id {
            None if !run.is_hosted() => vec![Effect::Drive { run_id }],
            _ => Vec::new(),
        };
        let woken = RunWoken { run_id, by: self.by, counters };
        Some(Decision { events: vec![woken.into()], effects, ..Decision::default() })
    }
}

impl ConfigureRun<'_> {
    /// Refuses a process that would play a run beyond what whoever started it may do. Ends a run
    /// that an agent left behind with settings of its own: nobody else plays it. One that an agent
    /// queued is played with the settings of the process that executes it.
    pub fn decide(&self, run: &Run) -> Result<Decision, Refused> {
        self.check(run)?;
        Ok(self.settle(run))
    }

    /// May whoever started the process go on with this run at all?
    pub fn check(&self, run: &Run) -> Result<(), Refused> {
        let actor = self.executor;
        if run.is_hosted() {
            return Err(
                Refusal::HostedRun { run: run.id, model: run.settings.model.clone() }.into()
            );
        }
        if may(actor, Subject::Run, Action::Resume, || owns_run(actor, run)) {
            return Ok(());
        }
        Err(Refusal::MayNotRun { role: actor.role }.into())
    }

    fn settle(&self, run: &Run) -> Decision {
        let stop = |code: &str, detail: &str| {
            let (run_id, reason, counters) = (run.id, StopReason::Error, run.counters.clone());
            let (code, detail) = (Some(code.to_owned()), Some(detail.to_owned()));
            only(RunStopped { run_id, reason, detail, code, counters })
        };
        match (run.settings_of, &self.settings) {
            _ if run.is_over() => Decision::default(),
            (SettingsOf::Run, _) => Decision::default(),
            (SettingsOf::Starter, _) if self.executor.principal == run.started_by => {
                Decision::default()
            }
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

impl CancelRun {
    pub fn decide(&self, run: &Run, actor: &Actor) -> Result<Decision, Refused> {
        // The agent that runs, and who began it.
        let own = || run.agent == actor.agent || run.started_by == actor.principal;
        if !may(actor, Subject::Run, Action::Stop, own) {
            return Err(Refusal::MayNotRun { role: actor.role }.into());
        }
        going(run)?;
        let (run_id, reason) = (run.id, self.reason.clone());
        let mut events = vec![RunCancelled { run_id, reason }.into()];
        // Else nobody would.
        if run.state == RunState::Waiting || !self.executed {
            let (reason, detail) = (StopReason::Cancelled, Some(self.reason.clone()));
            let counters = run.counters.clone();
            events.push(RunStopped { run_id, reason, detail, code: None, counters }.into());
        }
        Ok(Decision { events, ..Decision::default() })
    }
}

/// What is over stays so.
fn going(run: &Run) -> Result<(), Refused> {
    match run.stop_reason {
        None => Ok(()),
        Some(reason) => Err(Refusal::RunOver { run: run.id, reason }.into()),
    }
}

fn only(event: impl Into<Event>) -> Decision {
    Decision { events: vec![event.into()], ..Decision::default() }
}
