//! `task_add`: add a task under another.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::{CreateTodos, NewTodo};
use punchlist_core::text::Content;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Reference;
use crate::views::PlanView;

/// Add a task under another. The root agent may do this, and an agent under its own task.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The parent task: its id, or its number.
    pub parent_id: Reference,
    /// What to do.
    pub content: Content,
}

#[derive(Debug)]
pub struct TaskAdd;

impl Define for TaskAdd {
    const NAME: &'static str = "task_add";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Create]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["plan", "add"],
        positional: &["parentId", "content"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = r#"{"parentId":"t1","content":"Spec review"}"#;

    type Input = Input;
    type Output = PlanView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<PlanView, Error> {
        // The new task's position depends on all of its siblings, so the whole plan is locked.
        let (mut snapshot, parent) = call.lock_plan_of(&input.parent_id)?;
        let seq = Some(call.tx().last_seq()? + 1);
        let parent_id = Some(parent);
        let new = NewTodo { parent_id, seq, ..NewTodo::titled(input.content.clone()) };
        call.decide(&mut snapshot, CreateTodos { items: vec![new] })?;
        PlanView::of(call, &snapshot)
    }
}
