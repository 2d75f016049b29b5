//! The sender of MCP requests: a process that was started for one agent, or a single HTTP request.
//!
//! The caller and its turn come from the process (flags, environment), from the request's headers,
//! and from its `_meta`, which the host writes. They never come from the arguments, which the model
//! writes.

use std::sync::Arc;

use punchlist_core::gate::ClientAnswer;
use punchlist_core::list::turn_of_message;
use punchlist_core::{Actor, Time};
use punchlist_ops::explain::{Fault, nearest};
use punchlist_ops::identity::Facts;
use punchlist_ops::{Answer, Context, Envelope, Error, Operation, Ops, Proof};
use punchlist_store::Lead;
use rmcp::model::JsonObject;
use serde_json::Value;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::http::state::{blocking, closed};

/// The facts about a caller, and its token.
pub(crate) type Credentials = (Facts, Option<String>);

#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) ops: Arc<Ops>,
    credentials: Arc<Credentials>,
    /// The envelope of every call. The caller, the time and what the host says in `_meta` are set
    /// for each call.
    envelope: Arc<Envelope>,
    clock: fn() -> Time,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Identified again at every call, so that a revoked token stops working at once.
    Process,
    /// Identified when the request arrived.
    Request,
}

impl Asker {
    pub(crate) fn process(
        ops: Arc<Ops>,
        credentials: Credentials,
        envelope: Envelope,
        clock: fn() -> Time,
    ) -> Self {
        let (credentials, envelope) = (Arc::new(credentials), Arc::new(envelope));
        Self { ops, credentials, envelope, clock, kind: Kind::Process }
    }

    /// The sender of one request, identified by its envelope.
    pub(crate) fn request(
        ops: Arc<Ops>,
        credentials: Credentials,
        envelope: Envelope,
        clock: fn() -> Time,
    ) -> Self {
        let (credentials, envelope) = (Arc::new(credentials), Arc::new(envelope));
        Self { ops, credentials, envelope, clock, kind: Kind::Request }
    }

    /// The actor as identified at the start. Use it only for listings, not for actions.
    pub(crate) fn actor(&self) -> &Actor {
        &self.envelope.actor
    }

    /// The proof as of the start.
    pub(crate) fn proof(&self) -> Proof {
        self.envelope.proof
    }

    pub(crate) fn project(&self) -> &str {
        &self.envelope.project
    }

    pub(crate) const fn is_request(&self) -> bool {
        matches!(self.kind, Kind::Request)
    }

    /// Identifies the actor again. For anything that lasts longer than one request.
    pub(crate) fn judged(&self) -> Result<(Actor, Proof), Error> {
        let (facts, token) = &*self.credentials;
        let (actor, proof) = self.ops.identify(facts.clone(), token.as_deref())?;
        let proof = match (self.kind, proof) {
            (Kind::Request, Proof::Nothing) => Proof::Http,
            (_, proof) => proof,
        };
        if self.ops.remote().is_none() {
            self.ops.admits(proof)?;
        }
        Ok((actor, proof))
    }

    /// The envelope of one call, on the heap, because futures that hold it are moved.
    pub(crate) fn envelope(&self, meta: &JsonObject) -> Result<Box<Envelope>, Error> {
        let mut envelope = Box::new(Envelope::clone(&self.envelope));
        envelope.now = (self.clock)();
        tell(&mut envelope, meta)?;
        Ok(envelope)
    }

    /// The envelope of the only call.
    pub(crate) fn into_envelope(self, meta: &JsonObject) -> Result<Envelope, Error> {
        let mut envelope = Arc::unwrap_or_clone(self.envelope);
        envelope.now = (self.clock)();
        tell(&mut envelope, meta)?;
        Ok(envelope)
    }

    /// The same sender, in the session and the turn that a request names.
    pub(crate) fn told(&self, meta: &JsonObject) -> Result<Self, Error> {
        let mut envelope = self.envelope(meta)?;
        envelope.idempotency_key = None;
        Ok(Self { envelope: Arc::from(envelope), ..self.clone() })
    }

    /// The envelope with the answer of the client's user. The idempotency key is removed, so that
    /// no stored answer is returned instead.
    pub(crate) fn with_answer(mut envelope: Box<Envelope>, answer: ClientAnswer) -> Box<Envelope> {
        envelope.idempotency_key = None;
        envelope.context.client_answer = Some(answer);
        envelope
    }

    /// The envelope for a read in a project, which need not be the caller's own.
    pub(crate) fn reading(&self, project: &str) -> Box<Envelope> {
        let mut envelope = Box::new(Envelope::clone(&self.envelope));
        envelope.now = (self.clock)();
        envelope.idempotency_key = None;
        if envelope.project != project {
            let is_remote = envelope.context.is_remote;
            envelope.context = Context { is_remote, ..Context::default() };
            project.clone_into(&mut envelope.project);
        }
        envelope
    }

