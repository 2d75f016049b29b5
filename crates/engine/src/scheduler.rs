//! The scheduler: starts work that is due by the clock. There is no leader: the first process that
//! finds it does it.
//!
//! For a due metric one transaction moves the metric's time forward and queues its collection; on
//! PostgreSQL other processes skip the locked row. For a due mission it calls `mission_cycle`, which locks
//! the mission's row and does nothing if another process was first. Times that were missed while no
//! process ran are made up for once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use punchlist_core::effect::Effect;
use punchlist_core::metric::Schedule;
use punchlist_core::{Mission, Time};
use punchlist_ops::config::Roster;
use punchlist_ops::operations::mission_cycle::{self, MissionCycle};
use punchlist_ops::{Envelope, Error, Ops, clock};
use punchlist_store::rows::metrics::{DueMetric, Home};
use punchlist_store::rows::missions::Due;

use crate::Done;
use crate::system::{is_temporary, system};

/// How many due rows one transaction takes.
const BATCH: i64 = 100;

/// The pause after a cycle that failed; it doubles up to the longest.
const PAUSE_S: i64 = 5;
const PAUSE_S_MAX: i64 = 300;

/// Starts work that is due.
#[derive(Debug)]
pub struct Scheduler<'a> {
    ops: &'a Ops,
    agents: Arc<Roster>,
    /// Missions whose cycle failed: when they are tried again, and the next pause.
    failed: Mutex<HashMap<(String, String), (Time, i64)>>,
}

impl<'a> Scheduler<'a> {
    #[must_use]
    pub fn new(ops: &'a Ops, agents: Arc<Roster>) -> Self {
        Self { ops, agents, failed: Mutex::default() }
    }

    /// Starts everything that is due now, and returns what it started.
    pub fn tick(&self, now: Time) -> Result<Vec<Done>, Error> {
        let mut done = Vec::new();
        loop {
            let due = self.queue_metrics(now)?;
            let taken = due.len();
            done.extend(due.into_iter().map(|home| {
                let Home { project, mission, metric } = home;
                Done::MetricDue { project, mission, metric }
            }));
            if i64::try_from(taken).is_ok_and(|taken| taken < BATCH) {
                break;
            }
        }
        for due in self.ops.store()?.read(move |tx| tx.due_missions(now, BATCH))? {
            done.extend(self.cycle(due, now)?);
        }
        Ok(done)
    }

    /// Queues the collection of due metrics and moves their times forward, in one transaction.
    fn queue_metrics(&self, now: Time) -> Result<Vec<Home>, Error> {
        let ids = clock::ids(now).map_err(|error| Error::Internal { detail: error.to_string() })?;
        self.ops.store()?.write(move |tx| {
            let mut ids = ids.clone();
            let mut missions = HashMap::new();
            let mut queued = Vec::new();
            for DueMetric { id, mission_id, home } in tx.take_due_metrics(now, BATCH)? {
                let mission: &Option<Mission> = match missions.entry(mission_id) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(tx.mission_by_id(mission_id)?),
                };
                let schedule = mission.as_ref().and_then(|mission| {
                    let (pillar, metric) = mission.metrics().find(|(_, metric)| metric.id == id)?;
                    Schedule::of(mission, pillar, metric)
                });
                tx.schedule_metric(id, schedule.and_then(|schedule| schedule.next(now)))?;
                // A metric that is no longer scheduled is skipped.
                if schedule.is_some() {
                    let effect = Effect::CollectMetric { metric_id: id, todo_id: None };
                    tx.enqueue_once(&effect, now, &mut ids)?;
                    queued.push(home);
                }
            }
            Ok::<_, Error>(queued)
        })
    }

    /// Runs the cycle of a due mission. A failure is reported and retried after a pause; other missions
    /// are not delayed.
    fn cycle(&self, due: Due, now: Time) -> Result<Option<Done>, Error> {
        let Due { project, slug: mission, .. } = due;
        let key = (project.clone(), mission.clone());
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.get(&key).is_some_and(|(until, _)| now < *until) {
            return Ok(None);
        }
        let envelope = Envelope {
            agents: self.agents.in_project(&project),
            ..system("scheduler", &project, now)
        };
        let input = mission_cycle::Input { mission: mission.as_str().into(), if_due: Some(true) };
        match self.ops.run::<MissionCycle>(&envelope, input) {
            Ok(answer) => {
                failed.remove(&key);
                // False: another process was faster, or the mission is paused now.
                Ok(answer.ran.then_some(Done::CycleRun { project, mission }))
            }
            Err(error) if is_temporary(&error) => Err(error),
            Err(error) => {
                let (_, pause) = failed.get(&key).copied().unwrap_or((now, PAUSE_S));
                let next = (pause * 2).min(PAUSE_S_MAX);
                failed.insert(key, (now.plus_seconds(pause), next));
                Ok(Some(Done::CycleFailed { project, mission, error: error.to_string() }))
            }
        }
    }
}
