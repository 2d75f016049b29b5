//! `plan_purge`: delete plans that were archived long ago. It never runs automatically.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::plan::{PurgePlans, PurgedPlan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Lasting;

/// Delete the tasks of plans archived long ago, permanently. The log keeps who did what, and when.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The minimum age, e.g. 12h or 7d.
    pub archived_older_than: Lasting,
    /// Really delete them; without it nothing is deleted, and the error says what would be.
    #[serde(default)]
    pub confirm: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// The deleted plans, in the order they were archived.
    pub plans: Vec<PurgedPlan>,
    /// The number of deleted tasks.
    pub tasks: u64,
}

#[derive(Debug)]
pub struct PlanPurge;

impl Define for PlanPurge {
    const NAME: &'static str = "plan_purge";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Purge]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { command: &["plan", "purge"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"archivedOlderThan":"7d","confirm":true}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let purged = call.purge_plans(PurgePlans {
            older_than: input.archived_older_than.0,
            confirm: input.confirm == Some(true),
        })?;
        let tasks = purged.iter().map(|plan| plan.tasks).sum();
        Ok(Output { plans: purged, tasks })
    }
}
