//! Cancel an item: it stays for the record, with who did it and why.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoCancelled;
use crate::transition::Move;
use crate::{Refused, TodoId};

/// Cancel an item that will not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelTodo {
    pub todo_id: TodoId,
    pub outcome: Option<String>,
}

impl CancelTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        draft.can(Move::Cancel, self.todo_id)?;
        let outcome = draft.outcome(self.outcome.as_deref())?;
        draft.cancel(self.todo_id, outcome);
        Ok(())
    }
}

impl Draft<'_> {
    pub(super) fn cancel(&mut self, todo_id: TodoId, outcome: Option<String>) {
        let (settled_at, settled_by) = (self.now, self.settled_by());
        self.emit(TodoCancelled { todo_id, outcome, settled_at, settled_by });
    }
}
