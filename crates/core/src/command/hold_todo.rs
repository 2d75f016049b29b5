//! Hold an item: still open, but nobody's work until it is let go (P-1).

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoHeld;
use crate::text::Body;
use crate::todo::{Hold, HoldKind};
use crate::{Refused, TodoId};

/// Say why an item cannot go on. Holding it again gives it the new reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldTodo {
    pub todo_id: TodoId,
    pub kind: HoldKind,
    pub reason: Body,
}

impl HoldTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        draft.open(self.todo_id)?;
        draft.hold(self.todo_id, self.kind, &self.reason);
        Ok(())
    }
}

impl Draft<'_> {
    pub(super) fn hold(&mut self, todo_id: TodoId, kind: HoldKind, reason: &Body) {
        let (reason, by) = (reason.as_str().to_owned(), self.actor.principal.clone());
        let hold = Hold { kind, reason, at: self.now, by, conflicts_with: None };
        self.emit(TodoHeld { todo_id, hold });
    }
}
