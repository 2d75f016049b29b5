//! The loop of a run: call the model, make its tool calls, send the results back, until the driver
//! decides to wait or to stop.

use std::time::Duration;

use punchlist_core::driver::{self, Finish, StopReason, Trigger, Verdict, Wait};
use punchlist_core::run::{Completion, RunState};
use punchlist_core::{Refusal, Run, RunId, Time};
use punchlist_ops::Error;
use punchlist_ops::operations::run_step::{
    self, Output as Stepped, Question, RunStep, Step, Summary,
};
use punchlist_ops::operations::run_take::{self, Entry, RunTake};
use punchlist_ops::runs::{Look, Scene};
use punchlist_store::rows::outbox::Work;

use super::history::{self, Next};
use super::records::{code_of, failure, question, recorded, spent};
use super::tools::Toolset;
use super::{Live, Runtime};
use crate::keep_alive::keep_alive;
use crate::model::{Cancel, Fault, FaultKind, Message, Model, Progress, Reply, Request};
use crate::system::is_temporary;

/// How often it checks whether the run was cancelled or taken over.
const LOOK: Duration = Duration::from_millis(500);

/// How full the model's window is, in percent, when the conversation is summarised.
const FULL_PERCENT: u64 = 75;

/// A shorter conversation is not summarised.
const SUMMED_MIN: usize = 6;

/// How many messages are read for one step: more than the model ever gets.
const LOOKED_AT: i64 = 80;

const SUMMARY: &str = "Sum up this conversation for yourself, so that the work can go on from your \
summary alone: what was asked, what was found out and decided, what is done, what is open, names and \
numbers that matter. Facts only.";

/// The outcome of executing a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ended(StopReason),
    /// The run waits for something that will wake it.
    Waiting,
    /// Another process has taken the run over.
    Lost,
    /// This process was asked to stop; another one continues the run.
    Stopped,
}

/// Executes one run, which this process has taken.
pub(super) struct RunExecutor<'a, 'c> {
    pub(super) runtime: &'a Runtime<'c>,
    pub(super) project: &'a str,
    pub(super) id: RunId,
    pub(super) epoch: i64,
    pub(super) cancel: Cancel,
}

/// The next action.
pub(super) enum Flow {
    /// Call the model. The driver may have loaded the lists already.
    GoOn(Option<Scene>),
    /// Read the run again and decide.
    Again,
    Over(Outcome),
}

impl Runtime<'_> {
    /// Executes a run until it ends, waits, is taken over by another process, or is cancelled.
    pub fn drive(&self, project: &str, id: RunId, cancel: &Cancel) -> Result<Outcome, Error> {
        self.take_and_drive(project, id, None, cancel)
    }

    /// Like `drive`, for an entry of the outbox. Does nothing if the entry's lease was lost.
    pub(super) fn drive_entry(
        &self,
        project: &str,
        id: RunId,
        work: &Work,
    ) -> Result<Outcome, Error> {
        let entry = Entry { id: work.id.clone(), epoch: work.epoch };
        lost_if_stale(self.take_and_drive(project, id, Some(entry), &Cancel::default()))
    }

    fn take_and_drive(
        &self,
        project: &str,
        run: RunId,
        entry: Option<Entry>,
        cancel: &Cancel,
    ) -> Result<Outcome, Error> {
        let take = run_take::Input { run, entry };
        let epoch = self.ops.run::<RunTake>(&self.system(project), take)?.epoch;
        let id = run;
        let executor = RunExecutor { runtime: self, project, id, epoch, cancel: cancel.clone() };
        let watch = || {
            let wanted = self.ops.is_run_wanted(project, id, epoch);
            // A database error is no reason to cancel the work.
            if (self.is_stopped)() || wanted.is_ok_and(|wanted| !wanted) {
                cancel.cancel();
            }
        };
        let outcome = keep_alive(LOOK, watch, || executor.run());
        match outcome {
            Err(Error::Refused(refusal)) => match &*refusal {
                Refusal::StaleRun { .. } => Ok(Outcome::Lost),
                // The run ended while the step was being sent.
                Refusal::RunOver { reason, .. } => Ok(Outcome::Ended(*reason)),
                _ => executor.give_up(Error::Refused(refusal)),
            },
            // The run stays as it is, and a process continues it later.
            Err(error) if is_temporary(&error) => Err(error),
            Err(error) => executor.give_up(error),
            Ok(outcome) => Ok(outcome),
        }
    }
}

