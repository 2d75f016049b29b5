//! `todo_unhold`: lift the hold of an item.

use punchlist_core::authority::Action;
use punchlist_core::command::UnholdTodo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Reference;
use crate::views::OneTodo;

/// Lift the hold of a todo.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number if it has one.
    pub todo_id: Reference,
}

#[derive(Debug)]
pub struct TodoUnhold;

impl Define for TodoUnhold {
    const NAME: &'static str = "todo_unhold";
    const ACCESS: Access = Access::Todo(Action::Unhold);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { profiles: &[], command: &["todo", "unhold"], positional: &["todoId"] };
    const EXAMPLE: &'static str = r#"{"todoId":"t2"}"#;

    type Input = Input;
    type Output = OneTodo;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneTodo, Error> {
        let (mut snapshot, todo_id) = call.todo_or_own(&input.todo_id)?;
        call.decide(&mut snapshot, UnholdTodo { todo_id })?;
        OneTodo::of(&snapshot, todo_id)
    }
}
