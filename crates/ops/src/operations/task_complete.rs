//! `task_complete`: say that a task is done.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::{CompleteTodo, HeartbeatTodo};
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;
use crate::views::PlanView;

/// Complete a task: its agent may, and whoever keeps the plan. Nothing above it is completed by that.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number.
    pub task_id: String,
    /// What was done.
    #[serde(default)]
    pub outcome: Maybe<Body>,
    /// The lease it was taken with: a stale one is refused.
    #[serde(default)]
    pub epoch: Option<i64>,
}

#[derive(Debug)]
pub struct TaskComplete;

impl Define for TaskComplete {
    const NAME: &'static str = "task_complete";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Complete]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["plan", "complete"],
        positional: &["taskId", "outcome"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"taskId":"12","outcome":"Merged"}"#;

    type Input = Input;
    type Output = PlanView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<PlanView, Error> {
        let (mut snapshot, todo_id) = call.todo(&input.task_id)?;
        if let Some(epoch) = input.epoch {
            let clock = call.tx().clock()?;
            call.decide(&mut snapshot, HeartbeatTodo { todo_id, epoch, clock })?;
        }
        let outcome = input.outcome.0.clone().map(Body::into_string);
        let (evidence, metrics_impacted) = (Vec::new(), Vec::new());
        let command = CompleteTodo { todo_id, outcome, evidence, metrics_impacted };
        call.decide(&mut snapshot, command)?;
        let (snapshot, _) = call.plan_of(&input.task_id)?;
        PlanView::of(call, &snapshot)
    }
}
