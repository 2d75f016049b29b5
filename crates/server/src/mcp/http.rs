//! `/mcp`: the same handler over HTTP. No request depends on an earlier one, so any replica can
//! answer it.
//!
//! Access is the same as for `/v1`. Messages are checked like lines of standard input. The library
//! handles only its headers and the choice between a single response and a stream.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State as FromState};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use punchlist_ops::Error;
use rmcp::model::{ClientRequest, JsonRpcMessage};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use super::McpServer;
use super::asker::Asker;
use super::judge::{Judged, MESSAGE_MAX, judge};
use super::pulse::Pulse;
use super::tools::Choice;
use crate::http::body;
use crate::http::caller::Caller;
use crate::http::limits::Place;
use crate::http::problem::{of_type, problem};
use crate::http::state::{Shared, blocking, short};

/// Answers one message.
pub(crate) async fn message(FromState(state): FromState<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match answer(&state, parts, body).await {
        Ok(response) => response,
        Err(error) => problem(&error),
    }
}

async fn answer(state: &Shared, parts: Parts, body: Body) -> Result<Response, Error> {
    let asker = asker(state, &parts).await?;
    if parts.method != Method::POST {
        let request = Request::from_parts(parts, Body::empty());
        return Ok(handed_on(state, server(state, asker, None), request).await);
    }
    let bytes = body::bytes(&parts, body, &state.limiter.limits).await?;
    let listening = match judge(&bytes, bytes.len() > MESSAGE_MAX) {
        Judged::Wrong(answer, _) => return Ok(wrong(&answer)),
        Judged::Nothing => {
            return Ok(of_type(StatusCode::ACCEPTED, "application/json", String::new()));
        }
        Judged::Message(message) => match &*message {
            JsonRpcMessage::Request(request) => match &request.request {
                // This request stays open, so it counts as an event stream.
                ClientRequest::SubscriptionsListenRequest(listen) => {
                    let place = state.limiter.stream(asker.proof())?;
                    Some((place, listen.params.notifications.clone()))
                }
                _ => None,
            },
            _ => None,
        },
    };
    let request = Request::from_parts(parts, Body::from(bytes));
    let (place, wish) = listening.unzip();
    let server = server(state, asker, place);
    if let Some(wish) = wish {
        let server = server.clone();
        blocking(move || Ok(server.prepare(&wish))).await?;
    }
    Ok(handed_on(state, server, request).await)
}

/// The response to an invalid message. The request's method is unknown, so the HTTP status shows
/// the error, too.
fn wrong(answer: &Value) -> Response {
    let status = match answer.get("error") {
        Some(_) => StatusCode::BAD_REQUEST,
        None => StatusCode::OK,
    };
    of_type(status, "application/json", answer.to_string())
}

/// Identifies the sender of a request, as for `/v1`.
async fn asker(state: &Shared, parts: &Parts) -> Result<Asker, Error> {
    let caller = Caller::read(parts)?;
    let shared = Arc::clone(state);
    let judge = move || {
        let credentials = (caller.facts(), caller.token().map(str::to_owned));
        let envelope = caller.somewhere(&shared)?;
        shared.ops.admits(envelope.proof)?;
        Ok(Asker::request(Arc::clone(&shared.ops), credentials, envelope, shared.clock))
    };
    short(&state.ops, judge).await
}

fn server(state: &Shared, asker: Asker, place: Option<Place>) -> McpServer {
    McpServer {
        asker,
        choice: Choice::Default,
        pulse: Pulse::Hub(state.hub.pulse()),
        watched: Arc::default(),
        accepted: Arc::default(),
        is_announcing: Arc::default(),
        stopping: Some(state.stopping.clone()),
        _place: place.map(Arc::new),
    }
}

async fn handed_on(state: &Shared, server: McpServer, mut request: Request) -> Response {
    if let Some(fixtures) = &state.fixtures {
        request.extensions_mut().insert(server);
        return fixtures.0.handle(request).await.map(Body::new);
    }
    // Host, Origin and the size of the body have already been checked.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_MAX);
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    service.handle(request).await.map(Body::new)
}
