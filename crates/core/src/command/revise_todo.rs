//! Change an open item's title, phase, priority, position or deadline.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::deadline::Deadline;
use crate::event::TodoRevised;
use crate::text::{Title, normalised};
use crate::todo::{Priority, Todo};
use crate::{Refusal, Refused, TodoId};

/// New values for an item; absent fields stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviseTodo {
    pub todo_id: TodoId,
    pub title: Option<Title>,
    pub priority: Option<Priority>,
    pub position: Option<i64>,
    pub deadline: Option<Deadline>,
    pub reason: Option<String>,
}

impl ReviseTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        let todo = draft.open(self.todo_id)?.clone();
        let title = self.title.as_ref().map_or(todo.title.as_str(), Title::as_str);
        if normalised(title) != normalised(&todo.title) {
            draft.check_unique(title)?;
        }
        if let Some(deadline) = self.deadline.filter(|deadline| todo.deadline != Some(*deadline))
            && deadline.is_over_everywhere(draft.now)
        {
            return Err(Refusal::PastDate { given: deadline.to_string() }.into());
        }
        let mut revised = Draft::unrevised(&todo);
        title.clone_into(&mut revised.title);
        revised.priority = self.priority.unwrap_or(todo.priority);
        revised.position = self.position.unwrap_or(todo.position);
        revised.deadline = self.deadline.or(todo.deadline);
        revised.reason.clone_from(&self.reason);
        draft.emit(revised);
        Ok(())
    }
}

impl Draft<'_> {
    /// The revision that changes nothing, to start from.
    pub(super) fn unrevised(todo: &Todo) -> TodoRevised {
        TodoRevised {
            todo_id: todo.id,
            title: todo.title.clone(),
            phase: todo.phase.clone(),
            priority: todo.priority,
            position: todo.position,
            deadline: todo.deadline,
            reason: None,
        }
    }
}
