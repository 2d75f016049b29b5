//! `todo_claim`: an agent claims that an item is done.

use punchlist_core::authority::Action;
use punchlist_core::command::ClaimTodo;
use punchlist_core::evidence::Evidence;
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::{Reference, up_to_or_none};
use crate::views::OneTodo;

/// Claim that a todo is done. Its reviewer accepts or returns it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number if it has one.
    pub todo_id: Reference,
    /// What was done.
    pub outcome: Body,
    /// Evidence: commit:, test:, pr:, file:, url: or note: and a value.
    #[serde(default, deserialize_with = "up_to_or_none::<50, _, _>")]
    #[schemars(with = "Option<Vec<Evidence>>", length(max = 50))]
    pub evidence: Vec<Evidence>,
}

#[derive(Debug)]
pub struct TodoClaim;

impl Define for TodoClaim {
    const NAME: &'static str = "todo_claim";
    const ACCESS: Access = Access::Todo(Action::Claim);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[Profile::Mission, Profile::Plan],
        command: &["todo", "claim"],
        positional: &["todoId", "outcome"],
    };
    const EXAMPLE: &'static str = concat!(
        r#"{"todoId":"t2","outcome":"Builds in 42 s","#,
        r#""evidence":["commit:0123abc"]}"#
    );

    type Input = Input;
    type Output = OneTodo;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneTodo, Error> {
        let (mut snapshot, todo_id) = call.todo(&input.todo_id)?;
        let outcome = Some(input.outcome.as_str().to_owned());
        let (evidence, clock) = (input.evidence.clone(), Some(call.tx().clock()?));
        call.decide(&mut snapshot, ClaimTodo { todo_id, outcome, evidence, clock })?;
        OneTodo::of(&snapshot, todo_id)
    }
}
