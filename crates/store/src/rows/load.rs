//! Loads a snapshot from rows, and writes what `apply` changed back to rows.
//!
//! An operation names what its rules depend on ([`Load`]); nothing more is read.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_core::lease;
use punchlist_core::policy::policy;
use punchlist_core::{
    Decision, Event, Ids, Lease, List, ListId, Snapshot, Status, Tally, Todo, TodoId, Touched,
    apply,
};

use super::events::Stamp;
use crate::{Error, Tx};

/// The items that a decision needs. Counts and the last position are included, unless the variant
/// says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// No items: enough for appending.
    Counts,
    /// One item by id, with its parents.
    Todo(TodoId),
    /// Like `Todo`, without counts: taking one of a million items must not count the list.
    Item(TodoId),
    /// The open items, for rules about the whole list. In a list that nests, also the settled items
    /// above them: an item below a cancelled one is dropped.
    Open,
    /// The items that determine the current task of a tree, without counts.
    Place,
    /// The visible items. In a list with a limit of visible items, the cost does not grow with its
    /// history.
    InView,
    /// All items.
    All,
}

impl Tx<'_> {
    /// The state of a list, as far as the decision needs it.
    pub fn snapshot(&mut self, list: List, load: Load) -> Result<Snapshot, Error> {
        let (todos, leases) = match load {
            Load::Counts => (BTreeMap::new(), Vec::new()),
            Load::Todo(id) | Load::Item(id) => match self.todo_and_lease(list.id, id)? {
                None => (BTreeMap::new(), Vec::new()),
                Some((todo, lease)) => {
                    let leases = lease.map(|lease| (id, lease)).into_iter().collect();
                    (self.with_parents(list.id, todo)?, leases)
                }
            },
            Load::Place => (self.standing(list.id)?, Vec::new()),
            Load::InView => (self.todos_in_view(list.id)?, self.leases(list.id)?),
            Load::All => (self.todos_by_id(list.id)?, self.leases(list.id)?),
            Load::Open => {
                let mut open = Vec::new();
                for status in [Status::Backlog, Status::Pending, Status::InProgress] {
                    open.extend(self.todos_in(list.id, status)?);
                }
                let mut open = by_id(open);
                if policy(list.kind()).nests {
                    self.bring_parents(list.id, &mut open)?;
                }
                (open, self.leases(list.id)?)
            }
        };
        let (tally, last_position) = match load {
            Load::Item(_) | Load::Place => (Tally::default(), None),
            // All items were loaded, so they are counted here.
            Load::All => counted(&todos),
            _ => self.tally(list.id)?,
        };
        let leases = leases.into_iter().collect();
        Ok(Snapshot { tally, last_position, todos, leases, ..Snapshot::empty(list) })
    }

    /// The state of a list that is needed to take an item, which the caller has already read.
    pub fn snapshot_around(
        &mut self,
        list: List,
        todo: Todo,
        lease: Option<Lease>,
    ) -> Result<Snapshot, Error> {
        let id = todo.id;
        let todos = self.with_parents(list.id, todo)?;
        let leases = lease.map(|lease| (id, lease)).into_iter().collect();
        Ok(Snapshot { todos, leases, ..Snapshot::empty(list) })
    }

    /// An item and its parents up to the root: the owner of a parent owns the items below it. Also
    /// the tasks that one of these comes after, with their parents, which decide whether it can be
    /// taken.
    fn with_parents(&mut self, list: ListId, todo: Todo) -> Result<BTreeMap<TodoId, Todo>, Error> {
        let mut found = by_id(vec![todo]);
        self.bring_parents(list, &mut found)?;
        let first: BTreeSet<TodoId> = found.values().flat_map(|todo| todo.after.clone()).collect();
        for id in first {
            if !found.contains_key(&id) {
                found.extend(self.todo(list, id)?.map(|todo| (id, todo)));
            }
        }
        self.bring_parents(list, &mut found)?;
        Ok(found)
    }

    /// Adds the parents that are missing, up to the roots.
    fn bring_parents(
        &mut self,
        list: ListId,
        todos: &mut BTreeMap<TodoId, Todo>,
    ) -> Result<(), Error> {
        let mut missing: Vec<TodoId> = todos.values().filter_map(|todo| todo.parent_id).collect();
        while let Some(id) = missing.pop() {
            if todos.contains_key(&id) {
                continue;
            }
            if let Some(todo) = self.todo(list, id)? {
                missing.extend(todo.parent_id);
                todos.insert(id, todo);
            }
        }
        Ok(())
    }

    /// Folds a decision into the snapshot and writes the changed rows, its events and its effects,
    /// all in the caller's transaction.
    pub fn record(
        &mut self,
        snapshot: &mut Snapshot,
        decision: &Decision,
        stamp: &Stamp,
        ids: &mut Ids,
    ) -> Result<(), Error> {
        let aggregate = snapshot.list.id.to_string();
        let nests = policy(snapshot.list.kind()).nests;
        // A row that several events change is written once, in its final state.
        let mut rows = Rows::default();
        let mut taken: BTreeSet<TodoId> = BTreeSet::new();
        let mut given_back: BTreeSet<TodoId> = BTreeSet::new();
        for event in &decision.events {
            match apply(snapshot, event, stamp.at) {
                Touched::Nothing | Touched::Note => {}
                Touched::List => self.put_list(&snapshot.list)?,
                Touched::Purged => {
                    self.purge_list(snapshot.list.id)?;
                    self.put_list(&snapshot.list)?;
                }
                Touched::Todo(id) => {
                    rows.touched_by(event, id);
                    if lease::ended_by(event) {
                        given_back.insert(id);
                    }
                }
                Touched::Lease(id) => {
                    taken.insert(id);
                    given_back.remove(&id);
                }
                Touched::Taken(id) => {
                    rows.touched_by(event, id);
                    taken.insert(id);
                    given_back.remove(&id);
                }
            }
        }
        for id in rows.created {
            if let Some(todo) = snapshot.todos.get(&id) {
                self.insert_todo(todo, nests)?;
            }
        }
        for (id, change) in rows.changed {
            if let Some(todo) = snapshot.todos.get(&id) {
                match change {
                    Change::Whole => self.update_todo(todo)?,
                    Change::Standing => self.move_todo(todo)?,
                }
                let ends = lease::ends_with(todo) || given_back.contains(&id);
                if let Some(lease) = snapshot.leases.get_mut(&id)
                    && (ends || lease.holder.is_none())
                {
                    self.end_lease(id, lease::can_be_continued(todo))?;
                    lease.holder = None;
                }
            }
        }
        // In event order, so that a parent has its key before its children.
        for id in rows.moved.into_iter().filter(|_| nests) {
            if let Some(todo) = snapshot.todos.get(&id) {
                self.place_again(todo)?;
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

/// The rows that events changed.
#[derive(Default)]
struct Rows {
    /// In creation order, so that parents come before their children.
    created: Vec<TodoId>,
    changed: BTreeMap<TodoId, Change>,
    moved: Vec<TodoId>,
    new: BTreeSet<TodoId>,
}

/// Which part of a row changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Only its status and its assignee.
    Standing,
    Whole,
}

impl Rows {
    fn touched_by(&mut self, event: &Event, id: TodoId) {
        if matches!(event, Event::TodoCreated(_)) {
            self.created.push(id);
            self.new.insert(id);
        }
        if matches!(event, Event::TodoMoved(_) | Event::TodoRevised(_)) {
            self.moved.push(id);
        }
        // A new row is written once, in its final state.
        if self.new.contains(&id) {
            return;
        }
        let change = match event {
            Event::TodoStarted(_)
            | Event::TodoYielded(_)
            | Event::TodoAssigned(_)
            | Event::TodoTaken(_) => Change::Standing,
            _ => Change::Whole,
        };
        let known = self.changed.entry(id).or_insert(change);
        if change == Change::Whole {
            *known = change;
        }
    }
}

/// The counts by status, and the highest position.
fn counted(todos: &BTreeMap<TodoId, Todo>) -> (Tally, Option<i64>) {
    let mut tally = Tally::default();
    for todo in todos.values() {
        *tally.of(todo.status) += 1;
    }
    (tally, todos.values().map(|todo| todo.position).max())
}

fn by_id(todos: Vec<Todo>) -> BTreeMap<TodoId, Todo> {
    todos.into_iter().map(|todo| (todo.id, todo)).collect()
}
