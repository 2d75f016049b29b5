//! What the engine did, to be shown to the person who runs it.

use serde::Serialize;

/// One thing that the engine did or tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "did", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Done {
    /// A metric's time came, and its collection is queued.
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
        /// It is not tried again before its next time.
        gives_up: bool,
    },
    /// A mission's time came, and it planned.
    CycleRun { project: String, mission: String },
    /// A mission's time came, and it could not plan; it is tried again.
    CycleFailed { project: String, mission: String, error: String },
    /// The database did not answer; it is tried again.
    StoreTrouble { error: String },
}
