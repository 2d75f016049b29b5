//! Ratify a criterion: the operator confirms that it belongs to the definition of done (Q-K2).

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoRatified;
use crate::{Refusal, Refused, TodoId};

/// Confirm a criterion that an agent proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RatifyTodo {
    pub todo_id: TodoId,
}

impl RatifyTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        let todo = draft.todo(self.todo_id)?;
        if let Some(at) = todo.ratified_at {
            return Err(Refusal::AlreadyRatified { title: todo.title.clone(), at }.into());
        }
        // A dropped criterion is no longer part of the definition of done.
        draft.open(self.todo_id)?;
        draft.emit(TodoRatified { todo_id: self.todo_id, ratified_at: draft.now });
        Ok(())
    }
}
