//! Cron expressions in a time zone. The time zone rules are part of the program, so that every
//! machine uses the same ones.

use croner::Cron;
use croner::parser::CronParser;
use jiff::tz::TimeZone;

use super::{Cadence, Standing};
use crate::Time;

/// Minute, hour, day of the month, month, and weekday.
const FIELDS: usize = 5;

/// Checks a cron expression of five fields that comes up at some time, or returns what is wrong with
/// it.
pub fn check(text: &str) -> Result<(), String> {
    let cron = cron(text)?;
    // The parser also knows seconds and years, which would shift the meaning of the five fields.
    if !text.trim().starts_with('@') && text.split_whitespace().count() != FIELDS {
        return Err(format!("expected {FIELDS} fields: minute, hour, day, month, weekday"));
    }
    let start = jiff::Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    match cron.find_next_occurrence(&start, false) {
        Ok(_) => Ok(()),
        Err(_) => Err("no date matches it".to_owned()),
    }
}

/// Reads a cron expression. One with seconds may still be in an older store.
fn cron(text: &str) -> Result<Cron, String> {
    CronParser::new().parse(text.trim()).map_err(|error| error.to_string())
}

/// The time zone of an IANA name.
#[must_use]
pub fn time_zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name.trim()).ok()
}

/// The first time after `after` that matches a cron expression in a time zone; `None` if there is
/// none, or if either is invalid.
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

    /// M-71: a due time is in the mission's own time zone, in summer and winter, and in the future.
    #[test]
    fn the_next_time_is_in_the_time_zone_of_the_mission() {
        let berlin = |after| next("0 9 * * 1", "Europe/Berlin", at(after)).unwrap().to_string();
        // Mondays at nine: UTC+1 in November, UTC+2 in July.
        assert_eq!(berlin("2026-11-15T12:00:00Z"), "2026-11-16T08:00:00.000000Z");
        assert_eq!(berlin("2026-07-05T12:00:00Z"), "2026-07-06T07:00:00.000000Z");
        // The time itself does not count as later.
        assert_eq!(berlin("2026-11-16T08:00:00Z"), "2026-11-23T08:00:00.000000Z");
        // A time in an hour that the clock skips or repeats comes once.
        let daily = |after| next("30 2 * * *", "Europe/Berlin", at(after)).unwrap().to_string();
        assert_eq!(daily("2026-10-25T00:30:00Z"), "2026-10-26T01:30:00.000000Z");
        assert!(daily("2026-03-28T12:00:00Z").starts_with("2026-03-29T0"));
    }

    #[test]
    fn an_invalid_expression_is_refused_with_the_reason() {
        assert!(check("every monday").is_err());
        assert!(check("0 9 * *").is_err());
        for known in ["0 9 * * 1", " */5 * * * * ", "0 0 29 2 *"] {
            assert_eq!(check(known), Ok(()), "{known}");
        }
        let fields = "expected 5 fields: minute, hour, day, month, weekday";
        assert_eq!(check("0 0 9 * * 1"), Err(fields.to_owned()));
        assert_eq!(check("0 0 30 2 *"), Err("no date matches it".to_owned()));
        assert!(time_zone("Europe/Berlin").is_some());
        assert!(time_zone("Europe/Nowhere").is_none());
        assert_eq!(next("0 0 30 2 *", "UTC", at("2026-01-01T00:00:00Z")), None);
    }
}
