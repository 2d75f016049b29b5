//! Folds a mission with its pillars, strategies and metrics, and the readings of its metrics, and
//! compares them with their rows.

use punchlist_core::event::ReadingRecorded;
use punchlist_core::metric::Reading;
use punchlist_core::mission::{Pillar, apply_mission};
use punchlist_core::project::Merges;
use punchlist_core::{Event, Mission};

use super::fields;
use crate::{Error, Recorded, Tx};

/// The mission that is being folded.
#[derive(Default)]
pub(super) struct MissionFold {
    mission: Option<Mission>,
    readings: Vec<Reading>,
}

impl MissionFold {
    pub(super) fn take(&mut self, event: &Event, recorded: &Recorded) {
        apply_mission(&mut self.mission, event, recorded.at);
        if let Event::ReadingRecorded(ReadingRecorded { reading, .. }) = event {
            self.readings.push(reading.clone());
        }
    }

    /// Returns the differences; `None` if no mission was folded.
    pub(super) fn close(
        &mut self,
        tx: &mut Tx<'_>,
        merges: &Merges,
    ) -> Result<Option<Vec<String>>, Error> {
        let mut readings = std::mem::take(&mut self.readings);
        let Some(mut folded) = self.mission.take() else { return Ok(None) };
        folded.project_id = merges.home(folded.project_id);
        let named = format!("mission {}", folded.slug);
        let row = match tx.mission_by_id(folded.id) {
            Ok(Some(row)) => row,
            Ok(None) => {
                return Ok(Some(vec![format!("{named} is in the log, but not in the tables")]));
            }
            Err(error) => {
                return Ok(Some(vec![format!("{named} cannot be decoded: {}", error.detail)]));
            }
        };
        let mut differences = Vec::new();
        let bare = |mission: &Mission| Mission { pillars: Vec::new(), ..mission.clone() };
        if bare(&row) != bare(&folded) {
            differences.extend(fields(&named, &bare(&row), &bare(&folded)));
        }
        compare_pillars(&named, &row.pillars, &folded.pillars, &mut differences);
        // Rows and log may be in a different order if transactions overlapped.
        let key = |r: &Reading| (r.metric_id, r.at, r.value.get().to_bits(), r.source.clone());
        let mut rows = tx.readings_of(folded.id)?;
        readings.sort_unstable_by_key(key);
        rows.sort_unstable_by_key(key);
        if rows != readings {
            let (log, tables) = (readings.len(), rows.len());
            let what = format!("{named} has {tables} readings that are not the {log} of the log");
            differences.push(what);
        }
        Ok(Some(differences))
    }
}

/// Compares pillar by pillar, if both sides have the same pillars in the same order.
fn compare_pillars(named: &str, rows: &[Pillar], folded: &[Pillar], differences: &mut Vec<String>) {
    let ids = |pillars: &[Pillar]| pillars.iter().map(|pillar| pillar.id).collect::<Vec<_>>();
    if ids(rows) != ids(folded) {
        differences.push(format!("{named} has not the pillars the log says, in its order"));
        return;
    }
    for (row, pillar) in rows.iter().zip(folded).filter(|(row, pillar)| row != pillar) {
        differences.extend(fields(&format!("{named}, pillar {}", pillar.slug), row, pillar));
    }
}
