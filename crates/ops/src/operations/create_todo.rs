//! `create_todo`: plan a turn as a list of items, in one call.

use punchlist_core::authority::Action;
use punchlist_core::command::{CreateTodos, NewTodo};
use punchlist_core::text::{Body, Title};
use punchlist_core::{Event, ListKind};
use punchlist_store::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::{Call, turn};
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::{Maybe, count, range};
use crate::{Envelope, Error};

/// Plan this turn: add todo items. Put the whole plan into one call.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    #[schemars(length(min = 1, max = 200))]
    #[serde(deserialize_with = "count::<1, 200, _, _>")]
    pub items: Vec<Item>,
}

/// One item of the plan.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Item {
    /// What to do, short.
    pub title: Title,
    /// Background needed to do it.
    #[serde(default)]
    pub context: Maybe<Body>,
    /// How to tell that it is done.
    #[serde(default)]
    pub completion_criteria: Maybe<Body>,
    /// Specialist to delegate to, e.g. "researcher"; absent: you do it.
    #[serde(default)]
    pub agent_type: Maybe<Title>,
    /// Place in the list, from 1; absent: last.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(default, deserialize_with = "range::<1, 1_000_000, _>")]
    pub order: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub created: Vec<Created>,
    /// Items of this turn that are pending.
    pub total_pending: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Created {
    pub id: String,
    pub title: String,
    /// Place in the list, from 1.
    pub order: i64,
}

#[derive(Debug)]
pub struct CreateTodo;

impl Define for CreateTodo {
    const NAME: &'static str = "create_todo";
    const ACCESS: Access = Access::List(ListKind::Turn, &[Action::Create]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { profiles: &[Profile::Turn], ..Surfaces::CALL };
    const EXAMPLE: &'static str = concat!(
        r#"{"items":[{"title":"Measure the build","context":"CI takes 9 minutes","#,
        r#""completionCriteria":"A table of steps","agentType":"researcher","order":1},"#,
        r#"{"title":"Write it up"}]}"#
    );

    type Input = Input;
    type Output = Output;

    /// The turn comes from the envelope; without it no store is created.
    fn check(envelope: &Envelope, _: &Input) -> Result<(), Error> {
        turn(envelope).map(|_| ())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let turn = turn(call.envelope())?;
        let mut snapshot = call.open(turn, Load::Counts)?;
        let items = input.items.iter().map(new_todo).collect();
        let decision = call.decide(&mut snapshot, CreateTodos { items })?;
        let created = decision.events.iter().filter_map(|event| match event {
            Event::TodoCreated(created) => Some(Created {
                id: created.todo.id.to_string(),
                title: created.todo.title.clone(),
                order: created.todo.position + 1,
            }),
            _ => None,
        });
        Ok(Output { created: created.collect(), total_pending: snapshot.tally.pending })
    }
}

fn new_todo(item: &Item) -> NewTodo {
    NewTodo {
        description: item.context.0.clone(),
        completion_criteria: item.completion_criteria.0.clone(),
        agent_type: item.agent_type.0.clone(),
        position: item.order.map(|order| order - 1),
        ..NewTodo::titled(item.title.clone())
    }
}
