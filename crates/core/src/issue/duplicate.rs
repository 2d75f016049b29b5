//! Close an issue as a duplicate of another: the link, the move and the note are one command
//! (K-44).

use serde::{Deserialize, Serialize};

use super::link::{Link, LinkIssues, LinkKind, Linking};
use super::transition::{Closing, TransitionIssue};
use super::{IssueStatus, ledger};
use crate::text::Body;
use crate::{By, Decide, Decision, Refusal, Refused};

/// Reject an issue as a duplicate of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseAsDuplicate {
    pub note: Option<Body>,
}

impl Decide for CloseAsDuplicate {
    type On<'a> = Linking<'a>;
    type Out = Decision;

    fn decide(
        &self,
        on: Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let Linking { from: issue, to: of, links } = on;
        let status = IssueStatus::Rejected;
        let moving = TransitionIssue { status, reason: self.note.clone(), confirm: false };
        let mut decision = moving.decide((issue, Closing::default()), By { actor, now, ids })?;
        let is_circle = |link: &Link| link.says(LinkKind::DuplicateOf, of.id, issue.id);
        if of.status == IssueStatus::Rejected && links.iter().any(is_circle) {
            return Err(Refusal::DuplicateCircle { number: issue.number, of: of.number }.into());
        }
        match (LinkIssues { kind: LinkKind::DuplicateOf }).decide(on, By { actor, now, ids }) {
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
