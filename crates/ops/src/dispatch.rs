//! Steps 2 to 7 of a change: check access, parse, and run in one transaction. How an input is parsed, and
//! what is done around an operation inside its transaction, is in `request`.

use std::sync::{Arc, OnceLock};

use punchlist_core::{Ids, Refusal};
use punchlist_store::{Options, Store, Target};
use serde_json::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Operation};
use crate::explain::Fault;
use crate::remote::{self, Remote};
use crate::request::{Parsed, Ready, Request, prepare};
use crate::token::needs_token;
use crate::{Envelope, Error, Proof, clock};

/// The most bytes one request may have: the largest single text is 1 MiB.
pub const INPUT_MAX: usize = 4 << 20;

/// An input as it comes in.
pub(crate) enum Given {
    Json(Value),
    Parsed(Box<dyn Request>),
}

/// The operations over one store, which is opened when the first operation needs it: a request
/// that does not even parse leaves no file behind.
#[derive(Debug)]
pub struct Ops {
    target: Target,
    options: Options,
    store: OnceLock<Store>,
    /// A server in place of a database; then there is no store here, and no target.
    remote: Option<Box<dyn Remote>>,
}

impl Ops {
    #[must_use]
    pub const fn new(target: Target, options: Options) -> Self {
        Self { target, options, store: OnceLock::new(), remote: None }
    }

    /// The operations over a store behind a running server.
    #[must_use]
    pub fn over(remote: Box<dyn Remote>) -> Self {
        Self { remote: Some(remote), ..Self::new(Target::Memory, Options::default()) }
    }

    /// The server that is asked in place of a database, if there is one.
    #[must_use]
    pub fn remote(&self) -> Option<&dyn Remote> {
        self.remote.as_deref()
    }

    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Is the store a file of this machine, and not a server?
    #[must_use]
    pub const fn is_local(&self) -> bool {
        self.remote.is_none() && matches!(self.target, Target::File(_) | Target::Memory)
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
        let opened = Store::open(&self.target, self.options)?;
        Ok(self.store.get_or_init(|| opened))
    }

    /// Runs an operation with its own types: for our own code.
    pub fn run<D: Define>(&self, envelope: &Envelope, input: D::Input) -> Result<D::Output, Error> {
        let operation = const { &Operation::of::<D>() };
        if let Some(remote) = self.remote_for(operation) {
            let input = Parsed::<D>(input).to_json()?;
            return remote::ask(remote, operation, envelope, input)?.into_output();
        }
        let ready = self.admit(operation, envelope, Given::Parsed(Box::new(Parsed::<D>(input))))?;
        self.transact(operation, ready)?.into_output()
    }

    /// Runs an operation with JSON: for every surface.
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

    /// Runs an operation with JSON and answers with JSON.
    pub fn call(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: Value,
    ) -> Result<Value, Error> {
        self.answer(operation, envelope, input)?.to_json()
    }

    /// The server to ask. What does not look at the store is answered here.
    fn remote_for(&self, operation: &Operation) -> Option<&dyn Remote> {
        self.remote().filter(|_| operation.effect != Effect::Pure)
    }

    fn transact(&self, operation: &Operation, ready: Ready) -> Result<Answer, Error> {
        match operation.effect {
            // An operation that does not look at the store runs on an empty one: no file is made.
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
                let request = (operation.parse)(operation, &mut json)?;
                prepare(operation, envelope, request, Some(&json))?
            }
        };
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

pub(crate) fn new_ids(envelope: &Envelope) -> Result<Ids, Error> {
    clock::ids(envelope.now)
        .map_err(|error| Error::Internal { detail: format!("no randomness for ids: {error}") })
}
