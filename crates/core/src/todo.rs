//! The todo of all lists: its status, and the facts besides the status.
//!
//! A claim, a hold and a deferral are facts, not statuses. Whether an item is actionable is derived
//! from them and never stored.

mod claim;

pub use claim::Claim;

use std::fmt;

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::authority::Action;
use crate::command::Command;
use crate::deadline::Deadline;
use crate::evidence::Evidence;
use crate::mission::cadence::time_zone;
use crate::named::named;
use crate::{AgentPath, ListId, Role, Time, TodoId};

named! {
    /// The status of an item. The table in `transition` defines the moves.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum Status {
        Backlog = "backlog",
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
        Cancelled = "cancelled",
    }
}

impl Status {
    /// Completed and cancelled are final.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled)
    }

    /// Pending and in progress: the work left to do.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

named! {
    /// The two kinds of issue todo; every other list holds steps.
    #[derive(
        Clone,
        Copy,
        Debug,
        Default,
        PartialEq,
        Eq,
        PartialOrd,
        Ord,
        Hash,
        Serialize,
        Deserialize,
        JsonSchema,
    )]
    pub enum TodoKind {
        /// A piece of the working plan.
        #[default]
        Step = "step",
        /// A part of the definition of done, which belongs to the operator.
        Criterion = "criterion",
    }
}

named! {
    /// A named priority. The list's policy decides whether it has an effect.
    #[derive(
        Clone,
        Copy,
        Debug,
        Default,
        PartialEq,
        Eq,
        PartialOrd,
        Ord,
        Hash,
        Serialize,
        Deserialize,
        JsonSchema,
    )]
    pub enum Priority {
        Critical = "critical",
        High = "high",
        #[default]
        Medium = "medium",
        Low = "low",
    }
}

named! {
    /// The kind of hold. Agents are not reminded of held items.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum HoldKind {
        Blocked = "blocked",
        Failed = "failed",
        AwaitingApproval = "awaiting_approval",
    }
}

/// A hold: open, but not actionable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    pub kind: HoldKind,
    pub reason: String,
    pub at: Time,
    pub by: String,
    /// The item that it conflicts with, if that is the reason: such a hold is set and lifted
    /// automatically (Q-S3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflicts_with: Option<TodoId>,
    /// When the hold ends by itself; `None` if somebody must lift it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

impl Hold {
    /// Is its time over?
    #[must_use]
    pub fn is_over(&self, now: Time) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

impl Todo {
    /// Did an agent accept what it had claimed itself?
    #[must_use]
    pub fn is_self_accepted(&self) -> bool {
        let (Some(by), Some(claim)) = (&self.settled_by, &self.claim) else { return false };
        let is_own = by.principal == claim.by || claim.accepted_by_maker;
        self.status == Status::Completed && by.role.is_agent() && is_own
    }
}

/// Who settled an item, so that a model that cancels its own plan stays visible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettledBy {
    pub principal: String,
    pub role: Role,
}

/// A recommended change by an actor that may not make it, with the command that would make it
/// (D-2). It is removed when the change is made or the item is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wish {
    pub by: String,
    pub at: Time,
    pub action: Action,
    pub command: Box<Command>,
}

impl Wish {
    /// Does it repeat an older recommendation of the same actor, so that it replaces that one?
    #[must_use]
    pub fn repeats(&self, old: &Self) -> bool {
        let about = |wish: &Self| match &*wish.command {
            Command::ReviseTodo(c) => (c.deadline.is_some(), c.priority.is_some()),
            _ => (false, false),
        };
        (self.action, &self.by, about(self)) == (old.action, &old.by, about(old))
    }

    /// Does the item now have the recommended deadline or priority, or another one than before?
    #[must_use]
    pub fn is_met(&self, before: &Todo, after: &Todo) -> bool {
        let Command::ReviseTodo(wanted) = &*self.command else { return false };
        let deadline = wanted.deadline.is_none_or(|deadline| {
            after.deadline == Some(deadline) || after.deadline != before.deadline
        });
        let priority = wanted
            .priority
            .is_none_or(|priority| after.priority == priority || after.priority != before.priority);
        deadline && priority
    }
}

