//! Spans and figures of runs, by OpenTelemetry's conventions for generative AI, sent as OTLP.
//!
//! It is off unless an endpoint is configured; when off, it uses no thread and no memory. It
//! observes runs ([`Live`]) and knows nothing else. A run never waits for it, and a process waits
//! at most two seconds at its end. It sends no secrets, and sends the texts of people, models and
//! tools only if that is switched on. ADR 0019.

mod export;
mod metrics;
mod otlp;
mod send;
mod settings;
mod span;
mod watch;

pub use settings::{Environment, Settings};

use std::sync::Arc;

use crate::agent::Live;
use export::{Exporter, Warn};
use watch::Watch;

/// Observes runs and exports spans and metrics.
#[derive(Debug, Default)]
pub struct Telemetry(Option<Box<On>>);

#[derive(Debug)]
struct On {
    watch: Watch,
    exporter: Exporter,
}

impl Telemetry {
    /// Telemetry as the environment configures it. `warn` gets a line for each wrong setting, and for each
    /// time a collector becomes unreachable.
    pub fn from_env(env: Environment<'_>, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        match Settings::read(env, &warn) {
            Some(settings) => Self::new(settings, warn),
            None => Self::default(),
        }
    }

    pub fn new(settings: Settings, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let warn: Warn = Arc::new(warn);
        let watch = Watch::new(settings.content);
        Self(Exporter::start(settings, warn).map(|exporter| Box::new(On { watch, exporter })))
    }

    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Observes an event.
    pub fn watch(&self, live: &Live<'_>) {
        if let Some(on) = &self.0 {
            on.exporter.push(on.watch.hear(live));
        }
    }

    /// An observer that passes each event to telemetry first, then to another observer.
    pub fn beside<'a>(
        &'a self,
        observer: impl Fn(&Live<'_>) + Sync + 'a,
    ) -> impl Fn(&Live<'_>) + Sync + 'a {
        move |live| {
            self.watch(live);
            observer(live);
        }
    }
}

/// Ends the open spans; the exporter then sends the remaining data.
impl Drop for On {
    fn drop(&mut self) {
        self.exporter.push(self.watch.close());
    }
}
