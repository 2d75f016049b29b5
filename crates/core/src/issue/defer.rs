//! Let an issue rest until a date; it comes back by itself (P-27).

use super::{Issue, keeper};
use crate::authority::{Action, Subject};
use crate::event::IssueDeferred;
use crate::{Actor, Decision, Refused, Time};

/// Rest until a date; none: come back at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeferIssue {
    pub until: Option<Time>,
}

impl DeferIssue {
    pub fn decide(self, issue: &Issue, actor: &Actor) -> Result<Decision, Refused> {
        keeper(actor, Subject::Issue, Action::Defer, || true)?;
        if issue.defer_until == self.until {
            return Ok(Decision::default());
        }
        let (issue_id, number, revision) = (issue.id, issue.number, issue.revision + 1);
        let deferred = IssueDeferred { issue_id, number, until: self.until, revision };
        Ok(Decision { events: vec![deferred.into()], ..Decision::default() })
    }
}
