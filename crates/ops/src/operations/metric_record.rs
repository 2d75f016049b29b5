//! `metric_record`: record a reading.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::metric::RecordReading;
use punchlist_core::text::Title;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::explain::Fault;
use crate::input::{Maybe, When};
use crate::views::{MetricView, ReadingView};
use crate::{Envelope, Error};

/// Record the value of a metric, now or at an earlier time.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The mission's slug.
    pub mission: Title,
    /// The metric's slug.
    pub metric: Title,
    /// The value: a number, true or false, or a text such as 12.5% or 1m12s.
    #[schemars(extend("type" = ["number", "string", "boolean"]))]
    pub value: Value,
    /// When it was read: a date or a time; absent: now.
    #[serde(default)]
    pub at: Maybe<When>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// The metric with this reading.
    pub metric: MetricView,
    pub reading: ReadingView,
}

#[derive(Debug)]
pub struct MetricRecord;

impl Define for MetricRecord {
    const NAME: &'static str = "metric_record";
    const ACCESS: Access = Access::On(Subject::Metric, Action::Record);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["metric", "record"],
        positional: &["mission", "metric", "value"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str =
        r#"{"mission":"developer-experience","metric":"local-build-time","value":"1m12s"}"#;

    type Input = Input;
    type Output = Output;

    /// The time is compared with the envelope's clock.
    fn check(envelope: &Envelope, input: &Input) -> Result<(), Error> {
        command(envelope, input).map(|_| ())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let command = command(call.envelope(), input)?;
        let mission = call.mission(input.mission.as_str(), Lock::No)?;
        let reading = call.record_reading(&mission, &command)?;
        let Some((_, metric)) = mission.metric(&command.metric) else {
            return Err(mission.unknown_metric(&command.metric).into());
        };
        let readings = call.tx().readings(metric.id, MetricView::READINGS)?;
        Ok(Output { metric: MetricView::of(metric, &readings), reading: reading.into() })
    }
}

fn command(envelope: &Envelope, input: &Input) -> Result<RecordReading, Error> {
    let bad = |path: &str, found: String, expected: &str| {
        let (path, expected) = (path.to_owned(), expected.to_owned());
        Error::from(Fault::BadValue { path, found, expected })
    };
    if matches!(input.value, Value::Null | Value::Array(_) | Value::Object(_)) {
        let found = match input.value {
            Value::Null => "null",
            Value::Array(_) => "a list",
            _ => "an object",
        };
        return Err(bad("value", found.to_owned(), "a number, a text, true or false"));
    }
    let at = input.at.0.as_ref().map(|at| at.0);
    if let Some(at) = at.filter(|at| *at > envelope.now) {
        return Err(bad("at", format!("`{at}`"), "a time that is not in the future"));
    }
    let (metric, value) = (input.metric.as_str().to_owned(), input.value.clone());
    Ok(RecordReading { metric, value, at })
}
