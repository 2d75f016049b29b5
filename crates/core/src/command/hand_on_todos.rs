//! Hand on the open items of a list: they continue as items of another list.

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::event::TodoRemoved;
use crate::text::Title;
use crate::{Refused, TodoId, TodoKind};

/// Settle the open items and remove them from view: they are not given up, but in another list now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOnTodos {
    /// The other list, as text, e.g. `issue #7`.
    pub to: Title,
}

impl HandOnTodos {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.leave_on_list(TodoKind::Step, None)?;
        let open = draft.state.todos.values().filter(|todo| !todo.status.is_settled());
        let open: Vec<TodoId> = open.map(|todo| todo.id).collect();
        for todo_id in open {
            draft.cancel(todo_id, Some(format!("handed on to {}", self.to)));
            draft.emit(TodoRemoved { todo_id, removed_at: draft.now });
        }
        Ok(())
    }
}
