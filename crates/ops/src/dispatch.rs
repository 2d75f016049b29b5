//! Steps 2 to 7 of a change: find, parse, check access, and run in one transaction.

use std::sync::{Arc, OnceLock};

use punchlist_core::{Ids, Refusal};
use punchlist_store::rows::answers::Answer;
use punchlist_store::{Options, Store, Target, Tx};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::call::{Call, host_id};
use crate::catalogue::{Define, Effect, Operation};
use crate::explain::{Fault, drop_context, explain};
use crate::token::needs_token;
use crate::{Envelope, Error, Proof, clock};

/// The most bytes one request may have: the largest single text is 1 MiB.
pub const INPUT_MAX: usize = 4 << 20;

/// The operations over one store, which is opened when the first operation needs it: a request
/// that does not even parse leaves no file behind.
#[derive(Debug)]
pub struct Ops {
    target: Target,
    options: Options,
    store: OnceLock<Store>,
}

impl Ops {
    #[must_use]
    pub const fn new(target: Target, options: Options) -> Self {
        Self { target, options, store: OnceLock::new() }
    }

    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Is the store a file of this machine, and not a server?
    #[must_use]
    pub const fn is_local(&self) -> bool {
        matches!(self.target, Target::File(_) | Target::Memory)
    }

    pub(crate) const fn options(&self) -> Options {
        self.options
    }

    /// The store, opened on first use.
    pub fn store(&self) -> Result<&Store, Error> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let opened = Store::open(&self.target, self.options)?;
        Ok(self.store.get_or_init(|| opened))
    }

    /// Runs an operation: the one way in, for every surface.
    pub fn call(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: Value,
    ) -> Result<Value, Error> {
        let ready = self.admit(operation, envelope, input)?;
        match operation.effect {
            // What looks at no store runs on an empty one: no file is made for it.
            Effect::Pure => Store::open(&Target::Memory, self.options)?.read(ready)?,
            Effect::Read => self.store()?.read(ready)?,
            Effect::Write => self.store()?.write(ready)?,
        }
    }

    /// A call that the caller may make and that says what it should, ready for a transaction.
    pub(crate) fn admit(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: Value,
    ) -> Result<Ready, Error> {
        let allowed = operation.access.check(envelope.actor.role, operation.name);
        let reach = &envelope.actor.reach;
        let reached = reach
            .covers_project(&envelope.project)
            .map_err(|missing| Error::from(Refusal::OutOfReach { missing }));
        match allowed {
            Err(denied) if !operation.bootstraps => {
                if reached.is_ok() {
                    self.keep_try(operation, envelope, &input)?;
                }
                return Err(denied);
            }
            _ => reached?,
        }
        if envelope.proof == Proof::PartTerminal && operation.effect == Effect::Write {
            return Err(Error::IdentityUnclear);
        }
        let ready = (operation.prepare)(operation, envelope, input)?;
        if envelope.proof == Proof::Terminal && operation.effect != Effect::Pure {
            self.person_seen(envelope.now)?;
        }
        Ok(ready)
    }

    /// Somebody who never may judge tried to: the item it named keeps a line of that, as where
    /// ownership decides. A store that is not there is not made for it.
    fn keep_try(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: &Value,
    ) -> Result<(), Error> {
        let (Some(action), Some(named)) =
            (operation.access.judgement(), input.get("todoId").and_then(Value::as_str))
        else {
            return Ok(());
        };
        if let Target::File(path) = &self.target
            && !path.exists()
        {
            return Ok(());
        }
        let (shared, named, cause) = (Arc::new(envelope.clone()), named.to_owned(), operation.name);
        let ids = new_ids(envelope)?;
        self.store()?.write(move |tx| {
            needs_token(tx, shared.proof)?;
            Call::new(tx, &shared, cause, ids.clone()).keep_try(action, &named)
        })
    }
}

/// Reads the text of an input. Nothing at all means no fields.
pub fn parse_json(text: &str) -> Result<Value, Error> {
    if text.len() > INPUT_MAX {
        return Err(Fault::TooLarge { limit: INPUT_MAX }.into());
    }
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(text).map_err(|error| Fault::Json { detail: error.to_string() }.into())
}

