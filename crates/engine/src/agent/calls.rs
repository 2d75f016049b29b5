//! The tool calls of a reply, one after another, each recorded before the next begins (T-34).
//!
//! A call of punchlist's own tools and its result are one transaction. A call of an outside tool is
//! recorded before it begins, because it cannot be undone.

use punchlist_core::Run;
use punchlist_core::conversation::ToolCall;
use punchlist_core::delegation::Mode;
use punchlist_core::driver::Trigger;
use punchlist_ops::catalogue::Operation;
use punchlist_ops::operations::delegate;
use punchlist_ops::operations::run_step::{Output as Stepped, Step, ToolResult};
use punchlist_ops::{Context, Envelope, Error, Proof};
use serde_json::Value;

use super::Live;
use super::history;
use super::records::question;
use super::runner::{Flow, Outcome, RunExecutor};
use super::tools::{Answer, ToolOutput, Toolset, cut};
use crate::model::Input;
use crate::system::is_temporary;

/// The outcome of a call.
pub(super) enum CallOutcome {
    Done(ToolOutput),
    /// Its result is already recorded. Contains the answer of that step.
    Recorded(ToolOutput, Stepped),
    /// A person must permit it first.
    Asked,
    /// It waits for a delegation.
    Handed,
}

impl RunExecutor<'_, '_> {
    /// Makes the calls that have no result yet, one after another (T-34).
    pub(super) fn execute(
        &self,
        run: &Run,
        tools: &Toolset,
        calls: &[ToolCall],
    ) -> Result<Flow, Error> {
        for (index, call) in calls.iter().enumerate() {
            if self.cancel.is_cancelled() {
                return self.cancelled(run, tools);
            }
            // The result of the last call and the question to the driver are one step.
            let last = index + 1 == calls.len();
            let drive = last.then(|| Step::Drive(question(tools, Trigger::ToolsDone)));
            let (said, answer) = match self.one(run, tools, call, drive.as_ref())? {
                CallOutcome::Done(said) => (said, None),
                CallOutcome::Recorded(said, answer) => (said, Some(answer)),
                CallOutcome::Asked => return self.suspend(run, tools, Trigger::ToolsDone),
                CallOutcome::Handed => return self.suspend(run, tools, Trigger::Handed),
            };
            let is_moot =
                self.cancel.is_cancelled() && (self.runtime.is_stopped)() && !said.changed;
            if answer.is_none() && is_moot {
                return Ok(Flow::Over(Outcome::Stopped));
            }
            let (call_id, tool, text, is_error) =
                (&*call.id, &*call.name, &*said.text, said.is_error);
            (self.runtime.observer)(&Live::Returned { run, call_id, tool, text, is_error });
            let answer = match answer {
                Some(answer) => answer,
                None => self.step(result_steps(call, said, drive))?,
            };
            if last {
                return self.follow(run, tools, answer);
            }
        }
        Ok(Flow::Again)
    }

    /// Delegates work. While a synchronous delegation is not done, the call has no result. The call is
    /// made again later; its idempotency key keeps it from delegating twice.
    fn delegate(
        &self,
        run: &Run,
        operation: &Operation,
        call: &ToolCall,
        input: Value,
    ) -> Result<CallOutcome, Error> {
        let envelope = self.envelope(run, Some(call));
        let answer = match own_result(self.runtime.ops.answer(operation, &envelope, input))? {
            Ok(answer) => answer,
            Err(said) => return Ok(CallOutcome::Done(said)),
        };
        if let Some(made) = answer.output::<delegate::Output>() {
            let delegation = made.delegation_id;
            (self.runtime.observer)(&Live::Delegates { run, delegation });
            if made.mode == Mode::Sync {
                return self.runtime.await_delegation(self.project, run, made, &self.cancel);
            }
        }
        Ok(CallOutcome::Done(ToolOutput::answered(operation, &answer.to_json()?)))
    }

    /// Calls one of punchlist's own tools and records its result, in one transaction.
    fn call_own(
        &self,
        run: &Run,
        operation: &'static Operation,
        (call, input): (&ToolCall, Value),
        drive: Option<&Step>,
    ) -> Result<CallOutcome, Error> {
        let (agent, system) = (self.envelope(run, None), self.runtime.system(self.project));
        let (call, drive) = (call.clone(), drive.cloned());
        let record = move |answer: &Value| {
            let output = ToolOutput::answered(operation, answer);
            let steps = result_steps(&call, output.clone(), drive.clone());
            (output, steps)
        };
        let (ops, held) = (self.runtime.ops, (self.id, self.epoch));
        let made = ops.call_in_run(operation, (&agent, &system), held, input, record)?;
        Ok(match own_result(made)? {
            Ok((output, answer)) => CallOutcome::Recorded(output, answer),
            Err(output) => CallOutcome::Done(output),
        })
    }

