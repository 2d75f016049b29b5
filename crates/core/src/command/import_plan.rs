//! Import a plan file: the tasks are changed to match the file, and no work is undone.
//!
//! Importing the same file again changes nothing (O-20). New nodes become tasks, tasks with another
//! place are moved, and tasks missing from the file leave the view; `plan::pairing` decides which
//! is which. A mark settles an open task that nobody works on; no mark reopens a settled one. A
//! task added by hand stays as long as its parent stays.
//!
//! Importing the file of an archived plan brings the plan back with every task as it was, then
//! changes it to match the file. So nothing is lost, and a file never has two trees.
//!
//! A move cannot make a cycle: nodes are placed in pre-order, so the new parent of a task is in its
//! final place already, and the task is not above it (O-19).

use serde::{Deserialize, Serialize};

use super::create_todos::NewTodo;
use super::draft::Draft;
use crate::authority::{Action, Denial};
use crate::event::{ListUnarchived, TodoCreated, TodoDescribed, TodoMoved, TodoRemoved};
use crate::issue::checklist::{Seat, in_order};
use crate::plan::pairing::{Flat, Found, Pairing, flat, pair};
use crate::plan::{Mark, Node, Tree, in_file, named_after};
use crate::{Refusal, Refused, Todo, TodoId, TodoKind};

/// The whole plan, as read from its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportPlan {
    pub root: Node,
    /// The store-wide number that the first new task gets; the others follow in pre-order.
    pub next_seq: i64,
}

impl ImportPlan {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.leave_on_list(TodoKind::Step, None)?;
        draft.must_nest()?;
        if draft.state.list.archived_at.is_some() {
            draft.emit(ListUnarchived { scope: draft.state.list.scope.clone() });
        }
        let nodes = flat(&self.root);
        let pairing = pair(&nodes, &Tree::of(&draft.state));
        let rows = draft.rows(&nodes, &pairing, self.next_seq)?;
        let positions = positions(&nodes, &rows, &pairing);
        let ids: Vec<TodoId> = rows.iter().map(Row::id).collect();
        // The dependencies of the last imported file, read before the new description replaces
        // them.
        let written: Vec<bool> = ids.iter().map(|id| draft.comes_after_by_file(*id)).collect();
        for ((node, row), position) in nodes.iter().zip(rows).zip(positions) {
            let parent_id = node.parent.map(|parent| ids[parent]);
            match row {
                Row::New(mut todo) => {
                    (todo.parent_id, todo.position) = (parent_id, position);
                    draft.emit(TodoCreated { todo });
                }
                Row::Old(found) => {
                    if (found.parent_id, found.position) != (parent_id, position) {
                        draft.emit(TodoMoved { todo_id: found.id, parent_id, position });
                    }
                    draft.reword(node, found.id)?;
                }
            }
        }
        draft.chain_by_file(&nodes, &ids, &written)?;
        let marked = nodes.iter().zip(ids).filter(|(node, _)| node.node.mark != Mark::Open);
        for (node, id) in marked {
            draft.settle_by_mark(node.node.mark, id)?;
        }
        draft.archive(&pairing.gone)
    }
}

/// The task of a node: an existing one, or one to be created.
enum Row {
    Old(Found),
    New(Box<Todo>),
}

impl Row {
    const fn id(&self) -> TodoId {
        match self {
            Self::Old(found) => found.id,
            Self::New(todo) => todo.id,
        }
    }
}

/// A position for each node. Tasks that are in order under their parent keep theirs.
fn positions(nodes: &[Flat<'_>], rows: &[Row], pairing: &Pairing) -> Vec<i64> {
    let mut families: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            families[parent].push(index);
        }
    }
    let place = |parent: Option<TodoId>, family: &[usize]| {
        let seats: Vec<Seat> = family.iter().map(|index| seat(&rows[*index], parent)).collect();
        let end = pairing.last.get(&parent).map_or(0, |position| position.saturating_add(1));
        in_order(&seats, end)
    };
    let mut positions = vec![0; nodes.len()];
    let families =
        families.iter().enumerate().map(|(at, family)| (Some(rows[at].id()), &family[..]));
    for (parent, family) in [(None, &[0][..])].into_iter().chain(families) {
        if family.is_empty() {
            continue;
        }
        for (index, position) in family.iter().zip(place(parent, family)) {
            positions[*index] = position;
        }
    }
    positions
}

