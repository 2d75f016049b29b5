//! `plan_list`: the plans of a project, and how far each is.

use punchlist_core::authority::Action;
use punchlist_core::{List, ListId, ListKind, ProjectId, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Cursor, Limit, page};

/// List the plans of this project with their progress.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Also list archived plans.
    #[serde(default)]
    pub include_archived: Option<bool>,
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<ListId>,
}

impl Input {
    /// As many as one page may have, without archived ones.
    pub const MOST: Self =
        Self { include_archived: None, limit: Limit::MAX, cursor: Cursor::FIRST };
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// By file and branch.
    pub plans: Vec<PlanRow>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<ListId>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanRow {
    pub id: String,
    pub plan_file: String,
    pub branch: String,
    /// Tasks that are neither completed nor cancelled. Here and below only tasks without subtasks
    /// count.
    pub open: u64,
    pub completed: u64,
    pub cancelled: u64,
    pub created_at: Time,
    pub archived_at: Option<Time>,
}

impl PlanRow {
    fn of(call: &mut Call<'_, '_>, list: &List) -> Result<Self, Error> {
        let tally = call.tx().tally_of_leaves(list.id)?;
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
        let Some(project) = call.project()? else {
            return Ok(Output { plans: Vec::new(), next_cursor: None });
        };
        let after = match input.cursor.0 {
            None => None,
            Some(id) => match call.tx().list_by_id(id)? {
                Some(last) => Some(last.scope),
                // It was purged since; nothing says where it was.
                None => return Ok(Output { plans: Vec::new(), next_cursor: None }),
            },
        };
        let with_archived = input.include_archived == Some(true);
        let limit = input.limit;
        let mut lists = call.tx().plans(project, with_archived, after.as_ref(), limit.and_one())?;
        let next_cursor = page(&mut lists, limit, |last| last.id);
        Ok(Output { plans: reached(call, lists)?, next_cursor })
    }
}

/// The first plans of a project that the caller's token reaches.
pub(crate) fn plans(
    call: &mut Call<'_, '_>,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<PlanRow>, Error> {
    let lists = call.tx().plans(project, false, None, limit)?;
    reached(call, lists)
}

/// Those that the caller's token reaches.
fn reached(call: &mut Call<'_, '_>, lists: Vec<List>) -> Result<Vec<PlanRow>, Error> {
    let mut plans = Vec::new();
    for list in lists {
        if call.reach_scope(&list.scope).is_ok() {
            plans.push(PlanRow::of(call, &list)?);
        }
    }
    Ok(plans)
}
