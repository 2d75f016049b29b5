//! `metric_history`: a metric, its state, and its readings, newest first.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::text::Title;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Cursor, Limit, page};
use crate::views::metric::CollectionView;
use crate::views::{MetricView, ReadingView};

/// Show a metric: its definition, target, trend, and readings, newest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The mission's slug.
    pub mission: Title,
    /// The metric's slug.
    pub metric: Title,
    /// Number of readings; default 50, at most 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<i64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub mission: String,
    pub pillar: String,
    #[serde(flatten)]
    pub metric: MetricView,
    /// The state of its collection; null: it has no collector and is recorded by hand.
    pub collection: Option<CollectionView>,
    pub readings: Vec<ReadingView>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<i64>,
}

#[derive(Debug)]
pub struct MetricHistory;

impl Define for MetricHistory {
    const NAME: &'static str = "metric_history";
    const ACCESS: Access = Access::List(ListKind::Pillar, &[Action::View]);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces {
        command: &["metric", "history"],
        positional: &["mission", "metric"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str =
        r#"{"mission":"developer-experience","metric":"local-build-time","limit":20}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let limit = input.limit;
        let mission = call.mission(input.mission.as_str(), Lock::No)?;
        let Some((pillar, metric)) = mission.metric(input.metric.as_str()) else {
            return Err(mission.unknown_metric(input.metric.as_str()).into());
        };
        call.views_pillar(&mission.slug, &pillar.slug)?;
        let newest = call.tx().readings(metric.id, MetricView::READINGS)?;
        let mut readings = call.tx().readings_before(metric.id, input.cursor.0, limit.and_one())?;
        let next_cursor = page(&mut readings, limit, |(row, _)| *row);
        let collection = call.tx().collection(metric.id)?;
        Ok(Output {
            mission: mission.slug.clone(),
            pillar: pillar.slug.clone(),
            metric: MetricView::of(metric, &newest),
            collection: CollectionView::of(metric, collection),
            readings: readings.into_iter().map(|(_, reading)| reading.into()).collect(),
            next_cursor,
        })
    }
}
