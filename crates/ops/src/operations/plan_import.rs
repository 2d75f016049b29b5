//! `plan_import`: create a tree of tasks from a plan file, or update the tree to match it.

use punchlist_core::Event;
use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::ImportPlan;
use punchlist_core::plan::Changes;
use punchlist_core::text::Title;
use punchlist_store::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::plan_file::Markdown;
use crate::views::{PlanView, TaskView};
use crate::{Envelope, Error};

/// Import a plan file: new tasks are added, moved ones moved, missing ones archived. Importing an
/// unchanged file changes nothing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The plan's file, relative to the project's folder.
    #[schemars(with = "crate::input::PlanFile")]
    pub plan_file: Title,
    /// Its text, at most 4 MiB and 100,000 lines; absent: read from the file.
    #[serde(default)]
    pub markdown: Markdown,
    /// Its branch; absent: the caller's, else main.
    #[serde(default)]
    pub branch: Maybe<Title>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub tasks: Vec<TaskView>,
    /// The current task.
    pub current: Option<TaskView>,
    pub changes: ChangesView,
    /// It was archived and is active again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unarchived: bool,
}

/// The changes of an import, in tasks.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChangesView {
    pub added: usize,
    pub moved: usize,
    pub archived: usize,
    pub unchanged: usize,
}

#[derive(Debug)]
pub struct PlanImport;

impl Define for PlanImport {
    const NAME: &'static str = "plan_import";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Import]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["plan", "import"], positional: &["planFile"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = concat!(
        r#"{"planFile":"docs/plans/auth.md","#,
        r##""markdown":"# Auth\n- [ ] Add the model\n- [ ] Add the page\n"}"##
    );

    type Input = Input;
    type Output = Output;

    /// The text may come from a file of the caller, which the envelope names.
    fn check(envelope: &Envelope, input: &Input) -> Result<(), Error> {
        input.markdown.plan(envelope, &input.plan_file).map(|_| ())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let plan = input.markdown.plan(call.envelope(), &input.plan_file)?;
        let scope = call.plan_on_branch(&input.plan_file, input.branch.0.as_ref())?;
        let mut snapshot = call.open(scope, Load::All)?;
        let next_seq = call.tx().last_seq()? + 1;
        let root = plan.root.clone();
        let decision = call.decide(&mut snapshot, ImportPlan { root, next_seq })?;
        let Changes { added, moved, archived, unchanged } =
            Changes::of(&plan.root, &decision.events);
        let unarchived = decision.events.iter().any(|e| matches!(e, Event::ListUnarchived(_)));
        let PlanView { tasks, current, .. } = PlanView::of(call, &snapshot)?;
        let changes = ChangesView { added, moved, archived, unchanged };
        Ok(Output { tasks, current, changes, unarchived })
    }
}
