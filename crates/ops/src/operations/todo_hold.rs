//! `todo_hold`: put an item on hold.

use punchlist_core::authority::Action;
use punchlist_core::command::HoldTodo;
use punchlist_core::text::Body;
use punchlist_core::todo::HoldKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, Reference, When};
use crate::views::OneTodo;

/// Put a todo on hold with a reason: it stays open but is not worked on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number if it has one.
    pub todo_id: Reference,
    /// The kind of hold.
    pub kind: HoldKind,
    /// What it waits for.
    pub reason: Body,
    /// When the hold ends automatically (RFC 3339); absent: when it is lifted.
    #[serde(default)]
    pub until: Maybe<When>,
}

#[derive(Debug)]
pub struct TodoHold;

impl Define for TodoHold {
    const NAME: &'static str = "todo_hold";
    const ACCESS: Access = Access::Todo(Action::Hold);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[],
        command: &["todo", "hold"],
        positional: &["todoId", "kind", "reason"],
    };
    const EXAMPLE: &'static str =
        r#"{"todoId":"t2","kind":"blocked","reason":"waits for the key"}"#;

    type Input = Input;
    type Output = OneTodo;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneTodo, Error> {
        let until = input.until.0.as_ref().map(|until| until.0);
        let (mut snapshot, todo_id) = call.todo_or_own(&input.todo_id)?;
        let (kind, reason) = (input.kind, input.reason.clone());
        call.decide(&mut snapshot, HoldTodo { todo_id, kind, reason, until })?;
        OneTodo::of(&snapshot, todo_id)
    }
}
