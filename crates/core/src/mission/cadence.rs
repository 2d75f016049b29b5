//! When: cron expressions in a time zone, and when a mission is due next. The rules of time zones
//! come with the program, so that every machine knows the same ones.

use croner::Cron;
use croner::parser::CronParser;
use jiff::tz::TimeZone;

use super::{Cadence, Standing};
use crate::Time;

/// Reads a cron expression of five fields. Otherwise, what is wrong with it.
pub fn cron(text: &str) -> Result<Cron, String> {
    CronParser::new().parse(text.trim()).map_err(|error| error.to_string())
}

/// The time zone of an IANA name.
#[must_use]
pub fn time_zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name.trim()).ok()
}

/// The first moment after `after` that a cron expression names in a time zone; none if there is
/// none, or if either does not read.
#[must_use]
pub fn next(expression: &str, timezone: &str, after: Time) -> Option<Time> {
    let cron = cron(expression).ok()?;
    let zone = time_zone(timezone)?;
    let after = jiff::Timestamp::from_microsecond(after.micros()).ok()?.to_zoned(zone);
    let next = cron.find_next_occurrence(&after, false).ok()?;
    Some(Time::from_micros(next.timestamp().as_microsecond()))
}

/// When the mission is due next, if it is to run by itself at all.
pub(super) fn next_cycle(cadence: Option<&Cadence>, status: Standing, now: Time) -> Option<Time> {
    let cadence = cadence.filter(|_| status == Standing::Active)?;
    next(&cadence.cron, &cadence.timezone, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Time {
        Time::parse(text).unwrap()
    }

    /// M-71: a due moment is in the mission's own time zone, summer and winter, and lies ahead.
    #[test]
    fn the_next_moment_is_in_its_time_zone() {
        let berlin = |after| next("0 9 * * 1", "Europe/Berlin", at(after)).unwrap().to_string();
        // Mondays at nine: UTC+1 in November, UTC+2 in July.
        assert_eq!(berlin("2026-11-15T12:00:00Z"), "2026-11-16T08:00:00.000000Z");
        assert_eq!(berlin("2026-07-05T12:00:00Z"), "2026-07-06T07:00:00.000000Z");
        // The moment itself is not after itself.
        assert_eq!(berlin("2026-11-16T08:00:00Z"), "2026-11-23T08:00:00.000000Z");
        // An hour that the clock jumps over, or has twice, is met once.
        let daily = |after| next("30 2 * * *", "Europe/Berlin", at(after)).unwrap().to_string();
        assert_eq!(daily("2026-10-25T00:30:00Z"), "2026-10-26T01:30:00.000000Z");
        assert!(daily("2026-03-28T12:00:00Z").starts_with("2026-03-29T0"));
    }

    #[test]
    fn what_does_not_read_is_said() {
        assert!(cron("every monday").is_err());
        assert!(cron("0 9 * *").is_err());
        assert!(time_zone("Europe/Berlin").is_some());
        assert!(time_zone("Europe/Nowhere").is_none());
        assert_eq!(next("0 0 30 2 *", "UTC", at("2026-01-01T00:00:00Z")), None);
    }
}
