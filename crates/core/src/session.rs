//! A session: a period of work of one agent, and the one issue it may be bound to.
//!
//! Binding is a pointer on the session's side. Binding, unbinding and ending change only this
//! pointer: no todo is changed and no issue is closed (K-3, K-37).

mod agent;
mod bind;
mod end;
mod host;
mod pause;
mod promote;
mod start;
mod title;

pub use agent::{Act, agent_of, is_agent};
pub use bind::{BindSession, Binding, Bound, UnbindSession};
pub use end::{EndSession, ends_with};
pub use host::{AdoptSession, ReopenSession};
pub use pause::{PauseSession, ResumeSession};
pub use promote::{PromoteSession, Step, steps};
pub use start::StartSession;
pub use title::{TitleSession, untitled};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::authority::{Action, Subject};
use crate::event::{
    SessionBound, SessionEnded, SessionPaused, SessionReopened, SessionResumed, SessionStarted,
    SessionUnbound,
};
use crate::named::named;
use crate::{
    Actor, ConversationId, Event, Issue, IssueId, ProjectId, Reach, Refusal, Refused, Role,
    SessionId, Time, issue,
};

named! {
    /// The state of a session.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum SessionState {
        Active = "active",
        /// It waits for a person, or until somebody resumes it.
        Paused = "paused",
        Ended = "ended",
    }
}

/// A session as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub id: SessionId,
    pub project_id: ProjectId,
    pub title: String,
    pub state: SessionState,
    /// The issue whose checklist is in reach; at most one (K-1).
    pub bound_issue: Option<IssueId>,
    pub conversation_id: ConversationId,
    /// The host it runs in, and the host's own id for it.
    pub host: Option<String>,
    pub external_id: Option<String>,
    /// The folder it runs in. A process without an id finds the session by it.
    pub directory: Option<String>,
    /// The role that paused it, while it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<Role>,
    /// The starter's reach: without an issue, only an actor with the same reach owns it.
    #[serde(default, skip_serializing_if = "Reach::is_default")]
    pub reach: Reach,
    pub started_by: String,
    pub created_at: Time,
    pub updated_at: Time,
    pub ended_at: Option<Time>,
}

/// How the id of a session begins that an MCP server starts because no host has named one.
pub const OWN_PREFIX: &str = "mcp-";

impl Session {
    /// Does it run in a foreign host that holds none of its stops? The hooks of a host name its
    /// session, so a session without any hook is one whose hooks do not fire.
    #[must_use]
    pub fn is_ungoverned(&self, has_hook: bool) -> bool {
        let Some(id) = &self.external_id else { return false };
        let is_hosted = self.host.is_some() || id.starts_with(OWN_PREFIX);
        is_hosted && !has_hook && self.state != SessionState::Ended
    }

    /// Does it belong only to this actor, because it has no issue yet? The reach must be the same
    /// too: tokens of one agent may be narrowed to different things.
    #[must_use]
    pub fn is_only_of(&self, actor: &Actor) -> bool {
        self.bound_issue.is_none()
            && self.started_by == actor.principal
            && self.reach.is_same_as(&actor.reach)
    }
}

/// Folds one event into a session; says whether its row changed. Infallible, as `apply` is.
pub fn apply_session(state: &mut Option<Session>, event: &Event, at: Time) -> bool {
    match (event, state) {
        (Event::SessionStarted(SessionStarted { session }), state) => {
            *state = Some(Session::clone(session));
            true
        }
        (Event::SessionBound(SessionBound { session_id, issue_id, .. }), Some(session))
            if *session_id == session.id =>
        {
            (session.bound_issue, session.updated_at) = (Some(*issue_id), at);
            true
        }
        (Event::SessionUnbound(SessionUnbound { session_id, .. }), Some(session))
            if *session_id == session.id =>
        {
            (session.bound_issue, session.updated_at) = (None, at);
            true
        }
        (Event::SessionPaused(SessionPaused { session_id, by, .. }), Some(session))
            if *session_id == session.id =>
        {
            (session.state, session.updated_at) = (SessionState::Paused, at);
            session.paused_by = *by;
            true
        }
        (Event::SessionResumed(SessionResumed { session_id }), Some(session))
            if *session_id == session.id =>
        {
            (session.state, session.updated_at) = (SessionState::Active, at);
            session.paused_by = None;
            true
        }
        (Event::SessionEnded(SessionEnded { session_id }), Some(session))
            if *session_id == session.id =>
        {
            session.state = SessionState::Ended;
            (session.ended_at, session.updated_at) = (Some(at), at);
            true
        }
        (Event::SessionReopened(SessionReopened { session_id }), Some(session))
            if *session_id == session.id =>
        {
            session.state = SessionState::Active;
            (session.ended_at, session.updated_at) = (None, at);
            true
        }
        (Event::SessionAdopted(adopted), Some(session)) if adopted.session_id == session.id => {
            session.external_id = Some(adopted.external_id.clone());
            session.directory.clone_from(&adopted.directory);
            session.updated_at = at;
            true
        }
        (Event::SessionTitled(titled), Some(session)) if titled.session_id == session.id => {
            session.title.clone_from(&titled.title);
            session.updated_at = at;
            true
        }
        _ => false,
    }
}

/// May the actor do this to a session? Workers have none (K-47).
fn keeper(actor: &Actor, action: Action) -> Result<(), Refused> {
    issue::keeper(actor, Subject::Session, action, || true)
}

/// May the session keep a list of its own? A session that works on an issue uses the issue's list
/// . `issue`: the one the session is bound to.
pub fn may_keep_list(session: &Session, issue: Option<&Issue>) -> Result<(), Refused> {
    going(session)?;
    match issue {
        Some(issue) => Err(Refusal::HasChecklist { number: issue.number }.into()),
        None => Ok(()),
    }
}

/// Refuses a session that has ended.
pub fn going(session: &Session) -> Result<(), Refused> {
    match session.ended_at {
        None => Ok(()),
        Some(at) => Err(Refusal::SessionEnded { session: session.id, at }.into()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Ids;

    pub(crate) fn session(seed: u128) -> Session {
        let mut ids = Ids::new(Time::from_micros(0), seed);
        Session {
            id: SessionId::from(ids.ulid()),
            project_id: ProjectId::from(Ids::new(Time::from_micros(0), 1).ulid()),
            title: "work".into(),
            state: SessionState::Active,
            bound_issue: None,
            conversation_id: ConversationId::from(ids.ulid()),
            host: None,
            external_id: None,
            directory: None,
            paused_by: None,
            reach: Reach::default(),
            started_by: "root:primary".into(),
            created_at: Time::from_micros(0),
            updated_at: Time::from_micros(0),
            ended_at: None,
        }
    }

    #[test]
    fn names_and_parsing_agree() {
        for state in SessionState::ALL {
            assert_eq!(SessionState::parse(state.name()), Some(state));
        }
    }
}
