//! HTTP: the catalogue as an API, the log as event streams, and what watches over the server.
//!
//! `serve` has the socket, `guard` and `limits` refuse what must not come in, `caller` says who
//! asks, `api` calls the operation. `mcp::http` is a further route over the same `State`.

mod api;
pub(crate) mod body;
pub(crate) mod caller;
mod events;
mod guard;
mod health;
mod hub;
pub(crate) mod limits;
mod metrics;
mod needs;
mod openapi;
pub(crate) mod problem;
mod query;
mod serve;
pub(crate) mod state;
mod tls;

pub use limits::Limits;
pub use openapi::document;
pub use serve::{Handle, Server, Settings, StartError};
pub use tls::TlsFiles;
