//! `mission_todo_update`: change an item of a mission, with a reason.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::{
    CancelTodo, Command, DemoteTodo, PromoteTodo, ReviseTodo, StartTodo,
};
use punchlist_core::mission::order;
use punchlist_core::text::Body;
use punchlist_core::todo::Priority;
use punchlist_core::{TodoId, Warning};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::{Call, Counts};
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::explain::Fault;
use crate::input::{Due, Maybe, Name};
use crate::views::MissionTodoView;
use crate::{Envelope, Error};

/// Change a todo. An owner may cancel; its other changes are recommendations.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The mission.
    pub mission_slug: Name,
    /// Its id.
    pub todo_id: Name,
    /// What to do.
    pub action: Act,
    /// Why; kept in the record.
    pub reason: Body,
    /// With extend.
    #[serde(default)]
    pub deadline: Maybe<Due>,
    /// With reprioritize.
    #[serde(default)]
    pub priority: Option<Priority>,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    Promote,
    Demote,
    Start,
    Cancel,
    Extend,
    Reprioritize,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub todo: MissionTodoView,
    pub counts: Counts,
    /// Nothing changed: it was recorded as a recommendation to the lead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommended: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// After start: the text to delegate it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
}

#[derive(Debug)]
pub struct MissionTodoUpdate;

impl Define for MissionTodoUpdate {
    const NAME: &'static str = "mission_todo_update";
    const ACCESS: Access = Access::List(ListKind::Pillar, &[Action::Start, Action::Cancel]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[Profile::Mission],
        command: &["mission", "update"],
        positional: &["missionSlug", "todoId", "action"],
    };
    const EXAMPLE: &'static str = r#"{
        "missionSlug": "developer-experience",
        "todoId": "01JCQ0000000000000000000AB",
        "action": "start",
        "reason": "Three readings confirm it"
    }"#;

    type Input = Input;
    type Output = Output;

    /// Which field is needed depends on the action, so no field alone can carry the rule.
    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        let missing = |path: &str| Err(Fault::MissingField { path: path.into() }.into());
        match input.action {
            Act::Extend if input.deadline.0.is_none() => missing("deadline"),
            Act::Reprioritize if input.priority.is_none() => missing("priority"),
            _ => Ok(()),
        }
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let mission = call.mission(&input.mission_slug, Lock::Row)?;
        let (mut list, todo_id, pillar) = call.mission_todo(&mission, &input.todo_id)?;
        let decision = call.decide(&mut list, command(input, todo_id)?)?;
        let todo = list.todo(todo_id).cloned();
        let todo = todo.ok_or_else(|| Error::Internal { detail: "the item is gone".into() })?;
        let recommended =
            decision.warnings.iter().any(|w| matches!(w, Warning::Recommended { .. }));
        let started = input.action == Act::Start && !recommended;
        Ok(Output {
            todo: MissionTodoView::new(&mission, &pillar, &todo, call.envelope().now),
            counts: Counts::new(&mission, &list.tally),
            recommended: recommended.then_some(true),
            warning: decision.warnings.first().map(Warning::to_string),
            order: started.then(|| order(&todo)),
        })
    }
}

fn command(input: &Input, todo_id: TodoId) -> Result<Command, Error> {
    let reason = Some(input.reason.as_str().to_owned());
    let revise = |deadline, priority, reason| ReviseTodo {
        todo_id,
        title: None,
        priority,
        position: None,
        deadline,
        reason,
    };
    Ok(match input.action {
        Act::Promote => PromoteTodo { todo_id, reason }.into(),
        Act::Demote => DemoteTodo { todo_id, reason }.into(),
        Act::Start => StartTodo { todo_id, reason }.into(),
        Act::Cancel => CancelTodo { todo_id, outcome: reason }.into(),
        Act::Extend => revise(input.deadline.0.clone().map(|due| due.0), None, reason).into(),
        Act::Reprioritize => revise(None, input.priority, reason).into(),
    })
}
