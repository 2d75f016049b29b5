//! `plan_current`: the current task of a plan.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::plan::{Reason, Tree, position};
use punchlist_core::text::Title;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::task::{TaskView, one};

/// Show the current task of a plan, or why there is none.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The plan's file.
    #[schemars(with = "crate::input::PlanFile")]
    pub plan_file: Title,
    /// Its branch; absent: the caller's, else main.
    #[serde(default)]
    pub branch: Maybe<Title>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// Null: no task is current.
    pub current: Option<TaskView>,
    pub reason: Reason,
}

#[derive(Debug)]
pub struct PlanCurrent;

impl Define for PlanCurrent {
    const NAME: &'static str = "plan_current";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::View]);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { command: &["plan", "current"], positional: &["planFile"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"planFile":"docs/plans/auth.md"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let scope = call.plan_on_branch(&input.plan_file, input.branch.0.as_ref())?;
        call.known_plan(&scope)?;
        let Some(snapshot) = call.standing_plan(&scope)? else {
            return Ok(Output { current: None, reason: Reason::NoTasks });
        };
        let agents = call.known_agents()?;
        let tree = Tree::of(&snapshot);
        let place = position(&tree, call.envelope().now);
        let current = place.current.map(|at| one(&tree, at, &agents));
        Ok(Output { current, reason: place.reason })
    }
}
