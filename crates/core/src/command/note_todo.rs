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
        draft.note(self.todo_id, &self.text);
        Ok(())
    }
}

impl Draft<'_> {
    pub(super) fn note(&mut self, todo_id: TodoId, text: &Body) {
        let (author, text) = (self.actor.agent.to_string(), text.as_str().to_owned());
        self.emit(TodoNoted { note: Note { todo_id, author, text, at: self.now } });
    }
}
