//! Refuse a sign-off: the criteria that were named are open again, each with a note (K-39).

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::event::{ClaimReturned, TodoNoted, TodoReopened};
use crate::text::Body;
use crate::todo::Note;
use crate::{Refusal, Refused, Status, Todo, TodoId, TodoKind};

/// Open criteria again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefuseSignOff {
    /// Which; none: every claimed one.
    pub todo_ids: Option<Vec<TodoId>>,
    pub feedback: Body,
}

impl RefuseSignOff {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.leave_on_list(TodoKind::Criterion, None)?;
        let claimed = |todo: &&Todo| {
            todo.kind == TodoKind::Criterion && !todo.status.is_settled() && todo.claim.is_some()
        };
        let all = || draft.state.todos.values().filter(claimed).map(|todo| todo.id).collect();
        let named: Vec<TodoId> = self.todo_ids.clone().unwrap_or_else(all);
        for todo_id in named {
            let todo = draft.todo(todo_id)?;
            let (status, has_claim) = (todo.status, todo.claim.is_some());
            let feedback = self.feedback.as_str().to_owned();
            match (status, has_claim) {
                (Status::Completed, _) => {
                    draft.emit(TodoReopened { todo_id, reason: Some(feedback.clone()) });
                }
                (Status::Pending | Status::InProgress, true) => {
                    draft.emit(ClaimReturned { todo_id, feedback: feedback.clone() });
                }
                _ => return Err(Refusal::NoClaim { title: todo.title.clone() }.into()),
            }
            let author = draft.actor.principal.clone();
            let note = Note { todo_id, author, text: feedback, at: draft.now };
            draft.emit(TodoNoted { note });
        }
        Ok(())
    }
}
