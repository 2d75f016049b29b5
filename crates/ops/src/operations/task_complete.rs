//! `task_complete`: complete a task.

use punchlist_core::authority::{Action, Verdict, authority};
use punchlist_core::command::{CompleteTodo, HeartbeatTodo};
use punchlist_core::text::Body;
use punchlist_core::{ListKind, Refusal, TodoKind, plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, Reference};
use crate::views::PlanView;

/// Complete a task. Its agent and the orchestrator may do this. Its parents are not completed.
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
        let all = input.with_children == Some(true);
        let (mut snapshot, todo_id) =
            if all { call.lock_plan_of(&input.task_id)? } else { call.todo(&input.task_id)? };
        let (role, action) = (call.envelope().actor.role, Action::CompleteWithChildren);
        let (list, todo_kind) = (snapshot.list.kind(), TodoKind::Step);
        if let (true, Verdict::Deny(denial)) =
            (all, authority(role, list, todo_kind, action, false))
        {
            return Err(Refusal::NotPermitted { role, action, list, todo_kind, denial }.into());
        }
        if let Some(epoch) = input.epoch {
            let clock = call.tx().clock()?;
            let lease = call.decide(&mut snapshot, HeartbeatTodo { todo_id, epoch, clock });
            if let Err(stale) = lease {
                call.keep_words(input.outcome.0.as_ref().map(Body::as_str));
                return Err(stale);
            }
        }
        let outcome = input.outcome.0.clone().map(Body::into_string);
        let complete = |todo_id| CompleteTodo {
            todo_id,
            outcome: outcome.clone(),
            evidence: Vec::new(),
            metrics_impacted: Vec::new(),
        };
        if all {
            // Deepest first, because a task with open tasks below it cannot be completed.
            for below in plan::open_below(&snapshot, todo_id).into_iter().rev() {
                call.decide(&mut snapshot, complete(below))?;
            }
        } else {
            call.bring_children(&mut snapshot, todo_id)?;
        }
        call.decide(&mut snapshot, complete(todo_id))?;
        let (snapshot, _) = call.plan_of(&todo_id.to_string())?;
        PlanView::of(call, &snapshot)
    }
}
