//! `/metrics`: figures about the server and its store, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use punchlist_core::Refusal;
use punchlist_core::authority::{Action, Subject, may_any};
use punchlist_ops::catalogue::{Effect, Operation};
use punchlist_ops::{Envelope, Error};
use punchlist_store::rows::figures::Figures;

use super::caller::Caller;
use super::health::only_get;
use super::problem::{of_type, problem};
use super::state::{Shared, State as Server, blocking};

/// The upper bounds of the histogram of response times, in seconds.
const BOUNDS: [f64; 8] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0];

/// The counters of the server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    groups: [AtomicU64; BOUNDS.len()],
    answered: AtomicU64,
    micros: AtomicU64,
    commits: AtomicU64,
    events_sent: AtomicU64,
}

impl Metrics {
    pub(crate) fn answered(&self, operation: &Operation, status: u16, took: Duration) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((operation.name, status)).or_default() += 1;
        drop(requests);
        let count = |counter: &AtomicU64, by| counter.fetch_add(by, Ordering::Relaxed);
        for (bound, group) in BOUNDS.iter().zip(&self.groups) {
            count(group, u64::from(took.as_secs_f64() <= *bound));
        }
        count(&self.answered, 1);
        count(&self.micros, u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        if operation.effect == Effect::Write && status == 200 {
            count(&self.commits, 1);
        }
    }

    /// Counts a call that did not come through `/v1`.
    pub(crate) fn called<T>(
        &self,
        operation: &Operation,
        start: Instant,
        answered: &Result<T, Error>,
    ) {
        let status = answered.as_ref().map_or_else(|error| error.meaning().http, |_| 200);
        self.answered(operation, status, start.elapsed());
    }

    pub(crate) fn sent(&self, events: usize) {
        self.events_sent.fetch_add(events as u64, Ordering::Relaxed);
    }
}

pub(crate) async fn show(State(state): State<Shared>, request: Request) -> Response {
    if let Err(error) = only_get(&request) {
        return problem(&error);
    }
    let caller = Caller::read(&request.into_parts().0);
    let shared = Arc::clone(&state);
    let shown = blocking(move || {
        let envelope = caller?.anywhere(&shared)?;
        may_look(&shared, &envelope)?;
        let figures = shared.ops.store()?.read(|tx| tx.figures())?;
        Ok(text(&shared, &figures))
    });
    match shown.await {
        Ok(text) => of_type(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text),
        Err(error) => problem(&error),
    }
}

/// The figures cover all projects, so a caller that may not see all projects gets none.
fn may_look(state: &Server, envelope: &Envelope) -> Result<(), Error> {
    state.ops.admits(envelope.proof)?;
    let actor = &envelope.actor;
    if !actor.reach.is_everything() {
        let missing = "the whole store".to_owned();
        return Err(Refusal::OutOfReach { missing }.into());
    }
    match may_any(actor.role, Subject::Project, Action::ReadLog) {
        true => Ok(()),
        false => Err(Error::OperationNotPermitted { operation: "metrics", role: actor.role }),
    }
}

/// Writes a metric family of the text format: its comments, then its lines.
fn family(out: &mut String, name: &str, kind: &str, help: &str, lines: &[(String, String)]) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in lines {
        let _ = writeln!(out, "{name}{labels} {value}");
    }
}

fn one(value: &impl ToString) -> Vec<(String, String)> {
    vec![(String::new(), value.to_string())]
}

/// Escapes a label's value as the format requires.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn text(state: &Server, figures: &Figures) -> String {
    let metrics = &state.metrics;
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let mut out = String::new();
    let requests = metrics.requests.lock().unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<_> = requests
        .iter()
        .map(|((name, status), count)| {
            (format!("{{operation=\"{name}\",status=\"{status}\"}}"), count.to_string())
        })
        .collect();
    drop(requests);
    let say = &mut out;
    let help = "Calls of operations: by /v1, tools of /mcp, forms of pages.";
    family(say, "punchlist_requests_total", "counter", help, &lines);
    let name = "punchlist_request_seconds";
    family(say, name, "histogram", "How long calls took.", &[]);
    for (bound, group) in BOUNDS.iter().zip(&metrics.groups) {
        let _ = writeln!(say, "{name}_bucket{{le=\"{bound}\"}} {}", load(group));
    }
    let (count, seconds) = (load(&metrics.answered), load(&metrics.micros) as f64 / 1e6);
    let _ = writeln!(
        say,
        "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {seconds}\n{name}_count {count}"
    );
    let help = "Writing calls that this server answered after their commit.";
    family(say, "punchlist_commits_total", "counter", help, &one(&load(&metrics.commits)));
    let help = "Events sent to streams.";
    family(say, "punchlist_events_sent_total", "counter", help, &one(&load(&metrics.events_sent)));
    let help = "Event streams that are open.";
    family(say, "punchlist_streams", "gauge", help, &one(&state.limiter.streams_open()));
    let help = "Pieces of work that wait or are being done.";
    family(say, "punchlist_queue_depth", "gauge", help, &one(&figures.queued));
    let help = "Questions that wait for a person.";
    family(say, "punchlist_open_gates", "gauge", help, &one(&figures.open_gates));
    let age = figures
        .oldest_open_gate
        .map_or(0, |at| (state.clock)().micros().saturating_sub(at.micros()).max(0) / 1_000_000);
    let help = "Age of the oldest question that waits for a person; 0: there is none.";
    family(say, "punchlist_oldest_open_gate_seconds", "gauge", help, &one(&age));
    let runs: Vec<_> = figures
        .runs
        .iter()
        .map(|(state, count)| (format!("{{state=\"{state}\"}}"), count.to_string()))
        .collect();
    family(say, "punchlist_runs", "gauge", "Runs by their state.", &runs);
    let (mut tokens, mut costs) = (Vec::new(), Vec::new());
    for (model, input, output) in &figures.spent {
        let model_label = label(model);
        for (direction, count) in [("input", input), ("output", output)] {
            let labels = format!("{{model=\"{model_label}\",direction=\"{direction}\"}}");
            tokens.push((labels, count.to_string()));
        }
        let (input, output) = (u64::try_from(*input), u64::try_from(*output));
        let cost = state.agents.cost_usd(model, input.unwrap_or(0), output.unwrap_or(0));
        costs.extend(cost.map(|cost| (format!("{{model=\"{model_label}\"}}"), cost.to_string())));
    }
    let help = "Tokens that models of runs have used.";
    family(say, "punchlist_model_tokens_total", "counter", help, &tokens);
    let help = "What that cost, for models with a price.";
    family(say, "punchlist_model_cost_usd_total", "counter", help, &costs);
    out
}
