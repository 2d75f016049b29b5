//! `/mcp`: the same handler over HTTP. No request depends on the memory of a server, so any replica
//! can answer it. What a session keeps is in its id and in the store.
//!
//! Access is the same as for `/v1`. Messages are checked like lines of standard input. The library
//! handles only its headers and the choice between a single response and a stream.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State as FromState};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use punchlist_ops::Error;
use punchlist_ops::catalogue::find;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, JsonRpcRequest};
use rmcp::service::RxJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use super::McpServer;
use super::asker::Asker;
use super::asking::{self, Asked};
use super::gates::is_question;
use super::judge::{Judged, MESSAGE_MAX, is_blank, judge, no_message};
use super::pulse::Pulse;
use super::session::{self, Named, Session, has_batches, has_known_version};
use super::tools::Choice;
use super::{batch, direct, judge as judging};
use crate::http::body;
use crate::http::caller::Caller;
use crate::http::limits::Place;
use crate::http::problem::{of_type, problem};
use crate::http::state::{Shared, blocking, short};

/// The code that other servers use for a session that is not there.
const NO_SESSION: i64 = -32_001;
/// The field in which a request of the stateless era names its revision.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

/// Answers one message.
pub(crate) async fn message(FromState(state): FromState<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match answer(&state, parts, body).await {
        Ok(response) => response,
        Err(error) => problem(&error),
    }
}

async fn answer(state: &Shared, parts: Parts, body: Body) -> Result<Response, Error> {
    let (session, is_unknown) = match (&state.fixtures, Session::named(&parts.headers)) {
        // The fixtures have sessions of their own.
        (Some(_), _) | (None, Named::None) => (None, false),
        (None, Named::Session(session)) => (Some(session), false),
        (None, Named::Unknown) => (None, true),
    };
    let asker = asker(state, &parts).await?;
    let is_post = parts.method == Method::POST;
    let may_be_plain = is_post && !is_unknown && session.is_none() && state.fixtures.is_none();
    let sent = match is_post {
        true => body::bytes(&parts, body, &state.limiter.limits).await,
        false => Ok(Bytes::new()),
    };
    if state.fixtures.is_none()
        && !is_unknown
        && has_batches(&parts.headers)
        && let Ok(bytes) = &sent
        && let Some(messages) = judging::batch(bytes)
    {
        return Box::pin(batch::answer(state, asker, session, parts, messages)).await;
    }
    let mut judged = sent.map(|bytes| (judge(&bytes, bytes.len() > MESSAGE_MAX), bytes));
    if may_be_plain
        && has_right_headers(&parts.headers)
        && let Ok((Judged::Message(message), _)) = &mut judged
        && let Some(plain) = direct::posted(&parts.headers, message)
    {
        return direct::answer(server(state, asker, None), plain).await;
    }
    // The rest is much larger, and a plain call need not carry it along.
    Box::pin(admitted(state, asker, session, is_unknown, (parts, judged))).await
}

/// Answers a message that is not a plain call, if its sender may use the store at all.
pub(super) async fn admitted(
    state: &Shared,
    mut asker: Asker,
    session: Option<Session>,
    is_unknown: bool,
    (mut parts, judged): (Parts, Result<(Judged, Bytes), Error>),
) -> Result<Response, Error> {
    let has_ended = admit(state, &asker, session.as_ref()).await?;
    if is_unknown || has_ended {
        return Ok(no_session());
    }
    if parts.method != Method::POST {
        return without_body(state, asker, session, parts).await;
    }
    let (judged, bytes) = judged?;
    let message = match if is_blank(&bytes) { no_message() } else { judged } {
        Judged::Wrong(answer, _) => return Ok(wrong(&answer)),
        Judged::Nothing => return Ok(accepted()),
        Judged::Message(message) => *message,
    };
    // What has other headers goes to the library, which says why it is refused.
    if let Some(session) = &session
        && has_right_headers(&parts.headers)
    {
        let JsonRpcMessage::Request(request) = &message else {
            return reply(state, &asker, session, message).await;
        };
        if session.can_ask
            && let Some(asked) = question(request)
        {
            let of_store = session.of(&asker);
            return asking::ask(state, server(state, asker, None), of_store, asked).await;
        }
    }
    let (listening, begun) = match &message {
        JsonRpcMessage::Request(request) => match &request.request {
            // This request stays open, so it counts as an event stream.
            ClientRequest::SubscriptionsListenRequest(listen) => {
                asker = asker.told(&request.request.get_meta().0.0)?;
                let place = state.limiter.stream(asker.proof())?;
                (Some((place, listen.params.notifications.clone())), None)
            }
            request if state.fixtures.is_none() => (None, Session::begin(request)?),
            _ => (None, None),
        },
        _ => (None, None),
    };
    spelt(&mut parts.headers);
    let request = Request::from_parts(parts, Body::from(bytes));
    let (place, wish) = listening.unzip();
    let server = McpServer { session, ..server(state, asker, place) };
    if let Some(wish) = wish {
        let server = server.clone();
        blocking(move || Ok(server.prepare(&wish))).await?;
    }
    let mut response = handed_on(state, server, request).await;
    if response.status() == StatusCode::OK
        && let Some(id) = begun.and_then(|session| session.header())
    {
        response.headers_mut().insert(session::HEADER, id);
    }
    Ok(response)
}

