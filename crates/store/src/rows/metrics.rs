//! Metrics and their readings. What a metric is belongs to its mission; how its collection goes
//! stands beside it and outside the fold.

use punchlist_core::event::ReadingRecorded;
use punchlist_core::metric::{Figure, Metric, MetricKind, Reading};
use punchlist_core::{MetricId, MissionId, PillarId, Time};

use super::events::Stamp;
use super::{opt_time, time, word};
use crate::sql::Row;
use crate::{Error, Tx, sql};

macro_rules! columns {
    () => {
        "k.pillar_id, k.id, k.slug, k.name, k.type, k.unit, k.target, k.collect, k.cron, \
         k.archived_at"
    };
}

/// How the collection of a metric goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    pub next_at: Option<Time>,
    /// Failures since it last worked.
    pub failures: i64,
    pub last_error: Option<String>,
    pub last_error_at: Option<Time>,
}

impl Tx<'_> {
    /// The metrics of a mission with the pillars they belong to, in their order.
    pub(super) fn metrics_of(
        &mut self,
        mission: MissionId,
    ) -> Result<Vec<(PillarId, Metric)>, Error> {
        let mission = mission.to_string();
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM metrics AS k JOIN pillars AS p ON p.id = k.pillar_id \
                 WHERE p.mission_id = $1 ORDER BY k.pillar_id, k.position"
            ),
            &[(&mission).into()],
            read,
        )
    }

    pub(super) fn put_metric(
        &mut self,
        pillar: &str,
        position: i64,
        metric: &Metric,
    ) -> Result<(), Error> {
        let id = metric.id.to_string();
        let target = metric.target.as_ref().map(serde_json::to_string).transpose()?;
        let collect = metric.collect.as_ref().map(serde_json::to_string).transpose()?;
        self.write(
            sql!(
                "INSERT INTO metrics (pillar_id, id, slug, name, type, unit, target, collect, \
                 cron, archived_at, position) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, \
                 $11) ON CONFLICT (id) DO UPDATE SET name = excluded.name, type = excluded.type, \
                 unit = excluded.unit, target = excluded.target, collect = excluded.collect, \
                 cron = excluded.cron, archived_at = excluded.archived_at, \
                 position = excluded.position"
            ),
            &[
                pillar.into(),
                (&id).into(),
                (&metric.slug).into(),
                (&metric.name).into(),
                metric.kind.name().into(),
                metric.unit.as_deref().into(),
                target.as_deref().into(),
                collect.as_deref().into(),
                metric.cron.as_deref().into(),
                metric.archived_at.map(Time::micros).into(),
                position.into(),
            ],
        )
    }

    /// The mission and the pillar a metric belongs to, and the project's name.
    pub fn metric_home(
        &mut self,
        metric: MetricId,
    ) -> Result<Option<(String, MissionId, String)>, Error> {
        let id = metric.to_string();
        self.first(
            sql!(
                "SELECT r.name, m.id, k.slug FROM metrics AS k \
                 JOIN pillars AS p ON p.id = k.pillar_id JOIN missions AS m ON m.id = p.mission_id \
                 JOIN projects AS r ON r.id = m.project_id WHERE k.id = $1"
            ),
            &[(&id).into()],
            |row| {
                let mission = word("mission id", &row.text(1)?, MissionId::parse)?;
                Ok((row.text(0)?, mission, row.text(2)?))
            },
        )
    }

    /// Writes a reading down.
    pub fn add_reading(
        &mut self,
        mission_id: MissionId,
        reading: &Reading,
        stamp: &Stamp,
    ) -> Result<(), Error> {
        let metric = reading.metric_id.to_string();
        self.write(
            sql!("INSERT INTO readings (metric_id, value, at, source) VALUES ($1, $2, $3, $4)"),
            &[
                (&metric).into(),
                reading.value.get().into(),
                reading.at.micros().into(),
                (&reading.source).into(),
            ],
        )?;
        let aggregate = mission_id.to_string();
        let recorded = ReadingRecorded { mission_id, reading: reading.clone() };
        self.append(stamp, &aggregate, &recorded.into())
    }

    /// Every reading of a mission's metrics.
    pub(crate) fn readings_of(&mut self, mission: MissionId) -> Result<Vec<Reading>, Error> {
        let mission = mission.to_string();
        self.query(
            sql!(
                "SELECT r.value, r.at, r.source, r.metric_id FROM readings AS r \
                 JOIN metrics AS k ON k.id = r.metric_id JOIN pillars AS p ON p.id = k.pillar_id \
                 WHERE p.mission_id = $1"
            ),
            &[(&mission).into()],
            |row| reading(row, word("metric id", &row.text(3)?, MetricId::parse)?),
        )
    }

    /// The newest readings of a metric, the oldest of them first.
    pub fn readings(&mut self, metric_id: MetricId, limit: i64) -> Result<Vec<Reading>, Error> {
        let metric = metric_id.to_string();
        let mut found = self.query(
            sql!(
                "SELECT value, at, source FROM readings WHERE metric_id = $1 \
                 ORDER BY row DESC LIMIT $2"
            ),
            &[(&metric).into(), limit.into()],
            |row| reading(row, metric_id),
        )?;
        found.reverse();
        Ok(found)
    }
}

/// A reading whose value, time and source come first.
fn reading(row: &Row<'_>, metric_id: MetricId) -> Result<Reading, Error> {
    let value = Figure::new(row.real(0)?)
        .ok_or_else(|| Error::unreadable("figure", "not a finite number"))?;
    Ok(Reading { metric_id, value, at: time(row, 1)?, source: row.text(2)? })
}

fn read(row: &Row<'_>) -> Result<(PillarId, Metric), Error> {
    let metric = Metric {
        id: word("metric id", &row.text(1)?, MetricId::parse)?,
        slug: row.text(2)?,
        name: row.text(3)?,
        kind: word("metric type", &row.text(4)?, MetricKind::parse)?,
        unit: row.opt_text(5)?,
        target: row.opt_text(6)?.map(|text| serde_json::from_str(&text)).transpose()?,
        collect: row.opt_text(7)?.map(|text| serde_json::from_str(&text)).transpose()?,
        cron: row.opt_text(8)?,
        archived_at: opt_time(row, 9)?,
    };
    Ok((word("pillar id", &row.text(0)?, PillarId::parse)?, metric))
}
