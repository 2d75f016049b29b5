//! End a session. Its issue stays as it is (K-37); only the pointer goes.

use serde::{Deserialize, Serialize};

use super::bind::unbound;
use super::{Session, going, keeper};
use crate::authority::Action;
use crate::event::SessionEnded;
use crate::{By, Decide, Decision, Issue, Refused};

/// Say that a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndSession;

impl Decide for EndSession {
    type On<'a> = (&'a Session, Option<&'a Issue>);
    type Out = Decision;

    fn decide(
        &self,
        (session, issue): Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Action::End)?;
        going(session)?;
        let mut decision = Decision::default();
        decision.events.extend(issue.map(|issue| unbound(session, issue).into()));
        decision.events.push(SessionEnded { session_id: session.id }.into());
        Ok(decision)
    }
}
