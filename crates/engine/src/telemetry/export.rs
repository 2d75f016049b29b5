//! Sends spans and metrics: one thread and a bounded queue. A run never waits for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::metrics::Metrics;
use super::otlp;
use super::send::{Failure, Line};
use super::settings::Settings;
use super::span::Span;
use super::watch::News;

/// How many spans are sent at once.
const BATCH: usize = 512;

/// How long the thread sleeps if nothing is due.
const IDLE: Duration = Duration::from_secs(3600);

/// Shows a warning to the person who runs the process.
pub(super) type Warn = Arc<dyn Fn(&str) + Send + Sync>;

/// Data that waits to be sent.
struct Waiting {
    spans: Vec<Span>,
    /// When the first of them arrived.
    spans_since: Option<Instant>,
    metrics: Metrics,
    metrics_since: Option<Instant>,
    dropped: u64,
    /// Was a warning shown that the collector is unreachable?
    is_away: bool,
    /// Set when the process ends: it waits at most until then.
    until: Option<Instant>,
    /// Has everything been sent that could be sent?
    is_done: bool,
}

struct Shared {
    waiting: Mutex<Waiting>,
    wake: Condvar,
    done: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The queue of the sending thread.
pub(super) struct Exporter {
    shared: Arc<Shared>,
    settings: Settings,
    warn: Warn,
}

impl std::fmt::Debug for Exporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Exporter").field(&self.settings).finish()
    }
}

impl Exporter {
    /// `None` if no thread can be started.
    pub(super) fn start(settings: Settings, warn: Warn) -> Option<Self> {
        let waiting = Waiting {
            spans: Vec::new(),
            spans_since: None,
            metrics: Metrics::new(),
            metrics_since: None,
            dropped: 0,
            is_away: false,
            until: None,
            is_done: false,
        };
        let waiting = Mutex::new(waiting);
        let shared = Arc::new(Shared { waiting, wake: Condvar::new(), done: Condvar::new() });
        let sender = Sender {
            shared: Arc::clone(&shared),
            resource: otlp::resource(&settings.resource),
            traces: settings.traces.as_ref().map(Line::new),
            metrics: settings.metrics.as_ref().map(Line::new),
            delay: settings.delay,
            interval: settings.interval,
            warn: Arc::clone(&warn),
            has_said_lost: false,
        };
        let thread = thread::Builder::new().name("telemetry".into()).spawn(move || sender.go());
        if let Err(error) = thread {
            warn(&format!("telemetry: there is none, no thread can be had: {error}"));
            return None;
        }
        Some(Self { shared, settings, warn })
    }

    pub(super) fn push(&self, news: News) {
        if news.spans.is_empty() && news.figures.is_empty() {
            return;
        }
        let mut waiting = self.shared.lock();
        let mut wakes = false;
        if self.settings.traces.is_some() {
            for span in news.spans {
                if waiting.spans.len() >= self.settings.queue_max {
                    waiting.dropped += 1;
                    continue;
                }
                waiting.spans.push(span);
                wakes |= waiting.spans_since.is_none() || waiting.spans.len() == BATCH;
                waiting.spans_since.get_or_insert_with(Instant::now);
            }
        }
        if self.settings.metrics.is_some() {
            for (measure, labels, value) in news.figures {
                waiting.metrics.record(measure, labels, value);
                wakes |= waiting.metrics_since.is_none();
                waiting.metrics_since.get_or_insert_with(Instant::now);
            }
        }
        drop(waiting);
        if wakes {
            self.shared.wake.notify_one();
        }
    }
}

/// Sends the remaining data, within a short time.
impl Drop for Exporter {
    fn drop(&mut self) {
        let mut waiting = self.shared.lock();
        waiting.until = Some(Instant::now() + self.settings.flush);
        self.shared.wake.notify_one();
        let waited = self
            .shared
            .done
            .wait_timeout_while(waiting, self.settings.flush, |waiting| !waiting.is_done);
        let waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        if !waiting.is_done && !waiting.is_away {
            (self.warn)("telemetry: the collector does not answer; what was left to send is lost");
        }
    }
}

