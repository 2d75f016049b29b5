//! One request to an operation: its parsed input, ready for its transaction.
//!
//! Only [`Request`] depends on an operation's types. It is small, because it is compiled for every
//! operation; everything around it is compiled once.

use punchlist_core::Refusal;
use punchlist_core::text::{MUST_BE, TextFault};
use punchlist_store::Tx;
use punchlist_store::rows::answers::Answer as Kept;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::answer::{Answer, ReadAnswer};
use crate::call::{Call, host_id};
use crate::catalogue::{Define, Effect, Operation};
use crate::dispatch::new_ids;
use crate::explain::{Fault, drop_context, explain};
use crate::place::moved;
use crate::strict;
use crate::token::with_token;
use crate::{Envelope, Error};

/// A parsed input together with its operation's handler.
pub(crate) trait Request: Send + Sync {
    /// Checks that need no store.
    fn check(&self, envelope: &Envelope) -> Result<(), Error>;
    fn run(&self, call: &mut Call<'_, '_>) -> Result<Answer, Error>;
    /// The input as JSON.
    fn to_json(&self) -> Result<Value, Error>;
}

/// The typed input of an operation, parsed from JSON or made by our own code.
pub(crate) struct Parsed<D: Define>(pub(crate) D::Input);

impl<D: Define> Request for Parsed<D> {
    fn check(&self, envelope: &Envelope) -> Result<(), Error> {
        D::check(envelope, &self.0)
    }

    fn run(&self, call: &mut Call<'_, '_>) -> Result<Answer, Error> {
        D::run(call, &self.0).map(Answer::new)
    }

    fn to_json(&self) -> Result<Value, Error> {
        serde_json::to_value(&self.0).map_err(|error| punchlist_store::Error::from(error).into())
    }
}

/// Parses strictly. An input that does not fit is explained by the operation's schema (ADR 0007).
pub(crate) fn parse(operation: &Operation, input: &mut Value) -> Result<Box<dyn Request>, Error> {
    if let Ok(parsed) = (operation.parse)(input) {
        return Ok(parsed);
    }
    let schema = operation.input_schema();
    drop_context(&schema, input);
    (operation.parse)(input).map_err(|(found, error)| {
        let fault = explain(&schema, input, "");
        fault.unwrap_or_else(|| misspelt(input, found, error.to_string())).into()
    })
}

/// The parser of an operation's input. It gives the input, or the value that does not fit and why.
pub(crate) type Parse = fn(&Value) -> Result<Box<dyn Request>, (&Value, serde_json::Error)>;

pub(crate) fn typed<D: Define>(
    input: &Value,
) -> Result<Box<dyn Request>, (&Value, serde_json::Error)> {
    strict::read(input).map(|parsed| Box::new(Parsed::<D>(parsed)) as Box<dyn Request>)
}

/// The fault that the parser found. A misspelt value is shown with its correct spelling.
fn misspelt(input: &Value, found: &Value, detail: String) -> Fault {
    let path = strict::path(input, found);
    if detail == TextFault::Blank.to_string() {
        return Fault::MissingField { path };
    }
    let Some(expected) = detail.strip_prefix(MUST_BE) else {
        return Fault::Other { path, detail };
    };
    let found = match found {
        Value::String(text) => format!("`{}`", text.chars().take(60).collect::<String>()),
        value => value.to_string(),
    };
    Fault::BadValue { path, found, expected: expected.to_owned() }
}

