//! Derives a metric's status against its target, and its trend, from the readings (F-18).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::named;

use super::{Direction, Figure, Metric, MetricKind, Operator, Target};

named! {
    /// How a figure compares with its target.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum MetricStatus {
        OnTarget = "on_target",
        Warning = "warning",
        OffTarget = "off_target",
        /// No reading, or no target.
        Unknown = "unknown",
    }
}

named! {
    /// How the readings develop.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Trend {
        Improving = "improving",
        Stable = "stable",
        Degrading = "degrading",
        /// Too few readings, or no target.
        Unknown = "unknown",
    }
}

/// A trend is computed from this many of the newest readings.
pub const TREND_READINGS: usize = 10;

/// Fewer readings than this have no trend.
const TREND_MIN: usize = 3;

/// A smaller change, as a share of the starting value, counts as stable.
const TREND_BAND: f64 = 0.05;

impl Target {
    fn met(&self, figure: Figure) -> bool {
        compare(self.operator, figure, self.value)
    }

    /// The direction the figure should move in: as set, or as its operator implies. None: towards
    /// the target value.
    #[must_use]
    pub const fn direction(&self) -> Option<Direction> {
        match (self.desired_direction, self.operator) {
            (Some(direction), _) => Some(direction),
            (None, Operator::Below | Operator::AtMost) => Some(Direction::Down),
            (None, Operator::Above | Operator::AtLeast) => Some(Direction::Up),
            (None, Operator::Equal) => None,
        }
    }

    /// Is the figure off the target, but not beyond the threshold? The threshold itself still
    /// counts. The target's operator decides on which side the band is, because the desired
    /// direction may point the other way.
    fn warns(&self, figure: Figure) -> bool {
        let Some(threshold) = self.warning_threshold else { return false };
        match self.operator {
            Operator::Below | Operator::AtMost => figure <= threshold,
            Operator::Above | Operator::AtLeast => figure >= threshold,
            Operator::Equal => self.distance(figure.get()) <= self.distance(threshold.get()),
        }
    }

    fn distance(&self, value: f64) -> f64 {
        (value - self.value.get()).abs()
    }
}

fn compare(operator: Operator, figure: Figure, value: Figure) -> bool {
    match operator {
        Operator::Below => figure < value,
        Operator::AtMost => figure <= value,
        Operator::Above => figure > value,
        Operator::AtLeast => figure >= value,
        Operator::Equal => figure == value,
    }
}

/// How a figure compares with a target.
#[must_use]
pub fn status(target: Option<&Target>, current: Option<Figure>) -> MetricStatus {
    match (target, current) {
        (Some(target), Some(figure)) if target.met(figure) => MetricStatus::OnTarget,
        (Some(target), Some(figure)) if target.warns(figure) => MetricStatus::Warning,
        (Some(_), Some(_)) => MetricStatus::OffTarget,
        _ => MetricStatus::Unknown,
    }
}

/// The trend of the readings, the oldest first: compares the mean of the first half with the
/// second.
#[must_use]
pub fn trend(target: Option<&Target>, readings: &[Figure]) -> Trend {
    let readings = &readings[readings.len().saturating_sub(TREND_READINGS)..];
    let Some(target) = target else { return Trend::Unknown };
    if readings.len() < TREND_MIN {
        return Trend::Unknown;
    }
    let (first, second) = readings.split_at(readings.len() / 2);
    let (before, after) = (mean(first), mean(second));
    if (after - before).abs() <= before.abs() * TREND_BAND {
        return Trend::Stable;
    }
    // By how much the figure moved in the wanted direction.
    let gain = match target.direction() {
        Some(Direction::Up) => after - before,
        Some(Direction::Down) => before - after,
        None => target.distance(before) - target.distance(after),
    };
    if gain > 0.0 {
        Trend::Improving
    } else if gain < 0.0 {
        Trend::Degrading
    } else {
        Trend::Stable
    }
}

/// If the sum would overflow, each figure is divided first.
#[expect(clippy::cast_precision_loss, reason = "a handful of readings")]
fn mean(figures: &[Figure]) -> f64 {
    let count = figures.len() as f64;
    let sum: f64 = figures.iter().map(|figure| figure.get()).sum();
    if sum.is_finite() {
        return sum / count;
    }
    figures.iter().map(|figure| figure.get() / count).sum()
}

