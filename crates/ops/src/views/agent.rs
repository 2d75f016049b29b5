//! An agent as callers see it.

use punchlist_core::{Agent, AgentStatus, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    pub agent: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub status: AgentStatus,
    pub note: Option<String>,
    #[schemars(with = "String")]
    pub heartbeat_at: Time,
    #[schemars(with = "String")]
    pub created_at: Time,
    #[schemars(with = "String")]
    pub updated_at: Time,
}

/// An answer with one agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OneAgent {
    pub agent: AgentView,
}

impl From<Agent> for AgentView {
    fn from(agent: Agent) -> Self {
        Self {
            agent: agent.path.to_string(),
            kind: agent.kind,
            status: agent.status,
            note: agent.note,
            heartbeat_at: agent.heartbeat_at,
            created_at: agent.created_at,
            updated_at: agent.updated_at,
        }
    }
}
