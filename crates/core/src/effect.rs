//! Work that a decision requests outside the transaction.
//!
//! Effects are data: they go into the outbox in the same commit as the events, and the engine does
//! them later, with retries. They contain no rules and no channels.

use serde::{Deserialize, Serialize};

use crate::{ConversationId, MetricId, Role, RunId, TodoId};

/// Work for the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Effect {
    /// Read a metric: it is due, or a completed item may have changed it.
    CollectMetric { metric_id: MetricId, todo_id: Option<TodoId> },
    /// Go on with a run.
    Drive { run_id: RunId },
    /// Somebody wrote to an agent in a chat: let it answer.
    Answer { conversation_id: ConversationId, role: Role },
}

impl Effect {
    /// The name the outbox files it under.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::CollectMetric { .. } => "collect_metric",
            Self::Drive { .. } => "drive",
            // Not every worker plays every role.
            Self::Answer { role: Role::Lead, .. } => "answer_lead",
            Self::Answer { role: Role::Owner, .. } => "answer_owner",
            Self::Answer { .. } => "answer_root",
        }
    }
}
