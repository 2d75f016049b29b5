//! When a metric is read automatically: by its cron expression, in the time zone of its mission,
//! while both the mission and the pillar are active (M-72).

use super::Metric;
use crate::Time;
use crate::mission::{Mission, Pillar, Standing, cadence};

/// What the time of a collection depends on: if none of it changes, the time stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule<'m> {
    cron: &'m str,
    timezone: &'m str,
}

impl<'m> Schedule<'m> {
    /// `None` if it is not read automatically.
    #[must_use]
    pub fn of(mission: &'m Mission, pillar: &Pillar, metric: &'m Metric) -> Option<Self> {
        let awake = mission.status == Standing::Active && pillar.status == Standing::Active;
        let measured = metric.archived_at.is_none() && metric.collect.is_some();
        let cron = metric.cron.as_deref().filter(|_| awake && measured)?;
        Some(Self { cron, timezone: mission.timezone() })
    }

    /// Its first time after this one; missed times are not made up.
    #[must_use]
    pub fn next(self, after: Time) -> Option<Time> {
        cadence::next(self.cron, self.timezone, after)
    }
}
