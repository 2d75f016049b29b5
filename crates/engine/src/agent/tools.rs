//! The tools of a run: operations, and the outside tools of its agent.

use punchlist_core::conversation::ToolCall;
use punchlist_core::driver::Ways;
use punchlist_core::run::Completion;
use punchlist_core::{ListKind, Run};
use punchlist_ops::access::Access;
use punchlist_ops::catalogue::{Effect, Operation};
use punchlist_ops::runs::Look;
use punchlist_ops::tools::SessionWork;
use punchlist_ops::{Error, tools};
use serde_json::Value;

use super::Runtime;
use crate::model::{Cancel, Tool};

/// The longest result a model gets to see, in bytes.
const RESULT_MAX: usize = 256 << 10;

/// Tools that are not part of punchlist.
pub trait OutsideTools: Sync {
    /// The outside tools of this run. A server that has to be started first may take long; `cancel`
    /// ends the wait.
    fn tools(&self, project: &str, run: &Run, cancel: &Cancel) -> Vec<Tool>;

    /// Calls a tool. Calls `begin` once the call is permitted, right before it starts: a process
    /// that takes the run over does not start the call a second time.
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
    fn tools(&self, _: &str, _: &Run, _: &Cancel) -> Vec<Tool> {
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

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done(ToolOutput),
    /// A person has to permit it first; the gate is open.
    Asked,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    pub text: String,
    pub is_error: bool,
    /// Did it change something?
    pub changed: bool,
    pub touched_list: bool,
    pub outside: bool,
}

impl ToolOutput {
    /// The answer of one of punchlist's own tools.
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
    /// Operations that are shown to the model.
    own: Vec<&'static Operation>,
    /// Operations that answer by name, shown or not.
    callable: Vec<&'static Operation>,
    pub(super) listed: Vec<Tool>,
}

impl Toolset {
    pub(super) fn of(runtime: &Runtime<'_>, project: &str, look: &Look, cancel: &Cancel) -> Self {
        let run = &look.run;
        let work = match (look.has_issue, look.scene.has_session_list) {
            (true, _) => SessionWork::Issue,
            (false, true) => SessionWork::List,
            (false, false) => SessionWork::None,
        };
        let (mut own, mut callable) = (tools::of_run(run, work), tools::callable_in_run(run));
        if run.settings.completion == Completion::Verified {
            own.retain(|operation| operation.name != "complete_todo");
            callable.retain(|operation| operation.name != "complete_todo");
        }
        let mut listed: Vec<Tool> = own
            .iter()
            .map(|operation| {
                let (description, input) = tools::shown(operation);
                Tool { name: operation.name.to_owned(), description, input }
            })
            .collect();
        listed.extend(runtime.outside.tools(project, run, cancel));
        Self { own, callable, listed }
    }

    /// The few tools that an agent needs to delegate the next item, if the reports of its workers
    /// complete the plan (F-7).
    pub(super) fn narrowed(&self) -> Self {
        const NARROW: [&str; 4] = ["list_todo", "delegate", "todo_hold", "ask"];
        let own = self.own.iter().filter(|o| NARROW.contains(&o.name)).copied().collect();
        let listed = self.listed.iter().filter(|t| NARROW.contains(&t.name.as_str()));
        Self { own, callable: self.callable.clone(), listed: listed.cloned().collect() }
    }

    /// The operation that a call means. An outside tool that the model sees comes before an
    /// operation that it does not see.
    pub(super) fn operation(&self, name: &str) -> Option<&'static Operation> {
        if let Some(own) = self.own.iter().find(|operation| operation.name == name) {
            return Some(own);
        }
        let is_outside = self.listed.iter().any(|tool| tool.name == name);
        let mut callable = self.callable.iter().filter(|_| !is_outside);
        callable.find(|operation| operation.name == name).copied()
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.listed.iter().map(|tool| tool.name.as_str()).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.own.iter().any(|operation| operation.name == name)
    }

    /// The kinds of lists that the agent can change. It can delegate items of any list.
    pub(super) fn workable(&self) -> Vec<ListKind> {
        let is_callable =
            |name: &&str| self.callable.iter().any(|operation| operation.name == *name);
        let can_work = |kind: &ListKind| {
            let tools: &[&str] = match kind {
                ListKind::Turn => &["create_todo", "complete_todo"],
                ListKind::Plan => &["plan", "task_complete"],
                ListKind::Session => &["todo_write"],
                ListKind::Issue => &["todo"],
                ListKind::Pillar => &["mission_todo_update", "mission_todo_complete"],
            };
            tools.iter().chain(&["delegate"]).any(is_callable)
        };
        ListKind::ALL.into_iter().filter(can_work).collect()
    }

    pub(super) fn ways(&self) -> Ways {
        Ways { hold: self.has("todo") || self.has("todo_hold"), ask: self.has("ask") }
    }
}

/// Cuts a text that is too long between two characters, with a note.
pub(super) fn cut(mut text: String) -> String {
    if text.len() > RESULT_MAX {
        text.truncate(text.floor_char_boundary(RESULT_MAX));
        text.push_str("\n… (cut: the result was longer)");
    }
    text
}
