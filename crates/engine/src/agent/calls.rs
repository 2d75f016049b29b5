//! The calls a reply makes, one after another, each written down before the next (T-34).
//!
//! A tool of punchlist's own changes the store, and what came of it is written in the same
//! transaction. One from outside is marked before it begins, since nothing undoes it.

use punchlist_core::conversation::ToolCall;
use punchlist_core::delegation::Mode;
use punchlist_core::driver::Trigger;
use punchlist_core::{DelegationId, Run};
use punchlist_ops::Error;
use punchlist_ops::catalogue::Operation;
use punchlist_ops::operations::delegate;
use punchlist_ops::operations::run_step::{Output as Stepped, Step, ToolResult};
use serde_json::Value;

use super::Live;
use super::history;
use super::records::question;
use super::runner::{Flow, Outcome, RunExecutor};
use super::tools::{Answer, ToolOutput, Toolset, cut, own_result};
use crate::model::Input;

/// What became of a call.
pub(super) enum CallOutcome {
    Done(ToolOutput),
    /// Its result is recorded already; this is what the step answered.
    Recorded(ToolOutput, Stepped),
    /// A person has to permit it first.
    Asked,
    /// It waits for work that was handed on.
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
            // After the last one the driver is asked in the same breath.
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

    /// RunExecutor work on. Where it is waited for the call has no result yet; it is made again then, and
    /// its key makes it happen once.
    fn delegate(
        &self,
        run: &Run,
        operation: &Operation,
        call: &ToolCall,
        input: Value,
    ) -> Result<CallOutcome, Error> {
        let envelope = self.runtime.envelope(self.project, run, Some(call));
        let answer = match own_result(self.runtime.ops.answer(operation, &envelope, input))? {
            Ok(answer) => answer,
            Err(said) => return Ok(CallOutcome::Done(said)),
        };
        if let Some(made) = answer.output::<delegate::Output>()
            && let Some(delegation) = DelegationId::parse(&made.delegation_id)
        {
            (self.runtime.observer)(&Live::Delegates { run, delegation });
            if made.mode == Mode::Sync {
                return self.runtime.await_delegation(self.project, run, delegation, &self.cancel);
            }
        }
        Ok(CallOutcome::Done(ToolOutput::answered(operation, &answer.to_json()?)))
    }

    /// A call has no result yet. Where what it waits for has come meanwhile it is made again: the
    /// model is not called before.
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
        if let Some(operation) = tools.own.iter().find(|operation| operation.name == call.name) {
            if operation.name == "delegate" {
                return self.delegate(run, operation, call, input);
            }
            let held = (self.id, self.epoch);
            return self.runtime.call_own(
                self.project,
                (run, held),
                operation,
                (call, input),
                drive,
            );
        }
        if !tools.listed.iter().any(|tool| tool.name == call.name) {
            let known = tools.names().join(", ");
            let text = format!("there is no tool {}; there are: {known}", call.name);
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
pub(super) fn result_steps(call: &ToolCall, said: ToolOutput, drive: Option<Step>) -> Vec<Step> {
    let ToolOutput { text, is_error, changed, touched_list, outside } = said;
    let (call_id, name) = (call.id.clone(), call.name.clone());
    let result = ToolResult { call_id, name, text, is_error, changed, touched_list, outside };
    std::iter::once(Step::Result(result)).chain(drive).collect()
}
