//! The client side of a running `punch serve` that is used instead of a database.
//!
//! If the connection breaks, requests that are safe to repeat are sent again: reads, and writes,
//! which get an idempotency key here if the caller gave none.

mod address;
mod hints;

use std::io::ErrorKind as IoErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use punchlist_core::{Actor, TokenId};
use punchlist_ops::catalogue::{Effect, Operation};
use punchlist_ops::identity::Facts;
use punchlist_ops::remote::{Hints, Remote, RemoteContext};
use punchlist_ops::{Envelope, Error, Located, Place, Proof, clock};
use punchlist_store::ErrorKind;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Response;

pub use address::{Address, is_remote};

/// How long to wait for a server that answered before and is unreachable now.
const AWAY_MAX: Duration = Duration::from_secs(15);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);
/// The largest response, in bytes.
const ANSWER_MAX: u64 = 256 << 20;

/// The client of one server.
#[derive(Clone, Debug)]
struct Line {
    agent: Agent,
    base: String,
    token: Option<String>,
}

/// A store behind a server.
#[derive(Debug)]
pub struct RemoteStore {
    line: Line,
    /// Has the server answered before?
    was_there: AtomicBool,
}

/// The response of a server.
struct Reply {
    status: u16,
    text: String,
}

impl RemoteStore {
    /// The store at an address. `ca_file` names certificates to trust instead of the usual ones.
    pub fn new(
        address: &Address,
        token: Option<String>,
        ca_file: Option<&PathBuf>,
    ) -> Result<Self, String> {
        let agent = address.agent(ca_file)?;
        let line = Line { agent, base: address.base.clone(), token };
        Ok(Self { line, was_there: AtomicBool::new(false) })
    }

    /// Sends a request, repeats it if that is safe, and reads the response.
    fn ask(
        &self,
        path: &str,
        context: &RemoteContext,
        body: &str,
        is_repeatable: bool,
    ) -> Result<String, Error> {
        let header = context.to_header()?;
        let start = Instant::now();
        loop {
            let fault = match self.line.post(path, &header, body) {
                Ok(reply) => {
                    self.was_there.store(true, Ordering::Relaxed);
                    return read(reply);
                }
                Err(fault) => fault,
            };
            // A server that never answered is not waited for.
            let was_there = self.was_there.load(Ordering::Relaxed);
            let may_return = is_broken(&fault) || was_there && is_absent(&fault);
            if !may_return || !is_repeatable || start.elapsed() >= AWAY_MAX {
                return Err(self.unreachable(&fault, is_repeatable || is_absent(&fault)));
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn unreachable(&self, fault: &ureq::Error, is_safe: bool) -> Error {
        let mut detail = format!("the server {} cannot be reached: {fault}", self.line.base);
        if !is_safe {
            detail.push_str("; it may have done what it was asked before the connection broke");
        }
        punchlist_store::Error::new(ErrorKind::Unreachable, detail).into()
    }
}

/// Did the connection fail before a server accepted the request?
fn is_absent(fault: &ureq::Error) -> bool {
    match fault {
        ureq::Error::Io(error) => error.kind() == IoErrorKind::ConnectionRefused,
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
        _ => false,
    }
}

/// Did an open connection break?
fn is_broken(fault: &ureq::Error) -> bool {
    use IoErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match fault {
        ureq::Error::Io(error) => {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        }
        ureq::Error::Protocol(_) => true,
        _ => false,
    }
}

fn read(reply: Reply) -> Result<String, Error> {
    if reply.status == 200 {
        return Ok(reply.text);
    }
    let problem = serde_json::from_str(&reply.text).ok().and_then(Error::from_problem);
    Err(problem.unwrap_or_else(|| {
        let detail =
            format!("the server answered with status {} and no error of ours", reply.status);
        punchlist_store::Error::new(ErrorKind::Unreachable, detail).into()
    }))
}

fn decoded<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| {
        let detail = format!("could not decode the server's response: {error}");
        punchlist_store::Error::new(ErrorKind::Unreachable, detail).into()
    })
}

/// The answer of `/remote/caller`.
#[derive(Deserialize)]
struct Caller {
    actor: Actor,
    proof: String,
}

impl Line {
    fn post(&self, path: &str, context: &str, body: &str) -> Result<Reply, ureq::Error> {
        let mut request = self.agent.post(format!("{}{path}", self.base));
        request = request.header("Content-Type", "application/json");
        request = request.header("Punchlist-Context", context);
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        reply(request.send(body)?)
    }
}

fn reply(response: Response<ureq::Body>) -> Result<Reply, ureq::Error> {
    let status = response.status().as_u16();
    let text = response.into_body().into_with_config().limit(ANSWER_MAX).read_to_string()?;
    Ok(Reply { status, text })
}

impl Remote for RemoteStore {
    fn identify(&self, facts: &Facts, _: Option<&str>) -> Result<(Actor, Proof), Error> {
        let text = self.ask("/remote/caller", &RemoteContext::of_facts(facts), "{}", true)?;
        let Caller { actor, proof } = decoded(&text)?;
        let token = proof.strip_prefix("token:").and_then(TokenId::parse);
        Ok((actor, token.map_or(Proof::Http, Proof::Token)))
    }

    fn project_at(&self, place: &Place, names: &[String]) -> Result<Located, Error> {
        let body = json!({ "place": place, "names": names }).to_string();
        let text = self.ask("/remote/project", &RemoteContext::default(), &body, true)?;
        decoded(&text)
    }

    fn call(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: &Value,
    ) -> Result<String, Error> {
        let mut context = RemoteContext::of(envelope);
        let writes = operation.effect == Effect::Write;
        if writes && operation.keeps_answers && context.idempotency_key.is_none() {
            let ids = clock::ids(clock::now());
            let mut ids = ids.map_err(|error| Error::Internal { detail: error.to_string() })?;
            context.idempotency_key = Some(format!("punch-{}", ids.ulid()));
        }
        let path = format!("/v1/{}", operation.name);
        let is_repeatable = !writes || context.idempotency_key.is_some();
        self.ask(&path, &context, &input.to_string(), is_repeatable)
    }

    fn watch(&self, envelope: &Envelope) -> Result<Box<dyn Hints>, Error> {
        let context = RemoteContext { idempotency_key: None, ..RemoteContext::of(envelope) };
        let header = context.to_header()?;
        Ok(Box::new(hints::Stream::open(self.line.clone(), header, &envelope.project)))
    }
}
