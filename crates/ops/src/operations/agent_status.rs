//! `agent_status`: an agent reports its status.

use punchlist_core::AgentStatus;
use punchlist_core::agent::SetAgentStatus;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Agent, Maybe};
use crate::views::agent::{AgentView, OneAgent};

/// Report an agent's status, which is shown on its tasks; `complete` claims the tasks for review.
/// Repeat the report as a heartbeat.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its path.
    pub agent: Agent,
    /// The new status.
    pub status: AgentStatus,
    /// What it is doing, or why it cannot continue.
    #[serde(default)]
    pub note: Maybe<Body>,
}

#[derive(Debug)]
pub struct AgentStatusOp;

impl Define for AgentStatusOp {
    const NAME: &'static str = "agent_status";
    const ACCESS: Access = Access::On(Subject::Agent, Action::Register);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["agent", "status"], positional: &["status"], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"agent":"primary.subagents.backend","status":"blocked","note":"No key"}"#;

    type Input = Input;
    type Output = OneAgent;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneAgent, Error> {
        let (path, note) = (input.agent.0.clone(), input.note.0.clone());
        let note = note.map(Body::into_string);
        let command = SetAgentStatus { agent: path, status: input.status, note };
        let changed = call.set_agent_status(&command)?;
        Ok(OneAgent { agent: AgentView::from(changed) })
    }
}
