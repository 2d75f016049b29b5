//! Import a checklist that was kept elsewhere: its lines become new items of an issue.
//!
//! A tick there was not accepted by anybody here: `[x]` becomes a claim of the importer, even if
//! that is the operator (P-22). Existing items are not changed.

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use super::edit_checklist::{new_item, settled_and_held};
use crate::authority::Action;
use crate::event::TodoCreated;
use crate::issue::checklist::{Line, Mark};
use crate::text::normalised;
use crate::{Refusal, Refused, TodoId, Warning};

/// Put lines of a checklist into the list. Lines that the list has already are skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportTodos {
    pub lines: Vec<Line>,
}

impl ImportTodos {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        for line in &self.lines {
            draft.leave_on_list(line.kind, None)?;
            if draft.says_already(line) {
                let text = normalised(line.content.as_str());
                draft.decision.warnings.push(Warning::AlreadyListed { text });
                continue;
            }
            let todo = draft.new_todo(&new_item(line))?;
            let id = todo.id;
            draft.emit(TodoCreated { todo: Box::new(todo) });
            draft.mark_imported(line, id)?;
            for note in &line.notes {
                draft.note(id, note);
            }
        }
        Ok(())
    }
}

impl Draft<'_> {
    /// Is the line on the list already? Yes if an open item has its text, or if the line is done
    /// and a settled item of its kind has its text. An open line with a settled item's text is work
    /// to do again.
    fn says_already(&mut self, line: &Line) -> bool {
        let text = normalised(line.content.as_str());
        self.texts.saying(&self.state, &text).any(|todo| {
            let open = !todo.status.is_settled();
            let settled_alike = !line.mark.is_open() && todo.kind == line.kind;
            todo.removed_at.is_none() && (open || settled_alike)
        })
    }

    fn mark_imported(&mut self, line: &Line, id: TodoId) -> Result<(), Refused> {
        match line.mark {
            Mark::Held if line.hold.is_none() => {
                return Err(Refusal::ReasonRequired { action: Action::Hold }.into());
            }
            Mark::Pending | Mark::InProgress | Mark::Held => {}
            Mark::Completed | Mark::Claimed => self.claim(id, None, &[])?,
            Mark::Abandoned if line.hold.is_some() => return Err(settled_and_held(line)),
            Mark::Abandoned => self.cancel(id, None),
        }
        if let Some(held) = &line.hold {
            self.hold(id, held.kind, &held.reason);
        }
        Ok(())
    }
}
