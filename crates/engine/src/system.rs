//! Shared by all parts of the engine that call operations: the system's envelope, and which errors
//! are temporary.

use std::sync::Arc;

use punchlist_core::{Actor, AgentPath, Role, Time};
use punchlist_ops::{Context, Envelope, Error, Proof};

use crate::pump::Setback;

/// The envelope of the system itself.
pub(crate) fn system(agent: &str, project: &str, now: Time) -> Envelope {
    let agent = AgentPath::parse(agent).unwrap_or_else(AgentPath::primary);
    Envelope {
        actor: Actor::new(Role::System, agent),
        proof: Proof::Engine,
        project: project.to_owned(),
        context: Context::default(),
        idempotency_key: None,
        agents: Arc::default(),
        now,
    }
}

/// Is the database busy or unreachable? Then the same call may succeed later.
pub(crate) fn is_temporary(error: &Error) -> bool {
    let meaning = error.meaning();
    meaning.retryable || meaning.exit == 3
}

/// Tries the work again later.
pub(crate) fn again(error: &impl ToString) -> Setback {
    Setback::Retry(error.to_string())
}