impl Metric {
    /// A figure of this metric, formatted for people.
    #[must_use]
    pub fn shown(&self, figure: Figure) -> String {
        let unit = self.unit.as_deref();
        match (self.kind, unit) {
            (MetricKind::Boolean, _) => {
                if figure.get() == 0.0 { "false" } else { "true" }.to_owned()
            }
            (MetricKind::Percentage, None | Some("%")) => format!("{figure}%"),
            (MetricKind::Duration, None) => format!("{figure}s"),
            (_, Some(unit)) if unit.chars().all(|c| !c.is_alphabetic()) || unit.len() <= 2 => {
                format!("{figure}{unit}")
            }
            (_, Some(unit)) => format!("{figure} {unit}"),
            (_, None) => figure.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn figure(value: f64) -> Figure {
        Figure::new(value).unwrap()
    }

    fn target(operator: Operator, value: f64, warning: Option<f64>) -> Target {
        let warning_threshold = warning.map(figure);
        Target { operator, value: figure(value), warning_threshold, desired_direction: None }
    }

    /// F-18, M-82: the figure is on target, in the warning band, or off target.
    #[test]
    fn a_status_depends_on_the_side_of_the_target_and_on_the_band() {
        use MetricStatus::{OffTarget, OnTarget, Warning};
        use Operator::{Above, AtLeast, AtMost, Below, Equal};
        #[rustfmt::skip]
        let table = [
            (Below, 60.0, Some(90.0),
                vec![(59.9, OnTarget), (60.0, Warning), (90.0, Warning), (90.1, OffTarget)]),
            (AtMost, 60.0, Some(90.0), vec![(60.0, OnTarget), (60.1, Warning), (91.0, OffTarget)]),
            (Above, 95.0, Some(90.0),
                vec![(95.1, OnTarget), (95.0, Warning), (90.0, Warning), (89.9, OffTarget)]),
            (AtLeast, 95.0, Some(90.0), vec![(95.0, OnTarget), (94.9, Warning), (1.0, OffTarget)]),
            (Equal, 0.0, Some(2.0),
                vec![(0.0, OnTarget), (2.0, Warning), (-2.0, Warning), (2.1, OffTarget)]),
            (Below, 60.0, None, vec![(1.0, OnTarget), (60.0, OffTarget)]),
            (Equal, 1.0, None, vec![(1.0, OnTarget), (0.0, OffTarget)]),
            // A threshold on the good side of the target leaves no band beyond it.
            (Below, 60.0, Some(50.0), vec![(55.0, OnTarget), (60.0, OffTarget)]),
        ];
        for (operator, value, warning, cases) in table {
            let target = target(operator, value, warning);
            for (value, expected) in cases {
                assert_eq!(status(Some(&target), Some(figure(value))), expected, "{value}");
            }
        }
    }

    /// The operator decides where the band is, even if the desired direction points the other way.
    #[test]
    fn a_desired_direction_changes_the_trend_and_not_the_band() {
        let below = target(Operator::Below, 60.0, Some(90.0));
        let target = Target { desired_direction: Some(Direction::Up), ..below };
        assert_eq!(status(Some(&target), Some(figure(70.0))), MetricStatus::Warning);
        assert_eq!(status(Some(&target), Some(figure(95.0))), MetricStatus::OffTarget);
        assert_eq!(trend(Some(&target), &[10.0, 20.0, 30.0].map(figure)), Trend::Improving);
    }

    /// M-82: without a reading or a target, status and trend are unknown.
    #[test]
    fn without_a_reading_or_a_target_both_are_unknown() {
        let target = target(Operator::Below, 60.0, None);
        assert_eq!(status(None, Some(figure(1.0))), MetricStatus::Unknown);
        assert_eq!(status(Some(&target), None), MetricStatus::Unknown);
        assert_eq!(trend(None, &[1.0, 2.0, 3.0].map(figure)), Trend::Unknown);
        assert_eq!(trend(Some(&target), &[1.0, 2.0].map(figure)), Trend::Unknown);
        assert_eq!(trend(Some(&target), &[]), Trend::Unknown);
    }

    /// F-18: compares the first half with the second; at least three readings; a band of five per
    /// cent.
    #[test]
    fn a_trend_compares_the_halves_of_the_last_ten() {
        use Trend::{Degrading, Improving, Stable};
        let down = target(Operator::Below, 60.0, None);
        let up = target(Operator::AtLeast, 60.0, None);
        let table: [(&[f64], Trend, Trend); 8] = [
            (&[100.0, 90.0, 80.0], Improving, Degrading),
            (&[80.0, 90.0, 100.0], Degrading, Improving),
            // Exactly at the edge of the band is still stable, on both sides.
            (&[100.0, 105.0, 105.0], Stable, Stable),
            (&[100.0, 95.0, 95.0], Stable, Stable),
            (&[100.0, 105.1, 105.1], Degrading, Improving),
            // From zero, any change counts.
            (&[0.0, 0.0, 0.1], Degrading, Improving),
            (&[0.0, 0.0, 0.0], Stable, Stable),
            (&[-100.0, -80.0, -80.0], Degrading, Improving),
        ];
        for (readings, when_down, when_up) in table {
            let readings: Vec<Figure> = readings.iter().copied().map(figure).collect();
            assert_eq!(trend(Some(&down), &readings), when_down, "{readings:?}");
            assert_eq!(trend(Some(&up), &readings), when_up, "{readings:?}");
        }
        // Of eleven readings the first is ignored, whatever its value.
        let mut eleven = vec![figure(1e9)];
        eleven.extend([10.0; 10].map(figure));
        assert_eq!(trend(Some(&down), &eleven), Stable);
    }

    /// `=` means towards the value, from either side.
    #[test]
    fn towards_the_value_is_the_direction_of_an_equal_sign() {
        let target = target(Operator::Equal, 10.0, None);
        let trend_of = |readings: [f64; 4]| trend(Some(&target), &readings.map(figure));
        assert_eq!(trend_of([2.0, 2.0, 8.0, 8.0]), Trend::Improving);
        assert_eq!(trend_of([18.0, 18.0, 12.0, 12.0]), Trend::Improving);
        assert_eq!(trend_of([10.0, 10.0, 14.0, 14.0]), Trend::Degrading);
        assert_eq!(trend_of([8.0, 8.0, 12.0, 12.0]), Trend::Stable);
    }

    fn any_figure() -> impl Strategy<Value = Figure> {
        prop_oneof![
            (-1_000.0..1_000.0).prop_map(figure),
            proptest::num::f64::NORMAL.prop_map(figure),
            Just(figure(0.0)),
            Just(figure(f64::MAX)),
            Just(figure(f64::MIN)),
        ]
    }

    fn any_operator() -> impl Strategy<Value = Operator> {
        use Operator::{Above, AtLeast, AtMost, Below, Equal};
        proptest::sample::select(vec![Below, AtMost, Above, AtLeast, Equal])
    }

    proptest! {
        /// F-18: up and down are mirror images, and only the last ten count.
        #[test]
        fn a_trend_follows_the_direction_and_ignores_old_readings(
            operator in any_operator(),
            old in prop::collection::vec(any_figure(), 0..5),
            readings in prop::collection::vec(any_figure(), 10..14),
        ) {
            let towards = |direction| Target {
                desired_direction: Some(direction),
                ..target(operator, 1.0, None)
            };
            let (up, down) = (towards(Direction::Up), towards(Direction::Down));
            let mirrored = match trend(Some(&up), &readings) {
                Trend::Improving => Trend::Degrading,
                Trend::Degrading => Trend::Improving,
                other => other,
            };
            prop_assert_eq!(trend(Some(&down), &readings), mirrored);
            let longer: Vec<Figure> = old.into_iter().chain(readings.clone()).collect();
            prop_assert_eq!(trend(Some(&up), &longer), trend(Some(&up), &readings));
        }

        /// F-18: a figure nearer to the target is never worse, and a band does not affect figures
        /// on target.
        #[test]
        fn a_better_figure_never_has_a_worse_status(
            operator in any_operator(),
            value in any_figure(),
            warning in proptest::option::of(any_figure()),
            (a, b) in (any_figure(), any_figure()),
        ) {
            let bare = target(operator, value.get(), None);
            let target = Target { warning_threshold: warning, ..bare };
            let rank = |figure| match status(Some(&target), Some(figure)) {
                MetricStatus::OnTarget => 0,
                MetricStatus::Warning => 1,
                MetricStatus::OffTarget => 2,
                MetricStatus::Unknown => 3,
            };
            let (low, high) = (a.min(b), a.max(b));
            match operator {
                Operator::Below | Operator::AtMost => prop_assert!(rank(low) <= rank(high)),
                Operator::Above | Operator::AtLeast => prop_assert!(rank(high) <= rank(low)),
                Operator::Equal => prop_assert_eq!(rank(value), 0),
            }
            let on = |target: &Target| status(Some(target), Some(a)) == MetricStatus::OnTarget;
            prop_assert_eq!(on(&bare), on(&target));
        }
    }
}
