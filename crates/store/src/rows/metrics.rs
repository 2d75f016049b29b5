//! Metrics and their readings. The definition of a metric is part of its mission. The state of its
//! collection is stored separately and is not folded from the log.

use punchlist_core::metric::{COLLECTOR, Figure, Metric, MetricKind, Reading};
use punchlist_core::{Decision, MetricId, MissionId, PillarId, Time};

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

/// The state of a metric's collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    pub next_at: Option<Time>,
    /// Failures since the last success.
    pub failures: i64,
    pub last_error: Option<String>,
    pub last_error_at: Option<Time>,
}

/// The home of a metric: its project's name, its mission's slug and its own slug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    pub project: String,
    pub mission: String,
    pub metric: String,
}

/// A metric that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueMetric {
    pub id: MetricId,
    pub mission_id: MissionId,
    pub home: Home,
}

impl Tx<'_> {
    /// The metrics of a mission with their pillars, in order.
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

    /// A metric with its home.
    pub fn metric_to_collect(&mut self, id: MetricId) -> Result<Option<(Home, Metric)>, Error> {
        let id = id.to_string();
        self.first(
            sql!(
                "SELECT ",
                columns!(),
                ", r.name, m.slug FROM metrics AS k JOIN pillars AS p ON p.id = k.pillar_id \
                 JOIN missions AS m ON m.id = p.mission_id \
                 JOIN projects AS r ON r.id = m.project_id WHERE k.id = $1"
            ),
            &[(&id).into()],
            |row| {
                let (_, metric) = read(row)?;
                let (project, mission) = (row.text(10)?, row.text(11)?);
                Ok((Home { project, mission, metric: metric.slug.clone() }, metric))
            },
        )
    }

    /// The state of a metric's collection.
    pub fn collection(&mut self, metric: MetricId) -> Result<Collection, Error> {
        let id = metric.to_string();
        let found = self.first(
            sql!(
                "SELECT next_collect_at, failures, last_error, last_error_at FROM metrics \
                 WHERE id = $1"
            ),
            &[(&id).into()],
            |row| {
                Ok(Collection {
                    next_at: opt_time(row, 0)?,
                    failures: row.int(1)?,
                    last_error: row.opt_text(2)?,
                    last_error_at: opt_time(row, 3)?,
                })
            },
        )?;
        Ok(found.unwrap_or_default())
    }

    /// Sets the time of the next reading; `None`: no further readings.
    pub fn schedule_metric(&mut self, metric: MetricId, next: Option<Time>) -> Result<(), Error> {
        let id = metric.to_string();
        self.write(
            sql!("UPDATE metrics SET next_collect_at = $2 WHERE id = $1"),
            &[(&id).into(), next.map(Time::micros).into()],
        )
    }

    /// The metrics that are due, locked until the transaction ends. Concurrent callers get
    /// different metrics.
    pub fn take_due_metrics(&mut self, now: Time, limit: i64) -> Result<Vec<DueMetric>, Error> {
        macro_rules! due {
            ($lock:expr) => {
                concat!(
                    "SELECT k.id, r.name, m.id, m.slug, k.slug FROM metrics AS k \
                     JOIN pillars AS p ON p.id = k.pillar_id \
                     JOIN missions AS m ON m.id = p.mission_id \
                     JOIN projects AS r ON r.id = m.project_id WHERE k.next_collect_at <= $1 \
                     ORDER BY k.next_collect_at, k.id LIMIT $2",
                    $lock
                )
            };
        }
        let statement =
            self.dialect().pick(sql!(due!("")), sql!(due!(" FOR UPDATE OF k SKIP LOCKED")));
        self.query(statement, &[now.micros().into(), limit.into()], |row| {
            Ok(DueMetric {
                id: word("metric id", row.str(0)?, MetricId::parse)?,
                mission_id: word("mission id", row.str(2)?, MissionId::parse)?,
                home: Home { project: row.text(1)?, mission: row.text(3)?, metric: row.text(4)? },
            })
        })
    }

    /// The next time that a mission's cycle or a metric is due.
    pub fn scheduled_at(&mut self) -> Result<Option<Time>, Error> {
        let next = self.first(
            sql!(
                "SELECT min(at) FROM (SELECT min(next_cycle_at) AS at FROM missions UNION ALL \
                 SELECT min(next_collect_at) FROM metrics) AS times"
            ),
            &[],
            |row| opt_time(row, 0),
        )?;
        Ok(next.flatten())
    }

    /// Inserts a reading and its events. A reading of the collector resets its failures.
    pub fn add_reading(
        &mut self,
        mission_id: MissionId,
        reading: &Reading,
        decision: &Decision,
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
        if reading.source == COLLECTOR {
            self.write(
                sql!(
                    "UPDATE metrics SET failures = 0, last_error = NULL, last_error_at = NULL \
                     WHERE id = $1 AND failures > 0"
                ),
                &[(&metric).into()],
            )?;
        }
        self.append_all(stamp, &mission_id.to_string(), &decision.events)
    }

    /// Counts a failure of a collector and stores its error.
    pub fn count_failure(&mut self, metric: MetricId, error: &str, at: Time) -> Result<(), Error> {
        let id = metric.to_string();
        self.write(
            sql!(
                "UPDATE metrics SET failures = failures + 1, last_error = $2, last_error_at = $3 \
                 WHERE id = $1"
            ),
            &[(&id).into(), error.into(), at.micros().into()],
        )
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
            |row| reading(row, word("metric id", row.str(3)?, MetricId::parse)?),
        )
    }

    /// The newest readings of a metric, oldest first.
    pub fn readings(&mut self, metric_id: MetricId, limit: i64) -> Result<Vec<Reading>, Error> {
        let found = self.readings_before(metric_id, None, limit)?;
        Ok(found.into_iter().rev().map(|(_, reading)| reading).collect())
    }

    /// The readings of a metric with their row numbers, newest first; with `before`, only those
    /// before that row. Readings are sorted by the time they were taken, not recorded.
    pub fn readings_before(
        &mut self,
        metric_id: MetricId,
        row: Option<i64>,
        limit: i64,
    ) -> Result<Vec<(i64, Reading)>, Error> {
        let metric = metric_id.to_string();
        self.query(
            sql!(
                "SELECT r.row, r.value, r.at, r.source FROM readings AS r WHERE r.metric_id = $1 \
                 AND (CAST($2 AS BIGINT) IS NULL OR (r.at, r.row) < (SELECT b.at, b.row \
                 FROM readings AS b WHERE b.row = $2)) ORDER BY r.at DESC, r.row DESC LIMIT $3"
            ),
            &[(&metric).into(), row.into(), limit.into()],
            |row| {
                let value = Figure::new(row.real(1)?)
                    .ok_or_else(|| Error::unreadable("figure", "not a finite number"))?;
                let (at, source) = (time(row, 2)?, row.text(3)?);
                Ok((row.int(0)?, Reading { metric_id, value, at, source }))
            },
        )
    }
}

/// Reads a reading from a row that starts with its value, time and source.
fn reading(row: &Row<'_>, metric_id: MetricId) -> Result<Reading, Error> {
    let value = Figure::new(row.real(0)?)
        .ok_or_else(|| Error::unreadable("figure", "not a finite number"))?;
    Ok(Reading { metric_id, value, at: time(row, 1)?, source: row.text(2)? })
}

fn read(row: &Row<'_>) -> Result<(PillarId, Metric), Error> {
    let metric = Metric {
        id: word("metric id", row.str(1)?, MetricId::parse)?,
        slug: row.text(2)?,
        name: row.text(3)?,
        kind: word("metric type", row.str(4)?, MetricKind::parse)?,
        unit: row.opt_text(5)?,
        target: row.opt_str(6)?.map(serde_json::from_str).transpose()?,
        collect: row.opt_str(7)?.map(serde_json::from_str).transpose()?,
        cron: row.opt_text(8)?,
        archived_at: opt_time(row, 9)?,
    };
    Ok((word("pillar id", row.str(0)?, PillarId::parse)?, metric))
}
