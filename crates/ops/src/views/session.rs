//! A session as callers see it.

use punchlist_core::session::{Act, SessionState, agent_of, is_agent};
use punchlist_core::{Role, Session, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::call::Call;
use punchlist_core::gate::GateState;
use punchlist_store::rows::gates::WantedGates;

/// A session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    pub id: String,
    pub title: String,
    /// Paused: it waits for a person.
    pub state: SessionState,
    /// The number of its issue.
    pub bound_issue: Option<i64>,
    /// Who paused it, while it must not continue automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<Role>,
    pub conversation_id: String,
    pub host: Option<String>,
    /// The host's id for it.
    pub external_id: Option<String>,
    /// Its host's hooks do not fire, so no stop of it is held.
    #[serde(default)]
    pub ungoverned: bool,
    pub started_by: String,
    /// The agent that last acted in it; absent: no agent has yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub created_at: Time,
    pub updated_at: Time,
    pub ended_at: Option<Time>,
}

/// An answer with one session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OneSession {
    pub session: SessionView,
}

impl SessionView {
    /// A session waits as long as one of its gates is open: this is queried, not stored.
    pub(crate) fn of(call: &mut Call<'_, '_>, session: Session) -> Result<Self, Error> {
        let bound_issue = match session.bound_issue {
            Some(id) => call.tx().issue_number(id)?,
            None => None,
        };
        let open = WantedGates {
            state: Some(GateState::Open),
            session: Some(session.id),
            ..WantedGates::default()
        };
        let waits = session.state == SessionState::Active
            && !call.tx().gates(session.project_id, &open, 1)?.is_empty();
        let ungoverned =
            session.is_ungoverned(false) && call.tx().host_record(session.id)?.is_none();
        let agent = agent(call, &session)?;
        Ok(Self {
            id: session.id.to_string(),
            title: session.title,
            state: if waits { SessionState::Paused } else { session.state },
            bound_issue,
            paused_by: session.paused_by,
            conversation_id: session.conversation_id.to_string(),
            host: session.host,
            external_id: session.external_id,
            ungoverned,
            started_by: session.started_by,
            agent,
            created_at: session.created_at,
            updated_at: session.updated_at,
            ended_at: session.ended_at,
        })
    }
}

/// The agent of a session (`core::session::agent_of`).
pub(crate) fn agent(call: &mut Call<'_, '_>, session: &Session) -> Result<Option<String>, Error> {
    let issue = match session.bound_issue {
        // A session that has ended is not bound any more.
        None if !is_agent(&session.started_by) => call.tx().last_issue_of(session.id)?,
        bound => bound,
    };
    let mut acts = call.tx().newest_acts(session.id, issue)?;
    acts.extend(call.tx().newest_run_of_session(session.id)?.as_ref().map(Act::of_run));
    Ok(agent_of(session, &acts))
}

impl OneSession {
    pub(crate) fn of(call: &mut Call<'_, '_>, session: Session) -> Result<Self, Error> {
        SessionView::of(call, session).map(|session| Self { session })
    }
}
