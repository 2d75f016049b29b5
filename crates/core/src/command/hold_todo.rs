//! Hold an item: it stays open, but nobody works on it until the hold is lifted (P-1).

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoHeld;
use crate::text::Body;
use crate::todo::{Hold, HoldKind};
use crate::{Refused, Time, TodoId};

/// Hold an item for a reason. Holding it again replaces the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldTodo {
    pub todo_id: TodoId,
    pub kind: HoldKind,
    pub reason: Body,
    /// When the hold ends by itself; `None` if somebody must lift it.
    #[serde(default)]
    pub until: Option<Time>,
}

impl HoldTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        draft.open(self.todo_id)?;
        draft.hold_until(self.todo_id, self.kind, &self.reason, self.until);
        Ok(())
    }
}

impl Draft<'_> {
    pub(super) fn hold(&mut self, todo_id: TodoId, kind: HoldKind, reason: &Body) {
        self.hold_until(todo_id, kind, reason, None);
    }

    fn hold_until(&mut self, todo_id: TodoId, kind: HoldKind, reason: &Body, until: Option<Time>) {
        let (reason, by) = (reason.as_str().to_owned(), self.actor.principal.clone());
        let hold = Hold { kind, reason, at: self.now, by, conflicts_with: None, until };
        self.emit(TodoHeld { todo_id, hold });
    }
}
