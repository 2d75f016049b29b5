//! The store: one synchronous transaction over SQLite or PostgreSQL.
//!
//! This crate contains the SQL, the migrations, the group-committing writer and the connection
//! pools. It contains no rules: rows are read and written as the core's types, and the core's
//! `apply` is the only projection.
//!
//! Read [`store::Store`] first, then [`tx::Tx`]; each file in `rows` is one aggregate's SQL.

pub mod care;
pub mod dialect;
pub mod error;
pub mod migrate;
pub mod outside;
pub mod postgres;
pub mod rows;
mod server_schema;
pub mod sql;
pub mod sqlite;
pub mod store;
pub mod target;
pub mod tx;
pub mod watch;

pub use dialect::Dialect;
pub use error::{Error, ErrorKind, Failure};
pub use rows::events::{Recorded, Stamp};
pub use rows::load::Load;
pub use rows::outbox::Work;
pub use store::{Lead, Options, Store};
pub use target::Target;
pub use tx::{Asked, Tx};
