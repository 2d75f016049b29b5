//! Counts what an import changed.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Node;
use super::pairing::flat;
use crate::{Event, TodoId};

/// How many tasks were added, moved, archived and left unchanged. A task that was only reworded or
/// settled is in none of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Changes {
    pub added: usize,
    pub moved: usize,
    pub archived: usize,
    pub unchanged: usize,
}

impl Changes {
    /// Counts the changes of an import from its events.
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
                // An open task was cancelled first; that event is not counted.
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
