//! `metric_failed`: a collector reports that it could not read a metric.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::metric::FailCollection;
use punchlist_core::text::{Body, Title};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::views::metric::CollectionView;

/// Report that a metric could not be read. Only collectors do this.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The mission's slug.
    pub mission: Title,
    /// The metric's slug.
    pub metric: Title,
    /// What went wrong.
    pub error: Body,
    /// The number of the attempt, from 1.
    pub attempt: i64,
    /// No retry before the next scheduled time.
    #[serde(default)]
    pub gives_up: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// The state of its collection; null: it no longer has a collector.
    pub collection: Option<CollectionView>,
}

#[derive(Debug)]
pub struct MetricFailed;

impl Define for MetricFailed {
    const NAME: &'static str = "metric_failed";
    const ACCESS: Access = Access::On(Subject::Metric, Action::Fail);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = r#"{"mission":"developer-experience","metric":"local-build-time",
        "error":"ended with exit code 1","attempt":1}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let mission = call.mission(input.mission.as_str(), Lock::No)?;
        let command = FailCollection {
            metric: input.metric.as_str().to_owned(),
            error: input.error.as_str().to_owned(),
            attempt: input.attempt,
            gives_up: input.gives_up == Some(true),
        };
        call.fail_collection(&mission, &command)?;
        let Some((_, metric)) = mission.metric(&command.metric) else {
            return Ok(Output { collection: None });
        };
        let collection = call.tx().collection(metric.id)?;
        Ok(Output { collection: CollectionView::of(metric, collection) })
    }
}
