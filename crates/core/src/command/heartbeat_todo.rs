//! Extend the lease on an item. Only the lease changes; no event is emitted.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::{Refused, Time, TodoId};

/// Hold an item for `lease_s` seconds from now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeartbeatTodo {
    pub todo_id: TodoId,
    pub epoch: i64,
    pub clock: Time,
}

impl HeartbeatTodo {
    /// Decides whether the lease may be extended; the store extends it.
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.open(self.todo_id)?;
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        draft.fence(self.todo_id, self.epoch, self.clock)
    }
}