/// GET opens the stream of a session, DELETE ends the session. Without a session there is neither.
async fn without_body(
    state: &Shared,
    asker: Asker,
    session: Option<Session>,
    parts: Parts,
) -> Result<Response, Error> {
    let named = session.map(|session| session.of(&asker));
    match (&parts.method, named) {
        (&Method::GET | &Method::DELETE, Some(_)) if !has_known_version(&parts.headers) => {
            let why = "the revision in MCP-Protocol-Version is unknown";
            Ok(of_type(StatusCode::BAD_REQUEST, "text/plain", why.to_owned()))
        }
        (&Method::GET, Some(_)) if !accepts(&parts.headers, STREAM) => {
            let why = "the client must accept text/event-stream";
            Ok(of_type(StatusCode::NOT_ACCEPTABLE, "text/plain", why.to_owned()))
        }
        (&Method::GET, Some(session)) => {
            let place = state.limiter.stream(asker.proof())?;
            let opened = server(state, asker, Some(place)).notices(session).await?;
            Ok(opened.unwrap_or_else(no_session))
        }
        (&Method::DELETE, Some(session)) => {
            let ops = Arc::clone(&state.ops);
            blocking(move || ops.mcp_end(&session)).await?;
            state.hub.nudge();
            Ok(of_type(StatusCode::OK, "application/json", String::new()))
        }
        _ => {
            let request = Request::from_parts(parts, Body::empty());
            Ok(handed_on(state, server(state, asker, None), request).await)
        }
    }
}

/// Takes a message of a session that is not a request. It gets no answer.
async fn reply(
    state: &Shared,
    asker: &Asker,
    session: &Session,
    message: RxJsonRpcMessage<RoleServer>,
) -> Result<Response, Error> {
    let of_store = session.of(asker);
    match message {
        // A client that cannot ask its user was asked nothing.
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) if !session.can_ask => {}
        JsonRpcMessage::Response(response) => {
            let (id, result) = (Some(response.id), Some(response.result));
            asking::take(state, asker, of_store, (id, result)).await?;
        }
        JsonRpcMessage::Error(error) => {
            asking::take(state, asker, of_store, (error.id, None)).await?;
        }
        JsonRpcMessage::Notification(notification) => {
            if let ClientNotification::CancelledNotification(cancelled) = notification.notification
                && let Some(id) = cancelled.params.request_id
            {
                asking::cancel(state, of_store, &id).await?;
            }
        }
        JsonRpcMessage::Request(_) => {}
    }
    Ok(accepted())
}

/// The question that a request asks, if it is a call of `ask` or `form`.
fn question(request: &JsonRpcRequest<ClientRequest>) -> Option<Asked> {
    let ClientRequest::CallToolRequest(call) = &request.request else { return None };
    let operation = find(&call.params.name).ok().filter(|operation| is_question(operation))?;
    let meta = request.request.get_meta().0.0.clone();
    // A request that names its revision has no session.
    if meta.contains_key(REVISION) {
        return None;
    }
    Some(Asked {
        id: request.id.clone(),
        operation,
        arguments: call.params.arguments.clone().unwrap_or_default(),
        meta,
    })
}

const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";
const BOTH: &str = "application/json, text/event-stream";

/// Does the client take this media type? The header may occur more than once.
fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|range| is_kind(range, kind))
}

/// Is this media type, whatever its case and its parameters, of this kind?
fn is_kind(value: &str, kind: &str) -> bool {
    value.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(kind))
}

/// The media types of a POST as the library compares them. It knows neither case nor where a name
/// ends, so what we accept is spelt as it expects, and what we do not accept is removed.
fn spelt(headers: &mut HeaderMap) {
    let (is_json, takes_both) =
        (has_json(headers), accepts(headers, JSON) && accepts(headers, STREAM));
    headers.remove(header::CONTENT_TYPE);
    headers.remove(header::ACCEPT);
    if is_json {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    }
    if takes_both {
        headers.insert(header::ACCEPT, HeaderValue::from_static(BOTH));
    }
}

fn has_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| is_kind(kind, JSON))
}

/// Does a POST have the headers that the protocol requires?
fn has_right_headers(headers: &HeaderMap) -> bool {
    accepts(headers, JSON)
        && accepts(headers, STREAM)
        && has_json(headers)
        && has_known_version(headers)
}

pub(super) fn accepted() -> Response {
    of_type(StatusCode::ACCEPTED, JSON, String::new())
}

/// The response to a session id that is not ours, or whose session has ended. The client begins
/// another session.
fn no_session() -> Response {
    let why = "there is no session with this Mcp-Session-Id; send initialize again";
    let error = json!({ "code": NO_SESSION, "message": why });
    let answer = json!({ "jsonrpc": "2.0", "id": null, "error": error });
    of_type(StatusCode::NOT_FOUND, JSON, answer.to_string())
}

/// The response to an invalid message. The request's method is unknown, so the HTTP status shows
/// the error, too.
fn wrong(answer: &Value) -> Response {
    let status = match answer.get("result") {
        Some(_) => StatusCode::OK,
        None => StatusCode::BAD_REQUEST,
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
        Ok(Asker::request(Arc::clone(&shared.ops), credentials, envelope, shared.clock))
    };
    short(&state.ops, judge).await
}

/// Refuses a sender that needs a token. Otherwise says whether it has ended its session.
async fn admit(state: &Shared, asker: &Asker, session: Option<&Session>) -> Result<bool, Error> {
    let (ops, proof) = (Arc::clone(&state.ops), asker.proof());
    let named = session.map(|session| session.of(asker));
    let look = move || {
        ops.admits(proof)?;
        named.map_or(Ok(false), |named| ops.mcp_has_ended(&named))
    };
    short(&state.ops, look).await
}

fn server(state: &Shared, asker: Asker, place: Option<Place>) -> McpServer {
    McpServer {
        asker,
        choice: Choice::Default,
        pulse: Pulse::Hub(state.hub.pulse()),
        watched: Arc::default(),
        accepted: Arc::default(),
        is_announcing: Arc::default(),
        subscribed: Arc::default(),
        session: None,
        metrics: Some(Arc::clone(&state.metrics)),
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
