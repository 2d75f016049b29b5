//! The capacity of a mission: the active and the backlog limit, and the tier a new item gets.
//!
//! Limits are values of the list; the counts (`Tally`) come with the snapshot, taken in the same
//! transaction, so that the check and the write are one step. The place that a
//! token reaches is `reach::Place`.

use serde::{Deserialize, Serialize};

use crate::{Refusal, Status, Tally};

/// How many items may be open at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    #[serde(rename = "activeTodoLimit")]
    pub active: u32,
    #[serde(rename = "backlogTodoLimit")]
    pub backlog: u32,
    /// How many over the active limit are still taken, with a warning.
    pub active_soft_margin: u32,
}

impl Limits {
    pub const DEFAULT: Self = Self { active: 10, backlog: 50, active_soft_margin: 0 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The tier that an item gets which asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    Granted(Status),
    /// Taken above the limit, inside the soft margin.
    OverLimit,
    /// Wanted active, got backlog.
    Spilled,
}

impl Limits {
    fn active_is_full(self, tally: &Tally) -> bool {
        tally.active() >= u64::from(self.active) + u64::from(self.active_soft_margin)
    }

    fn backlog_is_full(self, tally: &Tally) -> bool {
        tally.backlog >= u64::from(self.backlog)
    }

    fn backlog_full(self, tally: &Tally) -> Refusal {
        Refusal::BacklogFull { limit: self.backlog, backlog: tally.backlog }
    }

    /// A place for a new item: active spills into the backlog, a full backlog refuses.
    pub fn place(self, wanted: Status, tally: &Tally) -> Result<Tier, Refusal> {
        if wanted != Status::Backlog && !self.active_is_full(tally) {
            return Ok(if tally.active() >= u64::from(self.active) {
                Tier::OverLimit
            } else {
                Tier::Granted(wanted)
            });
        }
        if self.backlog_is_full(tally) {
            return Err(self.backlog_full(tally));
        }
        Ok(if wanted == Status::Backlog { Tier::Granted(wanted) } else { Tier::Spilled })
    }

    /// A place in the active tier for a promoted item.
    pub fn promote(self, tally: &Tally) -> Result<Tier, Refusal> {
        if self.active_is_full(tally) {
            return Err(Refusal::ActiveFull { limit: self.active, active: tally.active() });
        }
        Ok(if tally.active() >= u64::from(self.active) {
            Tier::OverLimit
        } else {
            Tier::Granted(Status::Pending)
        })
    }

    /// A place in the backlog for a demoted item.
    pub fn demote(self, tally: &Tally) -> Result<(), Refusal> {
        if self.backlog_is_full(tally) { Err(self.backlog_full(tally)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(pending: u64, backlog: u64) -> Tally {
        Tally { pending, backlog, ..Tally::default() }
    }

    #[test]
    fn active_spills_then_the_backlog_refuses() {
        let limits = Limits { active: 2, backlog: 1, active_soft_margin: 0 };
        let place = |wanted, t: &Tally| limits.place(wanted, t);
        assert_eq!(place(Status::Pending, &tally(1, 0)), Ok(Tier::Granted(Status::Pending)));
        assert_eq!(place(Status::Pending, &tally(2, 0)), Ok(Tier::Spilled));
        assert_eq!(
            place(Status::Pending, &tally(2, 1)),
            Err(Refusal::BacklogFull { limit: 1, backlog: 1 })
        );
        assert_eq!(place(Status::Backlog, &tally(0, 0)), Ok(Tier::Granted(Status::Backlog)));
        assert_eq!(limits.promote(&tally(2, 1)), Err(Refusal::ActiveFull { limit: 2, active: 2 }));
    }

    #[test]
    fn the_soft_margin_warns_before_it_refuses() {
        let limits = Limits { active: 10, backlog: 50, active_soft_margin: 2 };
        assert_eq!(limits.place(Status::Pending, &tally(9, 0)), Ok(Tier::Granted(Status::Pending)));
        assert_eq!(limits.place(Status::Pending, &tally(11, 0)), Ok(Tier::OverLimit));
        assert_eq!(limits.place(Status::Pending, &tally(12, 0)), Ok(Tier::Spilled));
    }
}
