//! A point in time, as microseconds since 1970 in UTC, shown as RFC 3339 with six decimals.
//!
//! There is no clock here: times come from the caller. The fixed width makes the text sort like the
//! number, and the SQL views print the same form.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// From the number the store keeps.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// The number the store keeps.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339, with any offset.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|t| Self(t.as_microsecond()))
    }

    /// For people, who do not need the fraction: `2026-11-15T08:00:00Z`.
    #[must_use]
    pub fn to_the_second(self) -> String {
        let whole = Self(self.0.div_euclid(1_000_000).saturating_mul(1_000_000));
        whole.to_string().replace(".000000", "")
    }

    /// This time plus `seconds`; saturates.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }

    /// This time plus `days`.
    #[must_use]
    pub fn plus_days(self, days: u32) -> Self {
        self.plus_seconds(i64::from(days) * 86_400)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(at) => write!(f, "{at:.6}"),
            Err(_) => f.write_str("out of range"),
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not an RFC 3339 time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_a_fixed_width_and_is_read_back() {
        for micros in [0, 1, 999_999, 1_763_193_600_000_000, 1_763_193_600_120_000] {
            let time = Time::from_micros(micros);
            let text = time.to_string();
            assert_eq!(text.len(), "2026-11-15T08:00:00.000000Z".len(), "{text}");
            assert_eq!(Time::parse(&text), Some(time));
        }
        assert_eq!(Time::parse("2026-11-15T09:00:00+01:00"), Time::parse("2026-11-15T08:00:00Z"));
        assert_eq!(Time::parse("tomorrow"), None);
        let time = Time::parse("2026-11-15T08:00:00.713689Z").unwrap();
        assert_eq!(time.to_the_second(), "2026-11-15T08:00:00Z");
    }
}
