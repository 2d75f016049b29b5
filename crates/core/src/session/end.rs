//! End a session. Its issue stays as it is (K-37); only the binding ends.

use serde::{Deserialize, Serialize};

use super::bind::unbound;
use super::{Session, going, keeper};
use crate::authority::Action;
use crate::event::SessionEnded;
use crate::{By, Decide, Decision, Issue, Refused, Run, RunId};

/// End a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndSession;

/// The runs that end with their session: otherwise they would wait forever, because nobody resumes
/// an ended session. `own`: the run that ends the session, which continues to its own end.
#[must_use]
pub fn ends_with(runs: Vec<Run>, own: Option<RunId>) -> Vec<Run> {
    runs.into_iter().filter(|run| Some(run.id) != own).collect()
}

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
