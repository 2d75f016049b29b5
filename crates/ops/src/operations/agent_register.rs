//! `agent_register`: write an agent down.

use punchlist_core::text::Title;
use punchlist_core::{AgentPath, AgentStatus, Role};
use punchlist_store::rows::agents::Agent;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::agent::{AgentView, OneAgent};

/// Register an agent, or say that it is there again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its path, e.g. primary.subagents.backend.
    #[schemars(with = "String")]
    pub agent: AgentPath,
    /// What kind of specialist it is.
    #[serde(default, rename = "type")]
    pub kind: Maybe<Title>,
}

#[derive(Debug)]
pub struct AgentRegister;

impl Define for AgentRegister {
    const NAME: &'static str = "agent_register";
    const ACCESS: Access = Access::Roles(&[Role::Operator, Role::Root, Role::Worker, Role::System]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { command: &["agent", "register"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"agent":"primary.subagents.backend","type":"backend"}"#;

    type Input = Input;
    type Output = OneAgent;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneAgent, Error> {
        let now = call.envelope().now;
        let project = call.ensure_project()?;
        let known = call.tx().agent(project, &input.agent)?;
        let kind = input.kind.0.clone().map(Title::into_string);
        let agent = match known {
            Some(known) => Agent {
                kind: kind.or(known.kind.clone()),
                heartbeat_at: now,
                updated_at: now,
                ..known
            },
            None => Agent {
                path: input.agent.clone(),
                kind,
                status: AgentStatus::Idle,
                note: None,
                heartbeat_at: now,
                created_at: now,
                updated_at: now,
            },
        };
        call.put_agent(&agent)?;
        Ok(OneAgent { agent: AgentView::from(agent) })
    }
}
