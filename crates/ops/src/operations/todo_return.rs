//! `todo_return`: the reviewer returns a claim.

use punchlist_core::authority::Action;
use punchlist_core::command::ReturnTodo;
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::Reference;
use crate::views::OneTodo;

/// Return a claimed todo; say what is missing. Its agent continues.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id or number.
    pub todo_id: Reference,
    /// What is missing.
    pub feedback: Body,
}

#[derive(Debug)]
pub struct TodoReturn;

impl Define for TodoReturn {
    const NAME: &'static str = "todo_return";
    const ACCESS: Access = Access::Todo(Action::Return);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[Profile::Mission, Profile::Inbox],
        command: &["todo", "return"],
        positional: &["todoId", "feedback"],
    };
    const EXAMPLE: &'static str = r#"{"todoId":"t2","feedback":"Not on Windows yet"}"#;

    type Input = Input;
    type Output = OneTodo;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneTodo, Error> {
        let (mut snapshot, todo_id) = call.todo(&input.todo_id)?;
        let feedback = input.feedback.clone();
        call.decide(&mut snapshot, ReturnTodo { todo_id, feedback })?;
        OneTodo::of(&snapshot, todo_id)
    }
}
