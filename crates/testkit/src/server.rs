//! A PostgreSQL server for a single test, for actions that must not affect the shared server.
//!
//! It ends with the test and leaves no process and no folder behind, however the test ends. This
//! file does not install the server's programs: `cargo xtask test` does, and a missing program is a
//! failure, never a skip.

use std::path::{Path, PathBuf};

use punchlist_store::Target;
use throwaway::{Commits, Pooler, Throwaway};
pub use throwaway::{Restart, Setup};

use crate::TestStore;

/// A server whose commits are durable, as on a real one.
#[derive(Debug)]
pub struct OwnServer(Throwaway);

impl OwnServer {
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(Setup::default())
    }

    /// A server with special settings.
    #[must_use]
    pub fn start_with(setup: Setup<'_>) -> Self {
        let programs = throwaway::find().expect(
            "PostgreSQL's server programs (initdb, postgres): `cargo xtask test` installs them",
        );
        Self::of_version(&programs, setup)
    }

    /// The folders of the server programs of every installed version.
    #[must_use]
    pub fn versions() -> Vec<PathBuf> {
        throwaway::find_all()
    }

    /// A server of the version in this folder.
    #[must_use]
    pub fn of_version(programs: &Path, setup: Setup<'_>) -> Self {
        let started = Throwaway::start_with(programs, Commits::Durable, setup);
        Self(started.expect("a server of the test's own"))
    }

    #[must_use]
    pub fn url(&self) -> String {
        self.0.url()
    }

    #[must_use]
    pub const fn port(&self) -> u16 {
        self.0.port()
    }

    /// The folder of the server's data.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.0.folder().join("data")
    }

    /// Its Unix socket is in this folder, if it has one.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.0.folder().to_owned()
    }

    /// A pgbouncer in transaction mode in front of it, with this many connections to the server.
    #[must_use]
    pub fn pooler(&self, connections: u32) -> Pooler {
        let program = throwaway::find_pooler().expect("pgbouncer: `cargo xtask test` installs it");
        Pooler::start(&program, self.port(), connections).expect("a pooler of the test's own")
    }

    /// Stops it with a signal: it keeps its connections and does not answer.
    pub fn freeze(&mut self) {
        self.0.freeze().expect("the server is stopped");
    }

    pub fn thaw(&mut self) {
        self.0.thaw().expect("the server goes on");
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
