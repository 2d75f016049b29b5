//! `plan_render`: a plan as text for an agent that starts or resumes.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::plan::{Form, render};
use punchlist_core::text::Title;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, range};

/// Render a plan for an agent that starts or resumes: the current tasks, the whole tree, or one
/// line.
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
    /// What to show; absent: tasks.
    #[serde(default)]
    pub form: Option<Form>,
    /// At most this many characters; absent: no limit.
    #[serde(default, deserialize_with = "range::<50, 1_000_000, _>")]
    #[schemars(range(min = 50, max = 1_000_000))]
    pub budget: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub text: String,
    /// The text again, under the name that related operations use.
    pub markdown: String,
    /// How many tasks the budget left out.
    pub left_out: usize,
}

#[derive(Debug)]
pub struct PlanRender;

impl Define for PlanRender {
    const NAME: &'static str = "plan_render";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::View]);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { command: &["plan", "render"], positional: &["planFile"], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"planFile":"docs/plans/auth.md","form":"tasks","budget":1500}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let scope = call.plan_on_branch(&input.plan_file, input.branch.0.as_ref())?;
        call.known_plan(&scope)?;
        let Some(snapshot) = call.whole_plan(&scope, input.include_archived)? else {
            let (text, markdown) = (String::new(), String::new());
            return Ok(Output { text, markdown, left_out: 0 });
        };
        let agents = call.known_agents()?;
        let budget = input.budget.and_then(|budget| usize::try_from(budget).ok());
        let rendered =
            render(&snapshot, &agents, input.form.unwrap_or_default(), budget, call.envelope().now);
        let (text, markdown) = (rendered.text.clone(), rendered.text);
        Ok(Output { text, markdown, left_out: rendered.left_out })
    }
}
