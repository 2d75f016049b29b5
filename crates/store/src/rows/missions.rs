//! Missions with their pillars and strategies: read and written as a whole, locked for capacity
//! checks.

use std::collections::HashMap;

use punchlist_core::metric::Schedule;
use punchlist_core::mission::{
    Cadence, Pillar, Settings, Standing, Strategy, StrategyStatus, apply_mission,
};
use punchlist_core::{
    ConversationId, Decision, Mission, MissionId, PillarId, ProjectId, StrategyId, Tally, Time,
};
use serde::{Deserialize, Serialize};

use super::events::Stamp;
use super::lists::Lock;
use super::{opt_time, time, word};
use crate::sql::Row;
use crate::{Error, Tx, sql};

macro_rules! columns {
    () => {
        "id, project_id, slug, name, description, status, \"jsonConfig\", conversation_id, \
         last_cycle_at, next_cycle_at, created_at, updated_at"
    };
}

macro_rules! by_slug {
    ($($lock:expr)?) => {
        concat!("SELECT ", columns!(), " FROM missions WHERE project_id = $1 AND slug = $2" $(, $lock)?)
    };
}

/// The parts of a mission without a column of their own.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    cadence: Option<Cadence>,
    todo: Settings,
}

/// A mission whose cycle is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    pub project: String,
    pub slug: String,
    pub at: Time,
}

