//! Plain tool calls, answered without the library.
//!
//! Over HTTP, the library serves each request of the stateless era like a connection of its own. It
//! parses the body again, serialises it for its checks and spawns two tasks, which takes longer than
//! most operations. Over stdio it moves a call through a task and two queues, and takes its result as
//! a tree of values. A call in its plain form needs none of that (ADR 0028). All other requests go to
//! the library: other methods and revisions, questions, delegations, and requests whose headers do
//! not simply agree with the body, so that the library reports what is wrong with them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use punchlist_ops::catalogue::{Effect, find};
use punchlist_ops::{Answer, Error, Operation};
use rmcp::RoleServer;
use rmcp::model::{
    ClientRequest, GetMeta, JsonObject, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::RxJsonRpcMessage;
use serde_json::Value;

use super::McpServer;
use super::asker::Begun;
use super::calls::{Call, Told, refusal};
use super::gates::is_question;
use super::waits::may_be_long;
use crate::http::problem::of_type;
use crate::http::state::{called, panicked};

const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
/// Headers with this prefix repeat arguments. The library compares them.
const ARGUMENT_PREFIX: &str = "mcp-param-";

/// How the client and the server agreed on a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// By `initialize`; requests do not name it.
    Handshake,
    /// Each request names it.
    Stateless,
}

/// A tool call in its plain form.
pub(super) struct Plain {
    era: Era,
    id: RequestId,
    operation: &'static Operation,
    arguments: JsonObject,
    meta: JsonObject,
}

/// Takes a tool call out of the message of a POST if it has the plain form. The caller has checked
/// the headers that every POST needs. Whether it needs a token is checked in the transaction of the
/// operation. One without a transaction is not plain, so it is checked before.
pub(super) fn posted(
    headers: &HeaderMap,
    message: &mut RxJsonRpcMessage<RoleServer>,
) -> Option<Plain> {
    let JsonRpcMessage::Request(request) = &*message else { return None };
    let ClientRequest::CallToolRequest(call) = &request.request else { return None };
    let is_plain = is_only(headers, &VERSION_HEADER, ProtocolVersion::V_2026_07_28.as_str())
        && is_only(headers, &METHOD_HEADER, "tools/call")
        && is_only(headers, &NAME_HEADER, &call.params.name)
        && !headers.keys().any(|name| name.as_str().starts_with(ARGUMENT_PREFIX));
    if is_plain { plain(Era::Stateless, message) } else { None }
}

/// Takes a tool call out of its message if it has the plain form.
pub(super) fn plain(era: Era, message: &mut RxJsonRpcMessage<RoleServer>) -> Option<Plain> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let meta = request.request.get_meta();
    let version = ProtocolVersion::V_2026_07_28;
    let is_of_era = match era {
        Era::Handshake => meta.protocol_version().is_none(),
        Era::Stateless => {
            meta.protocol_version().as_ref() == Some(&version)
                && meta.missing_required_keys(&version).is_empty()
        }
    };
    let ClientRequest::CallToolRequest(call) = &mut request.request else { return None };
    let params = &mut call.params;
    let operation = find(&params.name).ok()?;
    let is_plain = is_of_era
        && params.input_responses.is_none()
        && params.request_state.is_none()
        && operation.effect != Effect::Pure
        && !is_question(operation)
        && !may_be_long(operation);
    if !is_plain {
        return None;
    }
    let arguments = params.arguments.take().unwrap_or_default();
    let meta = std::mem::take(&mut request.request.get_meta_mut().0.0);
    Some(Plain { era, id: request.id.clone(), operation, arguments, meta })
}

/// Does the header occur once, with this value?
fn is_only(headers: &HeaderMap, name: &HeaderName, expected: &str) -> bool {
    let mut values = headers.get_all(name).iter();
    values.next().is_some_and(|value| value == expected) && values.next().is_none()
}

/// Makes a call that was posted. A refusal is a result, too, except that a token is missing: that is
/// the status of the response, as for every request.
pub(super) async fn answer(server: McpServer, plain: Plain) -> Result<Response, Error> {
    let Plain { era, id, operation, arguments, meta } = plain;
    let McpServer { asker, metrics, .. } = server;
    let (start, ops) = (Instant::now(), Arc::clone(&asker.ops));
    let made = match asker.into_envelope(&meta) {
        Ok(envelope) if envelope.project.trim().is_empty() => {
            Err(Error::MissingContext { missing: vec!["project"] })
        }
        Ok(envelope) => called(&ops, operation, envelope, Value::Object(arguments)).await,
        Err(error) => Err(error),
    };
    if let Some(metrics) = metrics {
        metrics.called(operation, start, &made);
    }
    if let Err(missing @ Error::TokenRequired) = made {
        return Err(missing);
    }
    Ok(match text(era, id, operation, made) {
        Ok(text) => of_type(StatusCode::OK, "application/json", text),
        Err(error) => of_type(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", error.to_string()),
    })
}

/// The answer to a plain call of the process that started this one.
pub(super) enum Line {
    Ready(serde_json::Result<String>),
    /// Another process is writing to the store.
    Later(Pin<Box<dyn Future<Output = serde_json::Result<String>> + Send>>),
}

/// Makes a call of the process that started this one, on this thread unless it has to wait. A panic
/// is answered, and nothing else is.
pub(super) fn answer_here(server: &McpServer, plain: Plain) -> Line {
    let Plain { era, id, operation, arguments, meta } = plain;
    let call = Call { server, operation, arguments, meta };
    let begun = catch_unwind(AssertUnwindSafe(|| call.begin()));
    let made = match begun {
        Ok(Begun::Answered(made)) => made,
        Ok(waiting) => {
            let answer = async move { text(era, id, operation, waiting.answer().await) };
            return Line::Later(Box::pin(answer));
        }
        Err(_) => panicked(),
    };
    let answer = catch_unwind(AssertUnwindSafe(|| text(era, id.clone(), operation, made)));
    Line::Ready(answer.unwrap_or_else(|_| text(era, id, operation, panicked())))
}

/// The response as the library would write it. The structure is in it as it was serialised.
fn text(
    era: Era,
    id: RequestId,
    operation: &Operation,
    made: Result<Answer, Error>,
) -> serde_json::Result<String> {
    match made.and_then(|answer| Told::new(operation, &answer)) {
        Ok(Told { text, structure }) => {
            let (id, text) = (serde_json::to_string(&id)?, serde_json::to_string(&text)?);
            let kind = match era {
                Era::Handshake => "",
                Era::Stateless => r#""resultType":"complete","#,
            };
            let content = format!(r#"[{{"type":"text","text":{text}}}]"#);
            let result = format!(
                r#"{{{kind}"content":{content},"structuredContent":{structure},"isError":false}}"#
            );
            Ok(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
        }
        Err(error) => {
            let mut result = refusal(&error);
            result.result_type = result.result_type.filter(|_| era == Era::Stateless);
            let result = ServerResult::CallToolResult(result);
            serde_json::to_string(&ServerJsonRpcMessage::response(result, id))
        }
    }
}
