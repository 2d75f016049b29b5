//! A lease: who holds an item, until when, and the epoch that fences off a holder who returns too
//! late.
//!
//! Leases are not part of the fold (ADR 0009). They are checked by the database's clock, which the
//! command brings.

use serde::{Deserialize, Serialize};

use crate::{Event, Time, Todo};

/// The longest lease: a day. Longer work sends heartbeats.
pub const LEASE_S_MAX: i64 = 24 * 3600;

/// The default length of a lease.
pub const LEASE_S: i64 = 900;

/// A hold on an item that ends by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// The principal that holds it; `None` if it was given back, and only the epoch is kept.
    pub holder: Option<String>,
    /// Grows with every take; an older one is stale.
    pub epoch: i64,
    pub until: Time,
}

impl Lease {
    /// Who holds the item at this time.
    #[must_use]
    pub fn held_by(&self, clock: Time) -> Option<&str> {
        self.holder.as_deref().filter(|_| self.until > clock)
    }
}

/// Has the item's state ended its lease? Nobody works on settled, yielded, claimed and held items.
#[must_use]
pub fn ends_with(todo: &Todo) -> bool {
    todo.status != crate::Status::InProgress || todo.claim.is_some() || todo.hold.is_some()
}

/// Can another agent continue the item after a claim or a hold has ended its lease? It is in progress
/// since it was taken, and nobody has to answer a claim first, or to lift a hold that has no end.
#[must_use]
pub fn can_be_continued(todo: &Todo) -> bool {
    let hold_ends = todo.hold.as_ref().is_none_or(|hold| hold.until.is_some());
    let is_in_progress = todo.status == crate::Status::InProgress;
    is_in_progress && todo.assigned_by_taking && todo.claim.is_none() && hold_ends
}

/// Does this event end the lease of its item, whatever happens to the item next? By policy a step
/// that is given back may be started again at once, without a holder.
#[must_use]
pub const fn ended_by(event: &Event) -> bool {
    matches!(event, Event::TodoYielded(_))
}
