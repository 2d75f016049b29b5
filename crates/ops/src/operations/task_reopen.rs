//! `task_reopen`: reopen a settled task.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::ReopenTodo;
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Reference;
use crate::views::PlanView;

/// Reopen a completed or cancelled task, without an agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number.
    pub task_id: Reference,
    /// Why.
    pub reason: Body,
}

#[derive(Debug)]
pub struct TaskReopen;

impl Define for TaskReopen {
    const NAME: &'static str = "task_reopen";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Reopen]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["plan", "reopen"],
        positional: &["taskId", "reason"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"taskId":"t2","reason":"It fails on Windows"}"#;

    type Input = Input;
    type Output = PlanView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<PlanView, Error> {
        let (mut snapshot, todo_id) = call.task(&input.task_id)?;
        let reason = Some(input.reason.as_str().to_owned());
        call.decide(&mut snapshot, ReopenTodo { todo_id, reason })?;
        let (snapshot, _) = call.plan_of(&todo_id.to_string())?;
        PlanView::of(call, &snapshot)
    }
}
