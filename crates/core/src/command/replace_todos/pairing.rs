//! Matches the items of a new list with existing rows.

use std::collections::{BTreeMap, BTreeSet};

use super::ListedTodo;
use crate::command::draft::Draft;
use crate::policy::Address;
use crate::text::{Content, normalised};
use crate::todo::{Priority, Todo};
use crate::{Refusal, Refused, Status, TodoId, TodoKind, Warning};

/// An item of the new list, with its final values.
pub(super) struct Entry<'a> {
    pub item: &'a ListedTodo,
    /// The row it continues; `None` if it is new.
    pub row: Option<TodoId>,
    /// The settled row whose id the new item takes over.
    pub replaces: Option<TodoId>,
    /// The id others can name it by; a new item may have none yet.
    pub called: Option<String>,
    pub title: Content,
    pub priority: Priority,
    pub status: Status,
}

impl Draft<'_> {
    /// Finds the rows, first by id: so an item without an id never takes a row that another item
    /// names by id.
    pub(super) fn pair<'a>(&mut self, items: &'a [ListedTodo]) -> Result<Vec<Entry<'a>>, Refused> {
        self.check_told_apart(items)?;
        let called = self.rows_by_id();
        let named = items.iter().map(|item| called.get(item.external_id.as_ref()?).copied());
        let named: Vec<Option<TodoId>> = named.collect();
        let mut taken: BTreeSet<TodoId> = named.iter().flatten().copied().collect();
        let mut entries = Vec::with_capacity(items.len());
        for (number, (item, named)) in (1..).zip(items.iter().zip(named)) {
            let said = if named.is_none() { self.row_saying(item, &taken) } else { None };
            taken.extend(said);
            let found = named.or(said).and_then(|id| self.state.todo(id));
            match entry(item, found) {
                Some(entry) => entries.push(entry),
                None => self.decision.warnings.push(Warning::Blank { number }),
            }
        }
        Ok(entries)
    }

    /// Refuses two items with the same id, or with the same text if items are identified by text.
    fn check_told_apart(&self, items: &[ListedTodo]) -> Result<(), Refused> {
        let mut ids = BTreeSet::new();
        let mut texts = BTreeSet::new();
        for item in items {
            if let Some(id) = item.external_id.as_ref().filter(|id| !ids.insert(id.as_str())) {
                return Err(Refusal::DuplicateId { id: id.clone() }.into());
            }
            let text = item.title.as_ref().map(|title| normalised(title.as_str()));
            if let Some(text) = text.filter(|_| self.policy().unique_texts)
                && !texts.insert(text.clone())
            {
                return Err(Refusal::DuplicateText { text }.into());
            }
        }
        Ok(())
    }

    /// The rows in view by their ids, open or settled; empty if the list is not addressed by ids.
    fn rows_by_id(&self) -> BTreeMap<String, TodoId> {
        let mut rows = BTreeMap::new();
        if self.policy().address == Address::ExternalId {
            for todo in self.state.todos.values().filter(|todo| todo.removed_at.is_none()) {
                rows.entry(todo.called()).or_insert(todo.id);
            }
        }
        rows
    }

    /// The row in view that has the text of an item without an id: an open one, else a settled one
    /// that the item leaves as it is.
    fn row_saying(&mut self, item: &ListedTodo, taken: &BTreeSet<TodoId>) -> Option<TodoId> {
        if self.policy().address == Address::ExternalId && item.external_id.is_some() {
            return None;
        }
        let text = normalised(item.title.as_ref()?.as_str());
        let same = |todo: &&Todo| {
            todo.removed_at.is_none()
                && todo.kind == TodoKind::Step
                && !taken.contains(&todo.id)
                && (!todo.status.is_settled() || stays(item, todo))
        };
        let found = self.texts.saying(&self.state, &text).filter(same);
        found.min_by_key(|todo| (todo.status.is_settled(), todo.position, todo.id)).map(|t| t.id)
    }
}

/// The item with its final values; `None` if it has neither a title nor a row.
fn entry<'a>(item: &'a ListedTodo, found: Option<&Todo>) -> Option<Entry<'a>> {
    let words = || found.and_then(|todo| Content::new(&todo.title).ok());
    let title = item.title.clone().or_else(words)?;
    let goes_on = |todo: &&Todo| !todo.status.is_settled() || stays(item, todo);
    let row = found.filter(goes_on);
    let replaces = if row.is_none() { found.map(|todo| todo.id) } else { None };
    let called = item.external_id.clone().or_else(|| row.map(Todo::called));
    let priority = item.priority.or(row.map(|row| row.priority)).unwrap_or_default();
    let status = item.status.or(row.map(|row| row.status)).unwrap_or(Status::Pending);
    let row = row.map(|row| row.id);
    Some(Entry { item, row, replaces, called, title, priority, status })
}

/// Does the item leave a settled row as it is? A completed row stays if no status is given. A
/// cancelled row stays only if the item says `cancelled`; otherwise it is a new item.
fn stays(item: &ListedTodo, todo: &Todo) -> bool {
    let same = |title: &Content| normalised(title.as_str()) == normalised(&todo.title);
    item.title.as_ref().is_none_or(same) && item.status.unwrap_or(Status::Completed) == todo.status
}
