//! May this call be made? The configuration says yes, no, or that a person is to be asked; the
//! person's answers stand in the store.

use punchlist_core::AgentPath;
use punchlist_ops::config::Permission;
use punchlist_ops::input::{Maybe, text};
use punchlist_ops::operations::permission_ask::{self, PermissionAsk, Verdict as Permitted};
use punchlist_ops::{Envelope, Error, Ops};
use serde_json::Value;

use super::AgentTools;

/// A call that an agent wants to make.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub agent: &'a AgentPath,
    pub run: &'a str,
    /// The id of the call: asked again, it is the same question.
    pub call: &'a str,
    pub tool: &'a str,
    pub input: &'a Value,
}

/// Whether it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    /// This gate waits for the operator.
    Ask(String),
    /// What the model is told.
    Denied(String),
}

/// Decides on calls of outside tools. Operations are decided on by their own authority.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'a> {
    pub ops: &'a Ops,
    pub tools: &'a AgentTools,
}

impl Guard<'_> {
    /// May it be called now? `envelope` is the runner's, in the project and the session of the run.
    pub fn judge(&self, envelope: &Envelope, wanted: &Wanted<'_>) -> Result<Verdict, Error> {
        let Wanted { agent, run, call, tool, input } = *wanted;
        let Some(about) = self.tools.about(tool) else {
            return Ok(Verdict::Denied(format!("there is no tool `{tool}`")));
        };
        match about.permission {
            Permission::Allow => return Ok(Verdict::Allowed),
            Permission::Deny => {
                return Ok(Verdict::Denied(format!("{tool} is denied by the configuration")));
            }
            Permission::Ask => {}
        }
        let question = permission_ask::Input {
            tool: text("tool", tool)?,
            input: Some(input.clone()),
            definition: about.definition.as_object().cloned(),
            agent: Maybe(Some(text("agent", agent.as_str())?)),
            run: text("run", run)?,
            call: text("call", call)?,
        };
        let asked = self.ops.run::<PermissionAsk>(envelope, question)?;
        Ok(match asked.permission {
            Permitted::Allowed => Verdict::Allowed,
            Permitted::Denied => Verdict::Denied(denied(asked.response.as_ref())),
            Permitted::Open => Verdict::Ask(asked.gate_id),
        })
    }
}

/// What the operator said, if anything.
fn denied(response: Option<&Value>) -> String {
    match response {
        Some(Value::String(words)) => format!("denied by the operator: {words}"),
        _ => "denied by the operator".to_owned(),
    }
}
