//! The one state machine.
//!
//! | from \ move   | promote | demote  | start       | yield   | complete    | cancel    | reopen  |
//! |---------------|---------|---------|-------------|---------|-------------|-----------|---------|
//! | `backlog`     | pending | –       | –           | –       | –           | cancelled | –       |
//! | `pending`     | –       | backlog | in_progress | –       | completed\* | cancelled | –       |
//! | `in_progress` | –       | –       | –           | pending | completed   | cancelled | –       |
//! | `completed`   | –       | –       | –           | –       | –           | –         | pending\* |
//! | `cancelled`   | –       | –       | –           | –       | –           | –         | pending\* |
//!
//! \* only if the list's policy allows it. A dash is a refusal that changes nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Status;
use crate::named::named;
use crate::policy::Policy;

named! {
    /// A move of the state machine.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Move {
        Promote = "promote",
        Demote = "demote",
        Start = "start",
        Yield = "yield",
        Complete = "complete",
        Cancel = "cancel",
        Reopen = "reopen",
    }
}

impl Move {
    /// The statuses this move may start from under a policy, for messages.
    #[must_use]
    pub fn sources(self, policy: &Policy) -> Vec<Status> {
        Status::ALL.into_iter().filter(|from| next(*from, self, policy).is_some()).collect()
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The status a move leads to, if it is allowed.
#[must_use]
pub const fn next(from: Status, by: Move, policy: &Policy) -> Option<Status> {
    match (from, by) {
        (Status::Backlog, Move::Promote) if policy.has_backlog => Some(Status::Pending),
        (Status::Pending, Move::Demote) if policy.has_backlog => Some(Status::Backlog),
        (Status::Pending, Move::Start) => Some(Status::InProgress),
        (Status::InProgress, Move::Yield) => Some(Status::Pending),
        (Status::InProgress, Move::Complete) => Some(Status::Completed),
        (Status::Pending, Move::Complete) if policy.completes_from_pending => {
            Some(Status::Completed)
        }
        (Status::Backlog | Status::Pending | Status::InProgress, Move::Cancel) => {
            Some(Status::Cancelled)
        }
        (Status::Completed | Status::Cancelled, Move::Reopen) if policy.reopens => {
            Some(Status::Pending)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ListKind;
    use crate::policy::policy;

    /// Walks every status × move pair of every kind against the golden table.
    #[test]
    fn the_table_is_as_written_for_every_kind() {
        let mut table = String::new();
        for kind in ListKind::ALL {
            table.push_str(&format!("{kind}\n"));
            for from in Status::ALL {
                for by in Move::ALL {
                    if let Some(to) = next(from, by, policy(kind)) {
                        table.push_str(&format!("  {from} --{by}--> {to}\n"));
                    }
                }
            }
        }
        insta::assert_snapshot!("transitions", table);
    }

    #[test]
    fn a_settled_item_changes_only_if_the_operator_may_reopen_it() {
        for kind in ListKind::ALL {
            for from in [Status::Completed, Status::Cancelled] {
                for by in Move::ALL {
                    let to = next(from, by, policy(kind));
                    let reopens = matches!(kind, ListKind::Issue | ListKind::Plan);
                    let expected = (by == Move::Reopen && reopens).then_some(Status::Pending);
                    assert_eq!(to, expected, "{kind} {from} {by}");
                }
            }
        }
    }
}
