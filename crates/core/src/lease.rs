//! A lease: who holds an item, until when, and the epoch that fences a holder who wakes too late.
//!
//! Leases stand beside the fold (ADR 0009) and are judged by the database's clock, which comes in
//! with the command.

use serde::{Deserialize, Serialize};

use crate::{Event, Time, Todo};

/// The longest lease: a day. What takes longer sends heartbeats.
pub const LEASE_S_MAX: i64 = 24 * 3600;

/// How long an item is held when nobody says.
pub const LEASE_S: i64 = 900;

/// A hold on an item that ends by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// The principal that holds it; none: it was given back, and only the epoch is remembered.
    pub holder: Option<String>,
    /// Grows with every take; an older one is stale.
    pub epoch: i64,
    pub until: Time,
}

impl Lease {
    /// Who holds the item at this moment.
    #[must_use]
    pub fn held_by(&self, clock: Time) -> Option<&str> {
        self.holder.as_deref().filter(|_| self.until > clock)
    }
}

/// Has the item left the hands of whoever held it? Settled, yielded, claimed and held items are
/// nobody's to work on.
#[must_use]
pub fn ends_with(todo: &Todo) -> bool {
    todo.status != crate::Status::InProgress || todo.claim.is_some() || todo.hold.is_some()
}

/// Does this event end the lease of its item, whatever happens to the item next? A step that is
/// given back may be in progress again at once, by policy; nobody holds it then.
#[must_use]
pub const fn ended_by(event: &Event) -> bool {
    matches!(event, Event::TodoYielded(_))
}
