//! Steps 2 to 7 of a change: check access, parse, and run in one transaction. `request` has the
//! parsing of inputs and the work around an operation inside its transaction.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use punchlist_core::{Ids, Refusal};
use punchlist_store::{Lead, Options, Store, Target};
use serde_json::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Operation};
use crate::explain::Fault;
use crate::remote::{self, Remote};
use crate::request::{Parsed, Ready, Request, parse, prepare};
use crate::token::needs_token;
use crate::{Envelope, Error, Proof, clock};

/// The largest size of a request, in bytes. The largest single text is 1 MiB.
pub const INPUT_MAX: usize = 4 << 20;

/// How long the error of a failed opening is kept for the next call.
const UNOPENED_KEPT: Duration = Duration::from_secs(1);

/// An input as the caller gives it.
pub(crate) enum Given {
    Json(Value),
    Parsed(Box<dyn Request>),
}

/// The operations over one store. The store is opened when the first operation needs it, so a
/// request that does not parse creates no file.
#[derive(Debug)]
pub struct Ops {
    target: Target,
    options: Options,
    store: OnceLock<Store>,
    /// Why the store could not be opened, and when, if the caller went on without it.
    unopened: Mutex<Option<(Instant, Error)>>,
    /// A server that is used instead of a database. Then `store` and `target` are not used.
    remote: Option<Box<dyn Remote>>,
}

impl Ops {
    #[must_use]
    pub const fn new(target: Target, options: Options) -> Self {
        Self { target, options, store: OnceLock::new(), unopened: Mutex::new(None), remote: None }
    }

    /// The operations over a store behind a running server.
    #[must_use]
    pub fn over(remote: Box<dyn Remote>) -> Self {
        Self { remote: Some(remote), ..Self::new(Target::Memory, Options::default()) }
    }

    /// The server that is used instead of a database, if there is one.
    #[must_use]
    pub fn remote(&self) -> Option<&dyn Remote> {
        self.remote.as_deref()
    }

    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Is the store on this machine, and not on a server?
    #[must_use]
    pub const fn is_local(&self) -> bool {
        self.remote.is_none() && matches!(self.target, Target::File(_) | Target::Memory)
    }

    /// Is a write to a local store in progress, or queued?
    #[must_use]
    pub fn is_writing(&self) -> bool {
        self.store.get().is_some_and(Store::is_writing)
    }

    pub(crate) const fn options(&self) -> Options {
        self.options
    }

