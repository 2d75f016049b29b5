//! Give an item back: it goes from in progress to pending, and its lease ends. A task that somebody
//! assigned to the caller stays assigned.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::authority::{Action, Verdict, authority};
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
    /// Also end an assignment of the caller's own that somebody made, if the caller may assign.
    #[serde(default)]
    pub unassigns: bool,
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
        let stays = self.assignment_stays(draft)?;
        let assigned = draft.todo(self.todo_id)?.assignee.is_some();
        draft.emit(TodoYielded { todo_id: self.todo_id, reason: self.reason.clone() });
        if stays {
            // An assigned task is in progress, whether or not anybody holds it.
            return draft.start(self.todo_id);
        }
        if assigned {
            draft.emit(TodoAssigned { todo_id: self.todo_id, assignee: None });
        }
        Ok(())
    }

    /// Gives an agent back only its lease, because somebody else assigned it the task?
    fn assignment_stays(&self, draft: &Draft<'_>) -> Result<bool, Refused> {
        let todo = draft.todo(self.todo_id)?;
        let is_own = todo.assignee.as_ref() == Some(&draft.actor.agent);
        if !is_own || todo.assigned_by_taking || !draft.policy().assigning_starts {
            return Ok(false);
        }
        let (role, list) = (draft.actor.role, draft.state.list.kind());
        let assigns = authority(role, list, todo.kind, Action::Assign, true);
        Ok(!(self.unassigns && assigns == Verdict::Allow))
    }
}
