//! A worker: the scheduler and the pump together, until stopped.
//!
//! It sleeps until something is due or the store reports a change, for five seconds at most.
//! Checking takes one read; it writes only if something is due. Slow work, such as a collector that
//! takes a minute, delays neither the schedule nor other work: each piece runs on one of a few
//! threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use punchlist_core::{Actor, Time};
use punchlist_ops::config::Roster;
use punchlist_ops::follow::unless_replaced;
use punchlist_ops::{Error, Ops};
use punchlist_store::watch::Watch;

use crate::agent::{EffectHandler, Live, Models, OutsideTools};
use crate::pump::Handler as _;
use crate::{Collector, Done, Pump, Runtime, Scheduler};

/// How many pieces of work are done at once by default.
pub const JOBS: usize = 8;

/// The longest sleep: a lost hint delays due work by no more than this.
const SLEEP_MAX: Duration = Duration::from_secs(5);

/// How often it checks whether it was stopped.
const PATIENCE: Duration = Duration::from_millis(200);

/// The pause when something is due that cannot be done yet.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs due and queued work of all projects in a store.
pub struct Worker<'a> {
    pub ops: &'a Ops,
    pub agents: Arc<Roster>,
    /// The actor that started it. `None`: the engine itself.
    pub executor: Option<&'a Actor>,
    /// The models and the outside tools of the agents.
    pub models: &'a dyn Models,
    pub outside: &'a dyn OutsideTools,
    pub pump: Pump,
    /// How many pieces of work are done at once.
    pub jobs: usize,
    pub clock: &'a (dyn Fn() -> Time + Sync),
    pub is_stopped: &'a (dyn Fn() -> bool + Sync),
    pub report: &'a (dyn Fn(Done) + Sync),
    pub observer: &'a (dyn Fn(&Live<'_>) + Sync),
}

impl std::fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("pump", &self.pump).finish_non_exhaustive()
    }
}

/// How long until scheduled work and queued work are due.
struct Look {
    scheduled: Duration,
    work: Duration,
}

