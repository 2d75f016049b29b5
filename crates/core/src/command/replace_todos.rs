//! Replace the working list: what is still there keeps its row, what is new is created, and
//! what is missing is cancelled. Criteria are never touched (K-33).
//!
//! Rows are matched the way the list is addressed: by the model's own id, or by text.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::create_todos::NewTodo;
use super::draft::Draft;
use crate::event::{TodoCreated, TodoYielded};
use crate::policy::Address;
use crate::text::{Content, Title, normalised};
use crate::todo::{Priority, Todo};
use crate::transition::Move;
use crate::{Refusal, Refused, Status, TodoId, TodoKind};

/// The whole working list as it should be now, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplaceTodos {
    pub items: Vec<ListedTodo>,
}

/// One item of the new list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedTodo {
    /// The model's own id, where the list is addressed by it.
    pub external_id: Option<String>,
    pub title: Content,
    pub phase: Option<Title>,
    /// Where it should stand; none leaves it where it is (new ones are pending).
    pub status: Option<Status>,
    pub priority: Priority,
}

impl ReplaceTodos {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.leave_on_list(TodoKind::Step, None)?;
        let mut kept = BTreeSet::new();
        let mut moves = Vec::new();
        for (position, item) in (0..).zip(&self.items) {
            let id = match draft.listed(item) {
                Some(id) if !kept.insert(id) => {
                    return Err(Refusal::DuplicateText { text: item.title.to_string() }.into());
                }
                Some(id) => {
                    draft.revise_listed(id, item, position)?;
                    id
                }
                None => {
                    let id = draft.create_listed(item, position)?;
                    kept.insert(id);
                    id
                }
            };
            moves.extend(item.status.map(|status| (id, status)));
        }
        draft.cancel_left_out(&kept);
        // What stops comes before what starts, so that the one place is free.
        for starting in [false, true] {
            for (id, status) in &moves {
                if (*status == Status::InProgress) == starting {
                    draft.bring_to(*id, *status)?;
                }
            }
        }
        Ok(())
    }
}

impl Draft<'_> {
    /// The row an item of the new list stands for: an open one with its text, else a completed
    /// one (it stays as it is), or, where the list is addressed by the model's ids, any one with
    /// its id. What was cancelled comes back as a new item.
    fn listed(&self, item: &ListedTodo) -> Option<TodoId> {
        let by_id = self.policy().address == Address::ExternalId && item.external_id.is_some();
        let text = normalised(item.title.as_str());
        let same = |todo: &&Todo| {
            if by_id {
                return todo.external_id == item.external_id;
            }
            todo.status != Status::Cancelled
                && todo.removed_at.is_none()
                && todo.kind == TodoKind::Step
                && normalised(&todo.title) == text
        };
        let found = self.state.todos.values().filter(same);
        found.min_by_key(|todo| todo.status.is_settled()).map(|todo| todo.id)
    }

    fn create_listed(&mut self, item: &ListedTodo, position: i64) -> Result<TodoId, Refused> {
        let mut new = NewTodo::titled(item.title.clone());
        new.phase.clone_from(&item.phase);
        new.priority = item.priority;
        new.position = Some(position);
        new.external_id.clone_from(&item.external_id);
        let todo = self.new_todo(&new)?;
        let id = todo.id;
        self.emit(TodoCreated { todo: Box::new(todo) });
        Ok(id)
    }

    fn revise_listed(
        &mut self,
        id: TodoId,
        item: &ListedTodo,
        position: i64,
    ) -> Result<(), Refused> {
        let todo = self.todo(id)?;
        if todo.status.is_settled() {
            return Ok(());
        }
        let before = Self::unrevised(todo);
        let mut revised = before.clone();
        revised.title = item.title.as_str().to_owned();
        revised.phase = item.phase.clone().map(Title::into_string);
        revised.priority = item.priority;
        revised.position = position;
        if revised != before {
            self.emit(revised);
        }
        Ok(())
    }

    fn cancel_left_out(&mut self, kept: &BTreeSet<TodoId>) {
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

    /// Moves an item to the status the new list gives it, by the moves there are.
    fn bring_to(&mut self, id: TodoId, wanted: Status) -> Result<(), Refused> {
        let current = self.todo(id)?.status;
        if current == wanted {
            return Ok(());
        }
        match wanted {
            Status::InProgress => {
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
}
