//! From rows to a snapshot, and from what `apply` touched back to rows.
//!
//! An operation says what its rules depend on ([`Load`]); nothing more is read.

use punchlist_core::{Decision, Event, Ids, List, Snapshot, Status, TodoId, Touched, apply};

use super::events::Stamp;
use crate::{Error, Tx};

/// Which items a decision needs to see. Counts and the last position always come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// None: appending.
    Counts,
    /// One, by id.
    Todo(TodoId),
    /// The open ones, where rules look across the list.
    Open,
    /// Every one.
    All,
}

impl Tx<'_> {
    /// The state of a list, as far as the decision needs it.
    pub fn snapshot(&mut self, list: List, load: Load) -> Result<Snapshot, Error> {
        let todos = match load {
            Load::Counts => Vec::new(),
            Load::Todo(id) => self.todo(list.id, id)?.into_iter().collect(),
            Load::All => self.todos(list.id)?,
            Load::Open => {
                let mut open = Vec::new();
                for status in [Status::Backlog, Status::Pending, Status::InProgress] {
                    open.extend(self.todos_in(list.id, status)?);
                }
                open
            }
        };
        let (tally, last_position) = self.tally(list.id)?;
        let todos = todos.into_iter().map(|todo| (todo.id, todo)).collect();
        Ok(Snapshot { tally, last_position, todos, ..Snapshot::empty(list) })
    }

    /// Folds a decision into the snapshot and writes the rows it touched, its events and its
    /// effects. The caller's transaction makes them one commit.
    pub fn record(
        &mut self,
        snapshot: &mut Snapshot,
        decision: &Decision,
        stamp: &Stamp,
        ids: &mut Ids,
    ) -> Result<(), Error> {
        let aggregate = snapshot.list.id.to_string();
        // A row that several events touch is written once, as it is in the end.
        let mut touched: Vec<TodoId> = Vec::new();
        let mut created: Vec<TodoId> = Vec::new();
        for event in &decision.events {
            match apply(snapshot, event, stamp.at) {
                Touched::Nothing => {}
                Touched::List => self.insert_list(&snapshot.list)?,
                Touched::Todo(id) => {
                    if matches!(event, Event::TodoCreated(_)) {
                        created.push(id);
                    } else if !touched.contains(&id) && !created.contains(&id) {
                        touched.push(id);
                    }
                }
                Touched::Note => {}
            }
        }
        for id in created {
            if let Some(todo) = snapshot.todos.get(&id) {
                self.insert_todo(todo)?;
            }
        }
        for id in touched {
            if let Some(todo) = snapshot.todos.get(&id) {
                self.update_todo(todo)?;
            }
        }
        for note in snapshot.notes.drain(..) {
            self.insert_note(&note)?;
        }
        for event in &decision.events {
            self.append(stamp, &aggregate, event)?;
        }
        for effect in &decision.effects {
            self.enqueue(effect, stamp.at, ids)?;
        }
        Ok(())
    }
}
