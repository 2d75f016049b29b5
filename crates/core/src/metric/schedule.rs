//! When a metric is read by itself: by its cron expression, in the time zone of its mission, as
//! long as neither the mission nor the pillar rests (M-72).

use super::Metric;
use crate::Time;
use crate::mission::{Mission, Pillar, Standing, cadence};

/// What the time of a collection depends on: if nothing of it changes, the time stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule<'m> {
    cron: &'m str,
    timezone: &'m str,
}

impl<'m> Schedule<'m> {
    /// None: it is not read by itself.
    #[must_use]
    pub fn of(mission: &'m Mission, pillar: &Pillar, metric: &'m Metric) -> Option<Self> {
        let awake = mission.status == Standing::Active && pillar.status == Standing::Active;
        let measured = metric.archived_at.is_none() && metric.collect.is_some();
        let cron = metric.cron.as_deref().filter(|_| awake && measured)?;
        Some(Self { cron, timezone: mission.timezone() })
    }

    /// Its first time after this one; times that were missed meanwhile are one.
    #[must_use]
    pub fn next(self, after: Time) -> Option<Time> {
        cadence::next(self.cron, self.timezone, after)
    }
}
