//! A session in a host: it takes over a session that waits for it, or continues one that had ended.

use serde::{Deserialize, Serialize};

use super::{Session, SessionState, keeper};
use crate::authority::Action;
use crate::event::{SessionAdopted, SessionReopened};
use crate::{By, Decide, Decision, Refused};

/// Attach a host's session to the session that waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdoptSession {
    pub external_id: String,
    pub directory: Option<String>,
}

/// Continue a session that had ended, because its host continues it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReopenSession;

impl Decide for AdoptSession {
    type On<'a> = &'a Session;
    type Out = Decision;

    /// A session with a host's id already belongs to a host's session.
    fn decide(
        &self,
        session: Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Action::Start)?;
        let mut decision = Decision::default();
        if session.external_id.is_none() && session.state != SessionState::Ended {
            let (external_id, directory) = (self.external_id.clone(), self.directory.clone());
            let session_id = session.id;
            decision.events.push(SessionAdopted { session_id, external_id, directory }.into());
        }
        Ok(decision)
    }
}

impl Decide for ReopenSession {
    type On<'a> = &'a Session;
    type Out = Decision;

    fn decide(
        &self,
        session: Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Action::Start)?;
        let mut decision = Decision::default();
        if session.state == SessionState::Ended {
            decision.events.push(SessionReopened { session_id: session.id }.into());
        }
        Ok(decision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::tests::decided;
    use crate::session::apply_session;
    use crate::session::tests::session;
    use crate::{Actor, AgentPath, Role, Time};

    fn root() -> Actor {
        Actor::new(Role::Root, AgentPath::primary())
    }

    /// D-27: a waiting session is adopted once.
    #[test]
    fn a_waiting_session_is_adopted_once() {
        let adopt = |id: &str| AdoptSession { external_id: id.to_owned(), directory: None };
        let waiting = session(5);
        let decision = decided(&adopt("a"), &waiting, &root()).unwrap();
        let mut state = Some(waiting);
        assert!(apply_session(&mut state, &decision.events[0], Time::from_micros(1)));
        let adopted = state.unwrap();
        assert_eq!(adopted.external_id.as_deref(), Some("a"));
        assert!(decided(&adopt("b"), &adopted, &root()).unwrap().events.is_empty());
    }

    /// Only a session of a host is ungoverned, and only while no hook has fired.
    #[test]
    fn a_session_of_a_host_without_hooks_is_ungoverned() {
        let of = |host: Option<&str>, id: Option<&str>, state: SessionState| {
            let (host, id) = (host.map(str::to_owned), id.map(str::to_owned));
            Session { host, external_id: id, state, ..session(5) }
        };
        let cases = [
            (of(Some("codex"), Some("c1"), SessionState::Active), true),
            (of(Some("codex"), Some("c1"), SessionState::Paused), true),
            (of(None, Some("mcp-7"), SessionState::Active), true),
            // It still waits for its host.
            (of(Some("codex"), None, SessionState::Active), false),
            // A program of the API names its sessions itself.
            (of(None, Some("build-7"), SessionState::Active), false),
            (of(None, None, SessionState::Active), false),
            (of(Some("codex"), Some("c1"), SessionState::Ended), false),
        ];
        for (session, expected) in cases {
            assert_eq!(session.is_ungoverned(false), expected, "{session:?}");
            assert!(!session.is_ungoverned(true), "{session:?}");
        }
    }

    #[test]
    fn an_ended_session_continues_when_its_host_does() {
        let ended = Session {
            state: SessionState::Ended,
            ended_at: Some(Time::from_micros(3)),
            ..session(5)
        };
        let decision = decided(&ReopenSession, &ended, &root()).unwrap();
        let mut state = Some(ended);
        apply_session(&mut state, &decision.events[0], Time::from_micros(4));
        let open = state.unwrap();
        assert_eq!((open.state, open.ended_at), (SessionState::Active, None));
        assert!(decided(&ReopenSession, &open, &root()).unwrap().events.is_empty());
    }
}
