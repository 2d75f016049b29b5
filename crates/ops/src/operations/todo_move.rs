//! `todo_move`: move an item to another position in its list.

use punchlist_core::authority::Action;
use punchlist_core::command::MoveTodo;
use punchlist_core::text::Content;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, Reference};
use crate::views::OneTodo;

/// Move a todo of an issue's or a session's list before another one, or to the end.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number if it has one.
    pub todo_id: Reference,
    /// The item to put it before, in the same list; a step joins that item's phase. Absent: to the
    /// end of its own phase.
    #[serde(default)]
    pub before: Maybe<Content>,
}

#[derive(Debug)]
pub struct TodoMove;

impl Define for TodoMove {
    const NAME: &'static str = "todo_move";
    const ACCESS: Access = Access::Todo(Action::Reorder);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { profiles: &[], command: &["todo", "move"], positional: &["todoId"] };
    const EXAMPLE: &'static str = r#"{"todoId":"Test it","before":"Fix it"}"#;

    type Input = Input;
    type Output = OneTodo;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneTodo, Error> {
        let (mut snapshot, todo_id) = call.todo_among_others(&input.todo_id)?;
        let before = input.before.0.as_ref().map(Content::as_str);
        let before = before.map(|named| call.own_or_named(named)).transpose()?;
        call.decide(&mut snapshot, MoveTodo { todo_id, before })?;
        OneTodo::of(&snapshot, todo_id)
    }
}
