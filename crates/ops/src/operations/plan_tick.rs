//! `plan_tick`: find the backlog line that a plan came from, and record that it was ticked. The
//! caller, which has the file, sets the mark.

use punchlist_core::ListKind;
use punchlist_core::Refusal;
use punchlist_core::authority::Action;
use punchlist_core::event::TodoLineTicked;
use punchlist_core::plan::{Origin, TODO_FILE, to_tick};
use punchlist_core::text::Title;
use punchlist_store::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;

/// Find the line of TODO.md that a plan came from, to tick only that line. `punch plan tick` also
/// ticks it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The plan's file.
    #[schemars(with = "crate::input::PlanFile")]
    pub plan_file: Title,
    /// Its branch; absent: the caller's, else main.
    #[serde(default)]
    pub branch: Maybe<Title>,
    /// The current text of the file the plan came from.
    pub markdown: String,
    /// That file's name; absent: TODO.md.
    #[serde(default)]
    pub file: Maybe<Title>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub plan_file: String,
    pub file: String,
    /// The number of the line to tick.
    pub line_number: usize,
    /// The line before ticking.
    pub line: String,
}

#[derive(Debug)]
pub struct PlanTick;

impl Define for PlanTick {
    const NAME: &'static str = "plan_tick";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Tick]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = concat!(
        r#"{"planFile":"docs/plans/add-authentication.md","#,
        r##""markdown":"# Next\n- [ ] Add authentication\n"}"##
    );

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let scope = call.plan_on_branch(&input.plan_file, input.branch.0.as_ref())?;
        let snapshot = call.lock(&scope, Load::All)?;
        let plan_file = input.plan_file.as_str().to_owned();
        let found = snapshot.as_ref().and_then(|snapshot| {
            let origin = snapshot.todos.values().find_map(Origin::of);
            origin.map(|origin| (snapshot.list.id.to_string(), origin))
        });
        let Some((list, origin)) = found else {
            return Err(Refusal::NoTodoLine { plan_file }.into());
        };
        let file = input.file.0.as_ref().map_or(TODO_FILE, Title::as_str);
        let line_number = to_tick(&input.markdown, file, &origin)?;
        let Origin { file, line } = origin;
        let ticked =
            TodoLineTicked { plan_file: plan_file.clone(), file: file.clone(), line: line.clone() };
        call.log(&list, ticked)?;
        Ok(Output { plan_file, file, line_number, line })
    }
}
