//! What overwriting a store would lose: the events that its log has and the backup's log has not.

use punchlist_core::Time;
use rusqlite::{Connection, OptionalExtension};

use super::backup::Log;
use crate::Error;

/// What overwriting a store would lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    Nothing,
    Events {
        count: i64,
        /// The time of the first of them.
        since: Time,
    },
    /// The store cannot be read, so the loss is unknown.
    Unknown {
        why: String,
    },
}

impl Loss {
    /// Finds, by halving, where two logs that begin alike start to differ. An earlier restore is
    /// not counted as a loss, because this restore is recorded in its place.
    pub(super) fn of(store: &Connection, backup: &Connection) -> Result<Self, Error> {
        let last = Log::read(backup)?.last_seq.unwrap_or_default();
        let (mut shared, mut end) = (0, last + 1);
        if is_shared(store, backup, last)? {
            shared = last;
        }
        while end - shared > 1 {
            let middle = shared + (end - shared) / 2;
            if is_shared(store, backup, middle)? { shared = middle } else { end = middle }
        }
        let (count, since): (i64, Option<i64>) = store.query_row(
            "SELECT count(*), min(at) FROM events WHERE seq > ?1 AND type <> 'store_restored'",
            [shared],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        Ok(match since {
            Some(since) => Self::Events { count, since: Time::from_micros(since) },
            None => Self::Nothing,
        })
    }

    /// The number of lost events; `None` if it is unknown.
    pub(super) const fn count(&self) -> Option<i64> {
        match self {
            Self::Nothing => Some(0),
            Self::Events { count, .. } => Some(*count),
            Self::Unknown { .. } => None,
        }
    }
}

/// Are the two logs the same up to this number? They are if the last event up to it is the same in
/// both. The number alone proves nothing, because a restore leaves gaps in the numbers.
fn is_shared(store: &Connection, backup: &Connection, seq: i64) -> Result<bool, Error> {
    let read = |row: &rusqlite::Row<'_>| -> rusqlite::Result<([i64; 2], [String; 4])> {
        let words = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?];
        Ok(([row.get(0)?, row.get(1)?], words))
    };
    let last = |connection: &Connection| {
        let mut statement = connection.prepare_cached(
            "SELECT seq, at, type, aggregate, actor, data FROM events \
             WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1",
        )?;
        statement.query_row([seq], read).optional()
    };
    Ok(last(store)? == last(backup)?)
}
