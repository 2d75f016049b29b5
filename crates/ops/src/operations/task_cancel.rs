//! `task_cancel`: cancel a task.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::CancelTodo;
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Reference;
use crate::views::PlanView;

/// Cancel a task. It stays in the record, with the reason.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number.
    pub task_id: Reference,
    /// Why.
    pub reason: Body,
}

#[derive(Debug)]
pub struct TaskCancel;

impl Define for TaskCancel {
    const NAME: &'static str = "task_cancel";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Cancel]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["plan", "cancel"],
        positional: &["taskId", "reason"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"taskId":"t2","reason":"Not needed"}"#;

    type Input = Input;
    type Output = PlanView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<PlanView, Error> {
        let (mut snapshot, todo_id) = call.task(&input.task_id)?;
        let outcome = Some(input.reason.as_str().to_owned());
        call.decide(&mut snapshot, CancelTodo { todo_id, outcome })?;
        let (snapshot, _) = call.plan_of(&todo_id.to_string())?;
        PlanView::of(call, &snapshot)
    }
}
