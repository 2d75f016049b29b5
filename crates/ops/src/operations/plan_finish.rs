//! `plan_finish`: finish a plan.

use punchlist_core::authority::Action;
use punchlist_core::text::Title;
use punchlist_core::{ArchiveReason, ListKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::PlanArchived;

/// Finish a plan whose branch was merged: archive it. Refused while tasks are open, unless
/// confirmed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The plan's file.
    #[schemars(with = "crate::input::PlanFile")]
    pub plan_file: Title,
    /// Its branch; absent: the caller's, else main.
    #[serde(default)]
    pub branch: Maybe<Title>,
    /// Finish it even if tasks are open; they stay as they are.
    #[serde(default)]
    pub confirm: Option<bool>,
}

#[derive(Debug)]
pub struct PlanFinish;

impl Define for PlanFinish {
    const NAME: &'static str = "plan_finish";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Archive]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["plan", "finish"], positional: &["planFile"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"planFile":"docs/plans/auth.md","confirm":true}"#;

    type Input = Input;
    type Output = PlanArchived;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<PlanArchived, Error> {
        let scope = call.plan_on_branch(&input.plan_file, input.branch.0.as_ref())?;
        call.archive_plan(&scope, ArchiveReason::Finished, input.confirm)
    }
}
