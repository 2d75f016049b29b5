//! The actions of the engine, for the person who runs it.

use serde::Serialize;

/// One action that the engine did or tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "did", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Done {
    /// A metric was due, and its collection is queued.
    MetricDue { project: String, mission: String, metric: String },
    /// A metric was read.
    MetricCollected { project: String, mission: String, metric: String, value: String },
    /// A metric could not be read.
    MetricFailed {
        project: String,
        mission: String,
        metric: String,
        error: String,
        attempt: i64,
        /// It is not retried before its next scheduled time.
        gives_up: bool,
    },
    /// A mission was due, and its cycle ran.
    CycleRun { project: String, mission: String },
    /// A mission was due, and its cycle failed; it is retried.
    CycleFailed { project: String, mission: String, error: String },
    /// The database did not answer; it is retried.
    StoreTrouble { error: String },
}
