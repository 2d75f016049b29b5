//! A batch over HTTP: several messages in one POST, as revision 2025-03-26 has them.
//!
//! Each message is answered as if it had come alone, one after the other, and the response has all
//! the answers. A question to the user would be a stream, so here it waits in the inbox.

use axum::body::{Body, to_bytes};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use punchlist_ops::Error;
use rmcp::model::JsonRpcMessage;
use serde_json::Value;

use super::asker::Asker;
use super::http::{accepted, admitted};
use super::judge::{INTERNAL_ERROR, Judged, MESSAGE_MAX, error, member};
use super::session::Session;
use crate::http::problem::{of_type, problem};
use crate::http::state::Shared;

pub(super) async fn answer(
    state: &Shared,
    asker: Asker,
    session: Option<Session>,
    parts: Parts,
    messages: Vec<Value>,
) -> Result<Response, Error> {
    // The first was counted when the request arrived. If there are too many, none is answered.
    for _ in 1..messages.len() {
        state.limiter.request(asker.proof())?;
    }
    let session = session.map(|mut session| {
        session.can_ask = false;
        session
    });
    let mut answers = Vec::new();
    for (index, mut message) in messages.into_iter().enumerate() {
        // Progress would make the response a stream.
        if let Some(meta) = message.pointer_mut("/params/_meta").and_then(Value::as_object_mut) {
            meta.shift_remove("progressToken");
        }
        let id = message.get("id").cloned().unwrap_or_default();
        let (bytes, judged) = (Bytes::from(message.to_string()), member(message));
        // Notifications and responses have no answer.
        let is_answered = match &judged {
            Judged::Message(message) => matches!(**message, JsonRpcMessage::Request(_)),
            Judged::Wrong(..) => true,
            Judged::Nothing => false,
        };
        let sent = (parts.clone(), Ok((judged, bytes)));
        let answered = Box::pin(admitted(state, asker.clone(), session.clone(), false, sent)).await;
        let answer = match answered {
            Ok(response) => answer_in(response).await,
            Err(error) => Err(problem(&error)),
        };
        match answer {
            Ok(answer) if is_answered => answers.push(answer),
            Err(refused) if index == 0 && is_answered => return Ok(refused),
            // The messages before it are done, so their answers must not be lost.
            Err(refused) if is_answered => {
                let why = format!("this message failed with the HTTP status {}", refused.status());
                answers.push(error(&id, INTERNAL_ERROR, &why));
            }
            _ => {}
        }
    }
    match answers.is_empty() {
        true => Ok(accepted()),
        false => Ok(of_type(StatusCode::OK, "application/json", Value::Array(answers).to_string())),
    }
}

/// The answer to one message. If the response is not an answer, it is returned unchanged.
async fn answer_in(response: Response) -> Result<Value, Response> {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_answer = matches!(response.status(), StatusCode::OK | StatusCode::BAD_REQUEST)
        && kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if !is_answer {
        return Err(response);
    }
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, MESSAGE_MAX).await.unwrap_or_default();
    serde_json::from_slice(&text).map_err(|_| Response::from_parts(parts, Body::from(text)))
}