/// The sending thread.
struct Sender {
    shared: Arc<Shared>,
    resource: Json,
    traces: Option<Line>,
    metrics: Option<Line>,
    delay: Duration,
    interval: Duration,
    warn: Warn,
    has_said_lost: bool,
}

impl Sender {
    fn go(mut self) {
        loop {
            let until = self.wait();
            let is_more = self.send_spans(until) | self.send_metrics(until);
            if until.is_some() && !is_more {
                break;
            }
        }
        let mut waiting = self.shared.lock();
        let left = self.traces.as_ref().map_or(0, Line::pending) + count(&waiting.spans);
        waiting.dropped += left;
        drop(waiting);
        self.say_lost();
        self.shared.lock().is_done = true;
        self.shared.done.notify_one();
    }

    /// Waits until something is due or the process ends. Returns the deadline in the second case.
    fn wait(&self) -> Option<Instant> {
        let mut waiting = self.shared.lock();
        loop {
            if waiting.until.is_some() {
                return waiting.until;
            }
            let delay = if waiting.spans.len() >= BATCH { Duration::ZERO } else { self.delay };
            let due = |line: &Option<Line>, since, delay| line.as_ref()?.due(since, delay);
            let spans = due(&self.traces, waiting.spans_since, delay);
            let metrics = due(&self.metrics, waiting.metrics_since, self.interval);
            let at = spans.into_iter().chain(metrics).min();
            let left = at.map_or(IDLE, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            let woken = self.shared.wake.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Sends a batch. Returns true if it was accepted and there is more.
    fn send_spans(&mut self, until: Option<Instant>) -> bool {
        let Some(line) = self.traces.as_mut().filter(|line| line.may_send(until)) else {
            return false;
        };
        if line.is_free() {
            let mut waiting = self.shared.lock();
            let length = waiting.spans.len().min(BATCH);
            let batch: Vec<Span> = waiting.spans.drain(..length).collect();
            if waiting.spans.is_empty() {
                waiting.spans_since = None;
            }
            drop(waiting);
            if batch.is_empty() {
                return false;
            }
            line.offer(otlp::traces(&self.resource, &batch), count(&batch));
        }
        let sent = line.send(until);
        self.settle(sent) && !self.shared.lock().spans.is_empty()
    }

    fn send_metrics(&mut self, until: Option<Instant>) -> bool {
        let Some(line) = self.metrics.as_mut().filter(|line| line.may_send(until)) else {
            return false;
        };
        if line.is_free() {
            let mut waiting = self.shared.lock();
            let is_due = line.due(waiting.metrics_since, self.interval);
            let is_due = is_due.is_some_and(|at| at <= Instant::now());
            if waiting.metrics.is_empty() || !(is_due || until.is_some()) {
                return false;
            }
            waiting.metrics_since = None;
            let taken = waiting.metrics.take();
            drop(waiting);
            line.offer(otlp::metrics(&self.resource, &taken), 0);
        }
        let sent = line.send(until);
        self.settle(sent) && !self.shared.lock().metrics.is_empty()
    }

    /// Warns about a failure, once until a batch is accepted again.
    fn settle(&mut self, sent: Result<(), Failure>) -> bool {
        let is_away = [&self.traces, &self.metrics].into_iter().flatten().any(Line::is_away);
        let mut waiting = self.shared.lock();
        let was_away = std::mem::replace(&mut waiting.is_away, is_away);
        match sent {
            Ok(()) => {
                drop(waiting);
                self.say_lost();
                true
            }
            Err(failure) => {
                waiting.dropped += failure.lost;
                drop(waiting);
                if !was_away {
                    (self.warn)(&format!("telemetry: {}", failure.why));
                }
                false
            }
        }
    }

    /// Warns once about the number of lost spans.
    fn say_lost(&mut self) {
        let lost = self.shared.lock().dropped;
        if lost > 0 && !self.has_said_lost {
            self.has_said_lost = true;
            (self.warn)(&format!("telemetry: {lost} spans were dropped; nobody took them in time"));
        }
    }
}

fn count(spans: &[Span]) -> u64 {
    u64::try_from(spans.len()).unwrap_or(u64::MAX)
}
