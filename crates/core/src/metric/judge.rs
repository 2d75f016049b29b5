//! What readings add up to: a status against the target, and a trend (F-18).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, Figure, Metric, MetricKind, Operator, Target};

/// How a figure stands to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricStatus {
    OnTarget,
    Warning,
    OffTarget,
    /// No reading, or no target.
    Unknown,
}

impl MetricStatus {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnTarget => "on_target",
            Self::Warning => "warning",
            Self::OffTarget => "off_target",
            Self::Unknown => "unknown",
        }
    }
}

/// Where the readings go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    Improving,
    Stable,
    Degrading,
    /// Too few readings, or nobody said where they should go.
    Unknown,
}

impl Trend {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Improving => "improving",
            Self::Stable => "stable",
            Self::Degrading => "degrading",
            Self::Unknown => "unknown",
        }
    }
}

/// How many of the newest readings a trend looks at.
pub const TREND_READINGS: usize = 10;

/// Fewer than this are no trend.
const TREND_MIN: usize = 3;

/// A change within this share of where it began is none.
const TREND_BAND: f64 = 0.05;

impl Target {
    fn met(&self, figure: Figure) -> bool {
        compare(self.operator, figure, self.value)
    }

    /// Where the figure should go: as it says, or as its operator does.
    #[must_use]
    pub const fn direction(&self) -> Option<Direction> {
        match (self.desired_direction, self.operator) {
            (Some(direction), _) => Some(direction),
            (None, Operator::Below | Operator::AtMost) => Some(Direction::Down),
            (None, Operator::Above | Operator::AtLeast) => Some(Direction::Up),
            (None, Operator::Equal) => None,
        }
    }

    /// Off the target, but not beyond the threshold, which itself still counts.
    fn warns(&self, figure: Figure) -> bool {
        let Some(threshold) = self.warning_threshold else { return false };
        match self.direction() {
            Some(Direction::Down) => figure <= threshold,
            Some(Direction::Up) => figure >= threshold,
            None => {
                let distance = |a: Figure| (a.get() - self.value.get()).abs();
                distance(figure) <= distance(threshold)
            }
        }
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

/// How a figure stands to a target.
#[must_use]
pub fn status(target: Option<&Target>, current: Option<Figure>) -> MetricStatus {
    match (target, current) {
        (Some(target), Some(figure)) if target.met(figure) => MetricStatus::OnTarget,
        (Some(target), Some(figure)) if target.warns(figure) => MetricStatus::Warning,
        (Some(_), Some(_)) => MetricStatus::OffTarget,
        _ => MetricStatus::Unknown,
    }
}

/// Where the readings go, the oldest first: the mean of their first half against the second.
#[must_use]
pub fn trend(target: Option<&Target>, readings: &[Figure]) -> Trend {
    let readings = &readings[readings.len().saturating_sub(TREND_READINGS)..];
    let Some(direction) = target.and_then(Target::direction) else { return Trend::Unknown };
    if readings.len() < TREND_MIN {
        return Trend::Unknown;
    }
    let (first, second) = readings.split_at(readings.len() / 2);
    let (before, after) = (mean(first), mean(second));
    let band = before.abs() * TREND_BAND;
    if (after - before).abs() <= band {
        return Trend::Stable;
    }
    match (after > before, direction) {
        (true, Direction::Up) | (false, Direction::Down) => Trend::Improving,
        _ => Trend::Degrading,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful of readings")]
fn mean(figures: &[Figure]) -> f64 {
    figures.iter().map(|figure| figure.get()).sum::<f64>() / figures.len() as f64
}

impl Metric {
    /// A figure of this metric as people read it.
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
