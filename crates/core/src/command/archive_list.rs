//! Put a list away, with all its items: by hand, or because its work is over (Q-O1).
//!
//! Both are one act. What tells them apart is a policy of the reason: whoever says that the work is
//! over is asked once if it is not, while putting something away says nothing about its work.

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::event::ListArchived;
use crate::list::ArchiveReason;
use crate::{Refusal, Refused, TodoKind};

/// Stamp the whole list as archived. Nothing is settled and nothing is deleted by that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveList {
    pub reason: ArchiveReason,
    /// Whoever says so knows that items are open.
    pub confirm: bool,
}

impl ArchiveList {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.leave_on_list(TodoKind::Step, None)?;
        let tally = &draft.state.tally;
        let open = tally.backlog + tally.active();
        if self.reason == ArchiveReason::Finished && open > 0 && !self.confirm {
            return Err(Refusal::OpenTasks { open }.into());
        }
        let (scope, archived_at) = (draft.state.list.scope.clone(), draft.now);
        draft.emit(ListArchived { scope, archived_at, reason: self.reason });
        Ok(())
    }
}