    /// The store, opened on first use.
    pub fn store(&self) -> Result<&Store, Error> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        if self.remote.is_some() {
            return Err(Error::NeedsDatabase);
        }
        if let Some(error) = self.take_unopened() {
            return Err(error);
        }
        let opened = Store::open(&self.target, self.options)?;
        Ok(self.store.get_or_init(|| opened))
    }

    /// The store, for a caller that goes on without it. If it cannot be opened, the next call returns
    /// that error instead of waiting for the same server again. Later calls try again.
    pub(crate) fn store_if_opened(&self) -> Result<&Store, Error> {
        self.store().inspect_err(|error| {
            let mut unopened = self.unopened.lock().unwrap_or_else(PoisonError::into_inner);
            *unopened = Some((Instant::now(), error.clone()));
        })
    }

    fn take_unopened(&self) -> Option<Error> {
        let mut unopened = self.unopened.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, error) = unopened.take()?;
        (at.elapsed() < UNOPENED_KEPT).then_some(error)
    }

    /// Runs an operation with its own types. For our own code.
    pub fn run<D: Define>(&self, envelope: &Envelope, input: D::Input) -> Result<D::Output, Error> {
        let operation = const { &Operation::of::<D>() };
        if let Some(remote) = self.remote_for(operation) {
            let input = Parsed::<D>(input).to_json()?;
            return remote::ask(remote, operation, envelope, input)?.into_output();
        }
        let ready = self.admit(operation, envelope, Given::Parsed(Box::new(Parsed::<D>(input))))?;
        self.transact(operation, ready)?.into_output()
    }

    /// Runs an operation with JSON input. For every surface.
    pub fn answer(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: Value,
    ) -> Result<Answer, Error> {
        if let Some(remote) = self.remote_for(operation) {
            return remote::ask(remote, operation, envelope, input);
        }
        let ready = self.admit(operation, envelope, Given::Json(input))?;
        self.transact(operation, ready)
    }

    /// Like [`Ops::answer`], for a write by a server that must not wait: `done` gets the answer.
    /// Only for calls that [`Ops::is_queued`] names.
    pub fn answer_then(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: Value,
        lead: Lead,
        done: impl FnOnce(Result<Answer, Error>) + Send + 'static,
    ) {
        let ready = self.admit(operation, envelope, Given::Json(input));
        match ready.and_then(|ready| self.store().map(|store| (store, ready))) {
            Ok((store, ready)) => {
                store.write_then(ready, lead, |kept| done(kept.and_then(|answer| answer)));
            }
            Err(error) => done(Err(error)),
        }
    }

    /// Is this call a write that is queued, so that nothing before it waits for the store? A denied
    /// judgement is logged at once, so it is not.
    #[must_use]
    pub fn is_queued(&self, operation: &Operation, envelope: &Envelope) -> bool {
        self.is_local()
            && operation.effect == Effect::Write
            && operation.access.check(envelope.actor.role, operation.name).is_ok()
    }

    /// Runs an operation with JSON input and returns JSON.
    pub fn call(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: Value,
    ) -> Result<Value, Error> {
        self.answer(operation, envelope, input)?.to_json()
    }

    /// The server that answers this operation. Operations that do not use the store are answered
    /// locally.
    fn remote_for(&self, operation: &Operation) -> Option<&dyn Remote> {
        self.remote().filter(|_| operation.effect != Effect::Pure)
    }

    fn transact(&self, operation: &Operation, ready: Ready) -> Result<Answer, Error> {
        match operation.effect {
            // An operation that does not use the store runs on an empty one, so that no file is
            // created.
            Effect::Pure => Store::open(&Target::Memory, self.options)?.read(ready)?,
            Effect::Read => self.store()?.read(ready)?,
            Effect::Write => self.store()?.write(ready)?,
        }
    }

    /// Checks access and parses the input. Returns a call that is ready for its transaction.
    ///
    /// The transaction checks first whether the caller needs a token. A call that is refused here
    /// has no transaction, so the same check takes precedence over its error.
    pub(crate) fn admit(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: Given,
    ) -> Result<Ready, Error> {
        self.checked(operation, envelope, input).map_err(|error| match operation.effect {
            Effect::Pure => error,
            Effect::Read | Effect::Write => self.or_token_required(envelope.proof, error),
        })
    }

    /// The error of a call, or that the caller needs a token. Only a store that is open already is
    /// asked: a bad call creates no file and connects to no server.
    #[must_use]
    pub fn or_token_required(&self, proof: Proof, error: Error) -> Error {
        let Some(store) = self.store.get() else { return error };
        match store.read(move |tx| needs_token(tx, proof)) {
            Err(missing @ Error::TokenRequired) => missing,
            _ => error,
        }
    }

    fn checked(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: Given,
    ) -> Result<Ready, Error> {
        let allowed = operation.access.check(envelope.actor.role, operation.name);
        let reach = &envelope.actor.reach;
        let reached = reach
            .covers_project(&envelope.project)
            .map_err(|missing| Error::from(Refusal::OutOfReach { missing }));
        match allowed {
            Err(denied) if !operation.bootstraps => {
                if reached.is_ok() {
                    self.keep_try(operation, envelope, input)?;
                }
                return Err(denied);
            }
            _ => reached?,
        }
        if envelope.proof == Proof::PartTerminal && operation.effect == Effect::Write {
            return Err(Error::IdentityUnclear);
        }
        let ready = match input {
            Given::Parsed(request) => prepare(operation, envelope, request, None)?,
            Given::Json(mut json) => {
                let request = parse(operation, &mut json)?;
                prepare(operation, envelope, request, Some(&json))?
            }
        };
        if envelope.proof == Proof::Terminal && operation.effect != Effect::Pure {
            self.person_seen(envelope.now)?;
        }
        Ok(ready)
    }

    /// Logs that a caller tried to judge an item although its role never may. A refusal inside the
    /// transaction, where ownership decides, is logged in the same way. Does not create a store.
    fn keep_try(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: Given,
    ) -> Result<(), Error> {
        let Some(action) = operation.access.judgement() else { return Ok(()) };
        let input = match input {
            Given::Json(json) => json,
            Given::Parsed(request) => request.to_json()?,
        };
        let Some(named) = input.get("todoId").and_then(Value::as_str) else { return Ok(()) };
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

/// Parses the text of an input. An empty text means no fields.
pub fn parse_json(text: &str) -> Result<Value, Error> {
    if text.len() > INPUT_MAX {
        return Err(Fault::TooLarge { limit: INPUT_MAX }.into());
    }
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let parsed = text.parse::<Value>();
    parsed.map_err(|error| Fault::Json { detail: error.to_string() }.into())
}

pub(crate) fn new_ids(envelope: &Envelope) -> Result<Ids, Error> {
    clock::ids(envelope.now)
        .map_err(|error| Error::Internal { detail: format!("no randomness for ids: {error}") })
}