fn seat(row: &Row, parent: Option<TodoId>) -> Seat {
    match row {
        Row::Old(found) => {
            // A position under another parent does not count here.
            let position = (found.parent_id == parent).then_some(found.position);
            Seat { position, created_at: found.created_at, id: found.id }
        }
        Row::New(todo) => Seat { position: None, created_at: todo.created_at, id: todo.id },
    }
}

impl Draft<'_> {
    /// Only a list that nests can hold a plan.
    pub(super) fn must_nest(&self) -> Result<(), Refused> {
        if self.policy().nests {
            return Ok(());
        }
        let (role, list, todo_kind) = (self.actor.role, self.state.list.kind(), TodoKind::Step);
        let (action, denial) = (Action::Create, Denial::NoSuchAct);
        Err(Refusal::NotPermitted { role, action, list, todo_kind, denial }.into())
    }

    /// The tasks of all nodes; new ones have no place yet.
    fn rows(
        &mut self,
        nodes: &[Flat<'_>],
        pairing: &Pairing,
        next_seq: i64,
    ) -> Result<Vec<Row>, Refused> {
        let mut seq = next_seq;
        let mut rows = Vec::with_capacity(nodes.len());
        for (node, found) in nodes.iter().zip(&pairing.found) {
            if let Some(found) = found {
                rows.push(Row::Old(*found));
                continue;
            }
            let (external_id, content) =
                (Some(node.key.clone().into_owned()), node.node.content.clone());
            let item = NewTodo { seq: Some(seq), external_id, ..NewTodo::titled(content) };
            let description = node.node.description.clone();
            let todo = Todo { description, ..self.new_row(&item)? };
            rows.push(Row::New(Box::new(todo)));
            seq = seq.saturating_add(1);
        }
        Ok(rows)
    }

    /// Gives an open task its description from the file, and the root its title. A settled task
    /// keeps its text.
    fn reword(&mut self, node: &Flat<'_>, todo_id: TodoId) -> Result<(), Refused> {
        let todo = self.todo(todo_id)?;
        if todo.status.is_settled() {
            return Ok(());
        }
        let title = node.node.content.as_str();
        let retitled = node.parent.is_none() && todo.title != title;
        let revised = retitled.then(|| Self::unrevised(todo));
        let description = &node.node.description;
        let describes = todo.external_id.is_some() || !description.is_empty();
        let described = describes && todo.description != *description;
        if let Some(mut revised) = revised {
            title.clone_into(&mut revised.title);
            self.emit(revised);
        }
        if described {
            self.emit(TodoDescribed { todo_id, description: description.clone() });
        }
        Ok(())
    }

    fn comes_after_by_file(&self, id: TodoId) -> bool {
        self.state.todo(id).is_some_and(|todo| !named_after(&todo.description).is_empty())
    }

    /// Makes open tasks wait as the file says. A task without dependencies in the old and the new
    /// file keeps those set by hand.
    fn chain_by_file(
        &mut self,
        nodes: &[Flat<'_>],
        ids: &[TodoId],
        written: &[bool],
    ) -> Result<(), Refused> {
        let after =
            in_file(nodes).map_err(|fault| Refusal::BadPlan { fault: fault.to_string() })?;
        for ((id, after), written) in ids.iter().zip(after).zip(written) {
            let says_so = !after.is_empty() || *written;
            if says_so && !self.todo(*id)?.status.is_settled() {
                self.chain(*id, after.iter().map(|at| ids[*at]).collect())?;
            }
        }
        self.no_circle()
    }

    /// Settles an open task as its mark says, unless somebody works on it.
    fn settle_by_mark(&mut self, mark: Mark, id: TodoId) -> Result<(), Refused> {
        let todo = self.todo(id)?;
        if todo.status.is_settled() || todo.assignee.is_some() {
            return Ok(());
        }
        match mark {
            Mark::Open => Ok(()),
            Mark::Done => {
                let claim = todo.claim.clone();
                let outcome = claim.as_ref().and_then(|claim| claim.outcome.as_deref());
                let evidence = claim.as_ref().map_or(&[][..], |claim| &claim.evidence);
                self.complete(id, outcome, evidence)
            }
            Mark::Dropped => {
                self.cancel(id, None);
                Ok(())
            }
        }
    }

    /// Removes tasks from view; open ones are cancelled first.
    fn archive(&mut self, gone: &[TodoId]) -> Result<(), Refused> {
        for id in gone {
            if !self.todo(*id)?.status.is_settled() {
                self.cancel(*id, Some("no longer in the plan".to_owned()));
            }
            self.emit(TodoRemoved { todo_id: *id, removed_at: self.now });
        }
        Ok(())
    }
}
