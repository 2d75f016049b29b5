//! A metric as callers see it: its value, its target and its trend.

use punchlist_core::Time;
use punchlist_core::metric::{
    Direction, Figure, Metric, MetricKind, MetricStatus, Operator, Reading, TREND_READINGS, Target,
    Trend, status, trend,
};
use punchlist_store::rows::metrics::Collection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A metric.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricView {
    pub slug: String,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: MetricKind,
    pub unit: Option<String>,
    /// The newest reading; null: never read.
    pub current: Option<Figure>,
    /// The value with its unit, for people.
    pub shown: Option<String>,
    /// When it was read.
    pub current_at: Option<Time>,
    pub target: Option<TargetView>,
    pub status: MetricStatus,
    pub trend: Trend,
}

/// The target of a metric.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetView {
    pub operator: Operator,
    pub value: Figure,
    pub warning_threshold: Option<Figure>,
    pub desired_direction: Option<Direction>,
    /// The target for people, e.g. `< 60s`.
    pub shown: String,
}

/// One value at one time.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReadingView {
    pub value: Figure,
    pub at: Time,
    /// Who read it: a principal or the collector.
    pub source: String,
}

/// The state of a metric's collection.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollectionView {
    pub cron: Option<String>,
    /// When it is read next; null: only on request, or it is paused.
    pub next_at: Option<Time>,
    /// Failures since the last success.
    pub failures: i64,
    pub last_error: Option<String>,
    pub last_error_at: Option<Time>,
}

impl MetricView {
    /// How many of the newest readings the trend needs.
    pub const READINGS: i64 = TREND_READINGS as i64;

    /// The view of a metric; `readings` are the newest, oldest first.
    #[must_use]
    pub fn of(metric: &Metric, readings: &[Reading]) -> Self {
        let figures: Vec<Figure> = readings.iter().map(|reading| reading.value).collect();
        let (newest, target) = (readings.last(), metric.target.as_ref());
        let current = newest.map(|reading| reading.value);
        Self {
            slug: metric.slug.clone(),
            name: metric.name.clone(),
            kind: metric.kind,
            unit: metric.unit.clone(),
            current,
            shown: current.map(|figure| metric.shown(figure)),
            current_at: newest.map(|reading| reading.at),
            target: target.map(|target| TargetView::of(metric, target)),
            status: status(target, current),
            trend: trend(target, &figures),
        }
    }
}

impl TargetView {
    pub(crate) fn of(metric: &Metric, target: &Target) -> Self {
        let Target { operator, value, warning_threshold, desired_direction } = *target;
        let shown = format!("{} {}", operator.sign(), metric.shown(value));
        Self { operator, value, warning_threshold, desired_direction, shown }
    }
}

impl CollectionView {
    /// `None` for a metric without a collector.
    #[must_use]
    pub fn of(metric: &Metric, collection: Collection) -> Option<Self> {
        metric.collect.as_ref()?;
        let Collection { next_at, failures, last_error, last_error_at } = collection;
        Some(Self { cron: metric.cron.clone(), next_at, failures, last_error, last_error_at })
    }
}

impl From<Reading> for ReadingView {
    fn from(Reading { value, at, source, .. }: Reading) -> Self {
        Self { value, at, source }
    }
}
