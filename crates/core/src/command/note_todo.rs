//! Add a note to an item. Notes are only ever added, also to settled items.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoNoted;
use crate::text::Body;
use crate::todo::Note;
use crate::{Refused, TodoId};

/// Write something down about an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteTodo {
    pub todo_id: TodoId,
    pub text: Body,
}

impl NoteTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        let note = Note {
            todo_id: self.todo_id,
            author: draft.actor.agent.to_string(),
            text: self.text.as_str().to_owned(),
            at: draft.now,
        };
        draft.emit(TodoNoted { note });
        Ok(())
    }
}
