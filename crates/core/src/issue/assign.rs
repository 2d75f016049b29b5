//! Say who is to work an issue. Binding a session does it (Q-K5).

use super::{Issue, keeper};
use crate::authority::{Action, Subject};
use crate::event::IssueAssigned;
use crate::{Actor, Decision, Refused, SessionId};

/// Give an issue to somebody, or to nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignIssue {
    pub assignment: Option<String>,
}

impl AssignIssue {
    /// To a session.
    #[must_use]
    pub fn to(session: SessionId) -> Self {
        Self { assignment: Some(format!("session:{session}")) }
    }

    /// To nobody, if it is still this session's.
    #[must_use]
    pub fn away_from(session: SessionId, issue: &Issue) -> Option<Self> {
        let own = Self::to(session);
        (issue.assignment == own.assignment).then_some(Self { assignment: None })
    }

    pub fn decide(&self, issue: &Issue, actor: &Actor) -> Result<Decision, Refused> {
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
