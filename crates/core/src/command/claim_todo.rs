//! Claim an item: "I say this is done". Someone with authority accepts or returns it.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoClaimed;
use crate::evidence::{Evidence, EvidenceKind};
use crate::todo::Claim;
use crate::transition::Move;
use crate::{Refusal, Refused, Time, TodoId};

/// Say that an item is done, for a reviewer to judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimTodo {
    pub todo_id: TodoId,
    pub outcome: Option<String>,
    pub evidence: Vec<Evidence>,
    /// The database's clock, to check the lease; `None` skips that check.
    #[serde(default)]
    pub clock: Option<Time>,
}

impl ClaimTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        if let Some(clock) = self.clock {
            let taken = draft.not_taken_by_another(self.todo_id, clock);
            taken.map_err(|refused| draft.logged(self.todo_id, refused.refusal))?;
        }
        draft.claim(self.todo_id, self.outcome.as_deref(), &self.evidence)?;
        Ok(())
    }
}

impl Draft<'_> {
    pub(super) fn claim(
        &mut self,
        todo_id: TodoId,
        outcome: Option<&str>,
        evidence: &[Evidence],
    ) -> Result<(), Refused> {
        self.open(todo_id)?;
        self.unclaimed(todo_id)?;
        // An item that cannot be completed from here cannot be claimed: nobody could accept it.
        self.can(Move::Complete, todo_id)?;
        let given = |kind: &EvidenceKind| evidence.iter().any(|piece| piece.kind() == *kind);
        let wanted = &self.state.terms.claim_evidence;
        let missing: Vec<_> = wanted.iter().copied().filter(|kind| !given(kind)).collect();
        if !missing.is_empty() {
            return Err(Refusal::EvidenceRequired { missing }.into());
        }
        let outcome = self.outcome(outcome)?;
        let claim = Claim::new(self.actor, self.now, outcome, evidence.to_vec());
        self.emit(TodoClaimed { todo_id, claim });
        Ok(())
    }

    /// Refuses an item that waits for its reviewer: nobody may work on it.
    pub(super) fn unclaimed(&self, todo_id: TodoId) -> Result<(), Refused> {
        let todo = self.todo(todo_id)?;
        match &todo.claim {
            None => Ok(()),
            Some(claim) => Err(Refusal::AlreadyClaimed {
                title: todo.title.clone(),
                by: claim.by.clone(),
                at: claim.at,
            }
            .into()),
        }
    }
}
