//! The pump: due effects, one after another, each held by a lease while it is handled.
//!
//! When a worker dies, its lease ends and the next worker takes the effect with a higher epoch; a late
//! report of the dead worker changes nothing. A failed effect is retried after a growing pause, or given
//! up. It is never dropped silently: its last error stays in the outbox.

use std::time::Duration;

use punchlist_store::rows::outbox::Work;
use punchlist_store::{Error, Store};

use crate::keep_alive::keep_alive;

/// Handles effects. It runs outside any transaction and must be idempotent: one effect may be handled
/// more than once.
pub trait Handler {
    /// The kinds of work it does, each between two spaces.
    fn kinds(&self) -> &str;

    fn handle(&self, work: &Work) -> Result<(), Setback>;
}

/// Why work was not done, with a text for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setback {
    /// It is tried again later.
    Retry(String),
    /// It is not tried again.
    GiveUp(String),
    /// This process was asked to stop. Another one may take the work at once.
    Stopped,
}

/// What one pass of the pump did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub done: u64,
    pub failed: u64,
    /// Finished too late: another worker had the lease by then.
    pub lost: u64,
    /// This process was asked to stop.
    pub stopped: bool,
}

/// Takes due work and passes it to a handler.
#[derive(Clone, Copy, Debug)]
pub struct Pump {
    /// The lease of a piece of work, by the database's clock. It is renewed while the work is done.
    pub lease_s: i64,
    /// The pause after the first failure; it doubles with each further one.
    pub retry_after_s: i64,
    /// The longest pause.
    pub retry_after_s_max: i64,
}

impl Default for Pump {
    fn default() -> Self {
        Self { lease_s: 60, retry_after_s: 2, retry_after_s_max: 3600 }
    }
}

impl Pump {
    /// Does everything that is due now, then returns.
    pub fn drain(&self, store: &Store, handler: &impl Handler) -> Result<Report, Error> {
        let mut report = Report::default();
        while let Some(one) = self.step(store, handler)? {
            if one.stopped {
                break;
            }
            report.done += one.done;
            report.failed += one.failed;
            report.lost += one.lost;
        }
        Ok(report)
    }

    /// Does one piece of due work. Returns `None` if nothing is due.
    pub fn step(&self, store: &Store, handler: &impl Handler) -> Result<Option<Report>, Error> {
        let lease_s = self.lease_s;
        let kinds = handler.kinds().to_owned();
        let taken = store.write(move |tx| tx.take_work(&kinds, lease_s))?;
        match taken {
            Some(work) => self.work(store, handler, work).map(Some),
            None => Ok(None),
        }
    }

    /// Does a piece of work that was taken. If stopped, it gives the work back.
    pub fn work(&self, store: &Store, handler: &impl Handler, work: Work) -> Result<Report, Error> {
        let pause = self.pause(work.attempt);
        let mut report = Report::default();
        let kept = match self.held(store, &work, || handler.handle(&work)) {
            Ok(()) => {
                report.done += 1;
                store.write(move |tx| tx.finish_work(&work))?
            }
            Err(Setback::Retry(error)) => {
                report.failed += 1;
                store.write(move |tx| tx.fail_work(&work, &error, pause))?
            }
            Err(Setback::GiveUp(error)) => {
                report.failed += 1;
                store.write(move |tx| tx.abandon_work(&work, &error))?
            }
            Err(Setback::Stopped) => {
                store.write(move |tx| tx.release_work(&work))?;
                report.stopped = true;
                return Ok(report);
            }
        };
        report.lost += u64::from(!kept);
        Ok(report)
    }

    /// Renews the lease while the work is done.
    fn held<T>(&self, store: &Store, work: &Work, job: impl FnOnce() -> T) -> T {
        let lease_s = self.lease_s;
        let pause = Duration::from_secs(u64::try_from(lease_s / 3).unwrap_or(0).max(1));
        let renew = || {
            let work = work.clone();
            // A lost lease is noticed when the work is finished.
            let _ = store.write(move |tx| tx.extend_work(&work, lease_s));
        };
        keep_alive(pause, renew, job)
    }

    fn pause(&self, attempt: i64) -> i64 {
        let doublings = u32::try_from(attempt.clamp(1, 30) - 1).unwrap_or(30);
        self.retry_after_s.saturating_mul(1 << doublings).min(self.retry_after_s_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_and_has_an_end() {
        let pump = Pump::default();
        let pauses: Vec<i64> = [1, 2, 3, 10, 11, 12, 1_000].map(|n| pump.pause(n)).to_vec();
        assert_eq!(pauses, [2, 4, 8, 1024, 2048, 3600, 3600]);
    }
}
