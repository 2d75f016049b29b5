//! Archive a list with all its items: by hand, or because its work is finished (Q-O1).
//!
//! Both are one command. The reason makes the difference: finishing a list with open items needs a
//! confirmation; archiving it by hand does not.

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::event::ListArchived;
use crate::list::ArchiveReason;
use crate::plan::dropped;
use crate::{Refusal, Refused, TodoKind};

/// Mark the whole list as archived. No item is settled or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveList {
    pub reason: ArchiveReason,
    /// Finish the list even if items are open.
    pub confirm: bool,
}

impl ArchiveList {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.leave_on_list(TodoKind::Step, None)?;
        let tally = &draft.state.tally;
        let open =
            (tally.backlog + tally.active()).saturating_sub(dropped(&draft.state).len() as u64);
        if self.reason == ArchiveReason::Finished && open > 0 && !self.confirm {
            return Err(Refusal::OpenTasks { open }.into());
        }
        let (scope, archived_at) = (draft.state.list.scope.clone(), draft.now);
        draft.emit(ListArchived { scope, archived_at, reason: self.reason });
        Ok(())
    }
}
