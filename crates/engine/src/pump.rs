//! The pump: due effects, one after another, each held by a lease while it is done.
//!
//! A worker that dies loses its lease, and the effect goes to the next one with a higher epoch;
//! what the dead one says later changes nothing. A failed effect comes back after a growing
//! pause, or is given up, and is never dropped silently: its last error stands in the outbox.

use std::time::Duration;

use punchlist_store::rows::outbox::Work;
use punchlist_store::{Error, Store};

use crate::keep_alive::keep_alive;

/// Does one kind of work. It runs outside any transaction and may run more than once for the
/// same effect, so it must be able to.
pub trait Handler {
    /// The kinds of work it does, each between two spaces.
    fn kinds(&self) -> &str;

    fn handle(&self, work: &Work) -> Result<(), Setback>;
}

/// Why work was not done, with words for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setback {
    /// It is tried again later.
    Retry(String),
    /// It is not tried again.
    GiveUp(String),
    /// We were asked to stop; somebody else goes on at once, as if it had not been begun.
    Stopped,
}

/// What one pass of the pump did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub done: u64,
    pub failed: u64,
    /// Finished too late: somebody else had the lease by then.
    pub lost: u64,
    /// We were asked to stop.
    pub stopped: bool,
}

/// Takes due work and hands it to a handler.
#[derive(Clone, Copy, Debug)]
pub struct Pump {
    /// How long a piece of work is ours, by the database's clock; it is held on to while it is
    /// done.
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

    /// Does one piece of due work; none: there is none.
    pub fn step(&self, store: &Store, handler: &impl Handler) -> Result<Option<Report>, Error> {
        let lease_s = self.lease_s;
        let kinds = handler.kinds().to_owned();
        let taken = store.write(move |tx| tx.take_work(&kinds, lease_s))?;
        match taken {
            Some(work) => self.work(store, handler, work).map(Some),
            None => Ok(None),
        }
    }

    /// Does a piece of work that was taken. Stopped: it is given back, and told as not done.
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
