//! `plan_sync`: which boxes of a plan's file to tick. The caller, which has the file, writes it.

use punchlist_core::authority::Action;
use punchlist_core::plan::{PlanFault, Tick, Ticks, parse, to_sync};
use punchlist_core::text::Title;
use punchlist_core::{ListKind, Refusal};
use punchlist_store::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;

/// Find the boxes of a plan's file whose tasks are completed and not ticked yet. `punch plan sync`
/// also ticks them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The plan's file.
    #[schemars(with = "crate::input::PlanFile")]
    pub plan_file: Title,
    /// Its branch; absent: the caller's, else main.
    #[serde(default)]
    pub branch: Maybe<Title>,
    /// The current text of the file.
    pub markdown: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub plan_file: String,
    /// The lines to change; only the box of each is different.
    pub edits: Vec<Edit>,
    /// The lines of completed tasks that have no box.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub without_box: Vec<usize>,
}

/// A line to change.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    /// Its number, from 1.
    pub line: usize,
    pub before: String,
    pub after: String,
}

#[derive(Debug)]
pub struct PlanSync;

impl Define for PlanSync {
    const NAME: &'static str = "plan_sync";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::View]);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = concat!(
        r#"{"planFile":"docs/plans/auth.md","#,
        r##""markdown":"# Auth\n- [ ] Add the model\n- [ ] Add the page\n"}"##
    );

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let scope = call.plan_on_branch(&input.plan_file, input.branch.0.as_ref())?;
        call.known_plan(&scope)?;
        let (branch, plan_file) = scope.keys();
        let (branch, plan_file) = (branch.to_owned(), plan_file.to_owned());
        let Some(snapshot) = call.look(&scope, Load::All)? else {
            return Err(Refusal::UnknownPlan { plan_file, branch }.into());
        };
        let stem = std::path::Path::new(&plan_file).file_stem();
        let stem = stem.map(|stem| stem.to_string_lossy()).unwrap_or_default();
        let bad = |fault: PlanFault| Error::from(Refusal::BadPlan { fault: fault.to_string() });
        let plan = parse(&input.markdown, &stem).map_err(bad)?;
        let Ticks { ticks, without_box } = to_sync(&input.markdown, &plan.root, &snapshot)?;
        let edit = |Tick { line, before, after }| Edit { line, before, after };
        Ok(Output { plan_file, edits: ticks.into_iter().map(edit).collect(), without_box })
    }
}
