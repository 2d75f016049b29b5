//! `task_complete`: complete a task.

use punchlist_core::authority::Action;
use punchlist_core::command::HeartbeatTodo;
use punchlist_core::plan::Completion;
use punchlist_core::text::Body;
use punchlist_core::{Command, ListKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, Reference};
use crate::views::PlanView;

/// Complete a task. Its agent and the root agent may do this. Its parents are not completed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id, or its number.
    pub task_id: Reference,
    /// What was done.
    #[serde(default)]
    pub outcome: Maybe<Body>,
    /// The number of the lease it was taken with; a lease that has ended is refused.
    #[serde(default)]
    pub epoch: Option<i64>,
    /// Operator only: also complete the open tasks below it.
    #[serde(default)]
    pub with_children: Option<bool>,
}

#[derive(Debug)]
pub struct TaskComplete;

impl Define for TaskComplete {
    const NAME: &'static str = "task_complete";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Complete]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["plan", "complete"],
        positional: &["taskId", "outcome"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"taskId":"t2","outcome":"Merged"}"#;

    type Input = Input;
    type Output = PlanView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<PlanView, Error> {
        let with_children = input.with_children == Some(true);
        let (mut snapshot, todo_id) = match with_children {
            true => call.lock_plan_of(&input.task_id)?,
            false => call.task(&input.task_id)?,
        };
        if !with_children {
            call.bring_children(&mut snapshot, todo_id)?;
        }
        let lease = match input.epoch {
            Some(epoch) => Some(HeartbeatTodo { todo_id, epoch, clock: call.tx().clock()? }),
            None => None,
        };
        let outcome = input.outcome.0.clone().map(Body::into_string);
        let completion = Completion { todo_id, outcome, lease, with_children };
        for command in completion.commands(call.envelope().actor.role, &snapshot)? {
            let is_lease = matches!(command, Command::HeartbeatTodo(_));
            let decided = call.decide(&mut snapshot, command);
            if decided.is_err() && is_lease {
                call.keep_words(input.outcome.0.as_ref().map(Body::as_str));
            }
            decided?;
        }
        let (snapshot, _) = call.plan_of(&todo_id.to_string())?;
        PlanView::of(call, &snapshot)
    }
}
