//! Repeats something while a job runs: renewing a lease, or watching a run.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Does a job, and calls `beat` on another thread after every pause until the job is done.
pub(crate) fn keep_alive<T>(pause: Duration, beat: impl Fn() + Send, job: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        scope.spawn(move || {
            while is_done.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                beat();
            }
        });
        let made = job();
        drop(done);
        made
    })
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn it_beats_until_the_job_is_done() {
        let beats = AtomicUsize::new(0);
        let beat = || {
            beats.fetch_add(1, Ordering::SeqCst);
        };
        let made = keep_alive(Duration::from_millis(1), beat, || {
            while beats.load(Ordering::SeqCst) < 3 {
                std::thread::yield_now();
            }
            7
        });
        assert_eq!(made, 7);
    }

    #[test]
    fn it_ends_with_a_job_that_panics() {
        let job = || keep_alive(Duration::from_secs(3600), || {}, || panic!("broken"));
        assert!(catch_unwind(AssertUnwindSafe(job)).is_err());
    }
}
