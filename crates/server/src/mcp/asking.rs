//! Questions to the user of a client over HTTP, in a session of the handshake era.
//!
//! The response to the call is a stream: a request to the client, and the call's result when the
//! gate is answered, wherever that happens. The client's answer is a message of its own, which any
//! server may get; the id of the request names the gate. The library has such streams only with
//! sessions in memory, so this one is written here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use axum::response::Response;
use punchlist_ops::mcp_session::{McpSession, Waiting};
use punchlist_ops::{Error, Operation};
use rmcp::model::{CallToolResult, ClientResult, ElicitRequestParams, JsonObject, RequestId};
use serde_json::{Value, json};

use super::McpServer;
use super::asker::Asker;
use super::calls::{Call, answered, refusal};
use super::changes::PAUSE;
use super::gates::{is_misfit, open_gate, opened, question, said};
use super::judge::INVALID_REQUEST;
use super::pulse::Beats;
use crate::http::limits::Place;
use crate::http::problem::of_type;
use crate::http::sse::{self, Gone, Pipe};
use crate::http::state::{Shared, blocking, called};

/// The beginning of the ids of our requests. The gate follows, and something random.
const ID: &str = "gate.";
/// How often a waiting call looks for what another server wrote without an event.
const PATIENCE: Duration = Duration::from_secs(3);
/// What a client said instead of an answer: nothing now, or that it needs no result any more.
const POSTPONED: &str = "postponed";
const CANCELLED: &str = "cancelled";

/// A call of `ask` or `form`.
pub(crate) struct Asked {
    pub(crate) id: RequestId,
    pub(crate) operation: &'static Operation,
    pub(crate) arguments: JsonObject,
    pub(crate) meta: JsonObject,
}

/// Answers the call: with a stream if the client's user is asked, else with its result.
pub(crate) async fn ask(
    state: &Shared,
    server: McpServer,
    session: McpSession,
    asked: Asked,
) -> Result<Response, Error> {
    let beats = server.pulse.beats();
    let Asked { id, operation, arguments, meta } = asked;
    if has_cancelled(&server.asker, session.clone(), &id).await? {
        return Ok(used(&id));
    }
    let call = Call { server: &server, operation, arguments, meta };
    let answer = match opened(&call).await {
        Ok(answer) => answer,
        Err(error) => return Ok(whole(&id, &refusal(&error))),
    };
    let (gate, question) = (open_gate(&answer), question(&call, None));
    let result = answered(operation, &answer)?;
    let (Some(gate), Some(question)) = (gate, question) else { return Ok(whole(&id, &result)) };
    // Without a place for one more stream, the question waits in the inbox.
    let Ok(place) = state.limiter.stream(server.asker.proof()) else {
        return Ok(whole(&id, &result));
    };
    let own_id = McpSession::new_id(&format!("{ID}{gate}."))?;
    let (ops, holder, asked) = (Arc::clone(&server.asker.ops), session.clone(), own_id.clone());
    blocking(move || ops.mcp_ask(&holder, &asked)).await?;
    let Call { arguments, meta, .. } = call;
    let asking = Asking { server, session, id, operation, arguments, meta, gate, own_id, place };
    let (pipe, response) = sse::open();
    tokio::spawn(asking.run(pipe, beats, question, result));
    Ok(response)
}

/// A call that waits for an answer.
struct Asking {
    server: McpServer,
    session: McpSession,
    id: RequestId,
    operation: &'static Operation,
    arguments: JsonObject,
    meta: JsonObject,
    gate: String,
    /// The id of our request to the client.
    own_id: String,
    /// Its slot among the open streams.
    place: Place,
}

/// What a look at the gate shows.
enum Seen {
    Waits,
    /// The call has this result. `is_ours`: the client itself has answered.
    Result {
        result: Box<CallToolResult>,
        is_ours: bool,
    },
    /// The same, written by the server that got the client's answer.
    Written(Box<CallToolResult>),
    Postponed,
    Cancelled,
    /// The client has ended its session, so its user's answer would not be taken.
    Ended,
}

