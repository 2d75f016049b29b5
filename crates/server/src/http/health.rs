//! Liveness, readiness, and the OpenAPI document.

use std::sync::{Arc, LazyLock};

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use punchlist_ops::web_fault::WebFault;
use punchlist_ops::{Error, Ops};

use super::caller::Caller;
use super::openapi::document;
use super::problem::{json, json_or_unchanged, of_type, problem};
use super::state::{Shared, blocking};

/// Liveness: the process answers.
pub(crate) async fn alive(request: Request) -> Response {
    match only_get(&request) {
        Ok(()) => json(r#"{"ok":true}"#.to_owned()),
        Err(error) => problem(&error),
    }
}

/// Readiness: the store is reachable and has our schema.
pub(crate) async fn ready(State(state): State<Shared>, request: Request) -> Response {
    if let Err(error) = only_get(&request) {
        return problem(&error);
    }
    let ops = Arc::clone(&state.ops);
    let is_stopping = *state.stopping.borrow();
    match blocking(move || is_ready(&ops)).await {
        Ok(()) if is_stopping => problem(&WebFault::Stopping.into()),
        Ok(()) => json(r#"{"ok":true}"#.to_owned()),
        Err(error) if error.meaning().http >= 500 => problem(&error),
        // Every error means not ready.
        Err(error) => {
            let text = error.to_problem().to_string();
            of_type(StatusCode::SERVICE_UNAVAILABLE, "application/problem+json", text)
        }
    }
}

fn is_ready(ops: &Ops) -> Result<(), Error> {
    ops.log_end()?;
    Ok(ops.store()?.read(|tx| tx.check_schema())?)
}

/// The API as an OpenAPI document.
pub(crate) async fn openapi(State(state): State<Shared>, request: Request) -> Response {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());
    let allowed = only_get(&request).and_then(|()| needs_token_beyond_loopback(&state, &request));
    match allowed {
        Ok(Some(caller)) => match blocking(move || caller.identify(&state).map(|_| ())).await {
            Ok(()) => json_or_unchanged(DOCUMENT.clone(), request.headers()),
            Err(error) => problem(&error),
        },
        Ok(None) => json_or_unchanged(DOCUMENT.clone(), request.headers()),
        Err(error) => problem(&error),
    }
}

/// Reads the caller if the server listens beyond loopback, where only the probes work without a
/// token.
fn needs_token_beyond_loopback(state: &Shared, request: &Request) -> Result<Option<Caller>, Error> {
    if state.site.is_loopback {
        return Ok(None);
    }
    let mut parts = Request::new(()).into_parts().0;
    parts.headers.clone_from(request.headers());
    parts.extensions.clone_from(request.extensions());
    Caller::read(&parts).map(Some)
}

pub(crate) fn only_get(request: &Request) -> Result<(), Error> {
    match *request.method() {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(WebFault::Method { allowed: "GET, HEAD" }.into()),
    }
}
