//! Promote an item from the backlog, if the active tier has room.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::capacity::Tier;
use crate::event::TodoPromoted;
use crate::transition::Move;
use crate::{Refused, TodoId, Warning};

/// Move an item from the backlog to pending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromoteTodo {
    pub todo_id: TodoId,
    pub reason: Option<String>,
}

impl PromoteTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        draft.can(Move::Promote, self.todo_id)?;
        if let Some(limits) = draft.state.limits
            && limits.promote(&draft.state.tally)? == Tier::OverLimit
        {
            let active = draft.state.tally.active() + 1;
            let warning = Warning::OverActiveLimit { limit: limits.active, active };
            draft.decision.warnings.push(warning);
        }
        draft.emit(TodoPromoted { todo_id: self.todo_id, reason: self.reason.clone() });
        Ok(())
    }
}
