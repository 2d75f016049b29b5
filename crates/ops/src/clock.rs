//! The clock and the random numbers: time and randomness enter the program only here.

use std::sync::atomic::{AtomicU64, Ordering};

use punchlist_core::{Ids, Time};

/// The current time.
#[must_use]
pub fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Time::from_micros(since.map_or(0, |d| i64::try_from(d.as_micros()).unwrap_or(i64::MAX)))
}

/// How many times this process has created ids.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// Fresh ids for one command. After the milliseconds come the microseconds, a counter and random
/// bits, so the ids that one process creates sort by creation. Fails if the system gives no
/// randomness, because an id would not be unique without it.
pub fn ids(now: Time) -> Result<Ids, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    let chance = u128::from_le_bytes(bytes) & ((1 << 48) - 1);
    let micros = u128::from(now.micros().rem_euclid(1_000).unsigned_abs());
    let count = u128::from(ASKED.fetch_add(1, Ordering::Relaxed) & ((1 << 20) - 1));
    Ok(Ids::new(now, (micros << 69) | (count << 49) | chance))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ids created in the same instant still sort by creation.
    #[test]
    fn ids_of_one_process_are_in_order() {
        let (now, next) = (Time::from_micros(5_000_001), Time::from_micros(5_000_002));
        let mut made = Vec::new();
        for at in [now, now, now, next] {
            let mut ids = ids(at).unwrap();
            made.extend([ids.ulid(), ids.ulid()]);
        }
        assert!(made.is_sorted(), "{made:?}");
    }
}