impl Asking {
    async fn run(
        self,
        pipe: Pipe,
        beats: Beats,
        question: ElicitRequestParams,
        parked: CallToolResult,
    ) {
        // If the client is gone, the question is still in the inbox.
        let _ = self.wait(&pipe, beats, question, parked).await;
        drop(self.place);
    }

    async fn wait(
        &self,
        pipe: &Pipe,
        mut beats: Beats,
        question: ElicitRequestParams,
        parked: CallToolResult,
    ) -> Result<(), Gone> {
        let request = json!({ "jsonrpc": "2.0", "id": self.own_id, "method": "elicitation/create",
            "params": question });
        send(pipe, &request).await?;
        let mut alive = sse::alive();
        loop {
            tokio::select! {
                () = pipe.closed() => return Err(Gone),
                () = self.server.stopped() => return send(pipe, &message(&self.id, &parked)).await,
                _ = alive.tick() => {
                    pipe.sign_of_life().await?;
                    continue;
                }
                () = beats.next(PATIENCE) => {}
            }
            // A busy store is not read at every commit.
            tokio::time::sleep(PAUSE).await;
            let seen = match self.look().await {
                Ok(seen) => seen,
                // The store is unreachable: wait for it.
                Err(error) if error.meaning().http >= 500 => continue,
                Err(error) => Seen::Result { result: refusal(&error).into(), is_ours: false },
            };
            match seen {
                Seen::Waits => {}
                Seen::Result { result, is_ours } => {
                    if !is_ours {
                        send(pipe, &self.withdrawn()).await?;
                    }
                    return send(pipe, &message(&self.id, &result)).await;
                }
                Seen::Written(result) => return send(pipe, &message(&self.id, &result)).await,
                Seen::Postponed => return send(pipe, &message(&self.id, &parked)).await,
                Seen::Ended => {
                    send(pipe, &self.withdrawn()).await?;
                    return send(pipe, &message(&self.id, &parked)).await;
                }
                // The protocol wants no answer to a cancelled request.
                Seen::Cancelled => return send(pipe, &self.withdrawn()).await,
            }
        }
    }

    /// Tells the client that its user need not answer any more.
    fn withdrawn(&self) -> Value {
        let reason = "it was answered elsewhere, or the call or its session has ended";
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": self.own_id, "reason": reason } })
    }

    fn names(&self) -> (String, String) {
        (self.own_id.clone(), cancelled(&self.id))
    }

    /// Looks at the gate, with the caller's current rights.
    async fn look(&self) -> Result<Seen, Error> {
        let Self { server, operation, .. } = self;
        let (arguments, meta) = (self.arguments.clone(), self.meta.clone());
        let call = Call { server, operation, arguments, meta };
        let (asker, mut envelope) = (server.asker.clone(), call.envelope()?);
        let (session, gate, names) = (self.session.clone(), self.gate.clone(), self.names());
        let looked = blocking(move || {
            (envelope.actor, envelope.proof) = asker.judged()?;
            let names = [names.0.as_str(), names.1.as_str()];
            let waiting = asker.ops.mcp_waiting(&envelope, &session, &gate, names)?;
            if waiting.reply.is_some() {
                asker.ops.mcp_heard(&session, names)?;
            }
            Ok(waiting)
        });
        let Waiting { question, reply, has_ended } = looked.await?;
        if !question.is_open {
            let is_ours = question.is_by_client;
            let answer = call.for_gate(&self.gate).await?;
            return Ok(Seen::Result { result: answered(operation, &answer)?.into(), is_ours });
        }
        Ok(match reply.as_deref() {
            None if has_ended => Seen::Ended,
            None => Seen::Waits,
            Some(CANCELLED) => Seen::Cancelled,
            Some(words) => serde_json::from_str::<CallToolResult>(words)
                .map_or(Seen::Postponed, |result| Seen::Written(Box::new(result))),
        })
    }
}

