//! The calls a reply makes, one after another, each written down before the next (T-34).

use punchlist_core::conversation::ToolCall;
use punchlist_core::driver::Trigger;
use punchlist_core::{DelegationId, Run};
use punchlist_ops::Error;
use serde_json::{Value, json};

use super::Live;
use super::history;
use super::runner::{Flow, Hands, Outcome};
use super::tools::{Answer, Said, Toolset, cut};
use super::wire::drive_input;
use crate::model::Input;

/// What became of a call.
pub(super) enum Made {
    Done(Said),
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
            let said = match self.one(run, tools, call)? {
                Made::Done(said) => said,
                Made::Asked => return self.lie_down(run, tools, Trigger::ToolsDone),
                Made::Handed => return self.lie_down(run, tools, Trigger::Handed),
            };
            if self.cancel.is_cancelled() && (self.crew.is_stopped)() && !said.changed {
                return Ok(Flow::Over(Outcome::Stopped));
            }
            let (call_id, tool, text, is_error) =
                (&*call.id, &*call.name, &*said.text, said.is_error);
            (self.crew.told)(&Live::Returned { run, call_id, tool, text, is_error });
            let mut input = self.input();
            input["result"] = json!({
                "callId": call.id, "name": call.name, "text": said.text, "isError": said.is_error,
                "changed": said.changed, "touchedList": said.touched_list, "outside": said.outside,
            });
            let last = index + 1 == calls.len();
            if last {
                input["drive"] = drive_input(tools, Trigger::ToolsDone, None);
            }
            let answer = self.crew.step(self.project, input)?;
            if last {
                return self.heed(run, tools, &answer);
            }
        }
        Ok(Flow::Again)
    }

    /// A call has no result yet. Where what it waits for has come meanwhile it is made again: the
    /// model is not called before.
    fn lie_down(&self, run: &Run, tools: &Toolset, trigger: Trigger) -> Result<Flow, Error> {
        match self.ask(run, tools, trigger, None)? {
            Flow::GoOn => Ok(Flow::Again),
            flow => Ok(flow),
        }
    }

    /// Makes one call.
    fn one(&self, run: &Run, tools: &Toolset, call: &ToolCall) -> Result<Made, Error> {
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
            let (said, answer) = self.crew.call_own(self.project, run, operation, call, input)?;
            let handed = answer.as_ref().filter(|_| call.name == "delegate");
            let id = handed.and_then(|answer| answer["delegationId"].as_str());
            if let Some(delegation) = id.and_then(DelegationId::parse) {
                (self.crew.told)(&Live::Delegates { run, delegation });
            }
            return match id.filter(|_| handed.is_some_and(|answer| answer["mode"] == "sync")) {
                Some(id) => self.crew.await_delegation(self.project, run, id, &self.cancel),
                None => Ok(Made::Done(said)),
            };
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
        let begin = || -> Result<(), Error> {
            let mut input = self.input();
            input["starts"] = Value::String(call.id.clone());
            self.crew.step(self.project, input).map(|_| ())
        };
        match self.crew.outside.call(self.project, run, call, &input, &self.cancel, &begin)? {
            Answer::Done(said) => Ok(Made::Done(Said { text: cut(said.text), ..said })),
            Answer::Asked => Ok(Made::Asked),
        }
    }
}
