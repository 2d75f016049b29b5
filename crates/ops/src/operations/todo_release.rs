//! `todo_release`: release an item without settling it.

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
use crate::views::OneTodo;

/// Release a todo: it is pending again, and nobody holds it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number if it has one.
    pub todo_id: Reference,
    /// The number of the lease that you got when you took it; absent: release any holder's lease, if
    /// you may.
    #[serde(default)]
    pub epoch: Option<i64>,
    /// Why.
    #[serde(default)]
    pub reason: Maybe<Body>,
}

#[derive(Debug)]
pub struct TodoRelease;

impl Define for TodoRelease {
    const NAME: &'static str = "todo_release";
    const ACCESS: Access = Access::Todo(Action::Release);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { profiles: &[], command: &["todo", "release"], positional: &["todoId"] };
    const EXAMPLE: &'static str = r#"{"todoId":"t2","reason":"out of time"}"#;

    type Input = Input;
    type Output = OneTodo;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneTodo, Error> {
        let (mut snapshot, todo_id) = call.todo_or_own(&input.todo_id)?;
        let (epoch, clock) = (input.epoch, call.tx().clock()?);
        let reason = input.reason.0.as_ref().map(|reason| reason.as_str().to_owned());
        call.decide(
            &mut snapshot,
            ReleaseTodo { todo_id, epoch, reason, clock, unassigns: false },
        )?;
        OneTodo::of(&snapshot, todo_id)
    }
}
