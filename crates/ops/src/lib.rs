//! The operations: everything punchlist can do, each defined exactly once.
//!
//! A surface (command line, MCP, HTTP, pages) builds an [`Envelope`] and passes it with an input to
//! [`Ops::answer`] as JSON, or to [`Ops::run`] with the operation's own types; the nine steps of a
//! change follow from there. Surfaces are loops over [`catalogue::CATALOGUE`]. No transport, no SQL
//! and no rule is in this crate.

pub mod access;
pub mod answer;
pub mod call;
pub mod care;
pub mod care_copy;
pub mod catalogue;
pub mod clock;
pub mod compact;
pub mod config;
pub mod dispatch;
pub mod envelope;
pub mod error;
pub mod events;
pub mod explain;
pub mod follow;
mod hints;
pub mod identity;
pub mod input;
pub mod mcp_session;
pub mod old_missions;
pub mod operations;
mod place;
mod plan_file;
pub mod portable;
pub mod remote;
mod request;
pub mod runs;
pub mod schema;
pub mod sign_in;
mod strict;
pub mod token;
pub mod tools;
pub mod views;
pub mod web_fault;
pub mod written;

pub use answer::Answer;
pub use call::DEFAULT_BRANCH;
pub use catalogue::{CATALOGUE, Operation};
pub use dispatch::Ops;
pub use envelope::{Ancestors, Context, Envelope, Proof};
pub use error::Error;
pub use place::{Located, Place};
