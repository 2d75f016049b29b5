//! A PostgreSQL server that cleans up after itself. xtask starts one for all the tests, and a test
//! that must damage a server starts its own.
//!
//! `programs` finds the programs, `server` manages a server, and `pooler` manages a pooler in front
//! of one. Nothing is installed here, and nothing of the product is linked, because xtask must
//! build even if the product does not.

#![expect(clippy::print_stderr, reason = "the end of a server has no caller left to tell")]

mod pooler;
mod programs;
mod server;

pub use pooler::Pooler;
pub use programs::{find, find_all, find_pooler};
pub use server::{Commits, Restart, Setup, Throwaway, are_we_root};
