//! Set which tasks of a plan must be settled before another one. A cycle is refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoChained;
use crate::plan::{Tree, circle};
use crate::{Refusal, Refused, Todo, TodoId};

/// The task comes after exactly these; if empty, it waits for nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainTodo {
    pub todo_id: TodoId,
    pub after: Vec<TodoId>,
}

impl ChainTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.must_nest()?;
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        draft.open(self.todo_id)?;
        for first in &self.after {
            if draft.todo(*first)?.removed_at.is_some() {
                let (todo_id, list) = (first.to_string(), Some(draft.state.list.kind()));
                return Err(Refusal::UnknownTodo { todo_id, list }.into());
            }
        }
        draft.chain(self.todo_id, self.after.clone())?;
        draft.no_circle()
    }
}

impl Draft<'_> {
    /// Sets what a task comes after, if that is a change.
    pub(super) fn chain(&mut self, todo_id: TodoId, mut after: Vec<TodoId>) -> Result<(), Refused> {
        after.sort_unstable();
        after.dedup();
        if self.todo(todo_id)?.after != after {
            self.emit(TodoChained { todo_id, after });
        }
        Ok(())
    }

    /// Refuses a cycle: no task may wait for itself.
    pub(super) fn no_circle(&self) -> Result<(), Refused> {
        if self.state.todos.values().all(|todo| todo.after.is_empty()) {
            return Ok(());
        }
        let tree = Tree::of(&self.state);
        let branches = tree.branches();
        let places: BTreeMap<TodoId, usize> =
            branches.iter().enumerate().map(|(at, branch)| (branch.todo.id, at)).collect();
        let place = |id: &TodoId| places.get(id).copied();
        let parents: Vec<Option<usize>> = branches.iter().map(|branch| branch.parent).collect();
        let after: Vec<Vec<usize>> = branches
            .iter()
            .map(|branch| branch.todo.after.iter().filter_map(place).collect())
            .collect();
        let Some(circle) = circle(&parents, &after) else { return Ok(()) };
        let tasks = circle.iter().map(|at| called(branches[*at].todo)).collect();
        Err(Refusal::AfterItself { tasks }.into())
    }

    /// Refuses a task that waits for another, itself or through a task above it.
    pub(super) fn not_waiting(&self, id: TodoId) -> Result<(), Refused> {
        let mut next = Some(self.todo(id)?);
        let mut seen = 0;
        while let Some(todo) = next.filter(|_| seen <= self.state.todos.len()) {
            let first: Vec<String> =
                crate::plan::open_before(&self.state, todo).map(called).collect();
            if !first.is_empty() {
                let title = self.todo(id)?.title.clone();
                return Err(Refusal::Waiting { title, waits_for: first }.into());
            }
            (next, seen) = (todo.parent_id.and_then(|above| self.state.todo(above)), seen + 1);
        }
        Ok(())
    }
}

/// The name of a task for people.
fn called(todo: &Todo) -> String {
    match todo.seq {
        Some(seq) => format!("t{seq} {}", todo.title),
        None => todo.title.clone(),
    }
}
