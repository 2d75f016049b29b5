//! Items of one list that exclude each other: two with the same text, or one that names another
//! (Q-S3). The one with the higher priority wins, then the earlier one. The other is held, with the
//! reason, until a new list ends the conflict.

use std::collections::{BTreeMap, BTreeSet};

use super::pairing::Entry;
use crate::command::draft::Draft;
use crate::event::{TodoHeld, TodoUnheld};
use crate::text::normalised;
use crate::todo::{Hold, HoldKind};
use crate::{Refusal, Refused, Todo, TodoId, Warning};

/// Loser to winner, by their places in the new list.
type Conflicts = BTreeMap<usize, usize>;

/// A text or id, and its first winner: the winner's order among the open items, and its place.
type Known<'a> = BTreeMap<&'a str, (usize, usize)>;

impl Draft<'_> {
    /// Finds the losers. A list with unique texts has none.
    pub(super) fn conflicts(&self, entries: &[Entry<'_>]) -> Result<Conflicts, Refused> {
        let mut losers = Conflicts::new();
        if self.policy().unique_texts {
            return Ok(losers);
        }
        self.check_named(entries)?;
        let mut open: Vec<usize> =
            (0..entries.len()).filter(|n| !entries[*n].status.is_settled()).collect();
        open.sort_unstable_by_key(|n| (entries[*n].priority, *n));
        let texts: Vec<String> = entries.iter().map(|e| normalised(e.title.as_str())).collect();
        // The first winner by text, by own id, and by the id it names.
        let (mut saying, mut called, mut naming) = (Known::new(), Known::new(), Known::new());
        for (order, n) in open.into_iter().enumerate() {
            let (id, names) = (&entries[n].called, &entries[n].item.conflicts_with);
            let against = [
                saying.get(texts[n].as_str()),
                names.as_ref().and_then(|named| called.get(named.as_str())),
                id.as_ref().and_then(|id| naming.get(id.as_str())),
            ];
            if let Some((_, winner)) = against.into_iter().flatten().min() {
                losers.insert(n, *winner);
                continue;
            }
            saying.entry(&texts[n]).or_insert((order, n));
            if let Some(id) = id {
                called.entry(id).or_insert((order, n));
            }
            if let Some(named) = names {
                naming.entry(named).or_insert((order, n));
            }
        }
        Ok(losers)
    }

    /// Refuses an unknown id in `conflicts_with`.
    fn check_named(&self, entries: &[Entry<'_>]) -> Result<(), Refused> {
        if entries.iter().all(|entry| entry.item.conflicts_with.is_none()) {
            return Ok(());
        }
        let listed = entries.iter().filter_map(|entry| entry.called.clone());
        let in_view = self.state.todos.values().filter(|todo| todo.removed_at.is_none());
        let known: BTreeSet<String> = listed.chain(in_view.map(Todo::called)).collect();
        let named = entries.iter().filter_map(|entry| entry.item.conflicts_with.as_ref());
        let Some(id) = named.into_iter().find(|id| !known.contains(*id)) else { return Ok(()) };
        let list = Some(self.state.list.kind());
        Err(Refusal::UnknownTodo { todo_id: id.clone(), list }.into())
    }

    /// Lifts the holds of items that need not wait for another any more.
    pub(super) fn let_go(&mut self, ids: &[TodoId], conflicts: &Conflicts) {
        for (n, todo_id) in ids.iter().enumerate() {
            let waited = self.waits_for(*todo_id);
            let waits = conflicts.get(&n).map(|winner| ids[*winner]);
            if waited.is_some() && waited != waits {
                self.emit(TodoUnheld { todo_id: *todo_id });
            }
        }
    }

    /// Holds the losers, with a warning. A hold that somebody set for another reason stays.
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
