//! Which items of a list say what: an index for commands that look up many texts at once, so that
//! they take time with the length of the list and not with its square.

use std::collections::BTreeMap;

use crate::text::normalised;
use crate::{Event, Snapshot, Todo, TodoId};

/// Items by their text as texts are compared. An item stays under a text that it no longer has:
/// whoever looks checks the item.
#[derive(Default)]
pub(super) struct Texts {
    items: Option<BTreeMap<String, Vec<TodoId>>>,
}

impl Texts {
    /// The items of a list that have a text, made into an index at the first look.
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

    /// An event may give an item its text.
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
