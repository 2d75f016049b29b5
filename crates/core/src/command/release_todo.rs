//! Give an item back: in progress becomes pending, and nobody is assigned any more.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::{TodoAssigned, TodoYielded};
use crate::transition::Move;
use crate::{Refused, TodoId};

/// Stop working on an item without settling it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseTodo {
    pub todo_id: TodoId,
}

impl ReleaseTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        draft.can(Move::Yield, self.todo_id)?;
        let assigned = draft.todo(self.todo_id)?.assignee.is_some();
        draft.emit(TodoYielded { todo_id: self.todo_id });
        if assigned {
            draft.emit(TodoAssigned { todo_id: self.todo_id, assignee: None });
        }
        Ok(())
    }
}