/// Parses strictly; what does not fit is explained by the operation's own schema (ADR 0007).
fn parse<D: Define>(operation: &Operation, input: &mut Value) -> Result<D::Input, Error> {
    if let Ok(parsed) = D::Input::deserialize(&*input) {
        return Ok(parsed);
    }
    let schema = (operation.input_schema)();
    drop_context(&schema, input);
    serde_path_to_error::deserialize(&*input).map_err(|error| {
        explain(&schema, input)
            .unwrap_or_else(|| Fault::Other {
                path: error.path().to_string(),
                detail: error.inner().to_string(),
            })
            .into()
    })
}

/// A call that only needs a transaction; it may run more than once. The inner result is the caller's
/// answer; the outer one decides whether the transaction stays.
pub(crate) type Ready = Box<dyn Fn(&mut Tx<'_>) -> Result<Result<Value, Error>, Error> + Send>;

/// The typed half of [`Ops::admit`], one instance per operation.
pub(crate) fn prepare<D: Define>(
    operation: &Operation,
    envelope: &Envelope,
    mut input: Value,
) -> Result<Ready, Error> {
    let parsed = parse::<D>(operation, &mut input)?;
    D::check(envelope, &parsed)?;
    let (cause, ids, envelope) = (operation.name, new_ids(envelope)?, envelope.clone());
    if operation.effect != Effect::Write {
        let looks = operation.effect == Effect::Read;
        return Ok(Box::new(move |tx| {
            if looks {
                needs_token(tx, envelope.proof)?;
            }
            let mut call = Call::new(tx, &envelope, cause, ids.clone());
            Ok(Ok(to_json(&D::run(&mut call, &parsed)?)?))
        }));
    }
    let key = host_id("idempotencyKey", envelope.idempotency_key.as_deref())?;
    if key.is_some() && !D::KEEPS_ANSWERS {
        let (path, found) = ("idempotencyKey".to_owned(), "given here".to_owned());
        let expected = "absent: this answer holds a secret and is never stored".to_owned();
        return Err(Fault::BadValue { path, found, expected }.into());
    }
    let request = key.map(|key| (key, digest(operation.name, &envelope, &input)));
    Ok(Box::new(move |tx| {
        needs_token(tx, envelope.proof)?;
        let mut call = Call::new(tx, &envelope, cause, ids.clone());
        write::<D>(&mut call, &parsed, request.as_ref())
    }))
}

/// A refusal that leaves a line in the log is kept for that line alone.
fn write<D: Define>(
    call: &mut Call<'_, '_>,
    input: &D::Input,
    request: Option<&(String, String)>,
) -> Result<Result<Value, Error>, Error> {
    let (principal, now) = (call.envelope().actor.principal.clone(), call.envelope().now);
    if let Some((key, digest)) = request
        && let Some(kept) = call.tx().answer(&principal, key, now)?
    {
        if kept.request != *digest {
            return Err(Error::IdempotencyConflict { key: key.clone() });
        }
        let answer = serde_json::from_str(&kept.answer).map_err(punchlist_store::Error::from)?;
        return Ok(Ok(answer));
    }
    let output = match D::run(call, input) {
        Ok(output) => to_json(&output)?,
        Err(error) if call.record_audit()? => return Ok(Err(error)),
        Err(error) => return Err(error),
    };
    if let Some((key, digest)) = request {
        let answer = Answer { request: digest.clone(), answer: output.to_string() };
        call.tx().keep_answer(&principal, key, &answer, now)?;
    }
    Ok(Ok(output))
}

pub(crate) fn new_ids(envelope: &Envelope) -> Result<Ids, Error> {
    clock::ids(envelope.now)
        .map_err(|error| Error::Internal { detail: format!("no randomness for ids: {error}") })
}

fn to_json(output: &impl serde::Serialize) -> Result<Value, Error> {
    serde_json::to_value(output).map_err(|error| punchlist_store::Error::from(error).into())
}

/// What makes two requests the same: operation, context and input, whatever the order of fields.
fn digest(operation: &str, envelope: &Envelope, input: &Value) -> String {
    let context = &envelope.context;
    let mut hash = Sha256::new();
    for part in [
        operation,
        &envelope.project,
        // An answer that was kept for a wider token, or another role, is not for this one.
        envelope.actor.role.name(),
        &serde_json::to_string(&envelope.actor.reach).unwrap_or_default(),
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
            fields.sort_by_key(|(name, _)| *name);
            fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
