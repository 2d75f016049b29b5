//! `plan_list`: the plans of a project, and how far each is.

use punchlist_core::authority::Action;
use punchlist_core::{List, ListKind, ProjectId, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};

/// How many plans are shown.
const PLANS_MAX: i64 = 200;

/// List the plans of this project with their progress.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Also list archived plans.
    #[serde(default)]
    pub include_archived: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// By file and branch.
    pub plans: Vec<PlanRow>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanRow {
    pub id: String,
    pub plan_file: String,
    pub branch: String,
    /// Tasks that are neither completed nor cancelled.
    pub open: u64,
    pub completed: u64,
    pub cancelled: u64,
    pub created_at: Time,
    pub archived_at: Option<Time>,
}

impl PlanRow {
    fn of(call: &mut Call<'_, '_>, list: &List) -> Result<Self, Error> {
        let (tally, _) = call.tx().tally(list.id)?;
        let (branch, plan_file) = list.scope.keys();
        Ok(Self {
            id: list.id.to_string(),
            plan_file: plan_file.to_owned(),
            branch: branch.to_owned(),
            open: tally.backlog + tally.active(),
            completed: tally.completed,
            cancelled: tally.cancelled,
            created_at: list.created_at,
            archived_at: list.archived_at,
        })
    }
}

#[derive(Debug)]
pub struct PlanList;

impl Define for PlanList {
    const NAME: &'static str = "plan_list";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::View]);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["plan", "list"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = "{}";

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let Some(project) = call.project()? else { return Ok(Output { plans: Vec::new() }) };
        let with_archived = input.include_archived == Some(true);
        Ok(Output { plans: plans(call, project, with_archived, PLANS_MAX)? })
    }
}

/// The plans of a project that the caller's token reaches.
pub(crate) fn plans(
    call: &mut Call<'_, '_>,
    project: ProjectId,
    with_archived: bool,
    limit: i64,
) -> Result<Vec<PlanRow>, Error> {
    let mut plans = Vec::new();
    for list in call.tx().plans(project, with_archived, limit)? {
        if call.reach_scope(&list.scope).is_ok() {
            plans.push(PlanRow::of(call, &list)?);
        }
    }
    Ok(plans)
}
