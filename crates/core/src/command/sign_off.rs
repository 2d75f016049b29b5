//! Sign off an issue's criteria: claimed ones are accepted, and all are ratified (K-35).

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::event::TodoRatified;
use crate::{Refused, Status, Todo, TodoKind};

/// Accept every claimed criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignOff {
    /// Also accept criteria that nobody claimed.
    #[serde(default)]
    pub accept_unclaimed: bool,
}

impl SignOff {
    pub(super) fn decide(self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.leave_on_list(TodoKind::Criterion, None)?;
        let stands = |todo: &&Todo| {
            todo.kind == TodoKind::Criterion
                && todo.removed_at.is_none()
                && todo.status != Status::Cancelled
        };
        let criteria: Vec<Todo> = draft.state.todos.values().filter(stands).cloned().collect();
        for todo in criteria {
            if todo.ratified_at.is_none() {
                draft.emit(TodoRatified { todo_id: todo.id, ratified_at: draft.now });
            }
            if todo.status.is_settled() {
                continue;
            }
            match todo.claim {
                Some(claim) => {
                    draft.complete(todo.id, claim.outcome.as_deref(), &claim.evidence)?;
                }
                None if self.accept_unclaimed => draft.complete(todo.id, None, &[])?,
                None => {}
            }
        }
        Ok(())
    }
}
