//! From rows to a snapshot, and from what `apply` touched back to rows.
//!
//! An operation says what its rules depend on ([`Load`]); nothing more is read.

use punchlist_core::lease;
use punchlist_core::{
    Decision, Event, Ids, Lease, List, ListId, Snapshot, Status, Tally, Todo, TodoId, Touched,
    apply,
};

use super::events::Stamp;
use crate::{Error, Tx};

/// Which items a decision needs to see. Counts and the last position come with all but `Item`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// None: appending.
    Counts,
    /// One, by id, with what it hangs under.
    Todo(TodoId),
    /// The same without counts: a list of a million is not counted to take one of it.
    Item(TodoId),
    /// The open ones, where rules look across the list.
    Open,
    /// Every one.
    All,
}

/// Items and the leases among them.
type WithLeases = (Vec<Todo>, Vec<(TodoId, Lease)>);

impl Tx<'_> {
    /// The state of a list, as far as the decision needs it.
    pub fn snapshot(&mut self, list: List, load: Load) -> Result<Snapshot, Error> {
        let (todos, leases) = match load {
            Load::Counts => (Vec::new(), Vec::new()),
            Load::Todo(id) | Load::Item(id) => self.todo_and_parents(list.id, id)?,
            Load::All => (self.unsorted(list.id)?, self.leases(list.id)?),
            Load::Open => {
                let mut open = Vec::new();
                for status in [Status::Backlog, Status::Pending, Status::InProgress] {
                    open.extend(self.todos_in(list.id, status)?);
                }
                (open, self.leases(list.id)?)
            }
        };
        let (tally, last_position) = match load {
            Load::Item(_) => (Tally::default(), None),
            // Whoever has them all can count them.
            Load::All => counted(&todos),
            _ => self.tally(list.id)?,
        };
        let todos = todos.into_iter().map(|todo| (todo.id, todo)).collect();
        let leases = leases.into_iter().collect();
        Ok(Snapshot { tally, last_position, todos, leases, ..Snapshot::empty(list) })
    }

    /// The state of a list as far as taking an item that was read already needs it.
    pub fn snapshot_around(
        &mut self,
        list: List,
        todo: Todo,
        lease: Option<Lease>,
    ) -> Result<Snapshot, Error> {
        let id = todo.id;
        let todos = self.with_parents(list.id, todo)?;
        let todos = todos.into_iter().map(|todo| (todo.id, todo)).collect();
        let leases = lease.map(|lease| (id, lease)).into_iter().collect();
        Ok(Snapshot { todos, leases, ..Snapshot::empty(list) })
    }

    /// An item with its lease, and its parents up to the root: who owns a parent owns what hangs
    /// under it.
    fn todo_and_parents(&mut self, list: ListId, id: TodoId) -> Result<WithLeases, Error> {
        let Some((todo, lease)) = self.todo_and_lease(list, id)? else {
            return Ok((Vec::new(), Vec::new()));
        };
        let found = self.with_parents(list, todo)?;
        Ok((found, lease.map(|lease| (id, lease)).into_iter().collect()))
    }

    /// An item and what it hangs under.
    fn with_parents(&mut self, list: ListId, todo: Todo) -> Result<Vec<Todo>, Error> {
        let mut next = todo.parent_id;
        let mut found = vec![todo];
        while let Some(id) = next {
            // A circle can only come from outside; it must not hold us for ever.
            if found.iter().any(|known| known.id == id) {
                break;
            }
            let Some(todo) = self.todo(list, id)? else { break };
            next = todo.parent_id;
            found.push(todo);
        }
        Ok(found)
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
        let mut taken: Vec<TodoId> = Vec::new();
        // Of which more changed than where they stand and who has them.
        let mut rewritten: Vec<TodoId> = Vec::new();
        for event in &decision.events {
            match apply(snapshot, event, stamp.at) {
                Touched::Nothing => {}
                Touched::List => self.put_list(&snapshot.list)?,
                Touched::Purged => {
                    self.purge_list(snapshot.list.id)?;
                    self.put_list(&snapshot.list)?;
                }
                Touched::Todo(id) => {
                    let moved = matches!(
                        event,
                        Event::TodoStarted(_) | Event::TodoYielded(_) | Event::TodoAssigned(_)
                    );
                    if !moved {
                        rewritten.push(id);
                    }
                    if matches!(event, Event::TodoCreated(_)) {
                        created.push(id);
                    } else if !touched.contains(&id) && !created.contains(&id) {
                        touched.push(id);
                    }
                }
                Touched::Note => {}
                Touched::Lease(id) => {
                    if !taken.contains(&id) {
                        taken.push(id);
                    }
                }
            }
        }
        for id in created {
            if let Some(todo) = snapshot.todos.get(&id) {
                self.insert_todo(todo)?;
            }
        }
        for id in touched {
            if let Some(todo) = snapshot.todos.get(&id) {
                if rewritten.contains(&id) {
                    self.update_todo(todo)?;
                } else {
                    self.move_todo(todo)?;
                }
                if snapshot.leases.contains_key(&id) && lease::ends_with(todo) {
                    self.end_lease(id)?;
                }
            }
        }
        for id in taken {
            if let Some(lease) = snapshot.leases.get(&id) {
                self.put_lease(id, lease)?;
            }
        }
        for note in snapshot.notes.drain(..) {
            self.insert_note(&note)?;
        }
        self.append_all(stamp, &aggregate, &decision.events)?;
        for effect in &decision.effects {
            self.enqueue(effect, stamp.at, ids)?;
        }
        Ok(())
    }
}

/// How many of these stand where, and the highest position.
fn counted(todos: &[Todo]) -> (Tally, Option<i64>) {
    let mut tally = Tally::default();
    for todo in todos {
        *tally.of(todo.status) += 1;
    }
    (tally, todos.iter().map(|todo| todo.position).max())
}
