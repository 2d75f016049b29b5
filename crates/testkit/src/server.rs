//! A PostgreSQL server of one test's own, for what must not be done to the one all tests share.
//!
//! It ends with the test and leaves no process and no folder behind, however the test ends. The
//! server's programs are not installed here: `cargo xtask test` does that, and a missing one is a
//! failure, never a skip.

use punchlist_store::Target;
pub use throwaway::Restart;
use throwaway::{Commits, Throwaway};

use crate::TestStore;

/// A server whose commits are durable, as those of a real one are.
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

    /// A store on it; there is one on each server.
    #[must_use]
    pub fn store(&self) -> TestStore {
        TestStore::at(Target::Postgres(self.0.url()))
    }

    /// Stops it and starts it again; returns when it answers.
    pub fn restart(&mut self, restart: Restart) {
        self.0.restart(restart).expect("the server comes back");
    }
}
