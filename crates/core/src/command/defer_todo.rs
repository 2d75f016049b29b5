//! Defer an item until a date; it comes back by itself (P-27).

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoDeferred;
use crate::{Refused, Time, TodoId};

/// Defer an item until `until`; `None` ends the deferral now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferTodo {
    pub todo_id: TodoId,
    pub until: Option<Time>,
}

impl DeferTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        if draft.open(self.todo_id)?.defer_until != self.until {
            draft.emit(TodoDeferred { todo_id: self.todo_id, until: self.until });
        }
        Ok(())
    }
}