/// A call that needs only a transaction; it may run more than once. The inner result is the
/// caller's answer. The outer result decides whether the transaction is committed.
pub(crate) type Ready = Box<dyn Fn(&mut Tx<'_>) -> Result<Result<Answer, Error>, Error> + Send>;

/// Makes a request ready for its transaction. `input` is the JSON it was parsed from; if absent,
/// the request itself is serialised.
pub(crate) fn prepare(
    operation: &Operation,
    envelope: &Envelope,
    request: Box<dyn Request>,
    input: Option<&Value>,
) -> Result<Ready, Error> {
    request.check(envelope)?;
    let (cause, ids, envelope) = (operation.name, new_ids(envelope)?, envelope.clone());
    if operation.effect != Effect::Write {
        let looks = operation.effect == Effect::Read;
        return Ok(Box::new(move |tx| {
            let run = |tx: &mut Tx<'_>| {
                at_home(tx, &envelope, |tx, envelope| {
                    Ok(Ok(request.run(&mut Call::new(tx, envelope, cause, ids.clone()))?))
                })
            };
            if looks { with_token(tx, envelope.proof, run) } else { run(tx) }
        }));
    }
    let key = host_id("idempotencyKey", envelope.idempotency_key.as_deref())?;
    if key.is_some() && !operation.keeps_answers {
        let (path, found) = ("idempotencyKey".to_owned(), "given here".to_owned());
        let expected = "absent: this answer holds a secret and is never stored".to_owned();
        return Err(Fault::BadValue { path, found, expected }.into());
    }
    let key = match (key, input) {
        (None, _) => None,
        (Some(key), Some(input)) => Some((key, digest(cause, &envelope, input))),
        (Some(key), None) => Some((key, digest(cause, &envelope, &request.to_json()?))),
    };
    let read_answer = operation.read_answer;
    Ok(Box::new(move |tx| {
        with_token(tx, envelope.proof, |tx| {
            at_home(tx, &envelope, |tx, envelope| {
                let mut call = Call::new(tx, envelope, cause, ids.clone());
                write(&mut call, &*request, read_answer, key.as_ref())
            })
        })
    }))
}

/// Makes a call in the caller's project. If another repository took its name after that was chosen,
/// the call has been refused before it wrote anything, and is made in the project's new name.
fn at_home<T>(
    tx: &mut Tx<'_>,
    envelope: &Envelope,
    mut call: impl FnMut(&mut Tx<'_>, &Envelope) -> Result<T, Error>,
) -> Result<T, Error> {
    match call(tx, envelope) {
        Err(Error::Refused(refusal)) if matches!(*refusal, Refusal::ProjectTaken { .. }) => {
            let moved = moved(tx, envelope)?;
            call(tx, &moved)
        }
        made => made,
    }
}

/// Runs a write. If a refusal adds an event to the log, the transaction is committed for that
/// event.
fn write(
    call: &mut Call<'_, '_>,
    request: &dyn Request,
    read_answer: ReadAnswer,
    key: Option<&(String, String)>,
) -> Result<Result<Answer, Error>, Error> {
    let (owner, now) = (owner(call.envelope()), call.envelope().now);
    if let Some((key, digest)) = key
        && let Some(kept) = kept(call, &owner, key, digest)?
    {
        if kept.request != *digest {
            return Err(Error::IdempotencyConflict { key: key.clone() });
        }
        return Ok(Ok(Answer::kept(&kept.answer, read_answer)?));
    }
    let answer = match request.run(call) {
        Ok(answer) => answer,
        Err(error) if call.record_audit()? => return Ok(Err(error)),
        Err(error) => return Err(error),
    };
    if let Some((key, digest)) = key {
        let kept = Kept { request: digest.clone(), answer: answer.to_text()? };
        call.tx().keep_answer(&owner, key, &kept, now)?;
    }
    Ok(Ok(answer))
}

/// The owner of a key. Tokens of one principal with different reach do not see each other's keys.
fn owner(envelope: &Envelope) -> String {
    let actor = &envelope.actor;
    serde_json::json!([actor.principal, envelope.project, actor.reach.without_token()]).to_string()
}

/// The answer that was stored for this key. Older versions stored it under the principal alone;
/// such an answer counts if its request is identical.
fn kept(
    call: &mut Call<'_, '_>,
    owner: &str,
    key: &str,
    digest: &str,
) -> Result<Option<Kept>, Error> {
    let Envelope { actor, now, .. } = call.envelope();
    if let Some(kept) = call.tx().answer(owner, key, *now)? {
        return Ok(Some(kept));
    }
    let older = call.tx().answer(&actor.principal, key, *now)?;
    Ok(older.filter(|older| older.request == digest))
}

/// The digest that identifies a request: operation, context and input, in any order of fields.
fn digest(operation: &str, envelope: &Envelope, input: &Value) -> String {
    let context = &envelope.context;
    let mut hash = Sha256::new();
    for part in [
        operation,
        &envelope.project,
        // An answer that was stored for a wider token or another role must not be returned to this
        // one.
        envelope.actor.role.name(),
        &serde_json::to_string(&envelope.actor.reach.without_token()).unwrap_or_default(),
        context.session.as_deref().unwrap_or_default(),
        context.conversation.as_deref().unwrap_or_default(),
        context.turn.as_deref().unwrap_or_default(),
        &sorted(input).to_string(),
    ] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut fields: Vec<(&String, &Value)> = object.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
