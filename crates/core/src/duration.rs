//! A length of time as people write it: `90s`, `15m`, `12h`, `7d`.
//!
//! Nothing here waits or looks at a clock; a span is a number of seconds with a spelling.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A length of time in whole seconds, never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span(u64);

/// Each unit with its length in seconds, the longest first.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

impl Span {
    /// How to write one, for help and refusals.
    pub const SPELLING: &'static str = "a number and a unit, e.g. 90s, 15m, 12h or 7d";

    /// The pattern for a JSON Schema. Longer numbers are accepted too, up to the limit.
    pub const PATTERN: &'static str = "^[0-9]{1,4}[smhd]$";

    /// The pattern of a span that is not zero.
    pub const PATTERN_OF_SOME: &'static str = "^0{0,3}[1-9][0-9]{0,3}[smhd]$";

    /// The longest accepted span: a hundred years. It keeps sums of spans small.
    pub const LIMIT: Self = Self::days(36_500);

    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds)
    }

    #[must_use]
    pub const fn hours(hours: u64) -> Self {
        Self(hours * 3_600)
    }

    #[must_use]
    pub const fn days(days: u64) -> Self {
        Self(days * 86_400)
    }

    /// Reads digits and one unit; white space around them does not matter.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let unit = text.chars().next_back()?;
        let (_, length) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        let digits = &text[..text.len() - unit.len_utf8()];
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let seconds = digits.parse::<u64>().ok()?.checked_mul(length)?;
        (seconds <= Self::LIMIT.0).then_some(Self(seconds))
    }

    #[must_use]
    pub const fn as_seconds(self) -> u64 {
        self.0
    }
}

/// Shown in the longest unit that is exact.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = |(_, length): &(char, u64)| self.0 >= *length && self.0.is_multiple_of(*length);
        match UNITS.into_iter().find(exact) {
            Some((unit, length)) => write!(f, "{}{unit}", self.0 / length),
            None => write!(f, "{}s", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_in_human_notation_are_parsed() {
        for (text, seconds) in [
            ("90s", 90),
            ("15m", 900),
            ("12h", 43_200),
            ("7d", 604_800),
            (" 1d ", 86_400),
            ("0s", 0),
            ("007m", 420),
        ] {
            assert_eq!(Span::parse(text), Some(Span::seconds(seconds)), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_a_span_is_refused() {
        for text in [
            "",
            "s",
            "15",
            "15 m",
            "-1s",
            "+1s",
            "1.5h",
            "1w",
            "1ms",
            "1h30m",
            "m15",
            "9é",
            "36501d",
            "99999999999999999999s",
            "18446744073709551615d",
        ] {
            assert_eq!(Span::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_span_is_shown_in_the_longest_exact_unit_and_reads_back() {
        for text in ["0s", "59s", "1m", "90s", "90m", "12h", "25h", "7d"] {
            let span = Span::parse(text).unwrap();
            assert_eq!(span.to_string(), text);
            assert_eq!(Span::parse(&span.to_string()), Some(span));
        }
        assert_eq!(Span::parse("60m"), Some(Span::hours(1)));
        assert_eq!(Span::hours(24), Span::days(1));
    }
}
