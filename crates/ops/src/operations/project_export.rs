//! `project_export`: the portable part of a project.
//!
//! This is only its name. Issues, todos and links belong to the operator and are not exported
//! (K-61). Sessions, gates and the log refer to them, so they are not exported either.

use std::borrow::Cow;

use punchlist_core::authority::{Action, Subject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};

/// Show the portable part of this project: no issues, todos or links.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub format: Cow<'static, str>,
    pub version: u32,
    pub project: Portable,
}

/// The project itself.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Portable {
    pub name: String,
}

#[derive(Debug)]
pub struct ProjectExport;

impl Define for ProjectExport {
    const NAME: &'static str = "project_export";
    const ACCESS: Access = Access::On(Subject::Project, Action::Export);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = "{}";

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, _: &Input) -> Result<Output, Error> {
        let project = Portable { name: call.envelope().project.clone() };
        Ok(Output { format: "punchlist-project".into(), version: 1, project })
    }
}
