//! An item of any list in full, and its holder.

use punchlist_core::deadline::Deadline;
use punchlist_core::evidence::Evidence;
use punchlist_core::select::Idle;
use punchlist_core::todo::{Claim, Hold, HoldKind, Priority};
use punchlist_core::{Lease, ListId, Snapshot, Status, Time, Todo, TodoId, TodoKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;

/// An item in full.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoView {
    pub id: TodoId,
    /// Its number, if its list assigns numbers.
    pub seq: Option<i64>,
    pub list_id: ListId,
    pub parent_id: Option<TodoId>,
    pub kind: TodoKind,
    pub title: String,
    pub description: String,
    /// Why it is worth doing, where its list asks for that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub justification: String,
    pub completion_criteria: String,
    pub status: Status,
    pub priority: Priority,
    pub position: i64,
    pub phase: Option<String>,
    pub deadline: Option<Deadline>,
    pub assignee: Option<String>,
    pub claim: Option<ClaimView>,
    pub hold: Option<HoldView>,
    pub defer_until: Option<Time>,
    pub outcome: Option<String>,
    pub evidence: Vec<Evidence>,
    pub origin_agent: String,
    pub created_at: Time,
    pub updated_at: Time,
    pub started_at: Option<Time>,
    pub settled_at: Option<Time>,
    /// True if an agent accepted its own claim.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub self_accepted: bool,
}

/// A claim that an item is done.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClaimView {
    pub by: String,
    pub at: Time,
    pub outcome: Option<String>,
    pub evidence: Vec<Evidence>,
}

/// Why an open item cannot be worked on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct HoldView {
    pub kind: HoldKind,
    pub reason: String,
    pub at: Time,
    pub by: String,
    /// When the hold ends automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

impl From<&Todo> for TodoView {
    fn from(todo: &Todo) -> Self {
        Self {
            id: todo.id,
            seq: todo.seq,
            list_id: todo.list_id,
            parent_id: todo.parent_id,
            kind: todo.kind,
            title: todo.title.clone(),
            description: todo.description.clone(),
            justification: todo.justification.clone(),
            completion_criteria: todo.completion_criteria.clone(),
            status: todo.status,
            priority: todo.priority,
            position: todo.position,
            phase: todo.phase.clone(),
            deadline: todo.deadline,
            assignee: todo.assignee.as_ref().map(ToString::to_string),
            claim: todo.claim.as_deref().map(ClaimView::from),
            hold: todo.hold.as_deref().map(HoldView::from),
            defer_until: todo.defer_until,
            outcome: todo.outcome.clone(),
            evidence: todo.evidence.clone(),
            origin_agent: todo.origin_agent.to_string(),
            created_at: todo.created_at,
            updated_at: todo.updated_at,
            started_at: todo.started_at,
            settled_at: todo.settled_at,
            self_accepted: todo.is_self_accepted(),
        }
    }
}

impl From<&Claim> for ClaimView {
    fn from(claim: &Claim) -> Self {
        let (by, outcome) = (claim.by.clone(), claim.outcome.clone());
        Self { by, at: claim.at, outcome, evidence: claim.evidence.clone() }
    }
}

impl From<&Hold> for HoldView {
    fn from(hold: &Hold) -> Self {
        let (reason, by) = (hold.reason.clone(), hold.by.clone());
        Self { kind: hold.kind, reason, at: hold.at, by, until: hold.until }
    }
}

/// Who works on an item, until when.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LeaseView {
    pub holder: String,
    pub until: Time,
}

impl LeaseView {
    /// `None` if nobody holds it.
    #[must_use]
    pub fn of(lease: Lease) -> Option<Self> {
        Some(Self { holder: lease.holder?, until: lease.until })
    }
}

/// An answer with one item.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OneTodo {
    pub todo: TodoView,
}

impl OneTodo {
    /// The item in this snapshot.
    pub fn of(snapshot: &Snapshot, id: TodoId) -> Result<Self, Error> {
        todo(snapshot, id).map(|todo| Self { todo })
    }
}

/// An answer with an item that the caller now holds, or nothing to take.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TakenTodo {
    /// Null: there is nothing to take.
    pub todo: Option<TodoView>,
    /// Give it in heartbeats and when you release the item.
    pub epoch: Option<i64>,
    pub lease_until: Option<Time>,
    /// Why there is nothing to take, if the list allows one item in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<WhyNothing>,
}

/// Why there is nothing to take.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhyNothing {
    pub reason: NothingReason,
    /// The item in progress, if another caller holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// The reason that there is nothing to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NothingReason {
    /// Only one item may be in progress, and another caller holds it.
    HeldByAnother,
    /// Every open item is on hold, deferred or claimed.
    NoneReady,
    /// No item is open.
    NoneOpen,
}

impl From<Idle<'_>> for WhyNothing {
    fn from(idle: Idle<'_>) -> Self {
        let none = |reason| Self { reason, title: None, holder: None, until: None };
        match idle {
            Idle::NoneReady => none(NothingReason::NoneReady),
            Idle::NoneOpen => none(NothingReason::NoneOpen),
            Idle::Held(todo, lease) => Self {
                title: Some(todo.title.clone()),
                holder: lease.holder.clone(),
                until: Some(lease.until),
                ..none(NothingReason::HeldByAnother)
            },
        }
    }
}

impl TakenTodo {
    pub const NOTHING: Self = Self { todo: None, epoch: None, lease_until: None, why: None };

    pub fn of(snapshot: &Snapshot, id: TodoId) -> Result<Self, Error> {
        let lease = snapshot.leases.get(&id);
        Ok(Self {
            todo: Some(todo(snapshot, id)?),
            epoch: lease.map(|lease: &Lease| lease.epoch),
            lease_until: lease.map(|lease| lease.until),
            why: None,
        })
    }
}

fn todo(snapshot: &Snapshot, id: TodoId) -> Result<TodoView, Error> {
    snapshot
        .todo(id)
        .map(TodoView::from)
        .ok_or_else(|| Error::Internal { detail: format!("{id} is missing after its command") })
}
