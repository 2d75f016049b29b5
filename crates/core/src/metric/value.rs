//! Reads a figure from a number, a text or a boolean, by the kind of the metric.
//!
//! Durations are kept in seconds with two decimals, booleans as one and zero (F-18).

use serde_json::Value;

use super::{Figure, Metric, MetricKind};
use crate::Refusal;

/// The largest count that an `f64` holds exactly.
const COUNT_MAX: f64 = 9_007_199_254_740_992.0;

/// Each unit of time with its length in seconds; `ms` comes before `m`, its prefix.
const UNITS: [(&str, f64); 5] =
    [("ms", 0.001), ("d", 86_400.0), ("h", 3_600.0), ("m", 60.0), ("s", 1.0)];

impl MetricKind {
    /// What a figure of this kind looks like, in words that follow "give".
    #[must_use]
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Numeric | Self::Rating => "a number, e.g. 4.5",
            Self::Percentage => "a percentage, e.g. 12.5 or 12.5%",
            Self::Count => "a whole number that is not negative, e.g. 3",
            Self::Duration => "seconds or a duration, e.g. 72, 72s, 1m12s or 500ms",
            Self::Boolean => "true or false",
        }
    }

    /// Reads a figure of this kind; `None` if it cannot be read.
    #[must_use]
    pub fn figure(self, given: &Value) -> Option<Figure> {
        match given {
            Value::String(text) => self.of_text(text.trim()),
            Value::Number(number) => self.of_number(number.as_f64()?),
            Value::Bool(truth) if self == Self::Boolean => Figure::new(f64::from(u8::from(*truth))),
            Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    fn of_text(self, text: &str) -> Option<Figure> {
        match self {
            Self::Boolean => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "1" => Figure::new(1.0),
                "false" | "no" | "0" => Figure::new(0.0),
                _ => None,
            },
            Self::Percentage => {
                let number = text.strip_suffix('%').unwrap_or(text);
                self.of_number(number.trim_end().parse().ok()?)
            }
            Self::Duration => {
                let seconds = text.parse().ok().or_else(|| seconds(text))?;
                self.of_number(seconds)
            }
            Self::Numeric | Self::Count | Self::Rating => self.of_number(text.parse().ok()?),
        }
    }

    fn of_number(self, number: f64) -> Option<Figure> {
        let fits = match self {
            Self::Numeric | Self::Percentage | Self::Rating => true,
            Self::Count => number.fract() == 0.0 && (0.0..=COUNT_MAX).contains(&number),
            Self::Duration => number >= 0.0,
            Self::Boolean => number == 0.0 || number == 1.0,
        };
        match self {
            _ if !fits => None,
            Self::Duration => Figure::new(hundredths(number)),
            _ => Figure::new(number),
        }
    }
}

/// Rounds to two decimals; a number too large for decimals stays as it is.
fn hundredths(seconds: f64) -> f64 {
    let rounded = (seconds * 100.0).round() / 100.0;
    if rounded.is_finite() { rounded } else { seconds }
}

/// `1m12s`: numbers with units, in falling order of the units, each at most once.
fn seconds(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut sum = 0.0;
    let mut shortest = f64::INFINITY;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let (name, length) = UNITS.into_iter().find(|(name, _)| tail.starts_with(name))?;
        if length >= shortest {
            return None;
        }
        shortest = length;
        sum += number.parse::<f64>().ok()? * length;
        rest = &tail[name.len()..];
    }
    shortest.is_finite().then_some(sum)
}

