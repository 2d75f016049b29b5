//! A metric of a pillar: a figure that should stay on one side of a target.
//!
//! A metric is part of its mission and changes with the mission's file. Its readings are a log of
//! their own; status and trend are derived from them and never stored (F-18).

mod figure;
mod judge;
mod measure;
mod schedule;
mod value;

pub use figure::Figure;
pub use judge::{MetricStatus, TREND_READINGS, Trend, status, trend};
pub use measure::{COLLECTOR, CollectMetrics, FailCollection, RecordReading};
pub use schedule::Schedule;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::named;
use crate::{MetricId, Time};

named! {
    /// What kind of figure it is. Durations are kept in seconds, booleans as one and zero.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum MetricKind {
        #[default]
        Numeric = "numeric",
        Percentage = "percentage",
        Count = "count",
        Duration = "duration",
        Boolean = "boolean",
        Rating = "rating",
    }
}

/// On which side of the target a figure should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    #[serde(rename = "<")]
    Below,
    #[serde(rename = "<=")]
    AtMost,
    #[serde(rename = ">")]
    Above,
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = "=", alias = "==")]
    Equal,
}

impl Operator {
    /// How it is written.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Equal => "=",
        }
    }
}

/// The direction a figure should move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Up,
    Down,
}

/// What a figure should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    pub operator: Operator,
    pub value: Figure,
    /// A figure beyond the target but not beyond this is a warning, not a miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning_threshold: Option<Figure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_direction: Option<Direction>,
}

/// How a metric's figure is read automatically. Only the operator sets this, in the mission's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Collect {
    pub source: Source,
    /// JSON pointer to the figure in a JSON answer; absent: the whole answer is the figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    pub timeout_s: u64,
    /// The folder where commands run and files are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

/// Where a figure comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A program and its arguments; no shell.
    Command(Vec<String>),
    /// A URL to GET.
    Http(String),
    File(String),
}

/// A metric of a pillar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metric {
    pub id: MetricId,
    pub slug: String,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: MetricKind,
    pub unit: Option<String>,
    pub target: Option<Target>,
    pub collect: Option<Collect>,
    /// When it is collected automatically, in the time zone of the mission.
    pub cron: Option<String>,
    /// When it was removed from the mission's file; its readings stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Time>,
}

/// One figure at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reading {
    pub metric_id: MetricId,
    pub value: Figure,
    pub at: Time,
    /// Who read it: a principal, or the collector.
    pub source: String,
}
