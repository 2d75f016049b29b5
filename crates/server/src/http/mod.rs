//! HTTP: the catalogue as an API, the log as event streams, and the health and metrics routes.
//!
//! `serve` owns the socket, `guard` and `limits` refuse bad requests, `caller` identifies the
//! caller, `api` calls the operation. Pages and MCP will be further routes over the same `State`.

mod api;
mod caller;
mod events;
mod guard;
mod health;
mod hub;
mod limits;
mod metrics;
mod needs;
mod openapi;
mod problem;
mod query;
mod serve;
mod state;
mod tls;

pub use limits::Limits;
pub use openapi::document;
pub use serve::{Handle, Server, Settings, StartError};
pub use tls::TlsFiles;
