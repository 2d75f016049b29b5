//! `agent_register`: register an agent.

use punchlist_core::agent::RegisterAgent;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::text::Title;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Agent, Maybe};
use crate::views::agent::{AgentView, OneAgent};

/// Register an agent, or report that it is back. A worker may only register itself.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its path, e.g. primary.subagents.backend.
    pub agent: Agent,
    /// What kind of specialist it is.
    #[serde(default, rename = "type")]
    pub kind: Maybe<Title>,
}

#[derive(Debug)]
pub struct AgentRegister;

impl Define for AgentRegister {
    const NAME: &'static str = "agent_register";
    const ACCESS: Access = Access::On(Subject::Agent, Action::Register);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["agent", "register"], positional: &["agent"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"agent":"primary.subagents.backend","type":"backend"}"#;

    type Input = Input;
    type Output = OneAgent;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneAgent, Error> {
        let kind = input.kind.0.clone().map(Title::into_string);
        let command = RegisterAgent { agent: input.agent.0.clone(), kind };
        let registered = call.register_agent(&command)?;
        Ok(OneAgent { agent: AgentView::from(registered) })
    }
}
