//! `mission_list`: the missions of a project.

use punchlist_core::ListKind;
use punchlist_core::ProjectId;
use punchlist_core::Time;
use punchlist_core::authority::Action;
use punchlist_core::mission::{Mission, Standing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::{Call, Counts};
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{AFTER, Cursor, Limit, Slug, page};

/// List the missions of this project.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<Slug>,
}

impl Input {
    /// As many as one page may have.
    pub const MOST: Self = Self { limit: Limit::MAX, cursor: Cursor::FIRST };
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// By slug.
    pub missions: Vec<Row>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A mission at a glance.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub id: String,
    pub slug: String,
    pub name: String,
    pub status: Standing,
    pub counts: Counts,
    pub next_cycle_at: Option<Time>,
}

#[derive(Debug)]
pub struct MissionList;

impl Define for MissionList {
    const NAME: &'static str = "mission_list";
    const ACCESS: Access = Access::List(ListKind::Pillar, &[Action::View]);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["mission", "list"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"limit":20}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let Some(project) = call.project()? else {
            return Ok(Output { missions: Vec::new(), next_cursor: None });
        };
        let (limit, after) = (input.limit, input.cursor.text());
        let mut found = call.tx().missions_after(project, after.as_deref(), limit.and_one())?;
        let next_cursor = page(&mut found, limit, |last| format!("{AFTER}{}", last.slug));
        Ok(Output { missions: seen(call, project, found)?, next_cursor })
    }
}

/// The missions of a project that the caller sees.
pub(crate) fn missions(call: &mut Call<'_, '_>, project: ProjectId) -> Result<Vec<Row>, Error> {
    let all = call.tx().missions(project)?;
    seen(call, project, all)
}

/// Those that the caller sees.
fn seen(call: &mut Call<'_, '_>, project: ProjectId, all: Vec<Mission>) -> Result<Vec<Row>, Error> {
    let mut missions = Vec::new();
    for mission in all {
        if call.reach_part_of_mission(&mission.slug).is_err()
            || call.sees_mission(&mission).is_err()
        {
            continue;
        }
        let tally = call.tx().open_tally(project, &mission.slug, None)?;
        missions.push(Row {
            id: mission.id.to_string(),
            counts: Counts::new(&mission, &tally),
            slug: mission.slug,
            name: mission.name,
            status: mission.status,
            next_cycle_at: mission.next_cycle_at,
        });
    }
    Ok(missions)
}
