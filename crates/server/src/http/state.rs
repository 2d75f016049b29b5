//! The state that all requests share.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::any;
use punchlist_core::Time;
use punchlist_ops::config::Roster;
use punchlist_ops::{Answer, Envelope, Error, Operation, Ops, Proof};
use punchlist_store::Lead;
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tower_http::compression::CompressionLayer;

use super::guard::Site;
use super::hub::Hub;
use super::limits::Limiter;
use super::metrics::Metrics;
use super::{api, events, guard, health, metrics};
use crate::mcp::fixtures::Service;
use crate::mcp::http as mcp;
use crate::pages;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) ops: Arc<Ops>,
    pub(crate) agents: Arc<Roster>,
    pub(crate) clock: fn() -> Time,
    /// The project for requests that name none.
    pub(crate) project: Option<String>,
    pub(crate) site: Site,
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) hub: Arc<Hub>,
    /// The changes that pages have shown.
    pub(crate) changes: pages::Changes,
    /// What happened in the last day, as pages count it.
    pub(crate) days: pages::Days,
    /// The fixtures of the conformance suite; only in the hidden mode.
    pub(crate) fixtures: Option<Fixtures>,
    /// True once the server is stopping.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// The service that offers the fixtures.
#[derive(Clone)]
pub(crate) struct Fixtures(pub(crate) Service);

impl fmt::Debug for Fixtures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fixtures")
    }
}

pub(crate) type Shared = Arc<State>;

/// Runs a job that may block on the store, on a thread for blocking work.
pub(crate) async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // Boxed, because the runtime's code is compiled again for every type of job.
    let job: Box<dyn FnOnce() -> Result<T, Error> + Send> = Box::new(job);
    tokio::task::spawn_blocking(job).await.unwrap_or_else(|_| panicked())
}

/// Like `blocking`, for a short read. Reading a file is faster than waking another thread, so the
/// read runs on this one. A database server may be slow, and its connections must not be used
/// inside the runtime.
pub(crate) async fn short<T: Send + 'static>(
    ops: &Ops,
    job: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match ops.is_local() {
        true => catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|_| panicked()),
        false => blocking(job).await,
    }
}

/// The error of a request that reached no operation, or that its caller needs a token.
pub(crate) async fn or_token_required(state: &Shared, proof: Proof, error: Error) -> Error {
    let shared = Arc::clone(state);
    let asked = short(&state.ops, move || Ok(shared.ops.or_token_required(proof, error))).await;
    asked.unwrap_or_else(|panicked| panicked)
}

pub(crate) fn panicked<T>() -> Result<T, Error> {
    Err(Error::Internal { detail: "the request panicked".to_owned() })
}

/// Calls an operation with JSON. A write to a file is queued, and no thread waits for it; everything
/// else may block.
pub(crate) async fn called(
    ops: &Arc<Ops>,
    operation: &'static Operation,
    envelope: Envelope,
    input: Value,
) -> Result<Answer, Error> {
    if !ops.is_queued(operation, &envelope) {
        let shared = Arc::clone(ops);
        return blocking(move || shared.answer(operation, &envelope, input)).await;
    }
    let (done, answered) = oneshot::channel();
    // A caller that is gone needs no answer.
    let tell = move |answer| drop(done.send(answer));
    ops.answer_then(operation, &envelope, input, Lead::Apart, tell);
    answered.await.unwrap_or_else(|_| closed())
}

/// The answer to a write that was queued when its store was closed.
pub(crate) fn closed<T>() -> Result<T, Error> {
    Err(Error::Internal { detail: "the store was closed".to_owned() })
}

pub(crate) fn router(state: &Shared) -> Router {
    Router::new()
        .route("/healthz", any(health::alive))
        .route("/readyz", any(health::ready))
        .route("/openapi.json", any(health::openapi))
        .route("/metrics", any(metrics::show))
        .route("/mcp", any(mcp::message))
        .route("/v1/events", any(events::stream))
        .route("/v1/{operation}", any(api::operation))
        .route("/remote/caller", any(api::remote_caller))
        .route("/remote/project", any(api::remote_project))
        .merge(pages::routes())
        .fallback(pages::unknown)
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(Arc::clone(state), guard::around))
        .with_state(Arc::clone(state))
}
