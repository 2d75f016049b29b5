//! The effective state of a task, from its facts and its agent's status (O-6, O-7, O-21).
//!
//! | settled as  | hold                           | assigned | agent   | state         |
//! |-------------|--------------------------------|----------|---------|---------------|
//! | completed   |                                |          |         | `completed`   |
//! | cancelled   |                                |          |         | `cancelled`   |
//! | –           | `failed`                       |          |         | `failed`      |
//! | –           | `blocked`, `awaiting_approval` |          |         | `blocked`     |
//! | –           | –                              | no       |         | `pending`     |
//! | –           | –                              | yes      | failed  | `failed`      |
//! | –           | –                              | yes      | blocked | `blocked`     |
//! | –           | –                              | yes      | other   | `active`      |

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::named;
use crate::todo::HoldKind;
use crate::{AgentStatus, Agents, Status, Todo};

named! {
    /// The effective state of a task. Derived, never stored.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum State {
        Pending = "pending",
        Active = "active",
        Blocked = "blocked",
        Failed = "failed",
        Completed = "completed",
        Cancelled = "cancelled",
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the orchestrating agent should do about an assigned task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Its agent failed, is silent or is gone.
    Reassignment,
    /// Its agent reports that it is complete, but the task is open.
    Completion,
}

/// The effective state of a task.
#[must_use]
pub fn state(todo: &Todo, agents: &Agents) -> State {
    let hold = todo.hold.as_deref().map(|hold| hold.kind);
    match (todo.status, hold, &todo.assignee) {
        (Status::Completed, ..) => State::Completed,
        (Status::Cancelled, ..) => State::Cancelled,
        (_, Some(HoldKind::Failed), _) => State::Failed,
        (_, Some(HoldKind::Blocked | HoldKind::AwaitingApproval), _) => State::Blocked,
        (_, None, None) => State::Pending,
        (_, None, Some(agent)) => match agents.status.get(agent) {
            Some(AgentStatus::Failed) => State::Failed,
            Some(AgentStatus::Blocked) => State::Blocked,
            _ => State::Active,
        },
    }
}

/// What an open task needs if its agent does not work on it any more.
#[must_use]
pub fn need(todo: &Todo, agents: &Agents) -> Option<Need> {
    let agent = todo.assignee.as_ref().filter(|_| !todo.status.is_settled())?;
    match agents.status.get(agent) {
        Some(AgentStatus::Complete) => Some(Need::Completion),
        Some(AgentStatus::Failed | AgentStatus::Archived) => Some(Need::Reassignment),
        _ => agents.silent.contains(agent).then_some(Need::Reassignment),
    }
}
