//! `plan_tree`: the tasks of a plan, as a tree.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::text::Title;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::PlanView;

/// Show a plan: its tasks as a tree, with states, agents and the current task.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The plan's file.
    #[schemars(with = "crate::input::PlanFile")]
    pub plan_file: Title,
    /// Its branch; absent: the caller's, else main.
    #[serde(default)]
    pub branch: Maybe<Title>,
    /// Show the plan even if it is archived.
    #[serde(default)]
    pub include_archived: Option<bool>,
}

#[derive(Debug)]
pub struct PlanTree;

impl Define for PlanTree {
    const NAME: &'static str = "plan_tree";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::View]);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { command: &["plan", "tree"], positional: &["planFile"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"planFile":"docs/plans/auth.md"}"#;

    type Input = Input;
    type Output = PlanView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<PlanView, Error> {
        let scope = call.plan_on_branch(&input.plan_file, input.branch.0.as_ref())?;
        call.known_plan(&scope)?;
        match call.whole_plan(&scope, input.include_archived)? {
            Some(snapshot) => PlanView::of(call, &snapshot),
            None => {
                let archived_at = call.find(&scope)?.and_then(|list| list.archived_at);
                Ok(PlanView { archived_at, ..PlanView::nothing() })
            }
        }
    }
}