impl RunExecutor<'_, '_> {
    /// Records steps.
    pub(super) fn step(&self, steps: Vec<Step>) -> Result<Stepped, Error> {
        let input = run_step::Input { run: self.id, epoch: self.epoch, steps };
        self.runtime.ops.run::<RunStep>(&self.runtime.system(self.project), input)
    }

    fn run(&self) -> Result<Outcome, Error> {
        let look = self.look(None)?;
        let run = &look.run;
        (self.runtime.observer)(&Live::Begins { run });
        let outcome = lost_if_stale(self.execute_from(&look));
        (self.runtime.observer)(&Live::Leaves { run, outcome: outcome.as_ref().copied() });
        outcome
    }

    fn execute_from(&self, look: &Look) -> Result<Outcome, Error> {
        match look.run.state {
            RunState::Ended => {
                return Ok(Outcome::Ended(look.run.stop_reason.unwrap_or(StopReason::Error)));
            }
            RunState::Waiting if !self.is_cooling_down(&look.run) => return Ok(Outcome::Waiting),
            _ => {}
        }
        let tools = Toolset::of(self.runtime, self.project, look, &self.cancel);
        let model = match self.runtime.open_model(&look.run) {
            Ok(model) => model,
            Err(fault) => {
                (self.runtime.observer)(&Live::Fails { run: &look.run, fault: &fault });
                return match self.no_reply(&look.run, &tools, &fault)? {
                    Flow::Over(outcome) => Ok(outcome),
                    Flow::GoOn(_) | Flow::Again => Ok(Outcome::Waiting),
                };
            }
        };
        let mut flow = Flow::Again;
        loop {
            flow = match flow {
                Flow::GoOn(scene) => self.call_model(self.look(scene)?, model.as_ref(), &tools)?,
                Flow::Again => self.decide(&self.look(None)?, &tools)?,
                Flow::Over(outcome) => return Ok(outcome),
            };
        }
    }

    /// Ends the run with an error. A refused step would be refused again, so the run could never
    /// continue.
    fn give_up(&self, error: Error) -> Result<Outcome, Error> {
        match self.step(vec![failure(error.code(), &error.to_string())]) {
            Ok(_) => {
                self.tell_end(StopReason::Error, None);
                Ok(Outcome::Ended(StopReason::Error))
            }
            Err(_) => Err(error),
        }
    }

    /// Tells the observer how the run ended. If the run cannot be read, it has still ended.
    fn tell_end(&self, reason: StopReason, detail: Option<&str>) {
        if let Ok(Look { run, issue, .. }) = self.look(None) {
            let project = self.project;
            (self.runtime.observer)(&Live::Ends { run: &run, reason, detail, project, issue });
        }
    }

    /// Is the run in the pause between two continuations?
    fn is_cooling_down(&self, run: &Run) -> bool {
        matches!(run.waits_for, Some(Wait::Cooldown(_)))
    }

    /// Decides from what is stored: makes the calls that have no result, or asks the driver.
    fn decide(&self, look: &Look, tools: &Toolset) -> Result<Flow, Error> {
        let run = &look.run;
        if let Some(Wait::Cooldown(until)) = run.waits_for {
            return self.cool_down(run, tools, until);
        }
        let trigger = match history::next(run, &look.messages) {
            Next::Execute(calls) => return self.execute(run, tools, &calls),
            Next::Begin if run.counters.calls == 0 => Trigger::UserMessage,
            // The agent's last reply is no longer among the newest messages.
            Next::Begin => Trigger::Resumed,
            Next::Heard => Trigger::Resumed,
            Next::ToolsDone => Trigger::ToolsDone,
            Next::Stopped(finish) => Trigger::Stopped(finish),
        };
        self.ask(run, tools, trigger)
    }

