//! Pause a session and let it go on: an explicit pause outlives messages and restarts (P-10).

use super::{Session, SessionState, going, keeper};
use crate::event::{SessionPaused, SessionResumed};
use crate::{Actor, Decision, Refused};

/// Keep a session from going on by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseSession {
    pub reason: Option<String>,
}

/// Let it go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumeSession;

impl PauseSession {
    /// Pausing what is paused changes nothing.
    pub fn decide(&self, session: &Session, actor: &Actor) -> Result<Decision, Refused> {
        keeper(actor)?;
        going(session)?;
        if session.state == SessionState::Paused {
            return Ok(Decision::default());
        }
        let paused = SessionPaused { session_id: session.id, reason: self.reason.clone() };
        Ok(Decision { events: vec![paused.into()], ..Decision::default() })
    }
}

impl ResumeSession {
    pub fn decide(self, session: &Session, actor: &Actor) -> Result<Decision, Refused> {
        keeper(actor)?;
        going(session)?;
        if session.state == SessionState::Active {
            return Ok(Decision::default());
        }
        let resumed = SessionResumed { session_id: session.id };
        Ok(Decision { events: vec![resumed.into()], ..Decision::default() })
    }
}
