//! `todo_defer`: defer an item until a time.

use punchlist_core::authority::Action;
use punchlist_core::command::DeferTodo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, Reference, When};
use crate::views::OneTodo;

/// Defer a todo until a time; then it is ready again automatically.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number if it has one.
    pub todo_id: Reference,
    /// Until when: a date (the start of that day in UTC) or a time; absent: no longer deferred.
    #[serde(default)]
    pub until: Maybe<When>,
}

#[derive(Debug)]
pub struct TodoDefer;

impl Define for TodoDefer {
    const NAME: &'static str = "todo_defer";
    const ACCESS: Access = Access::Todo(Action::Defer);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { profiles: &[], command: &["todo", "defer"], positional: &["todoId", "until"] };
    const EXAMPLE: &'static str = r#"{"todoId":"t2","until":"2030-01-31"}"#;

    type Input = Input;
    type Output = OneTodo;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneTodo, Error> {
        let until = input.until.0.as_ref().map(|until| until.0);
        let (mut snapshot, todo_id) = call.todo_or_own(&input.todo_id)?;
        call.decide(&mut snapshot, DeferTodo { todo_id, until })?;
        OneTodo::of(&snapshot, todo_id)
    }
}
