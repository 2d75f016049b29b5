//! Import items of a mission that was kept elsewhere (M-20).
//!
//! Items keep their old ids, so that a second import changes nothing. Blocked items become pending:
//! a mission has no status `blocked`. Completed items were not accepted by anybody here, so they
//! become claims (P-22), unless the operator accepts them all at once. Limits do not cut off
//! existing work (M-13): items over a limit are kept, with a warning.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::NewTodo;
use super::draft::Draft;
use crate::authority::{Action, Denial, Verdict, authority};
use crate::event::{TodoClaimed, TodoCreated};
use crate::named::named;
use crate::text::{Body, normalised};
use crate::todo::Claim;
use crate::{ListKind, Refusal, Refused, Status, Time, TodoKind, Warning};

/// Put items into a pillar's list in the state they had elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportMissionTodos {
    pub items: Vec<OldTodo>,
    /// Accept completed items as completed.
    pub accept: bool,
}

/// An item in its old state. Its `item.external_id` is its old id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldTodo {
    pub item: NewTodo,
    pub status: OldStatus,
    pub outcome: Option<Body>,
    pub created_at: Option<Time>,
    pub started_at: Option<Time>,
    pub completed_at: Option<Time>,
}

named! {
    /// The statuses of the old schema and of the new one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum OldStatus {
        Backlog = "backlog",
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
        Blocked = "blocked",
        Cancelled = "cancelled",
    }
}

/// The outcome of an item that has none.
const NO_WORDS: &str = "As it was when it was imported.";

impl ImportMissionTodos {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let (role, list) = (draft.actor.role, draft.state.list.kind());
        // An import skips limits and review, so only roles with that right may do it. Others create
        // items one by one.
        let todo_kind = TodoKind::Step;
        if authority(role, list, todo_kind, Action::Import, true) != Verdict::Allow
            || list != ListKind::Pillar
        {
            let (action, denial) = (Action::Create, Denial::Role);
            return Err(Refusal::NotPermitted { role, action, list, todo_kind, denial }.into());
        }
        let known = draft.state.todos.values().filter_map(|todo| todo.external_id.clone());
        let mut known: BTreeSet<String> = known.collect();
        for old in &self.items {
            draft.leave_on_list(TodoKind::Step, None)?;
            if old.item.external_id.as_ref().is_some_and(|id| !known.insert(id.clone())) {
                let text = normalised(old.item.title.as_str());
                draft.decision.warnings.push(Warning::AlreadyListed { text });
                continue;
            }
            draft.bring_in(old, self.accept)?;
        }
        Ok(())
    }
}

impl Draft<'_> {
    fn bring_in(&mut self, old: &OldTodo, accept: bool) -> Result<(), Refused> {
        let status = match old.status {
            OldStatus::Backlog => Status::Backlog,
            OldStatus::Pending | OldStatus::Blocked | OldStatus::Cancelled => Status::Pending,
            // Only an item in progress can be completed.
            OldStatus::InProgress | OldStatus::Completed => Status::InProgress,
        };
        let mut todo = self.row(&old.item, status);
        let id = todo.id;
        // Ignores times in the future, if the other clock was wrong.
        let past = |time: Option<Time>| time.filter(|time| *time <= self.now);
        todo.created_at = past(old.created_at).unwrap_or(self.now);
        if status == Status::InProgress {
            todo.started_at = past(old.started_at).or(Some(todo.created_at));
        }
        self.emit(TodoCreated { todo: Box::new(todo) });
        let outcome = old.outcome.as_ref().map_or(NO_WORDS, Body::as_str).to_owned();
        match old.status {
            OldStatus::Completed => {
                let claim = Claim::new(self.actor, self.now, Some(outcome.clone()), Vec::new());
                self.emit(TodoClaimed { todo_id: id, claim });
                let when =
                    old.completed_at.map(|at| format!("Completed at {at}, before the import."));
                if let Some(Ok(note)) = when.map(|when| Body::new(&when)) {
                    self.note(id, &note);
                }
                if accept {
                    self.complete(id, Some(&outcome), &[])?;
                }
            }
            OldStatus::Cancelled => self.cancel(id, Some(outcome)),
            _ => {}
        }
        Ok(())
    }
}
