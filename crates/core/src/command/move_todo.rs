//! Move an item of a checklist or of a session's list before another, or to the end.
//!
//! Criteria stay among criteria. A step that is moved before a step of another phase joins that
//! phase; without `before` it goes to the end of its own phase. The order of the phases stays.

use serde::{Deserialize, Serialize};

use super::draft::{Draft, Leave};
use crate::event::TodoMoved;
use crate::issue::checklist::{Group, Seat, in_groups, in_order};
use crate::refusal::Misplaced;
use crate::select::{Place, ordered, phase_of};
use crate::{ListKind, Refusal, Refused, Todo, TodoId};

/// Move an item; without `before` to the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveTodo {
    pub todo_id: TodoId,
    pub before: Option<TodoId>,
}

impl MoveTodo {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        if draft.leave(self.todo_id)? == Leave::Kept {
            return Ok(());
        }
        let todo = draft.open(self.todo_id)?.clone();
        let mut moved = todo.clone();
        if let Some(target) = self.target(draft, &todo)?
            && draft.state.list.kind() == ListKind::Issue
        {
            moved.phase.clone_from(&target.phase);
        }
        let stays = phase_of(&moved) == phase_of(&todo);
        let order = self.order(draft, moved);
        if stays && order.iter().zip(shown(draft)).all(|(wanted, now)| wanted.id == now.id) {
            return Ok(());
        }
        let positions = self.positions(draft, &order);
        for (item, position) in order.iter().zip(positions) {
            let before = draft.todo(item.id)?;
            if phase_of(before) != phase_of(item) {
                let mut revised = Draft::unrevised(before);
                (revised.phase, revised.position) = (item.phase.clone(), position);
                draft.emit(revised);
            } else if before.position != position {
                let (todo_id, parent_id) = (item.id, item.parent_id);
                draft.emit(TodoMoved { todo_id, parent_id, position });
            }
        }
        Ok(())
    }

    /// The item to move before; refused if it cannot be moved there.
    fn target<'d>(&self, draft: &'d Draft<'_>, todo: &Todo) -> Result<Option<&'d Todo>, Refused> {
        let refused = |why| Refusal::BadPlace { title: todo.title.clone(), why }.into();
        let Some(before) = self.before else { return Ok(None) };
        if before == todo.id {
            return Err(refused(Misplaced::BeforeItself));
        }
        // All items in view are loaded, so a missing one is elsewhere.
        let target = draft.state.todo(before).filter(|target| target.removed_at.is_none());
        let target = target.ok_or_else(|| refused(Misplaced::OtherList))?;
        if target.kind != todo.kind {
            return Err(refused(Misplaced::OtherKind));
        }
        Ok(Some(target))
    }

    /// All items in view in the wanted order.
    fn order(&self, draft: &Draft<'_>, moved: Todo) -> Vec<Todo> {
        let mut order: Vec<Todo> = shown(draft).into_iter().cloned().collect();
        let from = order.iter().position(|todo| todo.id == moved.id).unwrap_or(order.len());
        order.retain(|todo| todo.id != moved.id);
        let kind = draft.state.list.kind();
        let own = group_of(kind, &moved);
        let to = match self.before {
            Some(before) => order.iter().position(|todo| todo.id == before),
            None => order.iter().rposition(|todo| group_of(kind, todo) == own).map(|last| last + 1),
        };
        order.insert(to.unwrap_or(from).min(order.len()), moved);
        order
    }

    /// A position for each item. The moved item is passed without one, so that the others keep
    /// theirs.
    fn positions(&self, draft: &Draft<'_>, order: &[Todo]) -> Vec<i64> {
        let seat = |todo: &Todo| Seat {
            position: (todo.id != self.todo_id).then_some(todo.position),
            created_at: todo.created_at,
            id: todo.id,
        };
        let list = draft.state.list.kind();
        if list != ListKind::Issue {
            return in_order(&order.iter().map(seat).collect::<Vec<_>>(), draft.end());
        }
        let items: Vec<(Group, Seat)> =
            order.iter().map(|todo| (group_of(list, todo), seat(todo))).collect();
        in_groups(&items, draft.end())
    }
}

/// The items in view as people see them: an issue's by phase, a session's as they were written.
fn shown<'d>(draft: &'d Draft<'_>) -> Vec<&'d Todo> {
    let mut todos = ordered(&draft.state);
    if draft.state.list.kind() != ListKind::Issue {
        todos.sort_unstable_by_key(|todo| Place::of(todo));
    }
    todos
}

fn group_of(list: ListKind, todo: &Todo) -> Group {
    match list {
        ListKind::Issue => (todo.kind, phase_of(todo)),
        _ => (todo.kind, None),
    }
}
