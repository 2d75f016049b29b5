//! The state that all requests share.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::any;
use punchlist_core::Time;
use punchlist_ops::config::Roster;
use punchlist_ops::{Error, Ops};
use tokio::sync::watch;
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
    pub(crate) metrics: Metrics,
    pub(crate) hub: Arc<Hub>,
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
    let panicked = |_| Err(Error::Internal { detail: "the request panicked".to_owned() });
    tokio::task::spawn_blocking(job).await.unwrap_or_else(panicked)
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
