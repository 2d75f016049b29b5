//! `task_assign`: assign a task to an agent.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::AssignTodo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Agent, Reference};
use crate::views::PlanView;

/// Assign a task to an agent and make it active. The log keeps the previous agent's work.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number.
    pub task_id: Reference,
    /// The path of a registered or configured agent, or your own.
    pub agent: Agent,
}

#[derive(Debug)]
pub struct TaskAssign;

impl Define for TaskAssign {
    const NAME: &'static str = "task_assign";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Assign]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["plan", "assign"], positional: &["taskId"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"taskId":"t2","agent":"primary.subagents.backend"}"#;

    type Input = Input;
    type Output = PlanView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<PlanView, Error> {
        let (mut snapshot, todo_id) = call.task(&input.task_id)?;
        let assignee = input.agent.0.clone();
        let is_known = call.knows(&assignee)?;
        call.decide(&mut snapshot, AssignTodo { todo_id, assignee, is_known })?;
        let (snapshot, _) = call.plan_of(&todo_id.to_string())?;
        PlanView::of(call, &snapshot)
    }
}
