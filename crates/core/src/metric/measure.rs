//! The commands on metrics: record a reading, ask for one, and report that a collection failed. The
//! lead of a mission measures it; collectors act as the system.

use serde::{Deserialize, Serialize};

use serde_json::Value;

use super::{Metric, Reading};
use crate::authority::{Action, Subject, may, may_any};
use crate::effect::Effect;
use crate::event::{CollectionFailed, CollectionQueued, ReadingRecorded};
use crate::mission::{Mission, Pillar, Standing};
use crate::{Actor, By, Decide, Decision, MetricId, Place, Refusal, Refused, Time};

/// The source of a reading that a collector took.
pub const COLLECTOR: &str = "collector";

/// Record a reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordReading {
    pub metric: String,
    /// A number, a text or a boolean, read by the kind of the metric.
    pub value: Value,
    /// When it was read; absent: now.
    pub at: Option<Time>,
}

impl Decide for RecordReading {
    type On<'a> = &'a Mission;
    type Out = (Reading, Decision);

    fn decide(
        &self,
        mission: Self::On<'_>,
        By { actor, now, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let (_, metric) = measurable(mission, actor, Action::Record, &self.metric)?;
        // An actor that may report failures of collectors is the collector itself.
        let source = match may_any(actor.role, Subject::Metric, Action::Fail) {
            true => COLLECTOR.to_owned(),
            false => actor.principal.clone(),
        };
        let (metric_id, at) = (metric.id, self.at.unwrap_or(now));
        let reading = Reading { metric_id, value: metric.figure(&self.value)?, at, source };
        let recorded = ReadingRecorded { mission_id: mission.id, reading: reading.clone() };
        Ok((reading, Decision { events: vec![recorded.into()], ..Decision::default() }))
    }
}

/// Ask collectors to read metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectMetrics {
    /// Only this metric; absent: each active one with a collector.
    pub metric: Option<String>,
}

impl Decide for CollectMetrics {
    type On<'a> = &'a Mission;
    type Out = (Vec<Metric>, Decision);

    /// Also returns the metrics to read: those in the pillars that the caller reaches.
    fn decide(
        &self,
        mission: Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        may_measure(mission, actor, Action::Collect)?;
        let metrics = match &self.metric {
            Some(slug) => {
                let (_, metric) = measurable(mission, actor, Action::Collect, slug)?;
                if metric.collect.is_none() {
                    return Err(Refusal::NoCollector { metric: metric.slug.clone() }.into());
                }
                vec![metric]
            }
            None => {
                let awake = |pillar: &Pillar| {
                    mission.status == Standing::Active && pillar.status == Standing::Active
                };
                let within = |pillar: &Pillar| {
                    actor.reach.covers(&Place::pillar(&mission.slug, &pillar.slug)).is_ok()
                };
                let wanted = |(pillar, metric): &(&Pillar, &Metric)| {
                    metric.collect.is_some() && awake(pillar) && within(pillar)
                };
                mission.metrics().filter(wanted).map(|(_, metric)| metric).collect()
            }
        };
        let mut decision = Decision::default();
        if !metrics.is_empty() {
            let metric_ids = metrics.iter().map(|metric| metric.id).collect();
            let queued = CollectionQueued { mission_id: mission.id, metric_ids };
            decision.events.push(queued.into());
        }
        let effect =
            |metric: &&Metric| Effect::CollectMetric { metric_id: metric.id, todo_id: None };
        decision.effects = metrics.iter().map(effect).collect();
        Ok((metrics.into_iter().cloned().collect(), decision))
    }
}

/// Report that a collector failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailCollection {
    pub metric: String,
    pub error: String,
    /// The number of the attempt, from 1.
    pub attempt: i64,
    /// It is not retried before its next scheduled time.
    pub gives_up: bool,
}

impl Decide for FailCollection {
    type On<'a> = &'a Mission;
    type Out = (MetricId, Decision);

    fn decide(
        &self,
        mission: Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let (_, metric) = measurable(mission, actor, Action::Fail, &self.metric)?;
        let (error, attempt, gives_up) = (self.error.clone(), self.attempt, self.gives_up);
        let (mission_id, metric_id) = (mission.id, metric.id);
        let failed = CollectionFailed { mission_id, metric_id, error, attempt, gives_up };
        Ok((metric_id, Decision { events: vec![failed.into()], ..Decision::default() }))
    }
}

fn may_measure(mission: &Mission, actor: &Actor, action: Action) -> Result<(), Refused> {
    if !may(actor, Subject::Metric, action, || mission.is_own(actor)) {
        return Err(Refusal::MayNotLead { role: actor.role }.into());
    }
    if mission.status == Standing::Archived {
        return Err(Refusal::MissionArchived { slug: mission.slug.clone() }.into());
    }
    Ok(())
}

/// A metric that this actor may measure; a paused one can still be asked for by name.
fn measurable<'m>(
    mission: &'m Mission,
    actor: &Actor,
    action: Action,
    slug: &str,
) -> Result<(&'m Pillar, &'m Metric), Refused> {
    may_measure(mission, actor, action)?;
    let Some((pillar, metric)) = mission.metric(slug) else {
        return Err(mission.unknown_metric(slug).into());
    };
    if pillar.status == Standing::Archived {
        return Err(Refusal::MissionArchived { slug: pillar.slug.clone() }.into());
    }
    Ok((pillar, metric))
}
