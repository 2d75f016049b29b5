//! Decides whether a call of an outside tool is allowed: by the configuration, or by asking a
//! person. The person's answers are stored.

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
    /// The id of the call. Asking again with the same id is the same question.
    pub call: &'a str,
    pub tool: &'a str,
    pub input: &'a Value,
}

/// Whether a call is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    /// The gate that the operator has to answer.
    Ask(String),
    /// The reason, as the model sees it.
    Denied(String),
}

/// Decides on calls of outside tools. Operations check their own authority.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'a> {
    pub ops: &'a Ops,
    pub tools: &'a AgentTools,
}

impl Guard<'_> {
    /// May the tool be called now? `envelope` is the system's, in the project and session of the
    /// run.
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

/// The refusal, with the operator's text if there is one.
fn denied(response: Option<&Value>) -> String {
    match response {
        Some(Value::String(words)) => format!("denied by the operator: {words}"),
        _ => "denied by the operator".to_owned(),
    }
}
