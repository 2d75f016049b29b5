//! An issue: its fields, and the table of who may move it to which status.
//!
//! Its checklist is not here: criteria and steps are todos of an ordinary list of the kind `issue`.
//! The checklist never closes an issue; an actor with the right moves it.
//!
//! The cells: `Root` for the operator and the root agent · `Oper` for the operator alone · `Here`
//! it has that status already · `No` there is no such move.

pub mod address;
mod assign;
pub mod checklist;
pub mod context;
mod create;
mod defer;
mod duplicate;
pub mod ledger;
mod likeness;
pub mod link;
pub mod progress;
pub mod ready;
pub mod search;
mod transition;
mod update;

pub use assign::AssignIssue;
pub use create::{CreateIssue, Ground};
pub use defer::DeferIssue;
pub use duplicate::{CloseAsDuplicate, DuplicateStep};
pub use ledger::{CommentIssue, IssueUpdate, UpdateKind};
pub use likeness::Likeness;
pub use link::{Link, LinkIssues, LinkKind, Linking, UnlinkIssues, is_open_child};
pub use transition::{Closing, TransitionIssue, Void, left_open};
pub use update::{LABELS_MAX, UpdateIssue};

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::authority::{Action, Denial, Subject, Verdict, judge, may, may_any, may_ever_on};
use crate::event::{
    ChecklistChanged, IssueAssigned, IssueCreated, IssueDeferred, IssueTransitioned,
};
use crate::named::named;
use crate::todo::Priority;
use crate::{Actor, Event, IssueId, ListKind, ProjectId, Refusal, Refused, Role, Time, TodoKind};

use Cell::{Act, Here, No};
use IssueStatus as S;

const MOVE: Cell = Act(Action::Move);
const CLOSE: Cell = Act(Action::Close);
const BACK: Cell = Act(Action::Reopen);

#[rustfmt::skip]
const MOVES: [(IssueStatus, [Cell; 5]); 5] = [
    // from          open  triaged in_progress resolved rejected
    (S::Open,       [Here, MOVE,   MOVE,       CLOSE,   CLOSE]),
    (S::Triaged,    [MOVE, Here,   MOVE,       CLOSE,   CLOSE]),
    (S::InProgress, [MOVE, MOVE,   Here,       CLOSE,   CLOSE]),
    (S::Resolved,   [BACK, No,     No,         Here,    No]),
    (S::Rejected,   [BACK, No,     No,         No,      Here]),
];

/// May this actor do this to an issue or a session? Workers may do nothing (K-47).
pub(crate) fn keeper(
    actor: &Actor,
    subject: Subject,
    action: Action,
    owns: impl FnOnce() -> bool,
) -> Result<(), Refused> {
    if may(actor, subject, action, owns) {
        return Ok(());
    }
    let (role, list, todo_kind) = (actor.role, ListKind::Issue, TodoKind::Step);
    let denial = match may_ever_on(role, subject, action) {
        true => Denial::NotYours,
        false => Denial::Role,
    };
    Err(Refusal::NotPermitted { role, action, list, todo_kind, denial }.into())
}

named! {
    /// The status of an issue.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum IssueStatus {
        Open = "open",
        Triaged = "triaged",
        InProgress = "in_progress",
        Resolved = "resolved",
        Rejected = "rejected",
    }
}

impl IssueStatus {
    /// Resolved and rejected.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::Resolved | Self::Rejected)
    }
}

impl fmt::Display for IssueStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// The action that the authority table checks for this move.
    Act(Action),
    Here,
    No,
}

/// The table's verdict on a move by a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveVerdict {
    Allow,
    /// There is such a move, but not for this role.
    Deny,
    /// No role can make this move.
    NoSuchMove,
}

/// May this role move an issue from one status to another? `granted`: a sign-off allows that end.
#[must_use]
pub fn may_move(role: Role, from: IssueStatus, to: IssueStatus, granted: bool) -> MoveVerdict {
    let cell = |(_, cells): &(IssueStatus, [Cell; 5])| {
        IssueStatus::ALL.into_iter().zip(*cells).find(|(status, _)| *status == to).map(|(_, c)| c)
    };
    let cell = MOVES.iter().find(|(status, _)| *status == from).and_then(cell).unwrap_or(No);
    match cell {
        Act(action) if judge(role, Subject::Issue, action, granted) == Verdict::Allow => {
            MoveVerdict::Allow
        }
        Here | No if may_any(role, Subject::Issue, Action::Move) => MoveVerdict::NoSuchMove,
        Act(_) | Here | No => MoveVerdict::Deny,
    }
}

/// The statuses this role may move an issue to.
#[must_use]
pub fn ways(role: Role, from: IssueStatus) -> Vec<IssueStatus> {
    let allowed = |to: &IssueStatus| may_move(role, from, *to, false) == MoveVerdict::Allow;
    IssueStatus::ALL.into_iter().filter(allowed).collect()
}

/// An issue as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    pub id: IssueId,
    pub project_id: ProjectId,
    /// Its number: counted per project from 1, never reused.
    pub number: i64,
    pub title: String,
    pub body: String,
    pub status: IssueStatus,
    /// Who should work on it: none, `primary`, `workflow:NAME` or `session:ID`.
    pub assignment: Option<String>,
    /// Grows with every change to the issue or its checklist.
    pub revision: i64,
    /// The revision at which each part that a sign-off covers last changed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub judged: BTreeMap<Part, i64>,
    /// The principal that filed it.
    pub created_by: String,
    pub created_at: Time,
    pub updated_at: Time,
    pub defer_until: Option<Time>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// `None` if nobody has set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The responsible person; the agent or session that works on it is the assignment (Q-K5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// What was said when the status last changed: why it was closed, or opened again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_reason: Option<String>,
}

