//! Questions to a person: asked through the client if it can ask its user, and always in the inbox.
//!
//! Only `ask` and `form` are passed on. The gate is opened first, so it can be answered anywhere,
//! and the first answer counts. The user's answer goes back into the same operation as the
//! envelope's `client_answer`, and the core decides whether to accept it.

use std::time::Duration;

use punchlist_core::gate::form::Form;
use punchlist_core::gate::{ClientAnswer, GateDecision, GateState};
use punchlist_ops::views::AskedView;
use punchlist_ops::{Answer, Envelope, Error, Operation, Ops};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientResult, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult,
    InputResponses, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use serde_json::{Value, json};

use super::asker::Asker;
use super::calls::Call;
use super::changes::PAUSE;

/// The name of the one question in `input_required`.
const KEY: &str = "answer";
/// How often to check whether somebody else has answered, if there is no notification.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often the user's answer is tried to be recorded while the store is busy or unreachable.
const TRIES: u32 = 20;

/// Is this a question that a client's user may answer?
pub(crate) fn is_question(operation: &Operation) -> bool {
    matches!(operation.name, "ask" | "form")
}

/// Opens a gate, and passes the question on if the client can ask its user.
pub(crate) async fn ask(
    call: &Call<'_>,
    context: &RequestContext<RoleServer>,
    request: &CallToolRequestParams,
) -> Result<CallToolResponse, Error> {
    let (is_stateless, can_ask) = (is_stateless(context), can_ask(context));
    // A client that cannot ask its user has no answer of theirs.
    if is_stateless
        && can_ask
        && let Some(responses) = &request.input_responses
    {
        return answered(call, request.request_state.as_deref(), responses).await;
    }
    let answer = opened(call).await?;
    let Some(gate) = open_gate(&answer) else { return call.complete(&answer) };
    let question = can_ask.then(|| question(call, None)).flatten();
    match question {
        None => call.complete(&answer),
        Some(question) if is_stateless => Ok(input_required(&gate, question)),
        // Over HTTP, `asking` sends requests to the client.
        Some(_) if call.asker().is_request() => call.complete(&answer),
        Some(question) => elicit(call, context, answer, (gate, question)).await,
    }
}

/// Opens the gate, or finds it if the call is repeated. A call with an idempotency key gets its stored
/// answer, which says that the gate is open, so the gate itself is looked at.
pub(crate) async fn opened(call: &Call<'_>) -> Result<Answer, Error> {
    let answer = call.make().await?;
    match open_gate(&answer) {
        Some(gate) if call.envelope()?.idempotency_key.is_some() => call.for_gate(&gate).await,
        _ => Ok(answer),
    }
}

/// The id of the gate, if it is still open.
pub(crate) fn open_gate(answer: &Answer) -> Option<String> {
    let asked = answer.output::<AskedView>().filter(|asked| asked.state == GateState::Open);
    asked.map(|asked| asked.gate_id.clone())
}

fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Can the client ask its user to fill in fields?
fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|can| has_user(&can))
}

/// Does a client with these capabilities ask its user to fill in fields?
pub(crate) fn has_user(capabilities: &ClientCapabilities) -> bool {
    // A client that names no mode supports forms.
    let declared = capabilities.elicitation.as_ref();
    declared.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// The question in the protocol's format. `None` if the protocol cannot express it. If it is asked
/// again, it first says why the answer did not fit.
pub(crate) fn question(call: &Call<'_>, misfit: Option<&Error>) -> Option<ElicitRequestParams> {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let (message, schema) = match text("title") {
        Some(title) => {
            let form = Form(call.arguments.get("schema")?.clone());
            let about = form.description().map(|about| format!("{title}\n\n{about}"));
            (about.unwrap_or_else(|| title.to_owned()), form.only_fields()?)
        }
        None => {
            let mut field = json!({ "type": "string", "title": "Answer" });
            let options = call.arguments.get("options").and_then(Value::as_array);
            if let Some(options) = options.filter(|options| !options.is_empty()) {
                field["enum"] = json!(options);
            }
            let properties = json!({ KEY: field });
            let schema = json!({ "type": "object", "properties": properties, "required": [KEY] });
            (text("question")?.to_owned(), schema)
        }
    };
    let message = match misfit {
        Some(misfit) => format!("{misfit}\n\n{message}"),
        None => message,
    };
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    let params: ElicitRequestParams = serde_json::from_value(params).ok()?;
    // The protocol has no list of allowed numbers, for example, and the user must see all of it.
    is_same(&json!(params)["requestedSchema"], &schema).then_some(params)
}

/// Are two values equal? `1` and `1.0` are, because the library reads some numbers as floats.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let is_there = |(name, value): (&String, &Value)| {
                other.get(name).is_some_and(|o| is_same(value, o))
            };
            one.len() == other.len() && one.iter().all(is_there)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, o)| is_same(one, o))
        }
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}

/// The user's answer to the gate. `None` if there is no answer yet.
pub(crate) fn said(
    (operation, gate): (&Operation, &str),
    result: &ElicitResult,
) -> Option<ClientAnswer> {
    let (gate, is_apart) = (gate.to_owned(), false);
    match result.action {
        ElicitationAction::Accept => {
            let content = result.content.as_ref().filter(|content| content.is_object())?;
            let response = match operation.name {
                "form" => content.clone(),
                // A blank answer is none.
                _ => match content.get(KEY)?.as_str()?.trim() {
                    "" => return None,
                    answer => json!(answer),
                },
            };
            let (decision, response) = (GateDecision::Resume, Some(response));
            Some(ClientAnswer { gate, decision, response, is_apart })
        }
        ElicitationAction::Decline => {
            let decision = GateDecision::Refuse;
            Some(ClientAnswer { gate, decision, response: None, is_apart })
        }
        // The user postponed the question, so it stays in the inbox.
        _ => None,
    }
}

