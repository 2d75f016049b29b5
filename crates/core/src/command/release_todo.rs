//! Give an item back: it goes from in progress to pending, and its lease ends.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::{TodoAssigned, TodoYielded};
use crate::transition::Move;
use crate::{Refused, Time, TodoId};

/// Stop working on an item without settling it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseTodo {
    pub todo_id: TodoId,
    /// The epoch of the lease to give back; `None` means the current one.
    pub epoch: Option<i64>,
    pub reason: Option<String>,
    pub clock: Time,
}

impl ReleaseTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        draft.open(self.todo_id)?;
        if let Some(epoch) = self.epoch {
            draft.fence(self.todo_id, epoch, self.clock)?;
        }
        draft.can(Move::Yield, self.todo_id)?;
        let assigned = draft.todo(self.todo_id)?.assignee.is_some();
        draft.emit(TodoYielded { todo_id: self.todo_id, reason: self.reason.clone() });
        if assigned {
            draft.emit(TodoAssigned { todo_id: self.todo_id, assignee: None });
        }
        Ok(())
    }
}
