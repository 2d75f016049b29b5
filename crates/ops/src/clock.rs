//! The clock and the dice: the only place where time and randomness come in.

use punchlist_core::{Ids, Time};

/// The real time now.
#[must_use]
pub fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Time::from_micros(since.map_or(0, |d| i64::try_from(d.as_micros()).unwrap_or(i64::MAX)))
}

/// Fresh ids for one command. Without randomness from the system there is no safe id, so that
/// failure is the caller's to tell.
pub fn ids(now: Time) -> Result<Ids, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(Ids::new(now, u128::from_le_bytes(bytes)))
}
