//! An index of a list's items by text, for commands that look up many texts at once: it makes them
//! linear in the length of the list, not quadratic.

use std::collections::BTreeMap;

use crate::text::normalised;
use crate::{Event, Snapshot, Todo, TodoId};

/// Items by normalised text. An item may still be listed under a text it no longer has, so each
/// lookup checks the item.
#[derive(Default)]
pub(super) struct Texts {
    items: Option<BTreeMap<String, Vec<TodoId>>>,
}

impl Texts {
    /// The items with this text. The first call builds the index.
    pub(super) fn saying<'s>(
        &mut self,
        state: &'s Snapshot,
        text: &str,
    ) -> impl Iterator<Item = &'s Todo> + use<'s> {
        let items = self.items.get_or_insert_with(|| {
            let mut items: BTreeMap<String, Vec<TodoId>> = BTreeMap::new();
            for todo in state.todos.values() {
                items.entry(normalised(&todo.title)).or_default().push(todo.id);
            }
            items
        });
        let found: Vec<TodoId> = items.get(text).cloned().unwrap_or_default();
        let text = text.to_owned();
        let todos = found.into_iter().filter_map(|id| state.todo(id));
        todos.filter(move |todo| normalised(&todo.title) == text)
    }

    /// Adds an item to the index when the event gives it a new text.
    pub(super) fn follow(&mut self, event: &Event) {
        let Some(items) = &mut self.items else { return };
        let (title, id) = match event {
            Event::TodoCreated(created) => (&created.todo.title, created.todo.id),
            Event::TodoRevised(revised) => (&revised.title, revised.todo_id),
            _ => return,
        };
        let said = items.entry(normalised(title)).or_default();
        if !said.contains(&id) {
            said.push(id);
        }
    }
}
