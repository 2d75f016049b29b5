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
use super::runner::{Flow, Hands, Outcome};
use super::tools::{Answer, Said, Toolset, cut, own_result};
use super::wire::question;
use crate::model::Input;

/// What became of a call.
pub(super) enum Made {
    Done(Said),
    /// Its result is recorded already; this is what the step answered.
    Recorded(Said, Stepped),
    /// A person has to permit it first.
    Asked,
    /// It waits for work that was handed on.
    Handed,
}

impl Hands<'_, '_> {
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
                Made::Done(said) => (said, None),
                Made::Recorded(said, answer) => (said, Some(answer)),
                Made::Asked => return self.lie_down(run, tools, Trigger::ToolsDone),
                Made::Handed => return self.lie_down(run, tools, Trigger::Handed),
            };
            let is_moot = self.cancel.is_cancelled() && (self.crew.is_stopped)() && !said.changed;
            if answer.is_none() && is_moot {
                return Ok(Flow::Over(Outcome::Stopped));
            }
            let (call_id, tool, text, is_error) =
                (&*call.id, &*call.name, &*said.text, said.is_error);
            (self.crew.told)(&Live::Returned { run, call_id, tool, text, is_error });
            let answer = match answer {
                Some(answer) => answer,
                None => self.step(result_steps(call, said, drive))?,
            };
            if last {
                return self.heed(run, tools, answer);
            }
        }
        Ok(Flow::Again)
    }

    /// Hands work on. Where it is waited for the call has no result yet; it is made again then, and
    /// its key makes it happen once.
    fn delegate(
        &self,
        run: &Run,
        operation: &Operation,
        call: &ToolCall,
        input: Value,
    ) -> Result<Made, Error> {
        let envelope = self.crew.envelope(self.project, run, Some(call));
        let answer = match own_result(self.crew.ops.answer(operation, &envelope, input))? {
            Ok(answer) => answer,
            Err(said) => return Ok(Made::Done(said)),
        };
        if let Some(made) = answer.output::<delegate::Output>()
            && let Some(delegation) = DelegationId::parse(&made.delegation_id)
        {
            (self.crew.told)(&Live::Delegates { run, delegation });
            if made.mode == Mode::Sync {
                return self.crew.await_delegation(self.project, run, delegation, &self.cancel);
            }
        }
        Ok(Made::Done(Said::answered(operation, &answer.to_json()?)))
    }

    /// A call has no result yet. Where what it waits for has come meanwhile it is made again: the
    /// model is not called before.
    fn lie_down(&self, run: &Run, tools: &Toolset, trigger: Trigger) -> Result<Flow, Error> {
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
    ) -> Result<Made, Error> {
        let input = match history::read(&call.input) {
            Input::Json(input) => input,
            Input::Broken(text) => {
                let shown: String = text.chars().take(200).collect();
                let told = format!("the arguments of {} are no JSON object: {shown}", call.name);
                return Ok(Made::Done(Said::error(told)));
            }
        };
        let (call_id, tool) = (&*call.id, &*call.name);
        (self.crew.told)(&Live::Calls { run, call_id, tool, input: &input });
        if let Some(operation) = tools.own.iter().find(|operation| operation.name == call.name) {
            if operation.name == "delegate" {
                return self.delegate(run, operation, call, input);
            }
            let held = (self.id, self.epoch);
            return self.crew.call_own(self.project, (run, held), operation, (call, input), drive);
        }
        if !tools.listed.iter().any(|tool| tool.name == call.name) {
            let known = tools.names().join(", ");
            let told = format!("there is no tool {}; there are: {known}", call.name);
            return Ok(Made::Done(Said::error(told)));
        }
        if run.counters.started.as_deref() == Some(call.id.as_str()) {
            let told = "it had begun when the process that called it ended; whether it took effect \
                        is not known: look before you call it again";
            return Ok(Made::Done(Said { outside: true, ..Said::error(told) }));
        }
        let begin = || self.step(vec![Step::Start(call.id.clone())]).map(drop);
        match self.crew.outside.call(self.project, run, call, &input, &self.cancel, &begin)? {
            Answer::Done(said) => Ok(Made::Done(Said { text: cut(said.text), ..said })),
            Answer::Asked => Ok(Made::Asked),
        }
    }
}

/// The steps that record the result of a call.
pub(super) fn result_steps(call: &ToolCall, said: Said, drive: Option<Step>) -> Vec<Step> {
    let Said { text, is_error, changed, touched_list, outside } = said;
    let (call_id, name) = (call.id.clone(), call.name.clone());
    let result = ToolResult { call_id, name, text, is_error, changed, touched_list, outside };
    std::iter::once(Step::Result(result)).chain(drive).collect()
}
