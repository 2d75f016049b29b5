//! A PostgreSQL server for a single test, for actions that must not affect the shared server.
//!
//! It ends with the test and leaves no process and no folder behind, however the test ends. This
//! file does not install the server's programs: `cargo xtask test` does, and a missing program is a
//! failure, never a skip.

use punchlist_store::Target;
pub use throwaway::Restart;
use throwaway::{Commits, Throwaway};

use crate::TestStore;

/// A server whose commits are durable, as on a real one.
#[derive(Debug)]
pub struct OwnServer(Throwaway);

impl OwnServer {
    #[must_use]
    pub fn start() -> Self {
        let programs = throwaway::find().expect(
            "PostgreSQL's server programs (initdb, postgres): `cargo xtask test` installs them",
        );
        Self(Throwaway::start(&programs, Commits::Durable).expect("a server of the test's own"))
    }

    /// The store on this server; there is one on each server.
    #[must_use]
    pub fn store(&self) -> TestStore {
        TestStore::at(Target::Postgres(self.0.url()))
    }

    /// Stops and restarts it; returns when it accepts connections.
    pub fn restart(&mut self, restart: Restart) {
        self.0.restart(restart).expect("the server comes back");
    }
}