    fn look(&self, scene: Option<Scene>) -> Result<Look, Error> {
        let system = self.runtime.system(self.project);
        let look = self.runtime.ops.look_at_run(&system, self.id, LOOKED_AT, scene)?;
        if look.epoch != self.epoch {
            let (run, epoch, current) = (self.id, self.epoch, look.epoch);
            return Err(Refusal::StaleRun { run, epoch, current }.into());
        }
        Ok(look)
    }

    /// Calls the model once and records its reply. If the reply calls no tools, the same step asks the
    /// driver.
    fn call_model(&self, look: Look, model: &dyn Model, tools: &Toolset) -> Result<Flow, Error> {
        let all = tools;
        let Look { run, messages, scene: Scene { context, has_open, .. }, .. } = look;
        let seen = messages.last().map(|message| message.id.to_string());
        let messages = history::history(&run, messages);
        let full = model.window().saturating_mul(FULL_PERCENT);
        let is_full = run.counters.context_tokens.saturating_mul(100) >= full;
        if is_full && messages.len() >= SUMMED_MIN {
            return self.compact(&run, model, tools, &messages);
        }
        let is_narrow = run.settings.completion == Completion::Verified && has_open;
        let narrow = is_narrow.then(|| tools.narrowed());
        let tools = narrow.as_ref().unwrap_or(tools);
        let system = if is_narrow {
            driver::between(run.agent.as_str())
        } else {
            let instructions = run.settings.instructions.as_deref();
            driver::system(run.agent.as_str(), run.role, instructions, &tools.names())
        };
        let request = Request {
            system: &system,
            context: context.as_deref(),
            messages: &messages,
            tools: &tools.listed,
            max_tokens: run.settings.max_tokens,
        };
        (self.runtime.observer)(&Live::Asks { run: &run, provider: model.provider() });
        let answer = model.respond(&request, &self.cancel, &mut |told| self.tell(&run, told));
        if let Err(fault) = &answer {
            (self.runtime.observer)(&Live::Fails { run: &run, fault });
        }
        let reply = match answer {
            Ok(reply) => reply,
            Err(fault) if fault.kind == FaultKind::Context && messages.len() >= SUMMED_MIN => {
                return self.compact(&run, model, tools, &messages);
            }
            Err(fault) => return self.no_reply(&run, tools, &fault),
        };
        let Reply { text, usage, stop, id, .. } = &reply;
        let (usage, stop, id) = (*usage, *stop, id.as_deref());
        (self.runtime.observer)(&Live::Replied { run: &run, text, usage, stop, id });
        let reply = recorded(reply, &run, model.window(), seen);
        let (finish, calls) = (reply.finish, reply.calls.clone());
        let mut steps = vec![Step::Reply(reply)];
        if finish != Finish::ToolUse {
            steps.push(Step::Drive(question(tools, Trigger::Stopped(finish))));
            let answer = self.step(steps)?;
            return self.follow(&run, tools, answer);
        }
        self.step(steps)?;
        if calls.is_empty() {
            return Ok(Flow::Again);
        }
        let mut run = run;
        run.counters.calls += 1;
        self.execute(&run, all, &calls)
    }

    /// Summarises the conversation to make room in the window. The chat itself does not change.
    fn compact(
        &self,
        run: &Run,
        model: &dyn Model,
        tools: &Toolset,
        messages: &[Message],
    ) -> Result<Flow, Error> {
        let mut messages = messages.to_vec();
        messages.push(Message::User { text: SUMMARY.to_owned() });
        let request = Request {
            system: "You sum up conversations.",
            context: None,
            messages: &messages,
            tools: &[],
            max_tokens: run.settings.max_tokens,
        };
        (self.runtime.observer)(&Live::Asks { run, provider: model.provider() });
        match model.respond(&request, &self.cancel, &mut |_| {}) {
            Ok(reply) => {
                let text = format!("Summary of what was said so far:\n\n{}", reply.text);
                self.step(vec![Step::Summary(Summary { text, spent: spent(reply.usage) })])?;
                let (usage, stop, id) = (reply.usage, reply.stop, reply.id.as_deref());
                (self.runtime.observer)(&Live::Compacted { run, usage, stop, id });
                Ok(Flow::GoOn(None))
            }
            Err(fault) => {
                (self.runtime.observer)(&Live::Fails { run, fault: &fault });
                self.no_reply(run, tools, &fault)
            }
        }
    }

