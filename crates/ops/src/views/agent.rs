//! An agent as callers see it.

use punchlist_core::{Agent, AgentStatus, Time, TodoId};
use punchlist_store::rows::leases::Leased;
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
    pub heartbeat_at: Time,
    pub created_at: Time,
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

/// An item that somebody works on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeasedView {
    pub todo_id: TodoId,
    pub title: String,
    pub holder: String,
    pub started_at: Option<Time>,
    pub lease_until: Time,
}

impl From<Leased> for LeasedView {
    fn from(leased: Leased) -> Self {
        Self {
            todo_id: leased.todo_id,
            title: leased.title,
            holder: leased.lease.holder.unwrap_or_default(),
            started_at: leased.started_at,
            lease_until: leased.lease.until,
        }
    }
}