    /// Is this a process for one agent, with a store in a local file? That answers faster than
    /// another thread wakes up. A database server may be slow, and its connections must not be used
    /// inside the runtime.
    pub(crate) fn is_near(&self) -> bool {
        self.kind == Kind::Process && self.ops.is_local()
    }

    /// Calls an operation of a store that is near, under the caller's current rights. It runs on this
    /// thread, unless another process is writing: then nothing waits for that here.
    pub(crate) fn begin(
        &self,
        envelope: Box<Envelope>,
        operation: &'static Operation,
        input: Value,
    ) -> Begun {
        let envelope = match self.current(envelope) {
            Ok(envelope) => envelope,
            Err(error) => return Begun::Answered(Err(error)),
        };
        if !self.ops.is_queued(operation, &envelope) {
            return Begun::Answered(self.ops.answer(operation, &envelope, input));
        }
        let (done, mut answered) = oneshot::channel();
        let tell = move |answer| drop(done.send(answer));
        self.ops.answer_then(operation, &envelope, input, Lead::Here, tell);
        match answered.try_recv() {
            Ok(answer) => Begun::Answered(answer),
            Err(TryRecvError::Empty) => Begun::Waiting(answered),
            Err(TryRecvError::Closed) => Begun::Answered(closed()),
        }
    }

    /// Runs a job on the store, under an envelope with the caller's current rights, on another
    /// thread unless the store is near.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        envelope: Box<Envelope>,
        job: impl FnOnce(&Ops, &Envelope) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        if self.is_near() {
            return self.run_here(envelope, job);
        }
        let asker = self.clone();
        blocking(move || asker.run_here(envelope, job)).await
    }

    /// Runs a job on this thread.
    fn run_here<T>(
        &self,
        envelope: Box<Envelope>,
        job: impl FnOnce(&Ops, &Envelope) -> Result<T, Error>,
    ) -> Result<T, Error> {
        job(&self.ops, &*self.current(envelope)?)
    }

    /// The envelope with the caller's current rights. It must name a project.
    fn current(&self, mut envelope: Box<Envelope>) -> Result<Box<Envelope>, Error> {
        if self.kind == Kind::Process {
            let (facts, token) = &*self.credentials;
            (envelope.actor, envelope.proof) =
                self.ops.identify(facts.clone(), token.as_deref())?;
        }
        if envelope.project.trim().is_empty() {
            return Err(Error::MissingContext { missing: vec!["project"] });
        }
        Ok(envelope)
    }
}

/// A call that has begun.
pub(crate) enum Begun {
    Answered(Result<Answer, Error>),
    /// Another process is writing to the store.
    Waiting(oneshot::Receiver<Result<Answer, Error>>),
}

impl Begun {
    pub(crate) async fn answer(self) -> Result<Answer, Error> {
        match self {
            Self::Answered(answer) => answer,
            Self::Waiting(answered) => answered.await.unwrap_or_else(|_| closed()),
        }
    }
}

/// The beginning of our keys in `_meta`, and all of them.
const OURS: &str = "punchlist/";
const KEYS: [&str; 5] = [
    "punchlist/sessionId",
    "punchlist/conversationId",
    "punchlist/turnId",
    "punchlist/messageId",
    "punchlist/idempotencyKey",
];

/// Writes what a request says in its `_meta` into the envelope of its call. These values take
/// precedence over flags and headers. One that is not a text, or that is misspelt, is refused: if it
/// were ignored, a write could be made twice, or elsewhere.
fn tell(envelope: &mut Envelope, meta: &JsonObject) -> Result<(), Error> {
    let is_strange = |name: &&String| name.starts_with(OURS) && !KEYS.contains(&name.as_str());
    if let Some(field) = meta.keys().find(is_strange) {
        let path = format!("_meta[\"{}\"]", field.chars().take(60).collect::<String>());
        let nearest = nearest(field, KEYS.into_iter()).map(str::to_owned);
        let known = KEYS.map(str::to_owned).to_vec();
        return Err(Fault::UnknownField { path, field: field.clone(), nearest, known }.into());
    }
    let say = |name: &str| text(meta, name);
    if let Some(key) = say("punchlist/idempotencyKey")? {
        envelope.idempotency_key = Some(key);
    }
    let context = &mut envelope.context;
    if let Some(session) = say("punchlist/sessionId")? {
        context.session = Some(session);
    }
    if let Some(conversation) = say("punchlist/conversationId")? {
        context.conversation = Some(conversation);
    }
    let (turn, message) = (say("punchlist/turnId")?, say("punchlist/messageId")?);
    if turn.is_some() || message.is_some() {
        let message = message.unwrap_or_default();
        context.turn = Some(turn_of_message(turn.as_deref(), &message).to_owned());
    }
    Ok(())
}

/// A field of `_meta`, if it is there.
fn text(meta: &JsonObject, name: &str) -> Result<Option<String>, Error> {
    match meta.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => {
            let path = format!("_meta[\"{name}\"]");
            let found = other.to_string().chars().take(60).collect();
            Err(Fault::BadValue { path, found, expected: "a text".to_owned() }.into())
        }
    }
}