impl Worker<'_> {
    /// Does everything that is due now, and the work that it queues, then returns.
    pub fn once(&self) -> Result<(), Error> {
        let scheduler = Scheduler::new(self.ops, Arc::clone(&self.agents));
        scheduler.tick((self.clock)())?.into_iter().for_each(self.report);
        std::thread::scope(|scope| {
            let jobs: Vec<_> =
                (0..self.jobs).map(|_| scope.spawn(|| self.work(self.is_stopped))).collect();
            let mut result = Ok(());
            for job in jobs {
                let crashed = |_| Err(Error::Internal { detail: "a worker crashed".to_owned() });
                result = result.and(job.join().unwrap_or_else(crashed));
            }
            result
        })
    }

    /// Runs until stopped. While the database is unreachable it waits.
    pub fn run(&self) -> Result<(), Error> {
        let (busy, halted) = (AtomicUsize::new(0), AtomicBool::new(false));
        // An error that ends the watch also stops the jobs.
        let is_stopped = || halted.load(Ordering::SeqCst) || (self.is_stopped)();
        std::thread::scope(|scope| {
            let start_job = || {
                if busy.fetch_add(1, Ordering::SeqCst) >= self.jobs {
                    busy.fetch_sub(1, Ordering::SeqCst);
                    return;
                }
                scope.spawn(|| {
                    // A job that panics ends alone: its work is taken up again when its lease ends.
                    let worked = catch_unwind(AssertUnwindSafe(|| self.work(&is_stopped)));
                    busy.fetch_sub(1, Ordering::SeqCst);
                    let crashed = |_| Err(Error::Internal { detail: "a job crashed".to_owned() });
                    if let Err(error) = worked.unwrap_or_else(crashed) {
                        (self.report)(Done::StoreTrouble { error: error.to_string() });
                    }
                });
            };
            let result = self.watch(&start_job);
            halted.store(true, Ordering::SeqCst);
            result
        })
    }

    fn watch(&self, start_job: &dyn Fn()) -> Result<(), Error> {
        let scheduler = Scheduler::new(self.ops, Arc::clone(&self.agents));
        let mut watch = self.ops.store()?.watch()?;
        let mut is_unreachable = false;
        while !(self.is_stopped)() {
            let slept = match self.turn(&scheduler, start_job) {
                Ok(sleep) => {
                    is_unreachable = false;
                    self.sleep(sleep, &mut watch)
                }
                Err(error) if error.meaning().retryable => {
                    // Reported once, not at every try.
                    if !std::mem::replace(&mut is_unreachable, true) {
                        (self.report)(Done::StoreTrouble { error: error.to_string() });
                    }
                    std::thread::sleep(PATIENCE);
                    Ok(())
                }
                Err(error) => Err(error),
            };
            unless_replaced(watch.is_astray(), 0, slept)?;
        }
        Ok(())
    }

    /// Sleeps until this time is over, the store reports a change, or the worker is stopped.
    fn sleep(&self, sleep: Duration, watch: &mut Watch<'_>) -> Result<(), Error> {
        let until = Instant::now() + sleep;
        while !(self.is_stopped)() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || watch.wait(left.min(PATIENCE))? {
                break;
            }
        }
        Ok(())
    }

    /// Checks once and starts what is due. Returns how long to sleep.
    fn turn(&self, scheduler: &Scheduler<'_>, start_job: &dyn Fn()) -> Result<Duration, Error> {
        let look = self.look()?;
        let mut sleep = look.scheduled.min(look.work).min(SLEEP_MAX);
        if look.scheduled.is_zero() {
            let done = scheduler.tick((self.clock)())?;
            // Something is due that cannot be done now: pause before the next try.
            sleep = if done.is_empty() { PAUSE } else { Duration::ZERO };
            done.into_iter().for_each(self.report);
        }
        if look.work.is_zero() {
            start_job();
            sleep = sleep.max(PATIENCE);
        }
        Ok(sleep)
    }

    fn look(&self) -> Result<Look, Error> {
        let store = self.ops.store()?;
        let kinds = self.effect_handler(self.is_stopped).kinds().to_owned();
        let runtime = self.runtime(self.is_stopped);
        let (types, in_chats) = runtime.types_done_here();
        let (scheduled, work, handed, database_now) = store.read(move |tx| {
            let (work, clock) = tx.work_due_at(&kinds)?;
            let handed = match types.trim() {
                "" => None,
                _ => tx.delegations_due(&types, in_chats, clock)?.1,
            };
            Ok::<_, Error>((tx.scheduled_at()?, work, handed, clock))
        })?;
        let work = work.into_iter().chain(handed).min();
        let until = |at: Option<Time>, now: Time| {
            let micros = at.map_or(i64::MAX, |at| at.micros().saturating_sub(now.micros()));
            Duration::from_micros(u64::try_from(micros).unwrap_or(0))
        };
        Ok(Look { scheduled: until(scheduled, (self.clock)()), work: until(work, database_now) })
    }

    /// One job: does one piece of work after another until nothing is due.
    fn work(&self, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<(), Error> {
        let handler = self.effect_handler(is_stopped);
        let store = self.ops.store()?;
        while !is_stopped() {
            let done = self.pump.step(store, &handler)?.is_some_and(|report| !report.stopped);
            if !done && !self.work_on_delegation(&handler.runtime)? {
                break;
            }
        }
        Ok(())
    }

    /// Does one delegation, of any project.
    fn work_on_delegation(&self, runtime: &Runtime<'_>) -> Result<bool, Error> {
        let (types, in_chats) = runtime.types_done_here();
        if types.trim().is_empty() {
            return Ok(false);
        }
        let (projects, _) = self.ops.store()?.read(move |tx| {
            let clock = tx.clock()?;
            tx.delegations_due(&types, in_chats, clock)
        })?;
        let mut failed = None;
        for project in projects {
            match runtime.work_on_delegation(&project) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) if error.meaning().retryable => return Err(error),
                // What fails in one project must not keep the others waiting.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(false), Err)
    }

    fn runtime<'c>(&'c self, is_stopped: &'c (dyn Fn() -> bool + Sync)) -> Runtime<'c> {
        Runtime {
            ops: self.ops,
            agents: &self.agents,
            executor: self.executor,
            models: self.models,
            outside: self.outside,
            clock: self.clock,
            is_stopped,
            observer: self.observer,
        }
    }

    fn effect_handler<'c>(
        &'c self,
        is_stopped: &'c (dyn Fn() -> bool + Sync),
    ) -> EffectHandler<'c> {
        let collector =
            Collector { ops: self.ops, clock: self.clock, is_stopped, report: self.report };
        EffectHandler::new(collector, self.runtime(is_stopped))
    }
}
