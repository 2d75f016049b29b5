//! The operations of the catalogue: `POST /v1/OPERATION`, and GET for those that only read.
//!
//! The two routes below `/remote` are for remote command lines: who the caller is, and which
//! project a repository is.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, header};
use axum::response::Response;
use punchlist_ops::catalogue::{Effect, Operation, find};
use punchlist_ops::explain::Fault;
use punchlist_ops::web_fault::WebFault;
use punchlist_ops::{Error, Place};
use serde::Deserialize;
use serde_json::{Value, json};

use super::body;
use super::caller::Caller;
use super::limits::Limits;
use super::problem::{json as as_json, json_or_unchanged, problem};
use super::query;
use super::state::{Shared, blocking, called, or_token_required, short};

/// Answers one call of an operation.
pub(crate) async fn operation(State(state): State<Shared>, request: Request) -> Response {
    let start = Instant::now();
    let (parts, body) = request.into_parts();
    let name = parts.uri.path().trim_start_matches("/v1/").to_owned();
    let operation = match find(&name) {
        Ok(operation) => operation,
        Err(error) => return problem(&error),
    };
    let answered = call(&state, operation, &parts, body).await;
    let response = answered.unwrap_or_else(|error| problem(&error));
    state.metrics.answered(operation, response.status().as_u16(), start.elapsed());
    response
}

async fn call(
    state: &Shared,
    operation: &'static Operation,
    parts: &Parts,
    body: Body,
) -> Result<Response, Error> {
    let reads = operation.effect != Effect::Write;
    let is_get = match parts.method {
        Method::POST => false,
        Method::GET | Method::HEAD if reads => true,
        _ if reads => return Err(WebFault::Method { allowed: "GET, HEAD, POST" }.into()),
        _ => return Err(WebFault::Method { allowed: "POST" }.into()),
    };
    let caller = Caller::read(parts)?;
    let input = match is_get {
        true => query::input(operation, parts.uri.query().unwrap_or_default()),
        false => {
            let input = json_body(parts, body, &state.limiter.limits).await;
            input.and_then(|input| without_query(parts).map(|()| input))
        }
    };
    let envelope = caller.judged(state).await?;
    let input = match input {
        Ok(input) => input,
        Err(error) => return Err(or_token_required(state, envelope.proof, error).await),
    };
    if operation.effect == Effect::Pure {
        // It has no transaction that would check whether the caller needs a token.
        let (ops, proof) = (Arc::clone(&state.ops), envelope.proof);
        short(&state.ops, move || ops.admits(proof)).await?;
    }
    let answer = called(&state.ops, operation, envelope, input).await?;
    let text = answer.to_text()?;
    Ok(if is_get { json_or_unchanged(text, &parts.headers) } else { as_json(text) })
}

/// A POST has its input in the body: fields in the query would be ignored, so they are refused.
fn without_query(parts: &Parts) -> Result<(), Error> {
    match query::pairs(parts.uri.query().unwrap_or_default())?.into_iter().next() {
        None => Ok(()),
        Some((path, _)) => {
            let detail = "give the fields of a POST in its body, not in the query".to_owned();
            Err(Fault::Other { path, detail }.into())
        }
    }
}

/// Reads the body of a request as JSON. An empty body means no fields.
async fn json_body(parts: &Parts, body: Body, limits: &Limits) -> Result<Value, Error> {
    let kind = parts.headers.get(header::CONTENT_TYPE);
    let kind = kind.map(|kind| kind.to_str().unwrap_or("?").trim().to_ascii_lowercase());
    if let Some(found) = kind {
        let bare = found.split(';').next().unwrap_or_default().trim();
        if bare != "application/json" && !bare.ends_with("+json") {
            return Err(WebFault::MediaType { found }.into());
        }
    }
    let bytes = body::bytes(parts, body, limits).await?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Error::from(Fault::Utf8))?;
    // Only the white space of JSON: anything else is an error.
    if text.trim_matches([' ', '\t', '\n', '\r']).is_empty() {
        return Ok(json!({}));
    }
    let parsed = text.parse::<Value>();
    let mut input =
        parsed.map_err(|error| Error::from(Fault::Json { detail: error.to_string() }))?;
    whole(&mut input);
    Ok(input)
}

/// Turns whole floats into integers: JSON does not distinguish 4.0 and 4.
fn whole(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(integer) = number.as_f64().and_then(query::integer) {
                *value = integer.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole),
        Value::Object(fields) => fields.values_mut().for_each(whole),
        _ => {}
    }
}

/// Tells a remote command line who the caller is, before it makes a call.
pub(crate) async fn remote_caller(State(state): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    answer(
        remote(&state, &parts, body, |state, caller, _| {
            let envelope = caller.anywhere(state)?;
            state.ops.admits(envelope.proof)?;
            Ok(json!({ "actor": envelope.actor, "proof": envelope.proof.to_string() }))
        })
        .await,
    )
}

/// Tells a remote command line which project a repository is.
pub(crate) async fn remote_project(State(state): State<Shared>, request: Request) -> Response {
    #[derive(Deserialize)]
    struct Asked {
        place: Place,
        names: Vec<String>,
    }

    let (parts, body) = request.into_parts();
    answer(
        remote(&state, &parts, body, |state, caller, body| {
            let envelope = caller.anywhere(state)?;
            state.ops.admits(envelope.proof)?;
            let asked = Asked::deserialize(body);
            let Asked { place, names } = asked.map_err(|error| {
                let (path, detail) = (String::new(), error.to_string());
                Error::from(Fault::Other { path, detail })
            })?;
            let located = state.ops.project_at(&place, &names)?;
            serde_json::to_value(located)
                .map_err(|error| Error::Internal { detail: error.to_string() })
        })
        .await,
    )
}

fn answer(answered: Result<Value, Error>) -> Response {
    match answered {
        Ok(answer) => as_json(answer.to_string()),
        Err(error) => problem(&error),
    }
}

async fn remote(
    state: &Shared,
    parts: &Parts,
    body: Body,
    job: fn(&Shared, Caller, Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    if parts.method != Method::POST {
        return Err(WebFault::Method { allowed: "POST" }.into());
    }
    let caller = Caller::read(parts)?;
    let body = json_body(parts, body, &state.limiter.limits).await?;
    let shared = Arc::clone(state);
    blocking(move || job(&shared, caller, body)).await
}
