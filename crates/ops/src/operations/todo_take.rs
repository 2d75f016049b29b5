//! `todo_take`: take an item with a lease, so that nobody else works on it.

use punchlist_core::authority::Action;
use punchlist_core::command::TakeTodo;
use punchlist_core::lease::{LEASE_S, LEASE_S_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Reference, range};
use crate::views::TakenTodo;

/// Take a todo: hold it by a lease and start it. Taking one you hold changes nothing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number if it has one.
    pub todo_id: Reference,
    #[serde(default, deserialize_with = "range::<1, LEASE_S_MAX, _>")]
    #[schemars(
        description = format!("How long you hold it, in seconds; absent: {LEASE_S}, at most a day."),
        range(min = 1, max = LEASE_S_MAX)
    )]
    pub lease_s: Option<i64>,
}

#[derive(Debug)]
pub struct TodoTake;

impl Define for TodoTake {
    const NAME: &'static str = "todo_take";
    const ACCESS: Access = Access::Todo(Action::Take);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { profiles: &[], command: &["todo", "take"], positional: &["todoId"] };
    const EXAMPLE: &'static str = r#"{"todoId":"t2","leaseS":600}"#;

    type Input = Input;
    type Output = TakenTodo;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<TakenTodo, Error> {
        let (mut snapshot, todo_id) = call.todo_or_own(&input.todo_id)?;
        call.bring_children(&mut snapshot, todo_id)?;
        let (lease_s, clock) = (input.lease_s.unwrap_or(LEASE_S), call.tx().clock()?);
        call.decide(&mut snapshot, TakeTodo { todo_id, lease_s, clock })?;
        TakenTodo::of(&snapshot, todo_id)
    }
}
