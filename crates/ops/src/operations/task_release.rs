//! `task_release`: release a task.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::ReleaseTodo;
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, Reference};
use crate::views::PlanView;

/// Release a task: it has no agent and is pending again.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number.
    pub task_id: Reference,
    /// Why.
    #[serde(default)]
    pub reason: Maybe<Body>,
}

#[derive(Debug)]
pub struct TaskRelease;

impl Define for TaskRelease {
    const NAME: &'static str = "task_release";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Release]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["plan", "release"], positional: &["taskId"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"taskId":"t2","reason":"The agent is gone"}"#;

    type Input = Input;
    type Output = PlanView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<PlanView, Error> {
        let (mut snapshot, todo_id) = call.task(&input.task_id)?;
        let clock = call.tx().clock()?;
        let reason = input.reason.0.clone().map(Body::into_string);
        call.decide(
            &mut snapshot,
            ReleaseTodo { todo_id, epoch: None, reason, clock, unassigns: true },
        )?;
        let (snapshot, _) = call.plan_of(&todo_id.to_string())?;
        PlanView::of(call, &snapshot)
    }
}
