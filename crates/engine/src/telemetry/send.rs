//! Sends one signal to its collector: one batch at a time, with pauses after failures.

use std::time::{Duration, Instant};

use serde_json::Value as Json;
use ureq::Agent;
use ureq::http::HeaderMap;

use super::settings::Target;
use crate::web;

/// The pause after the first failure; it doubles after each further one, up to the longest.
const PAUSE: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The longest pause that a collector may ask for.
const ASKED_MAX: Duration = Duration::from_secs(300);

/// How much of a response is read, in bytes.
const ANSWER_MAX: u64 = 64 << 10;

/// Why a batch was not delivered.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) why: String,
    /// The number of spans that are not retried.
    pub(super) lost: u64,
}

#[derive(Debug)]
struct Batch {
    body: String,
    spans: u64,
}

#[derive(Debug)]
pub(super) struct Line {
    agent: Agent,
    target: Target,
    pending: Option<Batch>,
    failures: u32,
    not_before: Instant,
}

impl Line {
    pub(super) fn new(target: &Target) -> Self {
        let config = Agent::config_builder()
            // A redirect would send the headers elsewhere.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(web::USER_AGENT);
        let is_near = web::is_loopback(target.address.host().unwrap_or_default());
        let config = if is_near { config.proxy(None) } else { config };
        Self {
            agent: config.build().into(),
            target: target.clone(),
            pending: None,
            failures: 0,
            not_before: Instant::now(),
        }
    }

    /// When to send data that has waited since `since` and may wait for `delay`.
    pub(super) fn due(&self, since: Option<Instant>, delay: Duration) -> Option<Instant> {
        if self.pending.is_some() {
            return Some(self.not_before);
        }
        since.map(|since| (since + delay).max(self.not_before))
    }

    /// At its end, a process tries once more, even during a pause.
    pub(super) fn may_send(&self, until: Option<Instant>) -> bool {
        until.is_some() || self.not_before <= Instant::now()
    }

    pub(super) const fn is_free(&self) -> bool {
        self.pending.is_none()
    }

    pub(super) const fn is_away(&self) -> bool {
        self.failures > 0
    }

    /// How many spans are being sent.
    pub(super) fn pending(&self) -> u64 {
        self.pending.as_ref().map_or(0, |batch| batch.spans)
    }

    pub(super) fn offer(&mut self, body: String, spans: u64) {
        self.pending = Some(Batch { body, spans });
    }

    /// Sends the batch. It is kept if a retry may help.
    pub(super) fn send(&mut self, until: Option<Instant>) -> Result<(), Failure> {
        let Some(batch) = self.pending.take() else { return Ok(()) };
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.map_or(self.target.timeout, |left| left.min(self.target.timeout));
        let Err(trouble) = self.post(&batch.body, timeout) else {
            self.failures = 0;
            return Ok(());
        };
        let pause = PAUSE.saturating_mul(1 << self.failures.min(8)).min(PAUSE_MAX);
        self.failures = self.failures.saturating_add(1);
        let host = self.target.host();
        let (why, again, lost) = match trouble {
            Trouble::Passing { why, asked } => {
                self.pending = Some(batch);
                (format!("{host} {why}; trying again"), pause.max(asked.min(ASKED_MAX)), 0)
            }
            Trouble::Refused(why) => (format!("{host} {why}"), pause, batch.spans),
            Trouble::Partly { why, rejected } => {
                let lost = rejected.min(batch.spans);
                (format!("{host} took only a part: {why}"), Duration::ZERO, lost)
            }
        };
        self.not_before = Instant::now() + again;
        Err(Failure { why, lost })
    }

    fn post(&self, body: &str, timeout: Duration) -> Result<(), Trouble> {
        let away = |why: String| Trouble::Passing { why, asked: Duration::ZERO };
        if timeout.is_zero() {
            return Err(away("was not asked any more: the time is over".to_owned()));
        }
        let request = self.agent.post(self.target.address.clone());
        let mut request = request.config().timeout_global(Some(timeout)).build();
        for (name, value) in &self.target.headers {
            request = request.header(name, value);
        }
        let sent = request.header("content-type", "application/json").send(body);
        let response = sent.map_err(|error| away(format!("cannot be reached: {error}")))?;
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
        match status {
            200..=299 => {
                let text = body.into_with_config().limit(ANSWER_MAX).read_to_string();
                partly(&text.unwrap_or_default()).map_or(Ok(()), Err)
            }
            429 | 502 | 503 | 504 => {
                let why = format!("answered {status}");
                Err(Trouble::Passing { why, asked: asked(&head.headers) })
            }
            _ => Err(Trouble::Refused(format!("answered {status}; nothing is taken there"))),
        }
    }
}

/// Why a batch was not accepted.
enum Trouble {
    /// The protocol says to retry.
    Passing {
        why: String,
        asked: Duration,
    },
    Refused(String),
    /// It was accepted except for a part that must not be retried.
    Partly {
        why: String,
        rejected: u64,
    },
}

fn asked(headers: &HeaderMap) -> Duration {
    let said = headers.get("retry-after").and_then(|said| said.to_str().ok());
    Duration::from_secs(said.and_then(|said| said.trim().parse().ok()).unwrap_or(0))
}

/// The rejected count of a response: a 64-bit number, as a string or as a number.
fn partly(text: &str) -> Option<Trouble> {
    let answer: Json = serde_json::from_str(text).ok()?;
    let part = &answer["partialSuccess"];
    let number = |key: &str| {
        let said = &part[key];
        said.as_u64().or_else(|| said.as_str()?.parse().ok()).unwrap_or(0)
    };
    let rejected = number("rejectedSpans").max(number("rejectedDataPoints"));
    let why: String = part["errorMessage"].as_str().unwrap_or_default().chars().take(200).collect();
    (rejected > 0).then(|| Trouble::Partly { why: why.replace(char::is_control, " "), rejected })
}
