//! `project_list`: the projects of a store.

use punchlist_core::ProjectId;
use punchlist_core::authority::{Action, Subject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Cursor, Limit, page};

/// List the projects of this store.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<ProjectId>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The oldest first.
    pub projects: Vec<ProjectRow>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<ProjectId>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectRow {
    pub name: String,
    /// Is it the caller's?
    pub current: bool,
}

#[derive(Debug)]
pub struct ProjectList;

impl Define for ProjectList {
    const NAME: &'static str = "project_list";
    const ACCESS: Access = Access::On(Subject::Project, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { command: &["project", "list"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"limit":20}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let envelope = call.envelope();
        let reach = &envelope.actor.reach;
        let only = match reach.is_narrowed() {
            // A narrowed token sees only the caller's project.
            true => Some(envelope.project.as_str()),
            false => reach.project.as_deref(),
        };
        let (limit, after) = (input.limit, input.cursor.text());
        let mut found = call.tx().projects_after(only, after.as_deref(), limit.and_one())?;
        let next_cursor = page(&mut found, limit, |(id, _)| *id);
        let row = |(_, name)| ProjectRow { current: name == envelope.project, name };
        Ok(Output { projects: found.into_iter().map(row).collect(), next_cursor })
    }
}
