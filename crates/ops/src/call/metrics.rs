//! The calls on the metrics of missions.

use punchlist_core::metric::{CollectMetrics, FailCollection, Metric, Reading, RecordReading};
use punchlist_core::mission::may_view_pillar;
use punchlist_core::{Mission, Place};

use super::Call;
use crate::Error;

impl Call<'_, '_> {
    /// Records a reading.
    pub(crate) fn record_reading(
        &mut self,
        mission: &Mission,
        command: &RecordReading,
    ) -> Result<Reading, Error> {
        self.reaches_metric(mission, &command.metric)?;
        let of = (mission.project_id, &mission.id as _);
        let (reading, decision) = self.decided(command, mission, of)?;
        let stamp = self.stamp(mission.project_id);
        self.tx.add_reading(mission.id, &reading, &decision, &stamp)?;
        Ok(reading)
    }

    /// Asks the collectors to read metrics. Returns which metrics.
    pub(crate) fn collect(
        &mut self,
        mission: &Mission,
        command: &CollectMetrics,
    ) -> Result<Vec<Metric>, Error> {
        if let Some(slug) = &command.metric {
            self.reaches_metric(mission, slug)?;
        }
        let of = (mission.project_id, &mission.id as _);
        let (metrics, decision) = self.decided(command, mission, of)?;
        let stamp = self.stamp(mission.project_id);
        for effect in &decision.effects {
            self.tx.enqueue_once(effect, stamp.at, &mut self.ids)?;
        }
        self.tx.append_all(&stamp, &mission.id.to_string(), &decision.events)?;
        Ok(metrics)
    }

    /// Records that a collector failed.
    pub(crate) fn fail_collection(
        &mut self,
        mission: &Mission,
        command: &FailCollection,
    ) -> Result<(), Error> {
        let of = (mission.project_id, &mission.id as _);
        let (metric, decision) = self.decided(command, mission, of)?;
        let stamp = self.stamp(mission.project_id);
        self.tx.count_failure(metric, &command.error, stamp.at)?;
        Ok(self.tx.append_all(&stamp, &mission.id.to_string(), &decision.events)?)
    }

    /// May the caller see the items of this pillar?
    pub(crate) fn views_pillar(&mut self, mission: &str, pillar: &str) -> Result<(), Error> {
        may_view_pillar(&self.envelope.actor, mission, pillar)?;
        self.reach(&Place::pillar(mission, pillar))
    }

    /// Does the caller's token reach the pillar of this metric? An unknown metric passes here, and
    /// the rules refuse it later.
    fn reaches_metric(&mut self, mission: &Mission, slug: &str) -> Result<(), Error> {
        let Some((pillar, _)) = mission.metric(slug) else { return Ok(()) };
        self.reach_pillar(mission, &pillar.slug)
    }
}
