//! `complete_todo`: complete or cancel one item of the turn's plan.

use punchlist_core::authority::Action;
use punchlist_core::command;
use punchlist_core::text::Body;
use punchlist_core::{ListKind, Refusal, Status, Time, TodoId};
use punchlist_store::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::{Call, turn};
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::Name;
use crate::{Envelope, Error};

/// Complete or cancel one of this turn's items.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Id from create_todo or list_todo.
    pub todo_id: Name,
    /// What was done, or why it was cancelled.
    pub outcome: Body,
    /// Absent: completed.
    #[serde(default)]
    pub status: Option<Settled>,
}

/// How an item ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    Completed,
    Cancelled,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub id: String,
    pub title: String,
    pub status: Status,
    pub outcome: String,
    pub completed_at: Time,
    /// Items of this turn that are pending or in progress.
    pub remaining: u64,
}

#[derive(Debug)]
pub struct CompleteTodo;

impl Define for CompleteTodo {
    const NAME: &'static str = "complete_todo";
    const ACCESS: Access = Access::List(ListKind::Turn, &[Action::Complete, Action::Cancel]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { profiles: &[Profile::Turn], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"todoId":"01JCQ0000000000000000000AB","outcome":"Three steps take 80 %"}"#;

    type Input = Input;
    type Output = Output;

    /// The turn comes from the envelope; without it no store is created.
    fn check(envelope: &Envelope, _: &Input) -> Result<(), Error> {
        turn(envelope).map(|_| ())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let turn = turn(call.envelope())?;
        let unknown = || {
            let (todo_id, list) = (input.todo_id.to_string(), Some(ListKind::Turn));
            Error::from(Refusal::UnknownTodo { todo_id, list })
        };
        let todo_id = TodoId::parse(input.todo_id.trim()).ok_or_else(unknown)?;
        let mut snapshot = call.lock(&turn, Load::Todo(todo_id))?.ok_or_else(unknown)?;
        let outcome = Some(input.outcome.as_str().to_owned());
        let command = match input.status.unwrap_or(Settled::Completed) {
            Settled::Completed => {
                let (evidence, metrics_impacted) = (Vec::new(), Vec::new());
                command::CompleteTodo { todo_id, outcome, evidence, metrics_impacted }.into()
            }
            Settled::Cancelled => command::Command::from(command::CancelTodo { todo_id, outcome }),
        };
        call.decide(&mut snapshot, command)?;
        let remaining = snapshot.tally.active();
        let todo = snapshot.todos.remove(&todo_id).ok_or_else(unknown)?;
        Ok(Output {
            id: todo.id.to_string(),
            title: todo.title,
            status: todo.status,
            outcome: todo.outcome.unwrap_or_default(),
            completed_at: todo.settled_at.unwrap_or(call.envelope().now),
            remaining,
        })
    }
}
