//! Hand the open items of a list on: they go on elsewhere, as items of another list.

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::event::TodoRemoved;
use crate::text::Title;
use crate::{Refused, TodoId, TodoKind};

/// Settle what is open and take it out of view: it is not given up, it stands in another list now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOnTodos {
    /// Where to, in words, e.g. `issue #7`.
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
