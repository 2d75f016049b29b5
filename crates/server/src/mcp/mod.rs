//! MCP: one handler for both transports and both eras of the protocol (ADR 0028).
//!
//! `asker` identifies the sender, `calls` calls operations and `brief` describes their answers,
//! `gates` passes questions on to the client's user, `waits` waits for delegations, `resources` and
//! `prompts` read, `changes` detects what to announce. `stdio` and `http` are the transports,
//! `notes` is standard error; `session`, `asking` and `notices` are sessions over HTTP (ADR 0031).
//! No rule is in this module.

mod asker;
mod asking;
mod batch;
mod brief;
mod calls;
mod changes;
mod direct;
pub(crate) mod fixtures;
mod gates;
mod handler;
pub(crate) mod http;
mod in_flight;
mod judge;
mod listening;
mod notes;
mod notices;
mod prompts;
mod pulse;
mod resources;
mod session;
mod stdio;
pub mod tools;
mod tree;
mod uri;
mod waits;
mod wire;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use punchlist_core::Time;
use punchlist_ops::identity::Facts;
use punchlist_ops::{Envelope, Ops};
use tokio::sync::{Notify, watch};

use self::asker::Asker;
use self::changes::Watched;
use self::listening::Accepted;
use self::pulse::Pulse;
use self::session::Session;
pub use self::stdio::Parent;
use self::tools::Choice;
use crate::http::limits::Place;
use crate::http::metrics::Metrics;

/// A server for one caller.
#[derive(Clone, Debug)]
pub struct McpServer {
    asker: Asker,
    choice: Choice,
    pulse: Pulse,
    /// The subscriptions that this connection made with `resources/subscribe`.
    watched: Arc<Mutex<Watched>>,
    /// Subscriptions that were accepted but are not listened to yet.
    accepted: Arc<Mutex<Vec<Accepted>>>,
    /// Are changes already announced on this connection?
    is_announcing: Arc<AtomicBool>,
    /// Wakes the announcer when this connection makes a subscription.
    subscribed: Arc<Notify>,
    /// The session of an HTTP request, if it has one.
    session: Option<Session>,
    /// Counts the calls that come over HTTP.
    metrics: Option<Arc<Metrics>>,
    /// True once the server is stopping.
    stopping: Option<watch::Receiver<bool>>,
    /// The slot of a stream, held while the stream is open.
    _place: Option<Arc<Place>>,
}

impl McpServer {
    /// Returns when the server is stopping.
    async fn stopped(&self) {
        match self.stopping.clone() {
            Some(mut stopping) => drop(stopping.wait_for(|stop| *stop).await),
            None => std::future::pending().await,
        }
    }

    /// A server for the agent that this process was started for.
    #[must_use]
    pub fn new(
        ops: Ops,
        credentials: (Facts, Option<String>),
        envelope: Envelope,
        clock: fn() -> Time,
        choice: Choice,
    ) -> Self {
        let ops = Arc::new(ops);
        let pulse = Pulse::own(Arc::clone(&ops), envelope.clone());
        let asker = Asker::process(ops, credentials, envelope, clock);
        let (watched, is_announcing) = (Arc::default(), Arc::default());
        let accepted = Arc::default();
        Self {
            asker,
            choice,
            pulse,
            watched,
            accepted,
            is_announcing,
            subscribed: Arc::default(),
            session: None,
            metrics: None,
            stopping: None,
            _place: None,
        }
    }
}
