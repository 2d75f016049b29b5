//! Demote a pending item to the backlog, if that has room.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoDemoted;
use crate::transition::Move;
use crate::{Refused, TodoId};

/// Move an item from pending to the backlog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemoteTodo {
    pub todo_id: TodoId,
    pub reason: Option<String>,
}

impl DemoteTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        draft.can(Move::Demote, self.todo_id)?;
        if let Some(limits) = draft.state.limits {
            limits.demote(&draft.state.tally)?;
        }
        draft.emit(TodoDemoted { todo_id: self.todo_id, reason: self.reason.clone() });
        Ok(())
    }
}