impl Metric {
    /// Reads a figure of this metric; a refusal shows the expected form.
    pub fn figure(&self, given: &Value) -> Result<Figure, Refusal> {
        self.kind.figure(given).ok_or_else(|| {
            let found = match given {
                Value::String(text) => text.trim().to_owned(),
                other => other.to_string(),
            };
            let (metric, expected) = (self.slug.clone(), self.kind.expected().to_owned());
            Refusal::BadFigure { metric, found, expected }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// F-18: each kind accepts what people and programs write for it, and nothing else.
    #[test]
    fn a_figure_is_read_by_its_kind() {
        use MetricKind::{Boolean, Count, Duration, Numeric, Percentage, Rating};
        #[rustfmt::skip]
        let table = [
            (Numeric, json!(1.5), Some(1.5)), (Numeric, json!(" -2e3\n"), Some(-2_000.0)),
            (Numeric, json!("+7"), Some(7.0)), (Numeric, json!("1,5"), None),
            (Numeric, json!("fast"), None), (Numeric, json!(""), None),
            (Numeric, json!("NaN"), None), (Numeric, json!("inf"), None),
            (Numeric, json!("1e999"), None), (Numeric, json!(true), None),
            (Numeric, json!(null), None), (Numeric, json!([1]), None),
            (Numeric, json!({"value": 1}), None), (Numeric, json!("12%"), None),
            (Percentage, json!(12.5), Some(12.5)), (Percentage, json!("12.5%"), Some(12.5)),
            (Percentage, json!("12.5 %"), Some(12.5)), (Percentage, json!("-3"), Some(-3.0)),
            (Percentage, json!("140%"), Some(140.0)), (Percentage, json!("%"), None),
            (Percentage, json!("5%%"), None),
            (Count, json!(0), Some(0.0)), (Count, json!("17"), Some(17.0)),
            (Count, json!(3.0), Some(3.0)), (Count, json!(-1), None), (Count, json!(1.5), None),
            (Count, json!("-0"), Some(0.0)), (Count, json!(1e16), None),
            (Duration, json!(72), Some(72.0)), (Duration, json!("72"), Some(72.0)),
            (Duration, json!("72s"), Some(72.0)), (Duration, json!("1m12s"), Some(72.0)),
            (Duration, json!("500ms"), Some(0.5)), (Duration, json!("1.5h"), Some(5_400.0)),
            (Duration, json!("1d2h3m4s5ms"), Some(93_784.01)), (Duration, json!(1.239), Some(1.24)),
            (Duration, json!("4ms"), Some(0.0)), (Duration, json!("-1s"), None),
            (Duration, json!(-1), None), (Duration, json!("1s2m"), None),
            (Duration, json!("1s1s"), None), (Duration, json!("s"), None),
            (Duration, json!("1 m"), None), (Duration, json!("1x"), None),
            (Duration, json!("1m12"), None), (Duration, json!("1.2.3s"), None),
            (Boolean, json!(true), Some(1.0)), (Boolean, json!(false), Some(0.0)),
            (Boolean, json!("Yes"), Some(1.0)), (Boolean, json!("no"), Some(0.0)),
            (Boolean, json!(1), Some(1.0)), (Boolean, json!("0"), Some(0.0)),
            (Boolean, json!(2), None), (Boolean, json!("maybe"), None),
            (Rating, json!("4.5"), Some(4.5)), (Rating, json!("4/5"), None),
        ];
        for (kind, given, expected) in table {
            let read = kind.figure(&given).map(Figure::get);
            assert_eq!(read, expected, "{} {given}", kind.name());
        }
    }

    #[test]
    fn a_refused_figure_shows_the_expected_form() {
        let metric = Metric {
            id: crate::MetricId::from(crate::Ids::new(crate::Time::from_micros(0), 1).ulid()),
            slug: "build-time".into(),
            name: "Build time".into(),
            kind: MetricKind::Count,
            unit: None,
            target: None,
            collect: None,
            cron: None,
            archived_at: None,
        };
        let refusal = metric.figure(&json!(" many ")).unwrap_err();
        assert_eq!(refusal.to_string(), "metric `build-time` cannot be `many`");
        assert_eq!(refusal.hint(), "give a whole number that is not negative, e.g. 3");
    }

    proptest! {
        /// F-18: a figure that was read can be read again, and no text causes a panic.
        #[test]
        fn any_text_is_read_or_refused_and_a_figure_reads_back(
            kind in proptest::sample::select(MetricKind::ALL.to_vec()),
            text in prop_oneof!["\\PC{0,12}", "[0-9.dhms%-]{1,12}"],
            number in proptest::num::f64::ANY,
        ) {
            for given in [json!(text), json!(number)] {
                if let Some(figure) = kind.figure(&given) {
                    let again = serde_json::to_value(figure).unwrap();
                    prop_assert_eq!(kind.figure(&again), Some(figure), "{}", given);
                }
            }
        }
    }
}