/// A note on an item; notes are only ever added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    pub todo_id: TodoId,
    pub author: String,
    pub text: String,
    pub at: Time,
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    pub id: TodoId,
    pub list_id: ListId,
    /// The store-wide number, if the list's policy gives one.
    pub seq: Option<i64>,
    pub parent_id: Option<TodoId>,
    pub kind: TodoKind,
    pub title: String,
    /// Background for the agent that works on it: the turn list's `context`, the mission's
    /// `description`.
    pub description: String,
    pub justification: String,
    pub completion_criteria: String,
    /// The specialist this is meant for; `None` means the owner of the list (T-6).
    pub agent_type: Option<String>,
    pub status: Status,
    pub priority: Priority,
    /// Order inside the list (or its phase, or its parent): lower comes first.
    pub position: i64,
    pub phase: Option<String>,
    pub deadline: Option<Deadline>,
    /// The agent that added the item.
    pub origin_agent: AgentPath,
    /// The model's own id, if the list is addressed by ids. For a task of a plan: its text in the
    /// file.
    pub external_id: Option<String>,
    pub assignee: Option<AgentPath>,
    /// Was the assignment made by taking the item? Then it ends with the lease; one that somebody
    /// made for the agent does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assigned_by_taking: bool,
    pub claim: Option<Box<Claim>>,
    pub hold: Option<Box<Hold>>,
    pub defer_until: Option<Time>,
    pub outcome: Option<String>,
    pub evidence: Vec<Evidence>,
    pub settled_by: Option<SettledBy>,
    pub ratified_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
    pub started_at: Option<Time>,
    pub settled_at: Option<Time>,
    /// When it left the view, removed by the operator (D-25) or replaced by another item; the row
    /// stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<Time>,
    /// Other pillars it concerns; it belongs to one (Q-M3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_pillars: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wishes: Vec<Wish>,
    /// The deadline that a person was asked about already. Each deadline is asked about once
    /// (M-79).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overdue_notified_for: Option<Deadline>,
    /// The tasks of the same plan that must be settled first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<TodoId>,
    /// When it left the usual lists (Q-M2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Time>,
}

/// A short summary of an item (M-81).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Its status, then other marks.
    pub badges: Vec<String>,
    /// Days until its deadline; negative if it has passed. `None` if it has no deadline, or is
    /// settled.
    pub days_left: Option<i64>,
}

impl Todo {
    /// Its short summary, in a time zone.
    #[must_use]
    pub fn standing(&self, zone: &str, now: Time) -> Glance {
        let zone = time_zone(zone).unwrap_or(TimeZone::UTC);
        let mut badges = vec![self.status.name().to_owned()];
        let open = !self.status.is_settled();
        if self.is_overdue(&zone, now) {
            badges.push("overdue".to_owned());
        }
        if open && self.claim.is_some() {
            badges.push("claimed".to_owned());
        }
        if let Some(hold) = &self.hold {
            badges.push(hold.kind.name().to_owned());
        }
        if open && self.defer_until.is_some_and(|until| until > now) {
            badges.push("resting".to_owned());
        }
        let days_left = self.deadline.filter(|_| open).map(|deadline| {
            let left = deadline.ends_at(&zone).micros() - now.micros();
            left.div_euclid(86_400_000_000)
        });
        Glance { badges, days_left }
    }

    /// Should it have been done by now? Only active items can be late, and a deferred item is not
    /// late before its date (M-73, M-78, P-27).
    #[must_use]
    pub fn is_overdue(&self, zone: &TimeZone, now: Time) -> bool {
        self.status.is_active()
            && self.deadline.is_some_and(|deadline| deadline.ends_at(zone) <= now)
            && self.defer_until.is_none_or(|until| until <= now)
    }

    /// Has it been in the backlog for more than this many days? A deferred item is not stale before
    /// its date (Q-M5, P-27).
    #[must_use]
    pub fn is_stale(&self, days: u32, now: Time) -> bool {
        self.status == Status::Backlog
            && self.created_at.plus_days(days) < now
            && self.defer_until.is_none_or(|until| until <= now)
    }

    /// The id that callers use for it: the model's own, else ours.
    #[must_use]
    pub fn called(&self) -> String {
        self.external_id.clone().unwrap_or_else(|| self.id.to_string())
    }

    /// Lifts a hold whose time is over. No event is needed for that.
    pub fn lift_hold(&mut self, now: Time) {
        if self.hold.as_ref().is_some_and(|hold| hold.is_over(now)) {
            self.hold = None;
        }
    }

    /// Does it wait for its reviewer by itself? Criteria are judged together, at sign-off. The
    /// store repeats this in SQL.
    #[must_use]
    pub fn is_in_review(&self) -> bool {
        self.claim.is_some() && self.kind != TodoKind::Criterion && self.status.is_active()
    }

    /// Can somebody work on this now? Counts, selection, the driver and reminders all use this.
    ///
    /// A claimed item waits for its reviewer, a held one for a reason, a deferred one for a date.
    #[must_use]
    pub fn is_actionable(&self, now: Time) -> bool {
        self.status.is_active()
            && self.claim.is_none()
            && self.hold.as_ref().is_none_or(|hold| hold.is_over(now))
            && self.defer_until.is_none_or(|until| until <= now)
            && !self.title.trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parsing_agree() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.name()), Some(status));
        }
        for priority in Priority::ALL {
            assert_eq!(Priority::parse(priority.name()), Some(priority));
        }
        for kind in TodoKind::ALL {
            assert_eq!(TodoKind::parse(kind.name()), Some(kind));
        }
        for kind in HoldKind::ALL {
            assert_eq!(HoldKind::parse(kind.name()), Some(kind));
        }
        assert_eq!(Status::parse("blocked"), None);
    }
}
