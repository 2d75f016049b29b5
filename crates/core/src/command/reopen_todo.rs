//! Reopen a settled item, if the list's policy allows it. Only a role that may judge may reopen.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::{TodoAssigned, TodoReopened};
use crate::transition::Move;
use crate::{Refused, TodoId};

/// Reopen a settled item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReopenTodo {
    pub todo_id: TodoId,
    pub reason: Option<String>,
}

impl ReopenTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        draft.can(Move::Reopen, self.todo_id)?;
        let title = draft.todo(self.todo_id)?.title.clone();
        draft.check_unique(&title)?;
        draft.emit(TodoReopened { todo_id: self.todo_id, reason: self.reason.clone() });
        // In lists where an assignment means work in progress, clears it: nobody works on the item.
        let assigned = draft.todo(self.todo_id)?.assignee.is_some();
        if assigned && draft.policy().assigning_starts {
            draft.emit(TodoAssigned { todo_id: self.todo_id, assignee: None });
        }
        Ok(())
    }
}
