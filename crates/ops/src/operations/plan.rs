//! `plan`: the current plan, one tool with an action; each action calls the operation with that
//! name.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::plan::Form;
use punchlist_core::text::{Body, Content, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    plan_current, plan_import, plan_render, plan_tree, task_add, task_assign, task_complete,
};
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::explain::Fault;
use crate::input::{Agent, Maybe, Reference};
use crate::plan_file::Markdown;
use crate::views::{PlanView, TaskView};
use crate::{Envelope, Error};

/// Work on a plan: a tree of tasks from a file. An agent completes and splits its own task; the
/// orchestrator imports, assigns and adds.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// What to do.
    pub action: PlanAction,
    /// import, tree, current, render: the plan's file.
    #[serde(default)]
    #[schemars(with = "Maybe<crate::input::PlanFile>")]
    pub plan_file: Maybe<Title>,
    /// Its branch; absent: the caller's.
    #[serde(default)]
    pub branch: Maybe<Title>,
    /// import: its text; absent: read from the file.
    #[serde(default)]
    pub markdown: Markdown,
    /// assign, complete: the task; add: the parent task.
    #[serde(default, deserialize_with = "crate::input::maybe_named")]
    #[schemars(with = "Maybe<crate::input::Reference>")]
    pub task_id: Maybe<Title>,
    /// assign: the agent.
    #[serde(default)]
    pub agent: Maybe<Agent>,
    /// add: what to do.
    #[serde(default)]
    pub content: Maybe<Content>,
    /// complete: what was done.
    #[serde(default)]
    pub outcome: Maybe<Body>,
    /// render; absent: tasks.
    #[serde(default)]
    pub form: Option<Form>,
}

/// What to do with a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanAction {
    Import,
    Tree,
    Current,
    Assign,
    Complete,
    Add,
    Render,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub tasks: Vec<TaskView>,
    /// The current task.
    pub current: Option<TaskView>,
    /// The plan as text.
    pub markdown: String,
}

impl From<PlanView> for Output {
    fn from(plan: PlanView) -> Self {
        Self { tasks: plan.tasks, current: plan.current, markdown: plan.markdown }
    }
}

#[derive(Debug)]
pub struct PlanTool;

impl Define for PlanTool {
    const NAME: &'static str = "plan";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::View]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { profiles: &[Profile::Plan], ..Surfaces::CALL };
    const EXAMPLE: &'static str = concat!(
        r#"{"action":"import","planFile":"docs/plans/auth.md","#,
        r##""markdown":"# Auth\n- [ ] Add it\n"}"##
    );

    type Input = Input;
    type Output = Output;

    /// Only the action `import` has a text, which may come from a file of the caller.
    fn check(envelope: &Envelope, input: &Input) -> Result<(), Error> {
        match (input.action, &input.plan_file.0) {
            (PlanAction::Import, Some(plan_file)) => {
                may_import(envelope)?;
                input.markdown.plan(envelope, plan_file).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let missing = |path: &str| Error::from(Fault::MissingField { path: path.to_owned() });
        let plan_file = || input.plan_file.0.clone().ok_or_else(|| missing("planFile"));
        let branch = input.branch.clone();
        let task = || {
            let task = input.task_id.0.as_ref().ok_or_else(|| missing("taskId"))?;
            Ok::<_, Error>(Reference::from(task.as_str()))
        };
        match input.action {
            PlanAction::Import => {
                may_import(call.envelope())?;
                let markdown = input.markdown.clone();
                let wanted = plan_import::Input { plan_file: plan_file()?, markdown, branch };
                plan_import::PlanImport::run(call, &wanted)?;
                tree(call, &wanted.plan_file, wanted.branch)
            }
            PlanAction::Tree => tree(call, &plan_file()?, branch),
            PlanAction::Current => {
                let wanted = plan_current::Input { plan_file: plan_file()?, branch };
                let place = plan_current::PlanCurrent::run(call, &wanted)?;
                Ok(Output { current: place.current, ..Output::default() })
            }
            PlanAction::Render => {
                let (plan_file, form) = (plan_file()?, input.form);
                let (include_archived, budget) = (None, None);
                let wanted =
                    plan_render::Input { plan_file, branch, include_archived, form, budget };
                let rendered = plan_render::PlanRender::run(call, &wanted)?;
                Ok(Output { markdown: rendered.text, ..Output::default() })
            }
            PlanAction::Assign => {
                let agent = input.agent.0.clone().ok_or_else(|| missing("agent"))?;
                let wanted = task_assign::Input { task_id: task()?, agent };
                task_assign::TaskAssign::run(call, &wanted).map(Output::from)
            }
            PlanAction::Complete => {
                let (outcome, epoch) = (input.outcome.clone(), None);
                let wanted =
                    task_complete::Input { task_id: task()?, outcome, epoch, with_children: None };
                task_complete::TaskComplete::run(call, &wanted).map(Output::from)
            }
            PlanAction::Add => {
                let content = input.content.0.clone().ok_or_else(|| missing("content"))?;
                let wanted = task_add::Input { parent_id: task()?, content };
                task_add::TaskAdd::run(call, &wanted).map(Output::from)
            }
        }
    }
}

fn may_import(envelope: &Envelope) -> Result<(), Error> {
    plan_import::PlanImport::ACCESS.check(envelope.actor.role, plan_import::PlanImport::NAME)
}

fn tree(call: &mut Call<'_, '_>, plan_file: &Title, branch: Maybe<Title>) -> Result<Output, Error> {
    let (plan_file, include_archived) = (plan_file.clone(), None);
    let wanted = plan_tree::Input { plan_file, branch, include_archived };
    plan_tree::PlanTree::run(call, &wanted).map(Output::from)
}
