//! Edit the checklist of an issue by hand: the rows are changed to match the lines (K-29).
//!
//! An untouched line changes nothing: its row keeps id, notes, claim, hold and evidence. A changed
//! mark is applied by the usual moves, in the editor's name. A new or changed hold comment holds the
//! item, and a removed one ends the hold. A row without a line leaves the view (D-25). Notes are only
//! ever added. Writing a claimant's name makes no claim.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::create_todos::NewTodo;
use super::draft::Draft;
use crate::authority::Action;
use crate::event::{
    ClaimReturned, TodoCreated, TodoRemoved, TodoReopened, TodoUnheld, TodoYielded,
};
use crate::issue::checklist::{Line, LineFault, Mark, Notes, Seat, in_groups, markdown, pair};
use crate::select::{ordered, phase_of};
use crate::text::{Body, normalised};
use crate::todo::{Note, Todo};
use crate::transition::Move;
use crate::{Refusal, Refused, Status, TodoId, TodoKind};

/// The whole new checklist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditChecklist {
    pub lines: Vec<Line>,
    /// The existing notes, so that only new ones are added.
    pub notes: Notes,
    /// The revision that was edited; `None` if unknown.
    pub basis: Option<Basis>,
}

/// The revision of an issue that the editor saw, and the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    pub number: i64,
    pub expected: i64,
    pub revision: i64,
}

impl EditChecklist {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        for kind in TodoKind::ALL {
            draft.leave_on_list(kind, None)?;
        }
        // No change is overwritten: an edit of an older revision is refused with the newer text.
        if let Some(Basis { number, expected, revision }) = self.basis
            && expected != revision
        {
            let checklist = Some(markdown(&draft.state, &self.notes));
            return Err(Refusal::StaleRevision { number, expected, revision, checklist }.into());
        }
        let found = pair(&self.lines, &ordered(&draft.state));
        draft.remove_left_out(&found);
        for (line, id) in self.lines.iter().zip(&found) {
            id.map_or(Ok(()), |id| draft.mark_by_hand(line, id))?;
        }
        draft.check_texts(&self.lines, &found)?;
        let ids = draft.place_by_hand(&self.lines, &found)?;
        for ((line, id), found) in self.lines.iter().zip(&ids).zip(&found) {
            if found.is_none() {
                draft.mark_by_hand(line, *id)?;
            }
            let known = self.notes.get(id).map_or(&[][..], Vec::as_slice);
            for note in unknown(&line.notes, known) {
                draft.note(*id, note);
            }
        }
        draft.start_by_hand(&self.lines, &ids)
    }
}

