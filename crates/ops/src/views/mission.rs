//! A mission in full, and its items, in the terms of the mission design.

use std::collections::BTreeMap;

use punchlist_core::deadline::Deadline;
use punchlist_core::metric::{Collect, Figure, Metric, MetricKind, MetricStatus, Target, Trend};
use punchlist_core::mission::{Cadence, Mission, Pillar, Settings, Standing, Strategy};
use punchlist_core::todo::{Priority, Wish};
use punchlist_core::{ConversationId, MetricId, MissionId, PillarId, Status, Time, Todo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::todo::{ClaimView, HoldView};

/// A mission.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MissionView {
    pub id: MissionId,
    pub slug: String,
    pub name: String,
    pub description: String,
    pub status: Standing,
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub cadence: Option<Cadence>,
    /// Limits and rules for its todos.
    #[schemars(with = "BTreeMap<String, Value>")]
    pub todo: Settings,
    /// The mission's chat.
    pub conversation_id: ConversationId,
    pub pillars: Vec<PillarView>,
    pub last_cycle_at: Option<Time>,
    pub next_cycle_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A pillar of a mission.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PillarView {
    pub id: PillarId,
    pub slug: String,
    pub name: String,
    pub description: String,
    pub status: Standing,
    pub conversation_ids: PillarChats,
    pub metrics: Vec<MetricSetup>,
    pub strategies: Vec<Strategy>,
}

/// The two chats of a pillar.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PillarChats {
    /// For its owner's planning.
    pub pillar: ConversationId,
    /// For work on its todos.
    pub todos: ConversationId,
}

/// The definition of a metric.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricSetup {
    pub id: MetricId,
    pub slug: String,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: MetricKind,
    pub unit: Option<String>,
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    pub target: Option<Target>,
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    pub collect: Option<Collect>,
    pub cron: Option<String>,
}

impl From<&Metric> for MetricSetup {
    fn from(metric: &Metric) -> Self {
        Self {
            id: metric.id,
            slug: metric.slug.clone(),
            name: metric.name.clone(),
            kind: metric.kind,
            unit: metric.unit.clone(),
            target: metric.target,
            collect: metric.collect.clone(),
            cron: metric.cron.clone(),
        }
    }
}

impl From<&Pillar> for PillarView {
    fn from(pillar: &Pillar) -> Self {
        let measured = pillar.metrics.iter().filter(|metric| metric.archived_at.is_none());
        Self {
            id: pillar.id,
            slug: pillar.slug.clone(),
            name: pillar.name.clone(),
            description: pillar.description.clone(),
            status: pillar.status,
            conversation_ids: PillarChats {
                pillar: pillar.conversation_id,
                todos: pillar.todos_conversation_id,
            },
            metrics: measured.map(MetricSetup::from).collect(),
            strategies: pillar.strategies.clone(),
        }
    }
}

impl From<&Mission> for MissionView {
    fn from(mission: &Mission) -> Self {
        Self {
            id: mission.id,
            slug: mission.slug.clone(),
            name: mission.name.clone(),
            description: mission.description.clone(),
            status: mission.status,
            cadence: mission.cadence.clone(),
            todo: mission.todo.clone(),
            conversation_id: mission.conversation_id,
            pillars: mission.pillars.iter().map(PillarView::from).collect(),
            last_cycle_at: mission.last_cycle_at,
            next_cycle_at: mission.next_cycle_at,
            created_at: mission.created_at,
            updated_at: mission.updated_at,
        }
    }
}

/// A metric and its state.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricStanding {
    pub slug: String,
    pub name: String,
    pub unit: Option<String>,
    pub current: Option<Figure>,
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    pub target: Option<Target>,
    pub status: MetricStatus,
    pub trend: Trend,
    /// The newest readings, oldest first.
    pub readings: Vec<Figure>,
    /// The error of the last failed collection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// An item of a mission.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MissionTodoView {
    pub id: String,
    pub mission_id: MissionId,
    pub pillar_id: String,
    pub mission_slug: String,
    pub pillar_slug: String,
    pub title: String,
    pub description: String,
    pub justification: String,
    pub completion_criteria: String,
    pub deadline: Option<Deadline>,
    pub status: Status,
    pub priority: Priority,
    pub assigned_agent: Option<String>,
    /// The outcome of a completed todo.
    pub outcome: Option<String>,
    /// Why it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    pub created_at: Time,
    pub started_at: Option<Time>,
    pub completed_at: Option<Time>,
    pub overdue: bool,
    /// The claim that it is done, which waits for review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defer_until: Option<Time>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_pillars: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Time>,
}

impl MissionTodoView {
    pub fn new(mission: &Mission, pillar: &str, todo: &Todo, now: Time) -> Self {
        let completed = todo.status == Status::Completed;
        let cancelled = todo.status == Status::Cancelled;
        let of = mission.pillar(pillar);
        Self {
            id: todo.id.to_string(),
            mission_id: mission.id,
            pillar_id: of.map(|pillar| pillar.id.to_string()).unwrap_or_default(),
            mission_slug: mission.slug.clone(),
            pillar_slug: pillar.to_owned(),
            title: todo.title.clone(),
            description: todo.description.clone(),
            justification: todo.justification.clone(),
            completion_criteria: todo.completion_criteria.clone(),
            deadline: todo.deadline,
            status: todo.status,
            priority: todo.priority,
            assigned_agent: todo.agent_type.clone(),
            outcome: todo.outcome.clone().filter(|_| completed),
            cancel_reason: todo.outcome.clone().filter(|_| cancelled),
            created_at: todo.created_at,
            started_at: todo.started_at,
            completed_at: todo.settled_at.filter(|_| completed),
            overdue: mission.is_overdue(todo, now),
            claim: todo.claim.as_deref().map(ClaimView::from),
            hold: todo.hold.as_deref().map(HoldView::from),
            defer_until: todo.defer_until,
            related_pillars: todo.related_pillars.clone(),
            archived_at: todo.archived_at,
        }
    }
}

/// A change that an owner recommends; the lead makes it with the usual call.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recommendation {
    pub todo_id: String,
    pub title: String,
    pub pillar_slug: String,
    /// The action of `mission_todo_update`.
    pub action: String,
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Deadline>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    pub by: String,
    pub at: Time,
}

impl Recommendation {
    pub fn new(pillar: &str, todo: &Todo, wish: &Wish) -> Self {
        use punchlist_core::Command as C;
        let (action, reason, deadline, priority) = match &*wish.command {
            C::StartTodo(c) => ("start", c.reason.clone(), None, None),
            C::ReviseTodo(c) if c.priority.is_some() => {
                ("reprioritize", c.reason.clone(), None, c.priority)
            }
            C::ReviseTodo(c) => ("extend", c.reason.clone(), c.deadline, None),
            C::PromoteTodo(c) => ("promote", c.reason.clone(), None, None),
            C::DemoteTodo(c) => ("demote", c.reason.clone(), None, None),
            other => (other.action().name(), None, None, None),
        };
        Self {
            todo_id: todo.id.to_string(),
            title: todo.title.clone(),
            pillar_slug: pillar.to_owned(),
            action: action.to_owned(),
            reason,
            deadline,
            priority,
            by: wish.by.clone(),
            at: wish.at,
        }
    }
}