impl Tx<'_> {
    /// The mission with this slug, in full. If locked, no other transaction can add work to it.
    pub fn mission(
        &mut self,
        project: ProjectId,
        slug: &str,
        lock: Lock,
    ) -> Result<Option<Mission>, Error> {
        match self.mission_head(project, slug, lock)? {
            Some(mission) => self.with_pillars(mission).map(Some),
            None => Ok(None),
        }
    }

    /// Like `mission`, without its pillars: only its limits and its state.
    pub fn mission_head(
        &mut self,
        project: ProjectId,
        slug: &str,
        lock: Lock,
    ) -> Result<Option<Mission>, Error> {
        let statement = match lock {
            Lock::No => sql!(by_slug!()),
            Lock::Row => self.dialect().pick(sql!(by_slug!()), sql!(by_slug!(" FOR UPDATE"))),
        };
        let project = project.to_string();
        self.first(statement, &[(&project).into(), slug.into()], read)
    }

    /// The mission with this id, in full.
    pub fn mission_by_id(&mut self, id: MissionId) -> Result<Option<Mission>, Error> {
        let id = id.to_string();
        let statement = sql!("SELECT ", columns!(), " FROM missions WHERE id = $1");
        match self.first(statement, &[(&id).into()], read)? {
            Some(mission) => self.with_pillars(mission).map(Some),
            None => Ok(None),
        }
    }

    /// The missions of a project, by slug, without their pillars.
    pub fn missions(&mut self, project: ProjectId) -> Result<Vec<Mission>, Error> {
        self.missions_after(project, None, i64::MAX)
    }

    /// A page of the missions of a project, by slug.
    pub fn missions_after(
        &mut self,
        project: ProjectId,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Mission>, Error> {
        let project = project.to_string();
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM missions WHERE project_id = $1 AND slug > $2 ORDER BY slug LIMIT $3"
            ),
            // No slug is empty.
            &[(&project).into(), after.unwrap_or_default().into(), limit.into()],
            read,
        )
    }

    /// The missions of every project that are due, and the next time one is due.
    pub fn due_missions(&mut self, now: Time, limit: i64) -> Result<Vec<Due>, Error> {
        self.query(
            sql!(
                "SELECT p.name, m.slug, m.next_cycle_at FROM missions AS m \
                 JOIN projects AS p ON p.id = m.project_id WHERE m.next_cycle_at <= $1 \
                 ORDER BY m.next_cycle_at LIMIT $2"
            ),
            &[now.micros().into(), limit.into()],
            |row| Ok(Due { project: row.text(0)?, slug: row.text(1)?, at: time(row, 2)? }),
        )
    }

    /// The slugs of missions without events in the log.
    pub(crate) fn missions_without_events(&mut self) -> Result<Vec<String>, Error> {
        self.query(
            sql!(
                "SELECT slug FROM missions WHERE id IN \
                 (SELECT id FROM missions EXCEPT SELECT aggregate FROM events \
                 WHERE type = 'mission_initialised') LIMIT 100"
            ),
            &[],
            |row| row.text(0),
        )
    }

    fn with_pillars(&mut self, mut mission: Mission) -> Result<Mission, Error> {
        let id = mission.id.to_string();
        let mut metrics = HashMap::new();
        for (pillar, metric) in self.metrics_of(mission.id)? {
            metrics.entry(pillar).or_insert_with(Vec::new).push(metric);
        }
        let mut strategies: HashMap<PillarId, Vec<Strategy>> = HashMap::new();
        let found = self.query(
            sql!(
                "SELECT s.pillar_id, s.id, s.description, s.status FROM strategies AS s \
                 JOIN pillars AS p ON p.id = s.pillar_id WHERE p.mission_id = $1 \
                 ORDER BY s.pillar_id, s.position"
            ),
            &[(&id).into()],
            |row| {
                let pillar = word("pillar id", row.str(0)?, PillarId::parse)?;
                let strategy = Strategy {
                    id: word("strategy id", row.str(1)?, StrategyId::parse)?,
                    description: row.text(2)?,
                    status: word("strategy status", row.str(3)?, StrategyStatus::parse)?,
                };
                Ok((pillar, strategy))
            },
        )?;
        for (pillar, strategy) in found {
            strategies.entry(pillar).or_default().push(strategy);
        }
        mission.pillars = self.query(
            sql!(
                "SELECT id, slug, name, description, status, conversation_id, \
                 todos_conversation_id FROM pillars WHERE mission_id = $1 ORDER BY position"
            ),
            &[(&id).into()],
            |row| {
                let id = word("pillar id", row.str(0)?, PillarId::parse)?;
                Ok(Pillar {
                    id,
                    slug: row.text(1)?,
                    name: row.text(2)?,
                    description: row.text(3)?,
                    status: word("standing", row.str(4)?, Standing::parse)?,
                    conversation_id: conversation(row, 5)?,
                    todos_conversation_id: conversation(row, 6)?,
                    metrics: metrics.remove(&id).unwrap_or_default(),
                    strategies: strategies.remove(&id).unwrap_or_default(),
                })
            },
        )?;
        Ok(mission)
    }

    /// Folds a decision into a mission and writes its rows and its events.
    pub fn record_mission(
        &mut self,
        state: &mut Option<Mission>,
        decision: &Decision,
        stamp: &Stamp,
    ) -> Result<(), Error> {
        let before = state.clone();
        let mut changed = false;
        for event in &decision.events {
            changed |= apply_mission(state, event, stamp.at);
        }
        let Some(mission) = state else { return Ok(()) };
        if changed {
            self.put_mission(mission, before.as_ref())?;
            self.schedule_metrics(mission, before.as_ref(), stamp.at)?;
        }
        let aggregate = mission.id.to_string();
        self.append_all(stamp, &aggregate, &decision.events)
    }

    /// Updates the next reading time of metrics whose schedule has changed: a new schedule, a
    /// pause, or the end of a pause.
    fn schedule_metrics(
        &mut self,
        mission: &Mission,
        before: Option<&Mission>,
        now: Time,
    ) -> Result<(), Error> {
        let mut was = HashMap::new();
        for pillar in before.into_iter().flat_map(|mission| &mission.pillars) {
            for metric in &pillar.metrics {
                let schedule = before.and_then(|mission| Schedule::of(mission, pillar, metric));
                was.insert(metric.id, schedule);
            }
        }
        for pillar in &mission.pillars {
            for metric in &pillar.metrics {
                let schedule = Schedule::of(mission, pillar, metric);
                if schedule != was.get(&metric.id).copied().flatten() {
                    let next = schedule.and_then(|schedule| schedule.next(now));
                    self.schedule_metric(metric.id, next)?;
                }
            }
        }
        Ok(())
    }

    fn put_mission(&mut self, mission: &Mission, before: Option<&Mission>) -> Result<(), Error> {
        let (id, project) = (mission.id.to_string(), mission.project_id.to_string());
        let (cadence, todo) = (mission.cadence.clone(), mission.todo.clone());
        let config = serde_json::to_string(&Config { cadence, todo })?;
        let conversation = mission.conversation_id.to_string();
        self.write(
            in_log_order!(
                self,
                "missions",
                "INSERT INTO missions (",
                columns!(),
                ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
                 ON CONFLICT (id) DO UPDATE SET name = excluded.name, \
                 description = excluded.description, status = excluded.status, \
                 \"jsonConfig\" = excluded.\"jsonConfig\", \
                 last_cycle_at = excluded.last_cycle_at, next_cycle_at = excluded.next_cycle_at, \
                 updated_at = excluded.updated_at WHERE missions.id = excluded.id"
            ),
            &[
                (&id).into(),
                (&project).into(),
                (&mission.slug).into(),
                (&mission.name).into(),
                (&mission.description).into(),
                mission.status.name().into(),
                (&config).into(),
                (&conversation).into(),
                mission.last_cycle_at.map(Time::micros).into(),
                mission.next_cycle_at.map(Time::micros).into(),
                mission.created_at.micros().into(),
                mission.updated_at.micros().into(),
            ],
        )?;
        for (n, pillar) in (0..).zip(&mission.pillars) {
            let known = before.and_then(|mission| mission.pillars.get(n as usize));
            if known != Some(pillar) {
                self.put_pillar(&id, n, pillar)?;
            }
        }
        Ok(())
    }

    fn put_pillar(&mut self, mission: &str, position: i64, pillar: &Pillar) -> Result<(), Error> {
        let id = pillar.id.to_string();
        self.write(
            sql!(
                "INSERT INTO pillars (id, mission_id, slug, name, description, status, position, \
                 conversation_id, todos_conversation_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, \
                 $9) ON CONFLICT (id) DO UPDATE SET name = excluded.name, \
                 description = excluded.description, status = excluded.status, \
                 position = excluded.position"
            ),
            &[
                (&id).into(),
                mission.into(),
                (&pillar.slug).into(),
                (&pillar.name).into(),
                (&pillar.description).into(),
                pillar.status.name().into(),
                position.into(),
                (&pillar.conversation_id.to_string()).into(),
                (&pillar.todos_conversation_id.to_string()).into(),
            ],
        )?;
        for (n, metric) in (0..).zip(&pillar.metrics) {
            self.put_metric(&id, n, metric)?;
        }
        self.write(sql!("DELETE FROM strategies WHERE pillar_id = $1"), &[(&id).into()])?;
        for (n, strategy) in (0_i64..).zip(&pillar.strategies) {
            self.write(
                sql!(
                    "INSERT INTO strategies (id, pillar_id, position, description, status) \
                     VALUES ($1, $2, $3, $4, $5)"
                ),
                &[
                    (&strategy.id.to_string()).into(),
                    (&id).into(),
                    n.into(),
                    (&strategy.description).into(),
                    strategy.status.name().into(),
                ],
            )?;
        }
        Ok(())
    }

    /// The counts by status of the open items of a mission or of one pillar; its limits use them.
    pub fn open_tally(
        &mut self,
        project: ProjectId,
        mission: &str,
        pillar: Option<&str>,
    ) -> Result<Tally, Error> {
        let project = project.to_string();
        let counts = self.query(
            sql!(
                "SELECT t.status, count(*) FROM lists AS l JOIN todos AS t ON t.list_id = l.id \
                 WHERE l.project_id = $1 AND l.kind = 'pillar' AND l.scope_outer = $2 \
                 AND (CAST($3 AS TEXT) IS NULL OR l.scope_inner = $3) AND (t.status = 'backlog' \
                 OR t.status = 'pending' OR t.status = 'in_progress') GROUP BY t.status"
            ),
            &[(&project).into(), mission.into(), pillar.into()],
            |row| {
                let status = word("status", row.str(0)?, punchlist_core::Status::parse)?;
                Ok((status, row.int(1)?))
            },
        )?;
        let mut tally = Tally::default();
        for (status, count) in counts {
            *tally.of(status) = count.unsigned_abs();
        }
        Ok(tally)
    }
}

fn conversation(row: &Row<'_>, column: usize) -> Result<ConversationId, Error> {
    word("conversation id", &row.text(column)?, ConversationId::parse)
}

/// Reads a mission without its pillars.
fn read(row: &Row<'_>) -> Result<Mission, Error> {
    let Config { cadence, todo } = serde_json::from_str(row.str(6)?)?;
    Ok(Mission {
        id: word("mission id", row.str(0)?, MissionId::parse)?,
        project_id: word("project id", row.str(1)?, ProjectId::parse)?,
        slug: row.text(2)?,
        name: row.text(3)?,
        description: row.text(4)?,
        status: word("standing", row.str(5)?, Standing::parse)?,
        cadence,
        todo,
        conversation_id: conversation(row, 7)?,
        pillars: Vec::new(),
        last_cycle_at: opt_time(row, 8)?,
        next_cycle_at: opt_time(row, 9)?,
        created_at: time(row, 10)?,
        updated_at: time(row, 11)?,
    })
}
