//! The tools of a run: the catalogue by authority, and what is configured beside it.

use std::sync::Arc;

use punchlist_core::conversation::ToolCall;
use punchlist_core::driver::Ways;
use punchlist_core::run::Completion;
use punchlist_core::{Run, RunId};
use punchlist_ops::access::Access;
use punchlist_ops::catalogue::{Effect, Operation};
use punchlist_ops::operations::run_step::Step;
use punchlist_ops::runs::Stepped;
use punchlist_ops::{Context, Envelope, Error, Proof, tools};
use serde_json::Value;

use super::Runtime;
use super::calls::{CallOutcome, result_steps};
use crate::model::{Cancel, Tool};

/// The longest result a model gets to see, in bytes.
const RESULT_MAX: usize = 256 << 10;

/// Tools that are not punchlist's own.
pub trait OutsideTools: Sync {
    /// What this run has of them.
    fn tools(&self, run: &Run) -> Vec<Tool>;

    /// Calls one. `begin` is called when it is permitted and right before it begins: what began is
    /// not begun again by whoever takes the run over.
    fn call(
        &self,
        project: &str,
        run: &Run,
        call: &ToolCall,
        input: &Value,
        cancel: &Cancel,
        begin: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Answer, Error>;
}

/// No tools at all.
impl OutsideTools for () {
    fn tools(&self, _: &Run) -> Vec<Tool> {
        Vec::new()
    }

    fn call(
        &self,
        _: &str,
        _: &Run,
        call: &ToolCall,
        _: &Value,
        _: &Cancel,
        _: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Answer, Error> {
        Ok(Answer::Done(ToolOutput::error(format!("there is no tool {}", call.name))))
    }
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done(ToolOutput),
    /// A person has to permit it first; a gate is open.
    Asked,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    pub text: String,
    pub is_error: bool,
    /// It changed something.
    pub changed: bool,
    pub touched_list: bool,
    pub outside: bool,
}

impl ToolOutput {
    /// What a tool of punchlist's own answered.
    pub(super) fn answered(operation: &Operation, answer: &Value) -> Self {
        let changed = operation.effect == Effect::Write;
        let list = matches!(operation.access, Access::List(..) | Access::Todo(_));
        Self {
            text: cut(answer.to_string()),
            is_error: false,
            changed,
            touched_list: changed && list,
            outside: false,
        }
    }

    pub fn error(text: impl Into<String>) -> Self {
        let (text, is_error) = (text.into(), true);
        Self { text, is_error, changed: false, touched_list: false, outside: false }
    }
}

/// The tools of one run.
pub(super) struct Toolset {
    pub(super) own: Vec<&'static Operation>,
    pub(super) listed: Vec<Tool>,
}

impl Toolset {
    pub(super) fn of(runtime: &Runtime<'_>, run: &Run, has_issue: bool) -> Self {
        let mut own = tools::of_run(run, has_issue);
        if run.settings.completion == Completion::Verified {
            own.retain(|operation| operation.name != "complete_todo");
        }
        let mut listed: Vec<Tool> = own
            .iter()
            .map(|operation| {
                let (description, input) = tools::shown(operation);
                Tool { name: operation.name.to_owned(), description, input }
            })
            .collect();
        listed.extend(runtime.outside.tools(run));
        Self { own, listed }
    }

    /// Between two items of a plan whose reports complete it, an agent sees no more than it needs to
    /// hand the next one on (F-7).
    pub(super) fn narrowed(&self) -> Self {
        const NARROW: [&str; 4] = ["list_todo", "delegate", "todo_hold", "ask"];
        let own = self.own.iter().filter(|o| NARROW.contains(&o.name)).copied().collect();
        let listed = self.listed.iter().filter(|t| NARROW.contains(&t.name.as_str()));
        Self { own, listed: listed.cloned().collect() }
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.listed.iter().map(|tool| tool.name.as_str()).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.own.iter().any(|operation| operation.name == name)
    }

    /// Can the agent change a list at all?
    pub(super) fn has_todo_tool(&self) -> bool {
        ["create_todo", "complete_todo", "delegate", "todo", "todo_write", "plan", "task_complete"]
            .iter()
            .any(|name| self.has(name))
    }

    pub(super) fn ways(&self) -> Ways {
        Ways { hold: self.has("todo") || self.has("todo_hold"), ask: self.has("ask") }
    }
}

impl Runtime<'_> {
    /// The envelope an agent acts under in a run. With a call it has a key, which makes one that is
    /// made twice happen once.
    pub(super) fn envelope(&self, project: &str, run: &Run, call: Option<&ToolCall>) -> Envelope {
        let branch = run.plan.as_ref().map(|plan| plan.keys().0.to_owned());
        let calls = run.counters.calls;
        Envelope {
            actor: run.actor(),
            proof: Proof::Run(run.id),
            project: project.to_owned(),
            context: Context {
                session: run.session_id.map(|id| id.to_string()),
                conversation: Some(run.conversation_id.to_string()),
                turn: Some(run.turn_id.clone()),
                run: Some(run.id),
                branch,
                ..Context::default()
            },
            idempotency_key: call.map(|call| format!("run:{}:{calls}:{}", run.id, call.id)),
            agents: Arc::clone(self.agents),
            now: (self.clock)(),
        }
    }

    /// Calls a tool of punchlist's own; what came of it is written down with it.
    pub(super) fn call_own(
        &self,
        project: &str,
        (run, held): (&Run, (RunId, i64)),
        operation: &'static Operation,
        (call, input): (&ToolCall, Value),
        drive: Option<&Step>,
    ) -> Result<CallOutcome, Error> {
        let envelopes = (&self.envelope(project, run, None), &self.system(project));
        let (call, drive) = (call.clone(), drive.cloned());
        let steps = move |answer: &Value| {
            result_steps(&call, ToolOutput::answered(operation, answer), drive.clone())
        };
        let made = self.ops.call_in_run(operation, envelopes, held, input, steps)?;
        Ok(match own_result(made)? {
            Ok(Stepped { answer, step }) => {
                CallOutcome::Recorded(ToolOutput::answered(operation, &answer), step)
            }
            Err(said) => CallOutcome::Done(said),
        })
    }
}

/// What a tool of punchlist's own answered, or how it refused. Where the store is away the run is,
/// too, and somebody goes on with it later.
pub(super) fn own_result<T>(made: Result<T, Error>) -> Result<Result<T, ToolOutput>, Error> {
    match made {
        Ok(answer) => Ok(Ok(answer)),
        Err(error) if error.meaning().retryable || error.meaning().exit == 3 => Err(error),
        Err(error) => Ok(Err(ToolOutput::error(error.to_json().to_string()))),
    }
}

/// Cut on a boundary of characters, and said so.
pub(super) fn cut(mut text: String) -> String {
    if text.len() <= RESULT_MAX {
        return text;
    }
    let mut end = RESULT_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text.push_str("\n… (cut: the result was longer)");
    text
}
