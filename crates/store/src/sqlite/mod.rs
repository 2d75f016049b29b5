//! SQLite: one writing connection passed by a baton, and separate connections for reading.
//!
//! Any number of processes may open the same file. WAL, `BEGIN IMMEDIATE`, a busy handler that
//! waits, and `synchronous=FULL` make an acknowledged write survive `kill -9` and a power cut.
//! Connections are opened on first use: a process that only reads never opens the writer.

mod baton;
mod open;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use crate::{Error, Failure, Lead, Options, Tx};
use baton::{Baton, Job, Outcome};
pub(crate) use open::{APPLICATION_ID, create_private};
pub(crate) use open::{File, data_version, file_at, header};
pub(crate) use open::{look, look_at_copy, make_folder, own_copy};

/// A SQLite store.
#[derive(Debug)]
pub(crate) struct Sqlite {
    /// `None`: in memory, with a single connection.
    path: Option<PathBuf>,
    options: Options,
    baton: Baton,
    readers: Mutex<Readers>,
    /// The file that is open.
    file: Mutex<Option<File>>,
}

/// Further connections, for reads at the same time.
#[derive(Debug, Default)]
struct Readers {
    free: Vec<Connection>,
    /// How many reads needed none of them since one did.
    unneeded: u32,
}

/// After so many reads that needed no further connection, one is closed. Each has parsed the schema
/// and holds 300 kB, so a process does not keep those of a crowd that is gone.
const UNNEEDED_MAX: u32 = 16;

impl Sqlite {
    pub(crate) fn file(path: &Path, options: Options) -> Result<Self, Error> {
        let connection = open::file(path, options)?;
        Ok(Self::with(Some(path.to_owned()), options, connection))
    }

    pub(crate) fn memory(options: Options) -> Result<Self, Error> {
        Ok(Self::with(None, options, open::memory(options)?))
    }

    /// The connection that opened the store becomes the writer; readers are opened on demand.
    fn with(path: Option<PathBuf>, options: Options, writer: Connection) -> Self {
        let busy = Duration::from_millis(options.busy_ms.into());
        let (baton, file) = (Baton::new(writer, busy), path.as_deref().and_then(file_at));
        Self { path, options, baton, readers: Mutex::default(), file: Mutex::new(file) }
    }

    /// Opens the store again if its path has another file now, as after a restore over a damaged
    /// store: what is written to the old file would be lost. If there is none, nothing is created,
    /// because the folder may only be away for a moment.
    fn renew(&self) -> Result<(), Error> {
        let Some(path) = &self.path else { return Ok(()) };
        let (now, open) = (file_at(path), *lock(&self.file));
        if now == open {
            return Ok(());
        }
        if now.is_none() {
            let detail = format!("{}: the file is gone", path.display());
            return Err(Error::new(crate::ErrorKind::Unreachable, detail));
        }
        let mut connection = self.baton.connection();
        let mut file = lock(&self.file);
        if *file == open {
            *connection = open::file(path, self.options)?;
            *file = file_at(path);
            lock(&self.readers).free.clear();
        }
        Ok(())
    }

