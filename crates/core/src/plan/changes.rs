//! What an import changed, in numbers.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Node;
use super::pairing::flat;
use crate::{Event, TodoId};

/// How many tasks came, changed their place, went out of view and stayed as they were. One that
/// only got other words or was settled is in none of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Changes {
    pub added: usize,
    pub moved: usize,
    pub archived: usize,
    pub unchanged: usize,
}

impl Changes {
    /// Counts what the import of this tree was decided to do.
    #[must_use]
    pub fn of(root: &Node, events: &[Event]) -> Self {
        let mut changes = Self::default();
        // Tasks of the file that something happened to.
        let mut touched: BTreeSet<TodoId> = BTreeSet::new();
        for event in events {
            match event {
                Event::TodoCreated(e) => {
                    changes.added += 1;
                    touched.insert(e.todo.id);
                }
                Event::TodoMoved(e) => {
                    changes.moved += 1;
                    touched.insert(e.todo_id);
                }
                Event::TodoDescribed(e) => drop(touched.insert(e.todo_id)),
                Event::TodoRevised(e) => drop(touched.insert(e.todo_id)),
                Event::TodoCompleted(e) => drop(touched.insert(e.todo_id)),
                Event::TodoCancelled(e) => drop(touched.insert(e.todo_id)),
                // What is open is cancelled first.
                Event::TodoRemoved(e) => {
                    changes.archived += 1;
                    touched.remove(&e.todo_id);
                }
                _ => {}
            }
        }
        changes.unchanged = flat(root).len() - touched.len();
        changes
    }
}
