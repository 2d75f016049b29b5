//! Items of one list that exclude each other: two that say the same, or one that names another
//! (Q-S3). The one of higher priority stands, then the earlier one; the other is held, with the
//! reason, until the list says otherwise. Nothing is guessed.

use std::collections::BTreeMap;

use super::pairing::Entry;
use crate::command::draft::Draft;
use crate::event::{TodoHeld, TodoUnheld};
use crate::text::normalised;
use crate::todo::{Hold, HoldKind};
use crate::{Refusal, Refused, TodoId, Warning};

/// Who has to wait for whom, by their places in the new list.
type Conflicts = BTreeMap<usize, usize>;

impl Draft<'_> {
    /// Finds the losers. Where texts are unique there is nothing to find.
    pub(super) fn conflicts(&self, entries: &[Entry<'_>]) -> Result<Conflicts, Refused> {
        let mut losers = Conflicts::new();
        if self.policy().unique_texts {
            return Ok(losers);
        }
        for entry in entries {
            self.check_named(entry, entries)?;
        }
        let mut open: Vec<usize> =
            (0..entries.len()).filter(|n| !entries[*n].status.is_settled()).collect();
        open.sort_by_key(|n| (entries[*n].priority, *n));
        let texts: Vec<String> = entries.iter().map(|e| normalised(e.title.as_str())).collect();
        let names = |one: &Entry<'_>, other: &Entry<'_>| {
            one.item.conflicts_with.is_some() && one.item.conflicts_with == other.called
        };
        let mut winners: Vec<usize> = Vec::new();
        for n in open {
            let against = |winner: &&usize| {
                let (one, other) = (&entries[n], &entries[**winner]);
                texts[n] == texts[**winner] || names(one, other) || names(other, one)
            };
            match winners.iter().find(against) {
                Some(winner) => drop(losers.insert(n, *winner)),
                None => winners.push(n),
            }
        }
        Ok(losers)
    }

    /// What an item says it conflicts with must be an item.
    fn check_named(&self, entry: &Entry<'_>, entries: &[Entry<'_>]) -> Result<(), Refused> {
        let Some(id) = &entry.item.conflicts_with else { return Ok(()) };
        let listed = entries.iter().any(|other| other.called.as_ref() == Some(id));
        let mut in_view = self.state.todos.values().filter(|todo| todo.removed_at.is_none());
        if listed || in_view.any(|todo| todo.called() == *id) {
            return Ok(());
        }
        let list = Some(self.state.list.kind());
        Err(Refusal::UnknownTodo { todo_id: id.clone(), list }.into())
    }

    /// Lets go what waited for another item and need not any more.
    pub(super) fn let_go(&mut self, ids: &[TodoId], conflicts: &Conflicts) {
        for (n, todo_id) in ids.iter().enumerate() {
            let waited = self.waits_for(*todo_id);
            let waits = conflicts.get(&n).map(|winner| ids[*winner]);
            if waited.is_some() && waited != waits {
                self.emit(TodoUnheld { todo_id: *todo_id });
            }
        }
    }

    /// Holds what has to wait, and says so. A hold that somebody gave for a reason of their own stays.
    pub(super) fn hold_losers(
        &mut self,
        ids: &[TodoId],
        conflicts: &Conflicts,
    ) -> Result<(), Refused> {
        for (loser, winner) in conflicts {
            let (todo_id, winner) = (ids[*loser], ids[*winner]);
            let with = self.todo(winner)?.title.clone();
            let todo = self.todo(todo_id)?;
            let (title, is_held) = (todo.title.clone(), todo.hold.is_some());
            if !is_held {
                let hold = Hold {
                    kind: HoldKind::Blocked,
                    reason: format!("conflicts with `{with}`, which comes first"),
                    at: self.now,
                    by: self.actor.principal.clone(),
                    conflicts_with: Some(winner),
                    until: None,
                };
                self.emit(TodoHeld { todo_id, hold });
            }
            self.decision.warnings.push(Warning::Conflict { title, with });
        }
        Ok(())
    }

    fn waits_for(&self, id: TodoId) -> Option<TodoId> {
        self.state.todo(id)?.hold.as_deref()?.conflicts_with
    }
}
