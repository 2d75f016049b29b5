//! A deadline: a date, or a point in time. A date is over at the end of that day.

use std::fmt;

use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Time;

/// When an item should be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deadline {
    Date(jiff::civil::Date),
    At(Time),
}

impl Deadline {
    /// Reads `YYYY-MM-DD` or RFC 3339.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() == 10 {
            return text.parse().ok().map(Self::Date);
        }
        Time::parse(text).map(Self::At)
    }

    /// When it is over. A date is over at the end of the day in this time zone (D-8).
    #[must_use]
    pub fn ends_at(self, zone: &TimeZone) -> Time {
        match self {
            Self::At(time) => time,
            Self::Date(date) => {
                let next_day = date.tomorrow().unwrap_or(date);
                let midnight = next_day.to_zoned(zone.clone());
                Time::from_micros(midnight.map_or(i64::MAX, |z| z.timestamp().as_microsecond()))
            }
        }
    }

    /// Is it over in every time zone?
    #[must_use]
    pub fn is_over_everywhere(self, now: Time) -> bool {
        const BEHIND_UTC_S: i64 = 12 * 3600;
        match self {
            Self::At(time) => time <= now,
            Self::Date(_) => self.ends_at(&TimeZone::UTC).plus_seconds(BEHIND_UTC_S) <= now,
        }
    }
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Date(date) => date.fmt(f),
            Self::At(time) => time.fmt(f),
        }
    }
}

impl Serialize for Deadline {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Deadline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("not a date (YYYY-MM-DD) or RFC 3339 time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_over_when_its_day_has_ended_everywhere() {
        let over = |date, now| {
            Deadline::parse(date).unwrap().is_over_everywhere(Time::parse(now).unwrap())
        };
        assert!(!over("2026-02-21", "2026-02-22T11:59:59Z"), "still the 21st west of us");
        assert!(over("2026-02-21", "2026-02-22T12:00:00Z"));
        assert!(over("2026-02-21T10:00:00Z", "2026-02-21T10:00:00Z"));
        assert!(!over("2026-02-21T10:00:00Z", "2026-02-21T09:59:59Z"));
    }

    #[test]
    fn a_date_ends_with_its_day_and_a_time_is_kept_as_given() {
        // D-8
        let date = Deadline::parse("2026-02-21").unwrap();
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        assert_eq!(Some(date.ends_at(&TimeZone::UTC)), Time::parse("2026-02-22T00:00:00Z"));
        assert_eq!(Some(date.ends_at(&berlin)), Time::parse("2026-02-21T23:00:00Z"));
        assert_eq!(date.to_string(), "2026-02-21");
        let moment = Deadline::parse("2026-02-21T10:00:00Z").unwrap();
        assert_eq!(Some(moment.ends_at(&berlin)), Time::parse("2026-02-21T10:00:00Z"));
        for bad in ["2026-02-30", "soon", "", "2026-2-1"] {
            assert_eq!(Deadline::parse(bad), None, "{bad}");
        }
    }
}
