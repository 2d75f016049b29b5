//! Set who should work on an issue. Binding a session does so (Q-K5).

use serde::{Deserialize, Serialize};

use super::{Issue, keeper};
use crate::authority::{Action, Subject};
use crate::event::IssueAssigned;
use crate::{By, Decide, Decision, Refused, SessionId};

/// Assign an issue, or unassign it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssignIssue {
    pub assignment: Option<String>,
}

impl Decide for AssignIssue {
    type On<'a> = &'a Issue;
    type Out = Decision;

    fn decide(&self, issue: Self::On<'_>, By { actor, .. }: By<'_>) -> Result<Self::Out, Refused> {
        keeper(actor, Subject::Session, Action::Bind, || true)?;
        if issue.assignment == self.assignment {
            return Ok(Decision::default());
        }
        let assigned = IssueAssigned {
            issue_id: issue.id,
            number: issue.number,
            assignment: self.assignment.clone(),
            revision: issue.revision + 1,
        };
        Ok(Decision { events: vec![assigned.into()], ..Decision::default() })
    }
}

impl AssignIssue {
    /// Assigns it to a session.
    #[must_use]
    pub fn to(session: SessionId) -> Self {
        Self { assignment: Some(format!("session:{session}")) }
    }

    /// Unassigns it, if it is still assigned to this session.
    #[must_use]
    pub fn away_from(session: SessionId, issue: &Issue) -> Option<Self> {
        let own = Self::to(session);
        (issue.assignment == own.assignment).then_some(Self { assignment: None })
    }
}
