//! Return a claim: only the claim is removed, and its maker works on the item again (P-4).

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::ClaimReturned;
use crate::text::Body;
use crate::{Refusal, Refused, TodoId};

/// Return a claim, and say what is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnTodo {
    pub todo_id: TodoId,
    pub feedback: Body,
}

impl ReturnTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        let todo = draft.open(self.todo_id)?;
        if todo.claim.is_none() {
            return Err(Refusal::NoClaim { title: todo.title.clone() }.into());
        }
        let feedback = self.feedback.as_str().to_owned();
        draft.emit(ClaimReturned { todo_id: self.todo_id, feedback });
        Ok(())
    }
}
