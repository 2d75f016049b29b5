//! The upkeep of one pillar's list in a cycle. Late items are escalated once. Late items that were
//! never started are put back or cancelled. Stale candidates are cancelled if the mission says so.
//! Items settled long ago are archived. Nothing is deleted.

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::event::{TodoArchived, TodoDemoted, TodoEscalated};
use crate::mission::{OverduePending, cadence};
use crate::{Refused, Status, Todo, TodoId, TodoKind};

/// Do the upkeep of a pillar's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepTodos {
    /// The time zone dates are read in.
    pub timezone: String,
    pub overdue_pending: OverduePending,
    /// 0: never.
    pub archive_after_days: u32,
    pub backlog_stale_days: u32,
    pub auto_cancel_stale_backlog: bool,
}

/// The reason for cancelling a stale candidate.
const STALE: &str = "stale backlog";

/// The reason for putting back or cancelling a late item that was never started.
const NEVER_STARTED: &str = "overdue and never started";

impl SweepTodos {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.leave_on_list(TodoKind::Step, None)?;
        let zone = cadence::time_zone(&self.timezone).unwrap_or(TimeZone::UTC);
        let mut todos: Vec<TodoId> = draft.state.todos.keys().copied().collect();
        todos.sort_unstable();
        for id in todos {
            let Some(todo) = draft.state.todo(id).cloned() else { continue };
            if todo.is_overdue(&zone, draft.now) {
                self.overdue(draft, &todo);
            } else if todo.status == Status::Backlog {
                let stale = todo.is_stale(self.backlog_stale_days, draft.now);
                if stale && self.auto_cancel_stale_backlog {
                    draft.cancel(id, Some(STALE.to_owned()));
                }
            } else if self.is_past(&todo, draft.now) {
                draft.emit(TodoArchived { todo_id: id, archived_at: draft.now });
            }
        }
        Ok(())
    }

    fn overdue(&self, draft: &mut Draft<'_>, todo: &Todo) {
        let todo_id = todo.id;
        if let Some(deadline) = todo.deadline
            && todo.overdue_notified_for != Some(deadline)
        {
            draft.emit(TodoEscalated { todo_id, deadline });
        }
        if todo.status != Status::Pending {
            return;
        }
        let reason = Some(NEVER_STARTED.to_owned());
        match self.overdue_pending {
            OverduePending::Keep => {}
            OverduePending::Cancel => draft.cancel(todo_id, reason),
            OverduePending::Demote => {
                // If the backlog is full, the item stays; the escalation has told the person (D-6).
                let room = draft.state.limits;
                if room.is_none_or(|limits| limits.demote(&draft.state.tally).is_ok()) {
                    draft.emit(TodoDemoted { todo_id, reason });
                }
            }
        }
    }

    fn is_past(&self, todo: &Todo, now: crate::Time) -> bool {
        let Some(settled_at) = todo.settled_at.filter(|_| todo.status.is_settled()) else {
            return false;
        };
        self.archive_after_days > 0
            && todo.archived_at.is_none()
            && settled_at.plus_days(self.archive_after_days) <= now
    }
}
