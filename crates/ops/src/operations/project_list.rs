//! `project_list`: the projects of a store.

use punchlist_core::authority::{Action, Subject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};

/// List the projects of this store.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// The oldest first.
    pub projects: Vec<ProjectRow>,
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
    const EXAMPLE: &'static str = "{}";

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, _: &Input) -> Result<Output, Error> {
        let envelope = call.envelope();
        let reach = &envelope.actor.reach;
        let mut names: Vec<String> =
            call.tx().places()?.into_iter().map(|(name, _)| name).collect();
        names.retain(|name| match reach.is_narrowed() {
            // A narrowed token sees only the caller's project.
            true => *name == envelope.project,
            false => reach.covers_project(name).is_ok(),
        });
        let row = |name: String| ProjectRow { current: name == envelope.project, name };
        Ok(Output { projects: names.into_iter().map(row).collect() })
    }
}