    /// The envelope under which an agent acts. A call that may be made twice gets an idempotency
    /// key, so that it has one effect.
    fn envelope(&self, run: &Run, call: Option<&ToolCall>) -> Envelope {
        let calls = run.counters.calls;
        Envelope {
            actor: run.actor(),
            proof: Proof::Run(run.id),
            project: self.project.to_owned(),
            context: Context {
                session: run.session_id.map(|id| id.to_string()),
                conversation: Some(run.conversation_id.to_string()),
                turn: Some(run.turn_id.clone()),
                run: Some(run.id),
                branch: run.plan.as_ref().map(|plan| plan.keys().0.to_owned()),
                ..Context::default()
            },
            idempotency_key: call.map(|call| format!("run:{}:{calls}:{}", run.id, call.id)),
            agents: self.runtime.agents.in_project(self.project),
            now: (self.runtime.clock)(),
        }
    }

    /// Suspends the run, because a call has no result yet. If the driver says to go on, the call is
    /// made again before the model is called.
    fn suspend(&self, run: &Run, tools: &Toolset, trigger: Trigger) -> Result<Flow, Error> {
        match self.ask(run, tools, trigger)? {
            Flow::GoOn(_) => Ok(Flow::Again),
            flow => Ok(flow),
        }
    }

    /// Makes one call. `drive` is recorded with its result.
    fn one(
        &self,
        run: &Run,
        tools: &Toolset,
        call: &ToolCall,
        drive: Option<&Step>,
    ) -> Result<CallOutcome, Error> {
        let input = match history::read(&call.input) {
            Input::Json(input) => input,
            Input::Broken(text) => {
                let shown: String = text.chars().take(200).collect();
                let text = format!("the arguments of {} are no JSON object: {shown}", call.name);
                return Ok(CallOutcome::Done(ToolOutput::error(text)));
            }
        };
        let (call_id, tool) = (&*call.id, &*call.name);
        (self.runtime.observer)(&Live::Calls { run, call_id, tool, input: &input });
        if let Some(operation) = tools.operation(&call.name) {
            if operation.name == "delegate" {
                return self.delegate(run, operation, call, input);
            }
            return self.call_own(run, operation, (call, input), drive);
        }
        if !tools.listed.iter().any(|tool| tool.name == call.name) {
            let text = match tools.names() {
                none if none.is_empty() => {
                    format!(
                        "there is no tool {}: this run has no tools; answer in words",
                        call.name
                    )
                }
                known => format!("there is no tool {}; there are: {}", call.name, known.join(", ")),
            };
            return Ok(CallOutcome::Done(ToolOutput::error(text)));
        }
        if run.counters.started.as_deref() == Some(call.id.as_str()) {
            let text = "it had begun when the process that called it ended; whether it took effect \
                        is not known: look before you call it again";
            return Ok(CallOutcome::Done(ToolOutput { outside: true, ..ToolOutput::error(text) }));
        }
        let begin = || self.step(vec![Step::Start(call.id.clone())]).map(drop);
        match self.runtime.outside.call(self.project, run, call, &input, &self.cancel, &begin)? {
            Answer::Done(said) => {
                Ok(CallOutcome::Done(ToolOutput { text: cut(said.text), ..said }))
            }
            Answer::Asked => Ok(CallOutcome::Asked),
        }
    }
}

/// The steps that record the result of a call.
fn result_steps(call: &ToolCall, said: ToolOutput, drive: Option<Step>) -> Vec<Step> {
    let ToolOutput { text, is_error, changed, touched_list, outside } = said;
    let (call_id, name) = (call.id.clone(), call.name.clone());
    let result = ToolResult { call_id, name, text, is_error, changed, touched_list, outside };
    std::iter::once(Step::Result(result)).chain(drive).collect()
}

/// The answer or the refusal of one of punchlist's own tools. A temporary error of the store is
/// returned as the run's: a process continues the run later. A refusal is for the model, even if the
/// same call may succeed later.
fn own_result<T>(made: Result<T, Error>) -> Result<Result<T, ToolOutput>, Error> {
    match made {
        Ok(answer) => Ok(Ok(answer)),
        Err(error) if is_temporary(&error) && !matches!(error, Error::Refused(_)) => Err(error),
        Err(error) => Ok(Err(ToolOutput::error(error.to_json().to_string()))),
    }
}

#[cfg(test)]
mod tests {
    use punchlist_core::{AgentPath, ConversationId, Ids, Refusal, Time};
    use punchlist_store::{Error as StoreError, ErrorKind};

    use super::*;

    #[test]
    fn a_refusal_is_for_the_model_even_if_it_may_pass_later() {
        let refused = Error::from(Refusal::UnknownIssue { number: 7 });
        assert!(matches!(own_result::<()>(Err(refused)), Ok(Err(_))));
        let conversation = ConversationId::from(Ids::new(Time::from_micros(0), 1).ulid());
        let agent = AgentPath::primary();
        let later = Error::from(Refusal::AgentAtWork { conversation, agent, run: None });
        assert!(later.meaning().retryable);
        assert!(matches!(own_result::<()>(Err(later)), Ok(Err(_))));
        let store = Error::from(StoreError::new(ErrorKind::Busy, "another process is writing"));
        assert!(own_result::<()>(Err(store)).is_err());
    }
}
