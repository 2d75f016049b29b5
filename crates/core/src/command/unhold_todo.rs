//! Lift the hold of an item. For an item that is not held, nothing changes.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoUnheld;
use crate::{Refused, TodoId};

/// Lift the hold of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnholdTodo {
    pub todo_id: TodoId,
}

impl UnholdTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        if draft.open(self.todo_id)?.hold.is_some() {
            draft.emit(TodoUnheld { todo_id: self.todo_id });
        }
        Ok(())
    }
}
