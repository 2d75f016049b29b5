//! `list_todo`: the open items of the turn's plan, or all of them.

use punchlist_core::authority::Action;
use punchlist_core::{ListKind, Status, Tally, Time, Todo, select};
use punchlist_store::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::{Call, turn};
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::{Envelope, Error};

/// Show this turn's todo items: what remains, or by status.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Absent: pending and in progress.
    #[serde(default)]
    pub status: Option<Filter>,
}

/// Which items to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    Pending,
    InProgress,
    Completed,
    Cancelled,
    All,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub items: Vec<Item>,
    pub summary: Summary,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    pub id: String,
    pub title: String,
    pub context: String,
    pub completion_criteria: String,
    pub agent_type: Option<String>,
    pub status: Status,
    /// Place in the list, from 0.
    pub priority: i64,
    pub outcome: Option<String>,
    pub created_at: Time,
    pub started_at: Option<Time>,
    pub completed_at: Option<Time>,
}

/// Counts for the whole turn, whatever the filter.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub total: u64,
    pub pending: u64,
    pub in_progress: u64,
    pub completed: u64,
    pub cancelled: u64,
}

#[derive(Debug)]
pub struct ListTodo;

impl Define for ListTodo {
    const NAME: &'static str = "list_todo";
    const ACCESS: Access = Access::List(ListKind::Turn, &[Action::View]);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { profiles: &[Profile::Turn], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"status":"all"}"#;

    type Input = Input;
    type Output = Output;

    /// The turn comes from the envelope; without it no store is created.
    fn check(envelope: &Envelope, _: &Input) -> Result<(), Error> {
        turn(envelope).map(|_| ())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let turn = turn(call.envelope())?;
        let load = match input.status {
            None | Some(Filter::Pending | Filter::InProgress) => Load::Open,
            Some(Filter::Completed | Filter::Cancelled | Filter::All) => Load::All,
        };
        let Some(snapshot) = call.look(&turn, load)? else {
            return Ok(Output { items: Vec::new(), summary: Tally::default().into() });
        };
        let items = select::ordered(&snapshot)
            .into_iter()
            .filter(|todo| shown(input.status, todo.status))
            .map(Item::from)
            .collect();
        Ok(Output { items, summary: snapshot.tally.into() })
    }
}

fn shown(filter: Option<Filter>, status: Status) -> bool {
    match filter {
        None => status.is_active(),
        Some(Filter::All) => true,
        Some(Filter::Pending) => status == Status::Pending,
        Some(Filter::InProgress) => status == Status::InProgress,
        Some(Filter::Completed) => status == Status::Completed,
        Some(Filter::Cancelled) => status == Status::Cancelled,
    }
}

impl From<&Todo> for Item {
    fn from(todo: &Todo) -> Self {
        Self {
            id: todo.id.to_string(),
            title: todo.title.clone(),
            context: todo.description.clone(),
            completion_criteria: todo.completion_criteria.clone(),
            agent_type: todo.agent_type.clone(),
            status: todo.status,
            priority: todo.position,
            outcome: todo.outcome.clone(),
            created_at: todo.created_at,
            started_at: todo.started_at,
            completed_at: todo.settled_at,
        }
    }
}

impl From<Tally> for Summary {
    fn from(tally: Tally) -> Self {
        Self {
            total: tally.total(),
            pending: tally.pending,
            in_progress: tally.in_progress,
            completed: tally.completed,
            cancelled: tally.cancelled,
        }
    }
}
