//! HTTP: the catalogue as an API, the log as event streams, and the health and metrics routes.
//!
//! `serve` owns the socket, `guard` and `limits` refuse bad requests, `caller` identifies the
//! caller, `api` calls the operation. Pages (`crate::pages`) and MCP (`mcp::http`) are further
//! routes over the same `State`.

pub(crate) mod api;
pub(crate) mod body;
pub(crate) mod caller;
mod events;
pub(crate) mod guard;
pub(crate) mod health;
mod hub;
pub(crate) mod limits;
pub(crate) mod metrics;
mod needs;
mod openapi;
pub(crate) mod problem;
mod progress;
pub(crate) mod query;
mod serve;
pub(crate) mod sse;
pub(crate) mod state;
mod tls;

pub use limits::Limits;
pub use openapi::document;
pub use serve::{Handle, ReadChange, Server, Settings, StartError};
pub use tls::TlsFiles;
