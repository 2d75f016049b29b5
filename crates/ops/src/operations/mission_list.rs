//! `mission_list`: the missions of a project.

use punchlist_core::ListKind;
use punchlist_core::ProjectId;
use punchlist_core::Time;
use punchlist_core::authority::Action;
use punchlist_core::mission::Standing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::{Call, Counts};
use crate::catalogue::{Define, Effect, Surfaces};

/// List the missions of this project.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub missions: Vec<Row>,
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
    const EXAMPLE: &'static str = "{}";

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, _: &Input) -> Result<Output, Error> {
        let Some(project) = call.project()? else { return Ok(Output { missions: Vec::new() }) };
        Ok(Output { missions: missions(call, project)? })
    }
}

/// The missions of a project that the caller sees.
pub(crate) fn missions(call: &mut Call<'_, '_>, project: ProjectId) -> Result<Vec<Row>, Error> {
    let mut missions = Vec::new();
    for mission in call.tx().missions(project)? {
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
