//! Close an issue as a duplicate of another: the link, the move and the note are one command
//! (K-44).

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::link::{LinkIssues, LinkKind, Linking};
use super::transition::{Closing, TransitionIssue};
use super::{IssueStatus, ledger};
use crate::text::Body;
use crate::{By, Decide, Decision, Refusal, Refused};

/// Reject an issue as a duplicate of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseAsDuplicate {
    pub note: Option<Body>,
}

/// A link `duplicate_of`, by the numbers of its issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicateStep {
    pub from: i64,
    /// The status of the issue that the link starts at.
    pub status: IssueStatus,
    pub to: i64,
}

impl Decide for CloseAsDuplicate {
    /// The two issues, and every `duplicate_of` link that can be reached from the second.
    type On<'a> = (Linking<'a>, &'a [DuplicateStep]);
    type Out = Decision;

    fn decide(
        &self,
        (on, steps): Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let Linking { from: issue, to: of, .. } = on;
        let status = IssueStatus::Rejected;
        let moving = TransitionIssue { status, reason: self.note.clone(), confirm: false };
        let mut decision = moving.decide((issue, Closing::default()), By { actor, now, ids })?;
        if let Some(via) = leads_to(issue.number, of.number, steps) {
            let (number, of) = (issue.number, of.number);
            return Err(Refusal::DuplicateCircle { number, of, via }.into());
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

/// The issues between `of` and `number`, if closed issues lead from the one to the other. An open issue
/// ends the search, because it stays to be worked on.
fn leads_to(number: i64, of: i64, steps: &[DuplicateStep]) -> Option<Vec<i64>> {
    let mut seen = BTreeSet::from([of]);
    let mut paths = VecDeque::from([(of, Vec::new())]);
    while let Some((at, via)) = paths.pop_front() {
        let is_onward =
            |step: &&DuplicateStep| step.from == at && step.status == IssueStatus::Rejected;
        for DuplicateStep { to, .. } in steps.iter().filter(is_onward) {
            if *to == number {
                return Some(via);
            }
            if seen.insert(*to) {
                paths.push_back((*to, [via.as_slice(), &[*to]].concat()));
            }
        }
    }
    None
}
