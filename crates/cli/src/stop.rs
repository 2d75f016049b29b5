//! Stopping on request: Ctrl-C and other signals set a flag that a command checks when it is ready.
//!
//! For commands that run until they are stopped, or have to clean up. A second signal ends the
//! process at once.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Who asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A person, by Ctrl-C.
    Person,
    /// The machine: it shuts down, or the terminal is gone.
    Machine,
}

/// Has somebody asked to stop?
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<(Mutex<Option<Asked>>, Condvar)>);

impl Stop {
    /// From now on signals do not end this process; this value receives them. Call it before any
    /// thread is started.
    pub(crate) fn on_signals() -> Self {
        Self::on_signals_but_hangup(None)
    }

    /// Like [`Self::on_signals`], with another action for a hangup.
    pub(crate) fn on_signals_but_hangup(hangup: Option<Box<dyn Fn() + Send>>) -> Self {
        let stop = Self::default();
        #[cfg(unix)]
        {
            use nix::sys::signal::{SigSet, Signal};
            let signals: SigSet =
                [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
            if signals.thread_block().is_ok() {
                let seen = stop.clone();
                std::thread::spawn(move || {
                    while let Ok(signal) = signals.wait() {
                        if let (Signal::SIGHUP, Some(hangup)) = (signal, &hangup) {
                            hangup();
                            continue;
                        }
                        if seen.asked() {
                            std::process::exit(130);
                        }
                        let person = signal == Signal::SIGINT;
                        seen.ask(if person { Asked::Person } else { Asked::Machine });
                    }
                });
            }
        }
        stop
    }

    #[cfg(unix)]
    fn ask(&self, by: Asked) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(by);
        self.0.1.notify_all();
    }

    pub(crate) fn asked(&self) -> bool {
        self.by().is_some()
    }

    /// Who asked to stop, if anybody did.
    pub(crate) fn by(&self) -> Option<Asked> {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the timeout, or until somebody asks to stop; returns whether somebody did.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let asked = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(asked, timeout, |asked| asked.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }
}
