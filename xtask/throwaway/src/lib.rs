//! A PostgreSQL server that nobody has to clean up after: xtask starts one for all the tests, and
//! a test that must do harm to a server starts one for itself.
//!
//! Where the programs are is in `programs`, the life of a server in `server`, that of a pooler in front
//! of one in `pooler`. Nothing is installed
//! here, and nothing of the product is linked in: xtask must build while the product does not.

#![expect(clippy::print_stderr, reason = "the end of a server has no caller left to tell")]

mod pooler;
mod programs;
mod server;

pub use pooler::Pooler;
pub use programs::{find, find_pooler};
pub use server::{Commits, Restart, Setup, Throwaway, are_we_root};
