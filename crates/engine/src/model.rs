//! One call of a model, of any provider.
//!
//! The caller passes a whole request and gets a whole reply; an observer gets the pieces as they arrive.
//! A call blocks its thread, ends soon after [`Cancel`], and always ends: a silent socket is a fault.
//! This module knows nothing about todos.
//!
//! This file has the types of a call: request, reply and fault. Each provider's format is in the
//! provider's file; `fault` decides which kind of fault an error response is.
//!
//! [`open`] opens a model by its name; [`Patient`] retries calls where that may help.

mod anthropic;
mod cancel;
mod choose;
mod exchange;
mod fault;
mod input;
mod openai_chat;
mod openai_responses;
mod patient;
mod remote;
mod scripted;
mod shelf;
mod sse;

pub use cancel::Cancel;
pub use choose::{Settings, open};
pub use patient::{Patience, Patient};
pub use scripted::Scripted;
pub use shelf::Shelf;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A model that replies to requests.
pub trait Model: Send + Sync {
    /// The name it is configured by, e.g. `anthropic:claude-sonnet-5`.
    fn name(&self) -> &str;

    /// Its provider, as the `OpenTelemetry` conventions name it: `anthropic`, `openai`, …
    fn provider(&self) -> &'static str;

    /// How many tokens fit into one call.
    fn window(&self) -> u64;

    /// Makes one call, without retries.
    fn respond(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Reply, Fault>;
}

/// A request to a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub system: &'a str,
    /// The current state of the lists. It goes at the end, is not a message and is never stored.
    pub context: Option<&'a str>,
    pub messages: &'a [Message],
    pub tools: &'a [Tool],
    /// The longest reply.
    pub max_tokens: u32,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// JSON Schema of its input.
    pub input: Value,
}

/// One message of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    User {
        text: String,
    },
    Assistant {
        text: String,
        calls: Vec<Call>,
        /// Data that the provider wants back unchanged (signed thinking, encrypted reasoning).
        /// Other providers ignore it.
        raw: Option<Value>,
    },
    /// The results of all calls of the message before, in order.
    Results(Vec<CallResult>),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub input: Input,
}

/// The input of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    Json(Value),
    /// Text that is not a JSON object. The model gets an error; nothing is guessed.
    Broken(String),
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    pub id: String,
    pub name: String,
    pub text: String,
    pub is_error: bool,
}

/// What an observer gets while a reply arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    Text(&'a str),
    /// The call failed and is retried after a pause.
    Retry {
        attempt: u32,
        pause: Duration,
        fault: &'a Fault,
    },
}

/// A whole reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub text: String,
    pub calls: Vec<Call>,
    pub raw: Option<Value>,
    pub stop: Stop,
    pub usage: Usage,
    /// The provider's id of the reply.
    pub id: Option<String>,
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    EndTurn,
    ToolUse,
    MaxTokens,
    /// The window is full.
    Context,
    Refusal,
    /// The provider paused the turn; the model is called again.
    Paused,
}

/// Tokens of one call. `input` counts everything that went in, from a cache or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub cached: u64,
    pub cache_written: u64,
    pub output: u64,
    pub reasoning: u64,
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// What happened and what to do, in one line, without secrets.
    pub message: String,
    pub status: Option<u16>,
    /// How long the provider asks us to wait.
    pub retry_after: Option<Duration>,
}

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// We cancelled it.
    Cancelled,
    /// No key, or one that is not accepted.
    Key,
    /// Money or quota is used up; asking again does not help.
    Spend,
    /// The request itself is wrong.
    BadRequest,
    /// The request does not fit into the window.
    Context,
    /// Too many requests, or the provider is overloaded.
    Busy,
    /// The provider failed, or a stream ended before its reply did.
    Server,
    /// The server is unreachable, or sends nothing.
    Network,
    /// The response does not follow the protocol.
    Garbled,
    /// A script that has ended or does not match.
    Script,
}

impl FaultKind {
    /// May a retry help?
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(self, Self::Busy | Self::Server | Self::Network | Self::Garbled)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
