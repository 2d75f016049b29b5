//! Accept a claim: the item is completed, with the claim's outcome and evidence.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::authority::Action;
use crate::{Refusal, Refused, TodoId};

/// Accept a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptTodo {
    pub todo_id: TodoId,
    /// The reviewer's outcome; if absent, the claim's is kept.
    pub outcome: Option<String>,
}

impl AcceptTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        let todo = draft.open(self.todo_id)?;
        let Some(claim) = todo.claim.clone() else {
            return Err(Refusal::NoClaim { title: todo.title.clone() }.into());
        };
        draft.nothing_open_below(self.todo_id, Action::Accept)?;
        let outcome = self.outcome.as_deref().or(claim.outcome.as_deref());
        draft.complete(self.todo_id, outcome, &claim.evidence)
    }
}