named! {
    /// The parts that a sign-off covers. If one of them changes, the operator has not seen it.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum Part {
        Title = "title",
        Body = "body",
        /// The criteria and their texts.
        Criteria = "criteria",
        Claims = "claims",
        Evidence = "evidence",
        Checks = "checks",
        /// The issue was closed. After a reopening, an earlier sign-off is no longer valid.
        Status = "status",
    }
}

impl Issue {
    /// The parts a sign-off covers that have changed since a revision. Steps, notes, comments and
    /// links do not count.
    #[must_use]
    pub fn changed_since(&self, revision: i64) -> Vec<Part> {
        self.judged.iter().filter(|(_, at)| **at > revision).map(|(part, _)| *part).collect()
    }

    fn changed(&mut self, parts: &[Part]) {
        self.judged.extend(parts.iter().map(|part| (*part, self.revision)));
    }
}

/// Folds one event into an issue; says whether its row changed. Infallible, as `apply` is.
pub fn apply_issue(state: &mut Option<Issue>, event: &Event, at: Time) -> bool {
    match (event, state) {
        (Event::IssueCreated(IssueCreated { issue }), state) => {
            *state = Some(Issue::clone(issue));
            true
        }
        (Event::IssueTransitioned(moved), Some(issue)) if moved.issue_id == issue.id => {
            let IssueTransitioned { status, revision, parts, reason, .. } = moved;
            (issue.status, issue.revision, issue.updated_at) = (*status, *revision, at);
            issue.status_reason.clone_from(reason);
            issue.changed(parts);
            true
        }
        (Event::IssueAssigned(assigned), Some(issue)) if assigned.issue_id == issue.id => {
            let IssueAssigned { assignment, revision, .. } = assigned;
            issue.assignment.clone_from(assignment);
            (issue.revision, issue.updated_at) = (*revision, at);
            true
        }
        (Event::IssueDeferred(deferred), Some(issue)) if deferred.issue_id == issue.id => {
            let IssueDeferred { until, revision, .. } = deferred;
            (issue.defer_until, issue.revision, issue.updated_at) = (*until, *revision, at);
            true
        }
        (Event::IssueRevised(revised), Some(issue)) if revised.issue_id == issue.id => {
            issue.title.clone_from(&revised.title);
            issue.body.clone_from(&revised.body);
            issue.labels.clone_from(&revised.labels);
            issue.assignee.clone_from(&revised.assignee);
            issue.priority = revised.priority;
            (issue.revision, issue.updated_at) = (revised.revision, at);
            issue.changed(&revised.parts);
            true
        }
        (Event::ChecklistChanged(ChecklistChanged { issue_id, revision, parts }), Some(issue))
            if *issue_id == issue.id =>
        {
            (issue.revision, issue.updated_at) = (*revision, at);
            issue.changed(parts);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Ids;

    pub(crate) fn issue(number: i64) -> Issue {
        let now = Time::from_micros(0);
        Issue {
            id: IssueId::from(Ids::new(now, number.unsigned_abs().into()).ulid()),
            project_id: ProjectId::from(Ids::new(now, 1).ulid()),
            number,
            title: format!("issue {number}"),
            body: String::new(),
            status: IssueStatus::Open,
            assignment: None,
            revision: 1,
            judged: BTreeMap::new(),
            created_by: "operator".into(),
            created_at: now,
            updated_at: now,
            defer_until: None,
            labels: Vec::new(),
            priority: None,
            assignee: None,
            status_reason: None,
        }
    }

    /// F-17: these five statuses. Every status × target × role, as the contract says: open, triaged
    /// and in_progress lead to each other and, for the operator, to an end; from an end only the
    /// operator may go back, to open.
    #[test]
    fn every_move_is_as_the_contract_says() {
        let mut walked = 0;
        for from in IssueStatus::ALL {
            for to in IssueStatus::ALL {
                for role in Role::ALL {
                    let exists = match (from.is_closed(), to.is_closed()) {
                        (false, _) => from != to,
                        (true, false) => to == IssueStatus::Open,
                        (true, true) => false,
                    };
                    let agents_too = !from.is_closed() && !to.is_closed();
                    let expected = match role {
                        Role::Operator | Role::Root if !exists => MoveVerdict::NoSuchMove,
                        Role::Operator => MoveVerdict::Allow,
                        Role::Root if agents_too => MoveVerdict::Allow,
                        _ => MoveVerdict::Deny,
                    };
                    assert_eq!(may_move(role, from, to, false), expected, "{role}: {from} to {to}");
                    walked += 1;
                }
            }
        }
        assert_eq!(walked, 5 * 5 * 6);
    }

    #[test]
    fn rows_and_columns_of_the_table_are_in_one_order() {
        assert_eq!(MOVES.map(|(from, _)| from), IssueStatus::ALL);
        for status in IssueStatus::ALL {
            assert_eq!(IssueStatus::parse(status.name()), Some(status));
        }
    }

    #[test]
    fn the_listed_moves_are_those_of_the_role() {
        let open = [S::Triaged, S::InProgress];
        assert_eq!(ways(Role::Root, S::Open), open);
        assert_eq!(
            ways(Role::Operator, S::Open),
            [&open[..], &[S::Resolved, S::Rejected]].concat()
        );
        assert_eq!(ways(Role::Operator, S::Rejected), [S::Open]);
        assert_eq!(ways(Role::Root, S::Rejected), []);
        assert_eq!(ways(Role::Worker, S::Open), []);
    }
}
