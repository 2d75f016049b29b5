//! The store: an open target, read and written through jobs.
//!
//! A job is a function over the transaction. It may run more than once (a conflict is retried), so
//! it must have no effect outside the transaction. Nothing is answered before the commit.

use crate::migrate::{MIGRATIONS, Migration};
use crate::postgres::{PgConnection, Postgres};
use crate::sqlite::Sqlite;
use crate::watch::Watch;
use crate::{Dialect, Error, Failure, Target, Tx};

/// An open store. It can be shared between threads in an `Arc`.
#[derive(Debug)]
pub struct Store {
    backend: Backend,
    target: Target,
    around_writes: Option<fn()>,
}

#[derive(Debug)]
enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// Where a job runs whose caller does not wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// On the caller's thread if nobody else is writing, which is faster than waking another thread;
    /// otherwise on the writer's.
    Here,
    /// On the writer's thread.
    Apart,
}

/// How to open a store.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The schema to migrate to; tests use older and newer ones.
    pub migrations: &'static [Migration],
    /// Create the folder of a new file: for the default location only, not for a path that the user
    /// named.
    pub make_folder: bool,
    /// How long to wait for another process that is writing.
    pub busy_ms: u32,
    /// The highest number of connections to a server.
    pub connections_max: usize,
    /// The most bytes that a server may send in response to one batch of statements.
    pub answer_bytes_max: usize,
    /// Also open a store with an unfinished copy, in order to finish it.
    pub is_copied_into: bool,
    /// Called once with the reason if opening takes long: another process is migrating the store.
    pub notice: Option<fn(&str)>,
    /// Called before each write starts and after it is committed. Tests use it to kill the process.
    pub around_writes: Option<fn()>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            migrations: MIGRATIONS,
            make_folder: false,
            busy_ms: 30_000,
            connections_max: 16,
            answer_bytes_max: 512 << 20,
            is_copied_into: false,
            notice: None,
            around_writes: None,
        }
    }
}

impl Store {
    /// Opens a store and migrates its schema. A file that is not ours is not touched.
    pub fn open(target: &Target, options: Options) -> Result<Self, Error> {
        let backend = match target {
            Target::File(path) => Backend::Sqlite(Sqlite::file(path, options)?),
            Target::Memory => Backend::Sqlite(Sqlite::memory(options)?),
            Target::Postgres(url) => Backend::Postgres(Postgres::open(url, options)?),
        };
        Ok(Self { backend, target: target.clone(), around_writes: options.around_writes })
    }

    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        match self.backend {
            Backend::Sqlite(_) => Dialect::Sqlite,
            Backend::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Is a write of this process in progress, or queued? Always false for a server's database, which
    /// has no such queue.
    #[must_use]
    pub fn is_writing(&self) -> bool {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.is_writing(),
            Backend::Postgres(_) => false,
        }
    }

    /// A watch for later writes of any process. It has its own connection.
    pub fn watch(&self) -> Result<Watch<'_>, Error> {
        match &self.target {
            Target::File(path) => Watch::file(path, Options::default()),
            Target::Memory => Watch::memory(self),
            Target::Postgres(url) => Watch::server(self, url),
        }
    }

    /// Keeps other copies into this store out while the result exists. Processes on one file wait
    /// for each other's transactions only.
    pub(crate) fn lock_for_a_copy(&self) -> Result<Option<PgConnection>, Error> {
        match &self.backend {
            Backend::Sqlite(_) => Ok(None),
            Backend::Postgres(postgres) => postgres.lock_for_a_copy(),
        }
    }

    /// Runs a job that only reads, on one consistent view.
    pub fn read<T, E, J>(&self, job: J) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure,
        J: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.read(job),
            Backend::Postgres(postgres) => postgres.read(job),
        }
    }

    /// Runs a job that writes; it returns after the commit. An error undoes the whole job.
    pub fn write<T, E, J>(&self, job: J) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure,
        J: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        self.around_writes.inspect(|mark| mark());
        let written = match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.write(job),
            Backend::Postgres(postgres) => postgres.write(job),
        };
        self.around_writes.inspect(|mark| mark());
        written
    }

    /// Like [`Store::write`] for a caller that must not wait: `done` gets the answer after the
    /// commit. A server's database has no such queue: there it waits like `write`.
    pub fn write_then<T, E, J>(
        &self,
        job: J,
        lead: Lead,
        done: impl FnOnce(Result<T, E>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: Failure,
        J: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        let Backend::Sqlite(sqlite) = &self.backend else { return done(self.write(job)) };
        self.around_writes.inspect(|mark| mark());
        let around = self.around_writes;
        sqlite.write_then(job, lead, move |answer| {
            around.inspect(|mark| mark());
            done(answer);
        });
    }

    /// Like [`Store::read`], for a job that can run only once, such as one that writes rows to a
    /// stream. Other processes can write meanwhile.
    pub fn view<T, E: Failure>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.view(job),
            Backend::Postgres(postgres) => postgres.view(job),
        }
    }

    /// Like [`Store::write`], for a job that can run only once, such as one that reads a stream. A
    /// conflict is not retried.
    pub fn write_once<T, E: Failure>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.write_once(job),
            Backend::Postgres(postgres) => postgres.write_once(job),
        }
    }
}