    /// Handles a missing reply: the run was cancelled, or the model failed.
    fn no_reply(&self, run: &Run, tools: &Toolset, fault: &Fault) -> Result<Flow, Error> {
        let finish = match fault.kind {
            FaultKind::Cancelled => return self.cancelled(run, tools),
            FaultKind::Context => Finish::Context,
            _ => Finish::Error,
        };
        let (detail, code) = (Some(fault.message.clone()), Some(code_of(fault.kind).to_owned()));
        let question = question(tools, Trigger::Stopped(finish));
        let answer = self.step(vec![Step::Drive(Question { detail, code, ..question })])?;
        self.follow(run, tools, answer)
    }

    pub(super) fn cancelled(&self, run: &Run, tools: &Toolset) -> Result<Flow, Error> {
        if (self.runtime.is_stopped)() {
            return Ok(Flow::Over(Outcome::Stopped));
        }
        self.ask(run, tools, Trigger::Stopped(Finish::Cancelled))
    }

    /// Asks the driver.
    pub(super) fn ask(&self, run: &Run, tools: &Toolset, trigger: Trigger) -> Result<Flow, Error> {
        let answer = self.step(vec![Step::Drive(question(tools, trigger))])?;
        self.follow(run, tools, answer)
    }

    /// Carries out the driver's verdict.
    pub(super) fn follow(
        &self,
        run: &Run,
        tools: &Toolset,
        answer: Stepped,
    ) -> Result<Flow, Error> {
        let Stepped { verdict, said, scene, .. } = answer;
        match verdict {
            None => Ok(Flow::Again),
            Some(Verdict::Continue { .. }) => {
                if let Some(said) = &said {
                    (self.runtime.observer)(&Live::Continues { run, said });
                }
                Ok(Flow::GoOn(scene))
            }
            Some(Verdict::Stop(reason)) => {
                self.tell_end(reason, said.as_deref());
                Ok(Flow::Over(Outcome::Ended(reason)))
            }
            Some(Verdict::Wait(Wait::Cooldown(until))) => self.cool_down(run, tools, until),
            Some(Verdict::Wait(wait)) => {
                (self.runtime.observer)(&Live::Waits { run, kind: wait.name() });
                Ok(Flow::Over(Outcome::Waiting))
            }
        }
    }

    /// Waits between two continuations; cancelling ends the wait at once (Q-S1).
    fn cool_down(&self, run: &Run, tools: &Toolset, until: Time) -> Result<Flow, Error> {
        loop {
            if (self.runtime.is_stopped)() {
                return self.cancelled(run, tools);
            }
            let left = until.micros().saturating_sub((self.runtime.clock)().micros());
            let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
            if self.cancel.is_cancelled_within(left) {
                return self.cancelled(run, tools);
            }
            if left.is_zero() {
                break;
            }
        }
        self.ask(run, tools, Trigger::Tick)
    }

    fn tell(&self, run: &Run, told: Progress<'_>) {
        match told {
            Progress::Text(text) => (self.runtime.observer)(&Live::Text { run, text }),
            Progress::Retry { attempt, pause, fault } => {
                let error = &*fault.message;
                (self.runtime.observer)(&Live::Retries { run, attempt, pause, error });
            }
        }
    }
}

/// Another process has taken the run over: that is an outcome, not an error.
fn lost_if_stale(outcome: Result<Outcome, Error>) -> Result<Outcome, Error> {
    match outcome {
        Err(Error::Refused(refusal)) if refusal.code() == "stale_epoch" => Ok(Outcome::Lost),
        other => other,
    }
}
