//! An issue and the items of its checklist, in the terms of issues.

use std::collections::BTreeMap;

use punchlist_core::issue::LinkKind;
use punchlist_core::issue::checklist::{Notes, shown_status};
use punchlist_core::todo::Priority;
use punchlist_core::{
    Issue, IssueId, IssueStatus, ProjectId, SessionId, Status, Time, Todo, TodoKind,
};
use punchlist_store::rows::issue_lists::IssueCounts;
use punchlist_store::rows::links::Seen;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::todo::{ClaimView, HoldView};
use crate::Error;
use crate::call::Call;

/// An issue.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IssueView {
    pub id: IssueId,
    /// Its number in the project, from 1.
    pub number: i64,
    pub title: String,
    pub body: String,
    pub status: IssueStatus,
    /// Who works on it: null, "primary", "workflow:NAME" or "session:ID".
    pub assignment: Option<String>,
    /// Grows with every change to the issue or its checklist.
    pub revision: i64,
    pub created_by: String,
    pub created_at: Time,
    pub updated_at: Time,
    pub defer_until: Option<Time>,
    #[serde(default)]
    pub labels: Vec<String>,
    #[serde(default)]
    pub priority: Option<Priority>,
    /// The person who is responsible.
    #[serde(default)]
    pub assignee: Option<String>,
    /// What was said when its status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_reason: Option<String>,
    /// The agent that works on it, if a session has it and an agent has acted in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// How far its checklist is, where several issues are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressView>,
}

/// How far a checklist is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgressView {
    pub criteria: i64,
    /// Criteria that were accepted.
    pub met: i64,
    /// Criteria that were claimed and not accepted yet.
    pub claimed: i64,
    pub steps: i64,
    pub steps_closed: i64,
    /// Open items that are on hold.
    #[serde(default)]
    pub held: i64,
}

impl From<IssueCounts> for ProgressView {
    fn from(counts: IssueCounts) -> Self {
        let IssueCounts { criteria, met, claimed, steps, steps_closed, held } = counts;
        Self { criteria, met, claimed, steps, steps_closed, held }
    }
}

impl IssueView {
    /// Issues, each with its progress.
    pub(crate) fn listed(
        call: &mut Call<'_, '_>,
        project: ProjectId,
        issues: Vec<Issue>,
    ) -> Result<Vec<Self>, Error> {
        let now = call.envelope().now;
        let numbers = || issues.iter().map(|issue| issue.number);
        let (Some(first), Some(last)) = (numbers().min(), numbers().max()) else {
            return Ok(Vec::new());
        };
        // If the numbers are far apart, each issue is counted separately, so that the issues in
        // between cost nothing.
        let span = usize::try_from(last - first).unwrap_or(usize::MAX);
        let counts = match span <= issues.len().saturating_mul(4) {
            true => call.tx().issue_counts(project, (first, last), now)?,
            false => {
                let mut counts = BTreeMap::new();
                for number in numbers() {
                    counts.extend(call.tx().issue_counts(project, (number, number), now)?);
                }
                counts
            }
        };
        let mut listed = Vec::with_capacity(issues.len());
        for issue in issues {
            let progress = counts.get(&issue.number).copied().map(ProgressView::from);
            let worker = worker(call, &issue)?;
            listed.push(Self { progress, worker, ..Self::from(issue) });
        }
        Ok(listed)
    }
}

/// The agent whose session an issue is assigned to.
pub(crate) fn worker(call: &mut Call<'_, '_>, issue: &Issue) -> Result<Option<String>, Error> {
    let session = issue.assignment.as_deref().and_then(|one| one.strip_prefix("session:"));
    let Some(id) = session.and_then(SessionId::parse) else { return Ok(None) };
    match call.tx().session_by_id(id)? {
        Some(session) => super::session::agent(call, &session),
        None => Ok(None),
    }
}

impl From<Issue> for IssueView {
    fn from(issue: Issue) -> Self {
        Self {
            id: issue.id,
            number: issue.number,
            title: issue.title,
            body: issue.body,
            status: issue.status,
            assignment: issue.assignment,
            revision: issue.revision,
            created_by: issue.created_by,
            created_at: issue.created_at,
            updated_at: issue.updated_at,
            defer_until: issue.defer_until,
            labels: issue.labels,
            priority: issue.priority,
            assignee: issue.assignee,
            status_reason: issue.status_reason,
            worker: None,
            progress: None,
        }
    }
}

/// An answer with one issue.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OneIssue {
    pub issue: IssueView,
}

/// An issue and its relation to another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkedIssue {
    pub issue: IssueView,
    /// Its relation to the other issue.
    pub kind: LinkKind,
    /// The other issue's number.
    pub to: i64,
}

/// Another issue, in brief.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct IssueRef {
    pub number: i64,
    pub title: String,
    pub status: IssueStatus,
}

impl From<Seen> for IssueRef {
    fn from(seen: Seen) -> Self {
        Self { number: seen.number, title: seen.title, status: seen.status }
    }
}

/// A criterion or a step of an issue.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemView {
    pub id: String,
    pub content: String,
    /// A claimed criterion shows as completed.
    pub status: ItemStatus,
    pub phase: Option<String>,
    /// The agent that added it.
    pub origin_agent: String,
    pub claim: Option<ClaimView>,
    pub hold: Option<HoldView>,
    /// Until when it is deferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defer_until: Option<Time>,
    pub notes: Vec<String>,
    /// When the operator confirmed a criterion; null: proposed.
    pub ratified_at: Option<Time>,
    /// When a criterion was accepted; null: not yet.
    pub accepted_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
    pub completed_at: Option<Time>,
}

/// The status of an item of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    Pending,
    InProgress,
    Completed,
    Abandoned,
}

impl From<Status> for ItemStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Backlog | Status::Pending => Self::Pending,
            Status::InProgress => Self::InProgress,
            Status::Completed => Self::Completed,
            Status::Cancelled => Self::Abandoned,
        }
    }
}

/// The notes of an item, as texts.
pub(crate) fn texts(notes: &Notes, todo: &Todo) -> Vec<String> {
    notes.get(&todo.id).into_iter().flatten().map(|note| note.text.clone()).collect()
}

impl ItemView {
    pub(crate) fn of(todo: &Todo, notes: &Notes) -> Self {
        let accepted = todo.kind == TodoKind::Criterion && todo.status == Status::Completed;
        Self {
            id: todo.id.to_string(),
            content: todo.title.clone(),
            status: shown_status(todo).into(),
            phase: todo.phase.clone(),
            origin_agent: todo.origin_agent.to_string(),
            claim: todo.claim.as_deref().map(ClaimView::from),
            hold: todo.hold.as_deref().map(HoldView::from),
            defer_until: todo.defer_until,
            notes: texts(notes, todo),
            ratified_at: todo.ratified_at,
            accepted_at: accepted.then_some(todo.settled_at).flatten(),
            created_at: todo.created_at,
            updated_at: todo.updated_at,
            completed_at: todo.settled_at,
        }
    }
}
