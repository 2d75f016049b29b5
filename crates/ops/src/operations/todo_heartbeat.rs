//! `todo_heartbeat`: extend the lease of an item.

use punchlist_core::authority::Action;
use punchlist_core::command::HeartbeatTodo;
use punchlist_core::lease::{LEASE_S, LEASE_S_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Reference, range};
use crate::views::TakenTodo;

/// Extend the lease of a todo you took; refused if you no longer hold it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number if it has one.
    pub todo_id: Reference,
    /// The number of the lease that you got when you took it.
    pub epoch: i64,
    #[serde(default, deserialize_with = "range::<1, LEASE_S_MAX, _>")]
    #[schemars(
        description = format!("How long from now, in seconds; absent: {LEASE_S}, at most a day."),
        range(min = 1, max = LEASE_S_MAX)
    )]
    pub lease_s: Option<i64>,
}

#[derive(Debug)]
pub struct TodoHeartbeat;

impl Define for TodoHeartbeat {
    const NAME: &'static str = "todo_heartbeat";
    const ACCESS: Access = Access::Todo(Action::Take);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[],
        command: &["todo", "heartbeat"],
        positional: &["todoId", "epoch"],
    };
    const EXAMPLE: &'static str = r#"{"todoId":"t2","epoch":1}"#;

    type Input = Input;
    type Output = TakenTodo;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<TakenTodo, Error> {
        let (mut snapshot, todo_id) = call.todo_or_own(&input.todo_id)?;
        let (epoch, clock) = (input.epoch, call.tx().clock()?);
        call.decide(&mut snapshot, HeartbeatTodo { todo_id, epoch, clock })?;
        let until = clock.plus_seconds(input.lease_s.unwrap_or(LEASE_S));
        call.tx().extend_lease(todo_id, epoch, until)?;
        if let Some(lease) = snapshot.leases.get_mut(&todo_id) {
            lease.until = until;
        }
        TakenTodo::of(&snapshot, todo_id)
    }
}
