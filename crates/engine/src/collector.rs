//! The handler that collects metrics as the mission's file defines, and reports through an
//! operation.
//!
//! A collection that fails is tried five times in all, with growing pauses, and then again at the
//! metric's next time or on request. Every failure is logged and shown with the metric until the next
//! success. One queued collection makes at most one reading, however often it is tried: the work's id is
//! the idempotency key.

use punchlist_core::Time;
use punchlist_core::effect::Effect;
use punchlist_ops::input::{Maybe, text};
use punchlist_ops::operations::metric_failed::{self, MetricFailed};
use punchlist_ops::operations::metric_record::{self, MetricRecord};
use punchlist_ops::{Envelope, Error, Ops};
use punchlist_store::rows::metrics::Home;
use punchlist_store::rows::outbox::Work;
use serde_json::Value;

use crate::Done;
use crate::collect::{self, Fault};
use crate::pump::{Handler, Setback};
use crate::system::{again, is_temporary, system};

/// How often one queued collection is tried.
pub const TRIES: i64 = 5;

/// Reads metrics.
pub struct Collector<'a> {
    pub ops: &'a Ops,
    pub clock: &'a (dyn Fn() -> Time + Sync),
    pub is_stopped: &'a (dyn Fn() -> bool + Sync),
    pub report: &'a (dyn Fn(Done) + Sync),
}

impl std::fmt::Debug for Collector<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

impl Handler for Collector<'_> {
    fn kinds(&self) -> &str {
        " collect_metric "
    }

    fn handle(&self, work: &Work) -> Result<(), Setback> {
        let Effect::CollectMetric { metric_id, .. } = work.effect else { return Ok(()) };
        let store = self.ops.store().map_err(|error| again(&error))?;
        let found = store.read(move |tx| tx.metric_to_collect(metric_id));
        // The metric is gone, or no longer has a collector.
        let Some((home, metric)) = found.map_err(|error| again(&error))? else { return Ok(()) };
        let Some(source) = metric.collect.as_ref().filter(|_| metric.archived_at.is_none()) else {
            return Ok(());
        };
        match collect::read(&metric, source, &|| (self.is_stopped)()) {
            Ok(value) => self.record(work, &home, value),
            Err(Fault::Stopped) => Err(Setback::Stopped),
            Err(Fault::Failed(error)) => self.fail(work, &home, error),
        }
    }
}

impl Collector<'_> {
    fn record(&self, work: &Work, home: &Home, value: Value) -> Result<(), Setback> {
        let (mission, metric, at) = (&home.mission, &home.metric, Maybe(None));
        let recorded = text("mission", mission).and_then(|mission| {
            let input =
                metric_record::Input { mission, metric: text("metric", metric)?, value, at };
            let envelope = self.envelope(home, format!("collect:{}", work.id));
            self.ops.run::<MetricRecord>(&envelope, input)
        });
        match recorded {
            Ok(answer) => {
                let Home { project, mission, metric } = home.clone();
                let value = answer.metric.shown.unwrap_or_default();
                (self.report)(Done::MetricCollected { project, mission, metric, value });
                Ok(())
            }
            // Another worker did the same work first, and read another figure.
            Err(Error::IdempotencyConflict { .. }) => Ok(()),
            Err(error) => settle(&error),
        }
    }

    fn fail(&self, work: &Work, home: &Home, error: String) -> Result<(), Setback> {
        let (attempt, gives_up) = (work.attempt, work.attempt >= TRIES);
        let failed = text("mission", &home.mission).and_then(|mission| {
            let (metric, error) = (text("metric", &home.metric)?, text("error", &error)?);
            let gives_up = Some(gives_up);
            let input = metric_failed::Input { mission, metric, error, attempt, gives_up };
            let envelope = self.envelope(home, format!("collect:{}:{attempt}", work.id));
            self.ops.run::<MetricFailed>(&envelope, input)
        });
        match failed {
            Ok(_) | Err(Error::IdempotencyConflict { .. }) => {}
            Err(error) => return settle(&error),
        }
        let Home { project, mission, metric } = home.clone();
        let said = error.clone();
        let done = Done::MetricFailed { project, mission, metric, error: said, attempt, gives_up };
        (self.report)(done);
        Err(if gives_up { Setback::GiveUp(error) } else { Setback::Retry(error) })
    }

    fn envelope(&self, home: &Home, key: String) -> Envelope {
        let envelope = system("collector", &home.project, (self.clock)());
        Envelope { idempotency_key: Some(key), ..envelope }
    }
}

/// A report failed. If the metric is not measured any more, there is nothing left to do.
fn settle(error: &Error) -> Result<(), Setback> {
    if is_temporary(error) { Err(again(error)) } else { Ok(()) }
}
