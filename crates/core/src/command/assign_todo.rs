//! Assign an item to an agent. In plans, assigning an item also starts it.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoAssigned;
use crate::{AgentPath, Refusal, Refused, Status, TodoId};

/// Give an item to an agent. Giving it to its present assignee changes nothing, unless
/// that agent only took it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssignTodo {
    pub todo_id: TodoId,
    pub assignee: AgentPath,
    /// The agent is registered, configured, or the caller itself. A typo must not assign work to an
    /// agent that does not exist.
    pub is_known: bool,
}

impl AssignTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        draft.open(self.todo_id)?;
        draft.not_dropped(self.todo_id)?;
        let todo = draft.todo(self.todo_id)?;
        if !self.is_known {
            return Err(Refusal::UnknownAgent { agent: self.assignee.clone() }.into());
        }
        let (had, status) = (todo.assignee.clone(), todo.status);
        let by_taking = todo.assigned_by_taking;
        // Assigning a task to the agent that took it makes the assignment last.
        if had.as_ref() != Some(&self.assignee) || by_taking {
            let assignee = Some(self.assignee.clone());
            draft.emit(TodoAssigned { todo_id: self.todo_id, assignee });
        }
        if status == Status::Pending && draft.policy().assigning_starts {
            draft.start(self.todo_id)?;
        }
        Ok(())
    }
}
