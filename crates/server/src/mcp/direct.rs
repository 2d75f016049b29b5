//! Plain tool calls over HTTP, answered without the library's transport.
//!
//! The library serves each request of the stateless era like a connection of its own. It parses the
//! body again, serialises it for its checks and spawns two tasks, which takes longer than most
//! operations. A call in its plain form needs none of that (ADR 0028). All other requests go to the
//! library: other methods and revisions, questions, delegations, and requests whose headers do not
//! simply agree with the body, so that the library reports what is wrong with them.

use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use punchlist_ops::catalogue::{Effect, find};
use punchlist_ops::{Error, Operation};
use rmcp::RoleServer;
use rmcp::model::{
    ClientRequest, GetMeta, JsonObject, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::RxJsonRpcMessage;

use super::McpServer;
use super::calls::{Call, answered, refusal};
use super::gates::is_question;
use super::waits::may_be_long;
use crate::http::problem::of_type;

const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
/// Headers with this prefix repeat arguments. The library compares them.
const ARGUMENT_PREFIX: &str = "mcp-param-";

/// A tool call in its plain form.
pub(super) struct Plain {
    id: RequestId,
    operation: &'static Operation,
    arguments: JsonObject,
    meta: JsonObject,
}

/// Takes a tool call out of its message if it has the plain form. The caller has checked the
/// headers that every POST needs. Whether it needs a token is checked in the transaction of the
/// operation. One without a transaction is not plain, so it is checked before.
pub(super) fn plain(
    headers: &HeaderMap,
    message: &mut RxJsonRpcMessage<RoleServer>,
) -> Option<Plain> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let version = ProtocolVersion::V_2026_07_28;
    let meta = request.request.get_meta();
    let is_current = meta.protocol_version().as_ref() == Some(&version)
        && meta.missing_required_keys(&version).is_empty();
    let meta = meta.0.0.clone();
    let ClientRequest::CallToolRequest(call) = &mut request.request else { return None };
    let params = &mut call.params;
    let operation = find(&params.name).ok()?;
    let is_plain = is_current
        && is_only(headers, &VERSION_HEADER, version.as_str())
        && is_only(headers, &METHOD_HEADER, "tools/call")
        && is_only(headers, &NAME_HEADER, &params.name)
        && !headers.keys().any(|name| name.as_str().starts_with(ARGUMENT_PREFIX))
        && params.input_responses.is_none()
        && params.request_state.is_none()
        && operation.effect != Effect::Pure
        && !is_question(operation)
        && !may_be_long(operation);
    is_plain.then(|| Plain {
        id: request.id.clone(),
        operation,
        arguments: params.arguments.take().unwrap_or_default(),
        meta,
    })
}

/// Does the header occur once, with this value?
fn is_only(headers: &HeaderMap, name: &HeaderName, expected: &str) -> bool {
    let mut values = headers.get_all(name).iter();
    values.next().is_some_and(|value| value == expected) && values.next().is_none()
}

/// Makes the call. A refusal is a result, too, except that a token is missing: that is the status of
/// the response, as for every request.
pub(super) async fn answer(server: &McpServer, plain: Plain) -> Result<Response, Error> {
    let Plain { id, operation, arguments, meta } = plain;
    let call = Call { server, operation, arguments, meta };
    let made = call.make_once().await.and_then(|answer| answered(operation, &answer));
    let result = match made {
        Err(missing @ Error::TokenRequired) => return Err(missing),
        made => made.unwrap_or_else(|error| refusal(&error)),
    };
    let message = ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), id);
    Ok(match serde_json::to_string(&message) {
        Ok(text) => of_type(StatusCode::OK, "application/json", text),
        Err(error) => of_type(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", error.to_string()),
    })
}
