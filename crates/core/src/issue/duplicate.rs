//! Close an issue because another says the same: the link, the move and the note are one act (K-44).

use super::link::{Link, LinkIssues, LinkKind};
use super::transition::{Closing, TransitionIssue};
use super::{Issue, IssueStatus, ledger};
use crate::text::Body;
use crate::{Actor, Decision, Ids, Refusal, Refused, Time};

/// Reject an issue as a duplicate of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseAsDuplicate {
    pub note: Option<Body>,
}

impl CloseAsDuplicate {
    /// `links`: those between the two, whichever way.
    pub fn decide(
        &self,
        (issue, of): (&Issue, &Issue),
        links: &[Link],
        actor: &Actor,
        now: Time,
        ids: &mut Ids,
    ) -> Result<Decision, Refused> {
        let status = IssueStatus::Rejected;
        let moving = TransitionIssue { status, reason: self.note.clone(), confirm: false };
        let mut decision = moving.decide(issue, actor, Closing::default(), now, ids)?;
        match (LinkIssues { kind: LinkKind::DuplicateOf }).decide(
            (issue, of),
            links,
            actor,
            now,
            ids,
        ) {
            Ok(linked) => decision.events.extend(linked.events),
            Err(Refused { refusal: Refusal::AlreadyLinked { .. }, .. }) => {}
            Err(refused) => return Err(refused),
        }
        let why = self.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        let text = format!("Closed as a duplicate of #{}{why}", of.number);
        decision.events.push(ledger::note(issue, text, actor, now, ids));
        Ok(decision)
    }
}
