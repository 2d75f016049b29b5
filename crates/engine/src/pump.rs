//! The pump: due effects, one after another, each held by a lease while it is done.
//!
//! A worker that dies loses its lease, and the effect goes to the next one with a higher epoch;
//! what the dead one says later changes nothing. A failed effect comes back after a growing
//! pause and is never dropped silently: its last error stands in the outbox.

use punchlist_core::effect::Effect;
use punchlist_store::{Error, Store};

/// Does one kind of work. It runs outside any transaction and may run more than once for the
/// same effect, so it must be able to.
pub trait Handler {
    /// What went wrong, in words for the log; the effect is tried again later.
    fn handle(&self, effect: &Effect) -> Result<(), String>;
}

/// What one pass of the pump did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub done: u64,
    pub failed: u64,
    /// Finished too late: somebody else had the lease by then.
    pub lost: u64,
}

/// Takes due work and hands it to a handler.
#[derive(Clone, Copy, Debug)]
pub struct Pump {
    /// How long a piece of work is ours, by the database's clock.
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
        let lease_s = self.lease_s;
        while let Some(work) = store.write(move |tx| tx.take_work(lease_s))? {
            let pause = self.pause(work.attempt);
            let kept = match handler.handle(&work.effect) {
                Ok(()) => {
                    report.done += 1;
                    store.write(move |tx| tx.finish_work(&work))?
                }
                Err(error) => {
                    report.failed += 1;
                    store.write(move |tx| tx.fail_work(&work, &error, pause))?
                }
            };
            report.lost += u64::from(!kept);
        }
        Ok(report)
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
