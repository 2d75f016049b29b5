//! Start an item, under the one-in-progress rule of its list.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoAssigned;
use crate::policy::Wip;
use crate::transition::Move;
use crate::{Refusal, Refused, Status, TodoId, TodoKind};

/// Begin work on an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartTodo {
    pub todo_id: TodoId,
    pub reason: Option<String>,
}

impl StartTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let todo = draft.todo(self.todo_id)?;
        if todo.kind == TodoKind::Criterion {
            return Err(Refusal::CriterionNotStartable { title: todo.title.clone() }.into());
        }
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        // A list that starts its steps by itself accepts the start of a step in progress.
        let status = draft.todo(self.todo_id)?.status;
        if draft.policy().wip == Wip::ExactlyOneStep && status == Status::InProgress {
            return Ok(());
        }
        draft.can(Move::Start, self.todo_id)?;
        let todo = draft.todo(self.todo_id)?;
        if let Some(hold) = &todo.hold {
            let (title, reason) = (todo.title.clone(), hold.reason.clone());
            return Err(Refusal::Held { title, reason }.into());
        }
        let unassigned = todo.assignee.is_none();
        draft.unclaimed(self.todo_id)?;
        // In lists where an assignment means work in progress, starting an item assigns it.
        if unassigned && draft.policy().assigning_starts {
            let assignee = Some(draft.actor.agent.clone());
            draft.emit(TodoAssigned { todo_id: self.todo_id, assignee });
        }
        draft.start_because(self.todo_id, self.reason.clone())
    }
}
