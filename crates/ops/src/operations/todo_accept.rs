//! `todo_accept`: the reviewer accepts a claim.

use punchlist_core::authority::Action;
use punchlist_core::command::AcceptTodo;
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::{Maybe, Reference};
use crate::views::OneTodo;

/// Accept a claimed todo, which completes it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id or number.
    pub todo_id: Reference,
    /// Outcome; absent: as claimed.
    #[serde(default)]
    pub outcome: Maybe<Body>,
}

#[derive(Debug)]
pub struct TodoAccept;

impl Define for TodoAccept {
    const NAME: &'static str = "todo_accept";
    const ACCESS: Access = Access::Todo(Action::Accept);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[Profile::Mission, Profile::Inbox],
        command: &["todo", "accept"],
        positional: &["todoId"],
    };
    const EXAMPLE: &'static str = r#"{"todoId":"t2"}"#;

    type Input = Input;
    type Output = OneTodo;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneTodo, Error> {
        let (mut snapshot, todo_id) = call.todo(&input.todo_id)?;
        let outcome = input.outcome.0.as_ref().map(|outcome| outcome.as_str().to_owned());
        call.bring_children(&mut snapshot, todo_id)?;
        call.decide(&mut snapshot, AcceptTodo { todo_id, outcome })?;
        OneTodo::of(&snapshot, todo_id)
    }
}
