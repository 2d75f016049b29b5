//! `metric_collect`: run the collectors of metrics.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::metric::CollectMetrics;
use punchlist_core::text::Title;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Maybe;

/// Queue metrics to be read by their collectors; `punch worker` runs them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The mission's slug.
    pub mission: Title,
    /// The metric's slug; absent: every metric with a collector that is not paused.
    #[serde(default)]
    pub metric: Maybe<Title>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// The slugs of the queued metrics.
    pub queued: Vec<String>,
}

#[derive(Debug)]
pub struct MetricCollect;

impl Define for MetricCollect {
    const NAME: &'static str = "metric_collect";
    const ACCESS: Access = Access::On(Subject::Metric, Action::Collect);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["metric", "collect"],
        positional: &["mission", "metric"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str =
        r#"{"mission":"developer-experience","metric":"local-build-time"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let mission = call.mission(input.mission.as_str(), Lock::No)?;
        let metric = input.metric.0.as_ref().map(ToString::to_string);
        let metrics = call.collect(&mission, &CollectMetrics { metric })?;
        Ok(Output { queued: metrics.iter().map(|metric| metric.slug.clone()).collect() })
    }
}