impl Draft<'_> {
    /// Removes rows without a line from view; open ones are cancelled first.
    fn remove_left_out(&mut self, found: &[Option<TodoId>]) {
        let kept: BTreeSet<TodoId> = found.iter().copied().flatten().collect();
        let gone: Vec<(TodoId, bool)> = ordered(&self.state)
            .into_iter()
            .filter(|todo| !kept.contains(&todo.id))
            .map(|todo| (todo.id, todo.status.is_settled()))
            .collect();
        for (todo_id, settled) in gone {
            if !settled {
                self.cancel(todo_id, Some("removed by hand".to_owned()));
            }
            self.emit(TodoRemoved { todo_id, removed_at: self.now });
        }
    }

    /// Applies a line's mark and its hold to its row, except that nothing is started yet.
    fn mark_by_hand(&mut self, line: &Line, id: TodoId) -> Result<(), Refused> {
        let todo = self.todo(id)?;
        if line.mark == Mark::InProgress && todo.kind == TodoKind::Criterion {
            return Err(Refusal::CriterionNotStartable { title: todo.title.clone() }.into());
        }
        let hold = todo.hold.clone();
        let is_kept = line.hold.as_ref().is_some_and(|wanted| wanted.is(hold.as_deref()));
        // A held item that is newly marked `[/]` cannot be started while its comment is there.
        if let Some(hold) = hold.filter(|_| is_kept && line.mark == Mark::InProgress)
            && todo.status != Status::InProgress
        {
            let (title, reason) = (todo.title.clone(), hold.reason);
            return Err(Refusal::Held { title, reason }.into());
        }
        match line.mark {
            Mark::Held if line.hold.is_none() => {
                return Err(Refusal::ReasonRequired { action: Action::Hold }.into());
            }
            Mark::Held if is_kept => return Ok(()),
            Mark::Held => self.reopen_by_hand(id)?,
            Mark::Claimed if todo.claim.is_some() && todo.status.is_active() => {}
            Mark::Claimed => {
                self.reopen_by_hand(id)?;
                self.claim(id, None, &[])?;
            }
            mark if mark == Mark::of(todo) => {}
            mark => self.change_mark(mark, id)?,
        }
        self.hold_by_hand(line, id, is_kept)
    }

    /// Moves a row to the status that its new mark says.
    fn change_mark(&mut self, mark: Mark, id: TodoId) -> Result<(), Refused> {
        self.reopen_by_hand(id)?;
        let todo = self.todo(id)?;
        let (status, is_claimed) = (todo.status, todo.claim.is_some());
        match mark {
            Mark::Completed => self.complete(id, None, &[])?,
            Mark::Abandoned => {
                self.can(Move::Cancel, id)?;
                self.cancel(id, None);
            }
            Mark::Pending => {
                if is_claimed {
                    self.return_claim(id, "unticked by hand");
                }
                if status == Status::InProgress {
                    self.emit(TodoYielded { todo_id: id, reason: None });
                }
            }
            Mark::InProgress if is_claimed => self.return_claim(id, "taken up again by hand"),
            Mark::InProgress | Mark::Held | Mark::Claimed => {}
        }
        Ok(())
    }

    fn reopen_by_hand(&mut self, id: TodoId) -> Result<(), Refused> {
        if self.todo(id)?.status.is_settled() {
            self.can(Move::Reopen, id)?;
            self.emit(TodoReopened { todo_id: id, reason: Some("reopened by hand".to_owned()) });
        }
        Ok(())
    }

    fn return_claim(&mut self, todo_id: TodoId, feedback: &str) {
        self.emit(ClaimReturned { todo_id, feedback: feedback.to_owned() });
    }

    /// Holds a row for its line's reason, unless it is held for that already; a line without a
    /// reason ends the hold. Settling ends it too, so only a reason that is new is refused there.
    fn hold_by_hand(&mut self, line: &Line, id: TodoId, is_kept: bool) -> Result<(), Refused> {
        let todo = self.todo(id)?;
        match &line.hold {
            Some(_) if is_kept => {}
            Some(_) if todo.status.is_settled() => return Err(settled_and_held(line)),
            Some(wanted) => self.hold(id, wanted.kind, &wanted.reason),
            None if todo.hold.is_some() => self.emit(TodoUnheld { todo_id: id }),
            None => {}
        }
        Ok(())
    }

    /// After the edit, no two open items may have the same text.
    fn check_texts(&self, lines: &[Line], found: &[Option<TodoId>]) -> Result<(), Refused> {
        let mut open = BTreeSet::new();
        for (line, id) in lines.iter().zip(found) {
            let is_open = match id {
                Some(id) => !self.todo(*id)?.status.is_settled(),
                None => line.mark.is_open(),
            };
            let text = normalised(line.content.as_str());
            if is_open && !open.insert(text.clone()) {
                return Err(Refusal::DuplicateText { text }.into());
            }
        }
        Ok(())
    }

    /// Creates new items and revises those with another place or phase. Returns the row of each
    /// line.
    fn place_by_hand(
        &mut self,
        lines: &[Line],
        found: &[Option<TodoId>],
    ) -> Result<Vec<TodoId>, Refused> {
        let mut rows: Vec<(Todo, bool)> = Vec::with_capacity(lines.len());
        for (line, id) in lines.iter().zip(found) {
            rows.push(match id {
                Some(id) => (self.todo(*id)?.clone(), false),
                None => (self.new_row(&new_item(line))?, true),
            });
        }
        let positions = self.positions(lines, &rows);
        let mut ids = Vec::with_capacity(lines.len());
        for (((mut todo, new), line), position) in rows.into_iter().zip(lines).zip(positions) {
            ids.push(todo.id);
            if new {
                todo.position = position;
                self.emit(TodoCreated { todo: Box::new(todo) });
                continue;
            }
            let before = Self::unrevised(&todo);
            let mut revised = before.clone();
            revised.position = position;
            if phase_of(&todo) != line.shown_phase() {
                revised.phase = line.shown_phase();
            }
            if revised != before {
                self.emit(revised);
            }
        }
        Ok(ids)
    }

    /// A position for each line: criteria, steps without a phase, and phases have their own orders.
    fn positions(&self, lines: &[Line], rows: &[(Todo, bool)]) -> Vec<i64> {
        let seat = |(todo, new): &(Todo, bool)| {
            let position = (!new).then_some(todo.position);
            Seat { position, created_at: todo.created_at, id: todo.id }
        };
        let grouped = lines.iter().zip(rows);
        let items: Vec<_> =
            grouped.map(|(line, row)| ((line.kind, line.shown_phase()), seat(row))).collect();
        in_groups(&items, self.end())
    }

    /// Starts the first item that was newly marked `[/]`. Only one can be in progress, so the
    /// present one goes back to pending.
    fn start_by_hand(&mut self, lines: &[Line], ids: &[TodoId]) -> Result<(), Refused> {
        for (line, id) in lines.iter().zip(ids) {
            let todo = self.todo(*id)?;
            let is_new = line.mark == Mark::InProgress && todo.status != Status::InProgress;
            if is_new && todo.hold.is_none() {
                self.can(Move::Start, *id)?;
                return self.start(*id);
            }
        }
        Ok(())
    }
}

/// The refusal of a line whose mark settles the item while its comment holds it.
pub(super) fn settled_and_held(line: &Line) -> Refused {
    let what = "a completed or abandoned item is not held; remove the comment or change the mark";
    let fault = LineFault { line: line.at, what: what.to_owned() };
    Refusal::BadChecklist { faults: vec![fault] }.into()
}

/// The new item for a line that matches no row.
pub(super) fn new_item(line: &Line) -> NewTodo {
    NewTodo {
        kind: line.kind,
        phase: line.phase.clone().filter(|_| line.kind == TodoKind::Step),
        ..NewTodo::titled(line.content.clone())
    }
}

/// The notes that are not among the known ones; a repeated note counts twice.
fn unknown<'a>(notes: &'a [Body], known: &[Note]) -> Vec<&'a Body> {
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    if !notes.is_empty() {
        for note in known {
            *left.entry(normalised(&note.text)).or_default() += 1;
        }
    }
    let is_new = |note: &&Body| match left.get_mut(&normalised(note.as_str())) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    notes.iter().filter(is_new).collect()
}