/// Takes the client's response to one of our requests. A response to anything else is ignored.
pub(crate) async fn take(
    state: &Shared,
    asker: &Asker,
    session: McpSession,
    (id, result): (Option<RequestId>, Option<ClientResult>),
) -> Result<(), Error> {
    let Some(RequestId::String(id)) = &id else { return Ok(()) };
    let Some((gate, _)) = id.strip_prefix(ID).and_then(|rest| rest.split_once('.')) else {
        return Ok(());
    };
    let (ops, mut envelope) = (Arc::clone(&asker.ops), asker.envelope(&JsonObject::new())?);
    let found = {
        let (ops, envelope, gate) = (Arc::clone(&ops), envelope.clone(), gate.to_owned());
        let (session, id) = (session.clone(), id.to_string());
        blocking(move || Ok((ops.mcp_question(&envelope, &gate)?, ops.mcp_asked(&session, &id)?)))
            .await
    };
    let question = match found {
        // Only a client that was asked answers. An answer to any other kind of gate is refused below.
        Ok((question, false)) if question.is_for_user => return Ok(()),
        Ok((question, _)) => question,
        Err(error) if error.meaning().http < 500 => return Ok(()),
        Err(error) => return Err(error),
    };
    let answer = match &result {
        Some(ClientResult::ElicitResult(result)) => said((question.operation, gate), result),
        _ => None,
    };
    let words = match answer {
        None => POSTPONED.to_owned(),
        Some(mut answer) => {
            answer.is_apart = true;
            envelope.context.session = question.session;
            let envelope = Asker::with_answer(envelope, answer);
            let (operation, start) = (question.operation, Instant::now());
            let answered = called(&ops, operation, *envelope, question.input).await;
            state.metrics.called(operation, start, &answered);
            match answered {
                // The log has the answer, so every waiting call sees it.
                Ok(_) => return Ok(()),
                Err(error) if is_misfit(&error) => POSTPONED.to_owned(),
                Err(error) if error.meaning().http < 500 => {
                    serde_json::to_string(&refusal(&error)).unwrap_or_default()
                }
                Err(error) => return Err(error),
            }
        }
    };
    leave(state, session, id.to_string(), words).await
}

/// Takes the client's word that it needs no result of a call any more.
pub(crate) async fn cancel(
    state: &Shared,
    session: McpSession,
    id: &RequestId,
) -> Result<(), Error> {
    leave(state, session, cancelled(id), CANCELLED.to_owned()).await
}

/// Has the client cancelled this request of its session? A store that cannot be read says nothing.
pub(crate) async fn is_cancelled(server: &McpServer, id: &RequestId) -> bool {
    let Some(session) = &server.session else { return false };
    let session = session.of(&server.asker);
    has_cancelled(&server.asker, session, id).await.unwrap_or(false)
}

async fn has_cancelled(asker: &Asker, session: McpSession, id: &RequestId) -> Result<bool, Error> {
    let (ops, name) = (Arc::clone(&asker.ops), cancelled(id));
    let replied = blocking(move || ops.mcp_replied(&session, &name)).await?;
    Ok(replied.is_some())
}

/// The response to a request whose id was cancelled. Its call would end without an answer.
fn used(id: &RequestId) -> Response {
    let why = "the id of this request was cancelled; send it again with another id";
    let error = json!({ "code": INVALID_REQUEST, "message": why });
    let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    of_type(StatusCode::OK, "application/json", answer.to_string())
}

/// Leaves a message for the waiting call, which may wait at another server.
async fn leave(
    state: &Shared,
    session: McpSession,
    name: String,
    words: String,
) -> Result<(), Error> {
    let ops = Arc::clone(&state.ops);
    blocking(move || ops.mcp_reply(&session, &name, &words)).await?;
    state.hub.nudge();
    Ok(())
}

/// The name under which the cancellation of a call is found.
fn cancelled(id: &RequestId) -> String {
    format!("cancel {}", serde_json::to_string(id).unwrap_or_default())
}

fn message(id: &RequestId, result: &CallToolResult) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    // Revisions with a handshake do not have this field.
    if let Some(result) = message["result"].as_object_mut() {
        result.shift_remove("resultType");
    }
    message
}

fn whole(id: &RequestId, result: &CallToolResult) -> Response {
    of_type(StatusCode::OK, "application/json", message(id, result).to_string())
}

/// Sends a message as one event.
pub(super) async fn send(pipe: &Pipe, message: &Value) -> Result<(), Gone> {
    pipe.send(format!("event: message\ndata: {message}\n\n").into()).await
}
