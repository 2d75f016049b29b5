//! `task_after`: say which tasks must be settled before another one.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::ChainTodo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Reference, up_to_or_none};
use crate::views::PlanView;

/// Make a task wait for other tasks of its plan. They replace the tasks it waited for before.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number.
    pub task_id: Reference,
    /// The tasks that must be settled first, by id or number; none: it waits for nothing.
    #[serde(default, deserialize_with = "up_to_or_none::<100, _, _>")]
    #[schemars(with = "Option<Vec<Reference>>", length(max = 100))]
    pub after: Vec<Reference>,
}

#[derive(Debug)]
pub struct TaskAfter;

impl Define for TaskAfter {
    const NAME: &'static str = "task_after";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Revise]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["plan", "after"],
        positional: &["taskId", "after"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"taskId":"t3","after":["t2"]}"#;

    type Input = Input;
    type Output = PlanView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<PlanView, Error> {
        let (mut snapshot, todo_id) = call.lock_plan_of(&input.task_id)?;
        let mut after = Vec::with_capacity(input.after.len());
        for named in &input.after {
            after.push(call.todo_named(named)?);
        }
        call.decide(&mut snapshot, ChainTodo { todo_id, after })?;
        PlanView::of(call, &snapshot)
    }
}
