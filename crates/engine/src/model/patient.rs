//! Retries calls of a model where a retry may help.

use std::time::Duration;

use super::{Cancel, Fault, Model, Progress, Reply, Request};

/// How many attempts there are, and the pauses between them.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub attempts: u32,
    /// Before the second attempt; doubled before each further one.
    pub base: Duration,
    /// The longest pause of our own.
    pub cap: Duration,
    /// The longest pause that a provider may ask for; if it asks for more, we give up.
    pub asked_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempts: 4,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(30),
            asked_max: Duration::from_secs(120),
        }
    }
}

/// Waits. Returns false if it was cancelled.
type Wait = Box<dyn Fn(Duration, &Cancel) -> bool + Send + Sync>;

/// A model that retries after a temporary fault.
///
/// A retry sends the text again from the beginning: an observer discards what it has shown at
/// [`Progress::Retry`].
pub struct Patient {
    model: Box<dyn Model>,
    patience: Patience,
    wait: Wait,
}

impl std::fmt::Debug for Patient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Patient({}, {:?})", self.model.name(), self.patience)
    }
}

impl Patient {
    #[must_use]
    pub fn new(model: Box<dyn Model>, patience: Patience) -> Self {
        Self { model, patience, wait: Box::new(|pause, cancel| !cancel.is_cancelled_within(pause)) }
    }

    /// Replaces the way to wait.
    #[must_use]
    pub fn waiting(self, wait: impl Fn(Duration, &Cancel) -> bool + Send + Sync + 'static) -> Self {
        Self { wait: Box::new(wait), ..self }
    }

    /// The pause before the next attempt, or why there is none.
    fn pause(&self, attempt: u32, fault: &Fault) -> Result<Duration, String> {
        let Patience { attempts, base, cap, asked_max } = self.patience;
        if attempt >= attempts {
            return Err(format!("given up after {attempt} tries"));
        }
        match fault.retry_after {
            Some(asked) if asked > asked_max => Err(format!(
                "given up: it asks for a pause of {} s, and {} s is the longest",
                asked.as_secs(),
                asked_max.as_secs()
            )),
            Some(asked) => Ok(asked),
            None => {
                let doubled = base.saturating_mul(1 << (attempt - 1).min(16)).min(cap);
                Ok(doubled.mul_f64(1.0 - chance() / 4.0))
            }
        }
    }
}

impl Model for Patient {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn provider(&self) -> &'static str {
        self.model.provider()
    }

    fn window(&self) -> u64 {
        self.model.window()
    }

    fn respond(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Reply, Fault> {
        let mut attempt = 1;
        loop {
            let fault = match self.model.respond(request, cancel, observer) {
                Err(fault) if fault.kind.is_passing() => fault,
                done => return done,
            };
            let pause = match self.pause(attempt, &fault) {
                Ok(pause) => pause,
                Err(_) if self.patience.attempts <= 1 => return Err(fault),
                Err(why) => {
                    return Err(Fault { message: format!("{} ({why})", fault.message), ..fault });
                }
            };
            observer(Progress::Retry { attempt, pause, fault: &fault });
            if !(self.wait)(pause, cancel) {
                return Err(Fault::cancelled());
            }
            attempt += 1;
        }
    }
}

/// A random number between 0 and 1, so that calls that failed together are not retried together.
fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}
