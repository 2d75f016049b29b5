//! End a session. Its issue stays as it is (K-37); only the pointer goes.

use super::bind::unbound;
use super::{Session, going, keeper};
use crate::authority::Action;
use crate::event::SessionEnded;
use crate::{Actor, Decision, Issue, Refused};

/// Say that a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndSession;

impl EndSession {
    pub fn decide(
        self,
        session: &Session,
        issue: Option<&Issue>,
        actor: &Actor,
    ) -> Result<Decision, Refused> {
        keeper(actor, Action::End)?;
        going(session)?;
        let mut decision = Decision::default();
        decision.events.extend(issue.map(|issue| unbound(session, issue).into()));
        decision.events.push(SessionEnded { session_id: session.id }.into());
        Ok(decision)
    }
}