    pub(crate) fn read<T, E, J>(&self, job: J) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure,
        J: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        self.renew()?;
        // A lone reader uses the connection that opened the store.
        if let Some(connection) = self.baton.try_connection() {
            let unneeded = self.unneeded();
            let answer = in_read(&connection, job);
            // Writers do not wait while the other one is closed.
            drop(connection);
            drop(unneeded);
            return answer;
        }
        let Some(path) = &self.path else {
            return self.write(job);
        };
        let file = *lock(&self.file);
        let connection = match self.needed() {
            Some(connection) => connection,
            None => open::reader(path, self.options)?,
        };
        let answer = in_read(&connection, job);
        if *lock(&self.file) == file {
            lock(&self.readers).free.push(connection);
        }
        answer
    }

    /// A further connection, if one is free.
    fn needed(&self) -> Option<Connection> {
        let mut readers = lock(&self.readers);
        readers.unneeded = 0;
        readers.free.pop()
    }

    /// Notes that a read needed no further connection. Returns one to close, if it is not needed.
    fn unneeded(&self) -> Option<Connection> {
        let mut readers = lock(&self.readers);
        readers.unneeded += 1;
        if readers.unneeded < UNNEEDED_MAX {
            return None;
        }
        readers.unneeded = 0;
        readers.free.pop()
    }

    /// A long read: it has its own connection, so that writers do not wait for it.
    pub(crate) fn view<T, E: Failure>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.renew()?;
        match &self.path {
            Some(path) => in_read(&open::reader(path, self.options)?, job),
            None => in_read(&self.baton.connection(), job),
        }
    }

    /// A separate transaction outside the queue: other writers wait for it as for another process.
    pub(crate) fn write_once<T, E: Failure>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.renew()?;
        let connection = self.baton.connection();
        connection.execute_batch("BEGIN IMMEDIATE").map_err(Error::from)?;
        // Also ends the transaction when the job panics; after a commit this does nothing.
        let _ended = EndOfView(&connection);
        let answer = job(&mut Tx::sqlite(&connection))?;
        connection.execute_batch("COMMIT").map_err(Error::from)?;
        Ok(answer)
    }

    pub(crate) fn write<T, E, J>(&self, job: J) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure,
        J: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        self.renew()?;
        let (job, cell) = boxed(job);
        answer(self.baton.run(job), &cell)
    }

    pub(crate) fn is_writing(&self) -> bool {
        self.baton.is_held()
    }

    /// Like `write`, without waiting: `done` gets the answer.
    pub(crate) fn write_then<T, E, J>(
        &self,
        job: J,
        lead: Lead,
        done: impl FnOnce(Result<T, E>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: Failure,
        J: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        if let Err(error) = self.renew() {
            return done(Err(error.into()));
        }
        let (job, cell) = boxed(job);
        self.baton.submit(job, lead, Box::new(move |committed| done(answer(committed, &cell))));
    }
}

/// Where a job leaves its answer.
type Cell<T, E> = Arc<Mutex<Option<Result<T, E>>>>;

/// A job without its type, and where its answer will be.
fn boxed<T, E, J>(mut job: J) -> (Job, Cell<T, E>)
where
    T: Send + 'static,
    E: Failure,
    J: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
{
    let cell = Cell::default();
    let filled = Arc::clone(&cell);
    let job = move |tx: &mut Tx<'_>| {
        let answer = job(tx);
        let outcome = match &answer {
            Ok(_) => Outcome::Keep,
            Err(error) => Outcome::Undo(error.store().cloned()),
        };
        *lock(&filled) = Some(answer);
        outcome
    };
    (Box::new(job), cell)
}

/// What the caller of a job gets after its commit.
fn answer<T, E: Failure>(committed: Result<(), Error>, cell: &Cell<T, E>) -> Result<T, E> {
    let answer = lock(cell).take();
    match (committed, answer) {
        (Ok(()), Some(answer)) => answer,
        // If the database failed in the middle, the job already got that error.
        (Err(_), Some(Err(error))) if error.store().is_some() => Err(error),
        (Err(error), _) => Err(error.into()),
        (Ok(()), None) => {
            let why = "a job panicked; nothing of it was kept";
            Err(Error::new(crate::ErrorKind::Backend, why).into())
        }
    }
}

fn in_read<T, E: Failure>(
    connection: &Connection,
    job: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    run(connection, "BEGIN").map_err(Error::from)?;
    let _ended = EndOfView(connection);
    job(&mut Tx::sqlite(connection))
}

/// Runs a statement that is used often, so it is cached.
fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(|_| ())
}

/// Ends a transaction, even when its job panics. Uncommitted changes are rolled back.
struct EndOfView<'a>(&'a Connection);

impl Drop for EndOfView<'_> {
    fn drop(&mut self) {
        drop(run(self.0, "ROLLBACK"));
    }
}

/// Locks a mutex even if its holder panicked: the transaction has undone that holder's work.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_a_crowd_are_closed_when_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::default();
        let store = Sqlite::file(&folder.path().join("punch.db"), options).unwrap();
        let read = || store.read(|_| Ok::<_, Error>(())).unwrap();
        let free = || lock(&store.readers).free.len();
        {
            let _busy = store.baton.connection();
            read();
            assert_eq!(free(), 1);
            // The same one again.
            read();
        }
        for _ in 1..UNNEEDED_MAX {
            read();
            assert_eq!(free(), 1);
        }
        read();
        assert_eq!(free(), 0);
        read();
    }
}
