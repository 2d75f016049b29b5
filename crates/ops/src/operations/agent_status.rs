//! `agent_status`: an agent says how it is.

use punchlist_core::text::Body;
use punchlist_core::{AgentStatus, Refusal, Role};
use punchlist_store::rows::agents::Agent;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, agent};
use crate::views::agent::{AgentView, OneAgent};
use crate::{Envelope, Error};

/// Say how an agent is: its tasks are shown by it. Saying the same again is its heartbeat.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its path.
    pub agent: String,
    /// How it is.
    pub status: AgentStatus,
    /// What it does, or why it cannot.
    #[serde(default)]
    pub note: Maybe<Body>,
}

#[derive(Debug)]
pub struct AgentStatusOp;

impl Define for AgentStatusOp {
    const NAME: &'static str = "agent_status";
    const ACCESS: Access = Access::Roles(&[Role::Operator, Role::Root, Role::Worker, Role::System]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["agent", "status"], positional: &["status"], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"agent":"primary.subagents.backend","status":"blocked","note":"No key"}"#;

    type Input = Input;
    type Output = OneAgent;

    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        agent("agent", &input.agent).map(|_| ())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneAgent, Error> {
        let path = agent("agent", &input.agent)?;
        let (now, actor) = (call.envelope().now, &call.envelope().actor);
        // A worker speaks for itself.
        if actor.role == Role::Worker && actor.agent != path {
            return Err(Refusal::NotYourself { agent: path }.into());
        }
        let unknown = || Error::from(Refusal::UnknownAgent { agent: path.clone() });
        let project = call.project()?.ok_or_else(unknown)?;
        let known = call.tx().agent(project, &path)?.ok_or_else(unknown)?;
        let note = input.note.0.clone().map(Body::into_string);
        let changed =
            Agent { status: input.status, note, heartbeat_at: now, updated_at: now, ..known };
        call.put_agent(&changed)?;
        Ok(OneAgent { agent: AgentView::from(changed) })
    }
}
