//! Delete plans that were archived long ago (Q-O1, Q-O2): only on request, and only if confirmed.
//!
//! It is decided on all plans at once, because the person who confirms must see them all. The rows
//! are deleted; the log keeps who did what and when, and a `list_purged` event as the new start.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::authority::{Action, Verdict, authority};
use crate::event::ListPurged;
use crate::text::counted;
use crate::{By, Decide, Event, List, ListKind, Refusal, Refused, Scope, Span, Time, TodoKind};

/// Remove the tasks of every plan that was archived this long ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgePlans {
    pub older_than: Span,
    pub confirm: bool,
}

/// An archived plan that still has tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedPlan {
    pub list: List,
    pub tasks: u64,
    /// The highest number among them.
    pub last_seq: Option<i64>,
}

/// A plan whose tasks were deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PurgedPlanView")]
pub struct PurgedPlan {
    pub plan_file: String,
    pub branch: String,
    pub archived_at: Time,
    pub tasks: u64,
}

impl fmt::Display for PurgedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan_file, branch, archived_at, tasks } = self;
        let tasks = counted(*tasks, "task", "tasks");
        write!(f, "{plan_file} on {branch} ({tasks}, archived at {archived_at})")
    }
}

/// A list whose items are deleted, its description, and its event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    pub list: List,
    pub plan: PurgedPlan,
    pub event: Event,
}

impl Decide for PurgePlans {
    type On<'a> = &'a [ArchivedPlan];
    type Out = Vec<Purge>;

    fn decide(
        &self,
        archived: Self::On<'_>,
        By { actor, now, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let (role, list, todo_kind) = (actor.role, ListKind::Plan, TodoKind::Step);
        let action = Action::Purge;
        if let Verdict::Deny(denial) = authority(role, list, todo_kind, action, true) {
            return Err(Refusal::NotPermitted { role, action, list, todo_kind, denial }.into());
        }
        let until = self.archived_until(now);
        let going = archived.iter().filter_map(|plan| {
            let archived_at = plan.list.archived_at.filter(|at| *at <= until)?;
            let Scope::Plan { branch, plan_file } = plan.list.scope.clone() else { return None };
            let (tasks, last_seq) = (plan.tasks, plan.last_seq);
            let scope = plan.list.scope.clone();
            let event = ListPurged { scope, todos: tasks, last_seq }.into();
            let list = plan.list.clone();
            Some(Purge { list, plan: PurgedPlan { plan_file, branch, archived_at, tasks }, event })
        });
        let going: Vec<Purge> = going.collect();
        if !self.confirm {
            let tasks = going.iter().map(|purge| purge.plan.tasks).sum();
            let plans = going.into_iter().map(|purge| purge.plan).collect();
            return Err(Refusal::Unconfirmed { plans, tasks }.into());
        }
        Ok(going)
    }
}

impl PurgePlans {
    /// Plans archived after this time are kept.
    #[must_use]
    pub fn archived_until(&self, now: Time) -> Time {
        let seconds = i64::try_from(self.older_than.as_seconds()).unwrap_or(i64::MAX);
        now.plus_seconds(-seconds)
    }
}
