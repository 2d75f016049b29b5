//! Replace the working list: items that remain keep their rows, new ones are created, and missing
//! ones are cancelled. Criteria are never touched (K-33).
//!
//! Rows are matched the way the list is addressed (`pairing`): by the model's own id, or by text.
//! In lists that allow equal texts, `conflicts` finds items that exclude each other.
//!
//! Settled is final: no row is ever reopened here. But a model that sets ids itself reuses them: it
//! resumes items it had completed, and numbers its next list from 1 again. So an item that differs
//! from the settled row of its id becomes a *new* item under that id, and the old row leaves the
//! view. An error would only teach the model to invent ids. An id stays unambiguous: at most one
//! item in view has it.

mod conflicts;
mod pairing;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::create_todos::NewTodo;
use super::draft::Draft;
use crate::event::{TodoCreated, TodoRemoved, TodoYielded};
use crate::policy::{Address, Wip};
use crate::text::{Content, Title};
use crate::todo::{Priority, Todo};
use crate::transition::Move;
use crate::{Refusal, Refused, Status, TodoId, TodoKind};
use pairing::Entry;

/// The whole new working list, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplaceTodos {
    pub items: Vec<ListedTodo>,
}

/// One item of the new list. Absent fields stay as they were; a new item is pending, with medium
/// priority.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedTodo {
    /// The model's own id, if the list is addressed by ids.
    pub external_id: Option<String>,
    /// An item without a title that matches no row is skipped (S-28).
    pub title: Option<Content>,
    pub phase: Option<Title>,
    pub status: Option<Status>,
    pub priority: Option<Priority>,
    /// The id of an item that must not be done at the same time (Q-S3).
    pub conflicts_with: Option<String>,
}

impl ListedTodo {
    /// An item with only a title.
    #[must_use]
    pub fn titled(title: impl Into<Content>) -> Self {
        Self { title: Some(title.into()), ..Self::default() }
    }
}

impl ReplaceTodos {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.leave_on_list(TodoKind::Step, None)?;
        let mut entries = draft.pair(&self.items)?;
        let conflicts = draft.conflicts(&entries)?;
        // An item that must wait for another cannot be in progress.
        for loser in conflicts.keys() {
            if entries[*loser].status == Status::InProgress {
                entries[*loser].status = Status::Pending;
            }
        }
        draft.check_one_in_progress(&entries)?;
        let mut ids = Vec::with_capacity(entries.len());
        for (position, entry) in (0..).zip(&entries) {
            ids.push(draft.put(entry, position)?);
        }
        draft.cancel_left_out(&ids);
        draft.let_go(&ids, &conflicts);
        // Stops items before it starts one, because only one may be in progress.
        for starting in [false, true] {
            for (id, entry) in ids.iter().zip(&entries) {
                if (entry.status == Status::InProgress) == starting {
                    draft.bring_to(*id, entry.status)?;
                }
            }
        }
        draft.hold_losers(&ids, &conflicts)?;
        draft.keep_in_bounds();
        Ok(())
    }
}

impl Draft<'_> {
    /// If at most one item may be in progress, the new list may mark at most one.
    fn check_one_in_progress(&self, entries: &[Entry<'_>]) -> Result<(), Refused> {
        let begun = entries.iter().filter(|entry| entry.status == Status::InProgress);
        let titles: Vec<String> = begun.map(|entry| entry.title.to_string()).collect();
        if self.policy().wip == Wip::AtMostOne && titles.len() > 1 {
            return Err(Refusal::SeveralInProgress { titles }.into());
        }
        Ok(())
    }

    /// Creates or revises the row of an entry.
    fn put(&mut self, entry: &Entry<'_>, position: i64) -> Result<TodoId, Refused> {
        let Some(id) = entry.row else {
            let id = self.create_listed(entry, position)?;
            if let Some(todo_id) = entry.replaces {
                self.emit(TodoRemoved { todo_id, removed_at: self.now });
            }
            return Ok(id);
        };
        self.revise_listed(id, entry, position)?;
        Ok(id)
    }

    fn create_listed(&mut self, entry: &Entry<'_>, position: i64) -> Result<TodoId, Refused> {
        let mut new = NewTodo::titled(entry.title.clone());
        new.phase.clone_from(&entry.item.phase);
        new.priority = entry.priority;
        new.position = Some(position);
        new.external_id.clone_from(&entry.item.external_id);
        let mut todo = self.new_todo(&new)?;
        if self.policy().address == Address::ExternalId {
            todo.external_id = Some(todo.called());
        }
        let id = todo.id;
        self.emit(TodoCreated { todo: Box::new(todo) });
        Ok(id)
    }

    fn revise_listed(
        &mut self,
        id: TodoId,
        entry: &Entry<'_>,
        position: i64,
    ) -> Result<(), Refused> {
        let todo = self.todo(id)?;
        if todo.status.is_settled() {
            return Ok(());
        }
        let before = Self::unrevised(todo);
        let mut revised = before.clone();
        revised.title = entry.title.as_str().to_owned();
        revised.phase = entry.item.phase.clone().map(Title::into_string);
        revised.priority = entry.priority;
        revised.position = position;
        if revised != before {
            self.emit(revised);
        }
        Ok(())
    }

    fn cancel_left_out(&mut self, kept: &[TodoId]) {
        let kept: BTreeSet<TodoId> = kept.iter().copied().collect();
        let missing: Vec<TodoId> = self
            .state
            .todos
            .values()
            .filter(|todo| !todo.status.is_settled() && todo.kind == TodoKind::Step)
            .filter(|todo| !kept.contains(&todo.id))
            .map(|todo| todo.id)
            .collect();
        for id in missing {
            self.cancel(id, Some("left out of the new list".to_owned()));
        }
    }

    /// Moves an item to its status in the new list, by the usual moves.
    fn bring_to(&mut self, id: TodoId, wanted: Status) -> Result<(), Refused> {
        let todo = self.todo(id)?;
        if todo.status == wanted {
            return Ok(());
        }
        match wanted {
            Status::InProgress => {
                if let Some(hold) = &todo.hold {
                    let (title, reason) = (todo.title.clone(), hold.reason.clone());
                    return Err(Refusal::Held { title, reason }.into());
                }
                self.can(Move::Start, id)?;
                self.start(id)
            }
            Status::Completed => self.complete(id, None, &[]),
            Status::Cancelled => {
                self.can(Move::Cancel, id)?;
                self.cancel(id, None);
                Ok(())
            }
            Status::Pending | Status::Backlog => {
                self.can(Move::Yield, id)?;
                self.emit(TodoYielded { todo_id: id, reason: None });
                Ok(())
            }
        }
    }

    /// If the list limits the items in view, removes the oldest settled ones from view.
    fn keep_in_bounds(&mut self) {
        let Some(limit) = self.policy().in_view_max else { return };
        let in_view = |todo: &&Todo| todo.removed_at.is_none();
        let shown = self.state.todos.values().filter(in_view).count();
        let settled = self.state.todos.values().filter(in_view);
        let mut settled: Vec<_> =
            settled.filter_map(|todo| Some((todo.settled_at?, todo.id))).collect();
        settled.sort_unstable();
        for (_, todo_id) in settled.into_iter().take(shown.saturating_sub(limit)) {
            self.emit(TodoRemoved { todo_id, removed_at: self.now });
        }
    }
}