/// Does the user's answer not fit the question? The agent cannot answer, so the question stays open.
pub(crate) fn is_misfit(error: &Error) -> bool {
    error.code() == "bad_response"
}

/// Records the user's answer. The output shows the answer that counts.
async fn relay(call: &Call<'_>, answer: ClientAnswer) -> Result<Answer, Error> {
    let mut tries = 1;
    loop {
        let envelope = Asker::with_answer(call.envelope()?, answer.clone());
        let (operation, input) = (call.operation, Value::Object(call.arguments.clone()));
        let run = move |ops: &Ops, envelope: &Envelope| ops.answer(operation, envelope, input);
        match call.asker().run(envelope, run).await {
            // A person does not type the same answer twice.
            Err(error) if error.meaning().retryable && tries < TRIES => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            recorded => return recorded,
        }
    }
}

fn input_required(gate: &str, question: ElicitRequestParams) -> CallToolResponse {
    let request = InputRequest::Elicitation(ElicitRequest::new(question));
    let requests = [(KEY.to_owned(), request)].into();
    let result = InputRequiredResult::new(Some(requests), Some(gate.to_owned()));
    CallToolResponse::InputRequired(result)
}

/// The repeated call, with the user's response.
async fn answered(
    call: &Call<'_>,
    state: Option<&str>,
    responses: &InputResponses,
) -> Result<CallToolResponse, Error> {
    // Without the state, the question itself identifies the gate.
    let (gate, asked) = match state {
        Some(gate) => (gate.to_owned(), None),
        None => {
            let asked = opened(call).await?;
            let Some(gate) = open_gate(&asked) else { return call.complete(&asked) };
            (gate, Some(asked))
        }
    };
    let result = responses.get(KEY).cloned().map(serde_json::from_value::<ElicitResult>);
    let mut misfit = None;
    let is_put_off =
        matches!(&result, Some(Ok(result)) if result.action == ElicitationAction::Cancel);
    if let Some(Ok(result)) = &result
        && let Some(answer) = said((call.operation, &gate), result)
    {
        match relay(call, answer).await {
            Err(error) if is_misfit(&error) => misfit = Some(error),
            recorded => return call.complete(&recorded?),
        }
    }
    // There is no answer that fits, so the question stays open.
    let asked = match asked {
        Some(asked) => asked,
        None => call.for_gate(&gate).await?,
    };
    match (open_gate(&asked), question(call, misfit.as_ref())) {
        (Some(gate), Some(question)) if !is_put_off => Ok(input_required(&gate, question)),
        _ => call.complete(&asked),
    }
}

/// Asks the client's user until they answer, somebody else answers, or the call is cancelled.
async fn elicit(
    call: &Call<'_>,
    context: &RequestContext<RoleServer>,
    asked: Answer,
    (gate, question): (String, ElicitRequestParams),
) -> Result<CallToolResponse, Error> {
    let mut beats = call.server.pulse.beats();
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(question));
    let options = PeerRequestOptions::no_options();
    let sent = context.peer.send_cancellable_request(request, options).await;
    let Ok(mut handle) = sent else { return call.complete(&asked) };
    loop {
        tokio::select! {
            response = &mut handle.rx => {
                let answer = match response {
                    Ok(Ok(ClientResult::ElicitResult(result))) => {
                        said((call.operation, &gate), &result)
                    }
                    _ => None,
                };
                let Some(answer) = answer else { return call.complete(&asked) };
                return match relay(call, answer).await {
                    Err(error) if is_misfit(&error) => call.complete(&asked),
                    recorded => call.complete(&recorded?),
                };
            }
            () = context.ct.cancelled() => {
                drop(handle.cancel(Some("the call was cancelled".to_owned())).await);
                return call.complete(&asked);
            }
            // The client is gone, but the question is in the inbox.
            () = call.server.stopped() => return call.complete(&asked),
            () = beats.next(PATIENCE) => {
                // A busy store is not asked at every commit.
                tokio::time::sleep(PAUSE).await;
                let now = match call.for_gate(&gate).await {
                    // The store is busy or unreachable: the user may answer meanwhile.
                    Err(error) if error.meaning().retryable => continue,
                    now => now?,
                };
                if open_gate(&now).is_none() {
                    drop(handle.cancel(Some("it was answered elsewhere".to_owned())).await);
                    return call.complete(&now);
                }
            }
        }
    }
}

/// The text for a model while a question is open, and after it is answered.
pub(crate) fn words(operation: &Operation, answer: &Answer) -> Option<String> {
    let AskedView { gate_id, state, response } = answer.output::<AskedView>()?;
    let said = match response {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(words)) => format!(": {words}"),
        Some(other) => format!(": {other}"),
    };
    match state {
        GateState::Open => Some(format!(
            "This waits for the operator (gate {gate_id}). Go on with what does not depend on it, \
             or end your turn. Call {} again in the same words for the answer.",
            operation.name
        )),
        GateState::Resumed if said.is_empty() => Some("Answered: continue".to_owned()),
        GateState::Resumed => Some(format!("Answered{said}")),
        GateState::Refused => Some(format!("Answered: no{said}")),
        GateState::Superseded => None,
    }
}
