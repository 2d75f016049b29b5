//! Defer an issue until a date; it comes back by itself (P-27).

use serde::{Deserialize, Serialize};

use super::{Issue, keeper};
use crate::authority::{Action, Subject};
use crate::event::IssueDeferred;
use crate::{By, Decide, Decision, Refused, Time};

/// Defer until a date; `None` ends the deferral.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferIssue {
    pub until: Option<Time>,
}

impl Decide for DeferIssue {
    type On<'a> = &'a Issue;
    type Out = Decision;

    fn decide(&self, issue: Self::On<'_>, By { actor, .. }: By<'_>) -> Result<Self::Out, Refused> {
        keeper(actor, Subject::Issue, Action::Defer, || true)?;
        if issue.defer_until == self.until {
            return Ok(Decision::default());
        }
        let (issue_id, number, revision) = (issue.id, issue.number, issue.revision + 1);
        let deferred = IssueDeferred { issue_id, number, until: self.until, revision };
        Ok(Decision { events: vec![deferred.into()], ..Decision::default() })
    }
}
