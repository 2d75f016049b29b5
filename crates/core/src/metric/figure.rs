//! A finite number. Only finite numbers can be readings, so figures can always be compared.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number that is neither infinite nor undefined.
#[derive(Clone, Copy, Debug)]
pub struct Figure(f64);

impl Figure {
    /// `None` if the value is not finite. Negative zero becomes zero.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self(if value == 0.0 { 0.0 } else { value }))
    }

    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Figure {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Figure {}

impl PartialOrd for Figure {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Figure {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Whole numbers without a decimal point, others as short as possible.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A whole number is written without a decimal point, as people expect for counts and seconds.
impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        if self.0.fract() == 0.0 && self.0.abs() < EXACT {
            return serializer.serialize_i64(self.0 as i64);
        }
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Self::new(value).ok_or_else(|| serde::de::Error::custom("not a finite number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_figures_are_written_as_integers_and_read_back() {
        for (value, text) in
            [(72.0, "72"), (0.5, "0.5"), (-0.0, "0"), (-3.0, "-3"), (1e17, "1e+17")]
        {
            let figure = Figure::new(value).unwrap();
            assert_eq!(serde_json::to_string(&figure).unwrap(), text);
            assert_eq!(serde_json::from_str::<Figure>(text).unwrap(), figure);
        }
        assert_eq!(Figure::new(72.0).unwrap().to_string(), "72");
        assert_eq!(Figure::new(f64::NAN), None);
        assert_eq!(Figure::new(f64::INFINITY), None);
    }
}
