//! `project_merge`: join two projects that are one.

use punchlist_core::Refusal;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::project::{MergeCounts, MergeProjects, NewNumber};
use punchlist_core::text::Title;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::{Envelope, Error};

/// Merge a project into another one: all its work moves there, and its issues get new numbers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The project that is merged, e.g. clients.api. Its repository belongs to the other from then
    /// on, and its name is not used again.
    pub from: Title,
    /// The project that it is merged into; its own issues keep their numbers.
    pub into: Title,
    /// Really merge them; without it nothing is changed, and the error says what would be moved.
    #[serde(default)]
    pub confirm: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub from: String,
    pub into: String,
    /// The old and the new number of every issue that was moved, in the order of the old ones.
    pub issues: Vec<NewNumber>,
    /// What was moved besides issues.
    pub counts: MergeCounts,
}

#[derive(Debug)]
pub struct ProjectMerge;

impl Define for ProjectMerge {
    const NAME: &'static str = "project_merge";
    const ACCESS: Access = Access::On(Subject::Project, Action::Merge);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["project", "merge"],
        positional: &["from", "into"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"from":"clients.api","into":"test","confirm":true}"#;

    type Input = Input;
    type Output = Output;

    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        if input.from == input.into {
            let name = || input.from.as_str().to_owned();
            let (from, into) = (name(), name());
            return Err(Refusal::MergeConflict { from, into, conflicts: Vec::new() }.into());
        }
        Ok(())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let command = MergeProjects { confirm: input.confirm == Some(true) };
        let names = (input.from.as_str(), input.into.as_str());
        let (merged, counts) = call.merge_projects(names, command)?;
        let issues = merged.issues.iter().map(NewNumber::from).collect();
        Ok(Output { from: merged.from, into: merged.into, issues, counts })
    }
}
