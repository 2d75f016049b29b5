//! A plan as callers see it when it is archived.

use punchlist_core::{Snapshot, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An archived plan.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanArchived {
    pub plan_file: String,
    pub branch: String,
    pub archived_at: Option<Time>,
    /// The number of open tasks.
    pub open: u64,
    /// The number of settled tasks.
    pub settled: u64,
}

impl PlanArchived {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let (branch, plan_file) = snapshot.list.scope.keys();
        let tally = snapshot.tally;
        Self {
            plan_file: plan_file.to_owned(),
            branch: branch.to_owned(),
            archived_at: snapshot.list.archived_at,
            open: tally.backlog + tally.active(),
            settled: tally.completed + tally.cancelled,
        }
    }
}
