//! PostgreSQL: a pool of blocking connections, one transaction on one of them per job.
//!
//! `tokio-postgres` implements the protocol (ADR 0023). The URL options that it lacks are implemented in
//! `address`, `options`, `reach` and `tls`; `socket` and `line` let it run without an async runtime.
//!
//! Rules hold through row locks that are taken in one fixed order, not through a global lock.
//! Transactions that collide anyway (a unique key, a deadlock) are retried here. A connection
//! blocks the thread that uses it.

mod address;
mod connection;
mod fault;
mod frames;
mod hint;
mod line;
mod options;
mod pool;
mod reach;
mod request;
mod row;
mod socket;
mod tls;

use crate::{Error, ErrorKind, Failure, Options, Tx, migrate};
use address::Address;
pub(crate) use connection::PgConnection;
use hint::Hints;
pub(crate) use hint::Listener;
use pool::{Pool, Taken};
pub(crate) use row::PgRow;

/// How often a colliding job is run before it fails.
const ATTEMPTS_MAX: u32 = 12;

/// A separate connection to a server. It does not migrate the schema.
pub(crate) fn look(url: &str) -> Result<PgConnection, Error> {
    PgConnection::connect(&Address::parse(url, Options::default())?)
}

/// Runs a job in a consistent read-only transaction.
pub(crate) fn in_view<T>(
    connection: &mut PgConnection,
    job: impl FnOnce(&mut Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    connection.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    let answer = job(&mut Tx::postgres(connection));
    connection.rollback()?;
    answer
}

/// A PostgreSQL store.
#[derive(Debug)]
pub(crate) struct Postgres {
    pool: Pool,
    hints: Hints,
}

impl Postgres {
    pub(crate) fn open(url: &str, options: Options) -> Result<Self, Error> {
        let pool = Pool::new(url, options)?;
        let mut connection = pool.take()?;
        migrate::postgres(&mut connection, options)?;
        pool.give_back(connection);
        Ok(Self { pool, hints: Hints::default() })
    }

    pub(crate) fn read<T, E, J>(&self, mut job: J) -> Result<T, E>
    where
        E: Failure,
        J: FnMut(&mut Tx<'_>) -> Result<T, E>,
    {
        loop {
            let mut connection = self.pool.take()?;
            connection.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
            let answer = job(&mut Tx::postgres(&mut connection));
            if is_dead(&connection, &answer) {
                continue;
            }
            connection.rollback()?;
            self.pool.give_back(connection);
            return answer;
        }
    }

    pub(crate) fn write<T, E, J>(&self, mut job: J) -> Result<T, E>
    where
        E: Failure,
        J: FnMut(&mut Tx<'_>) -> Result<T, E>,
    {
        let mut attempt = 1;
        let mut connection = self.pool.take()?;
        loop {
            connection.begin("BEGIN");
            let (answer, is_sound) =
                in_transaction(&mut connection, &mut job, &self.hints, Tell::Events);
            if is_dead(&connection, &answer) {
                drop(connection);
                connection = self.pool.take()?;
                continue;
            }
            let failed = answer.as_ref().err().and_then(Failure::store);
            match failed.map(|error| error.kind) {
                None => {
                    if is_sound {
                        self.pool.give_back(connection);
                    }
                    return answer;
                }
                Some(ErrorKind::Conflict) if attempt < ATTEMPTS_MAX => attempt += 1,
                Some(ErrorKind::Conflict) => {
                    self.pool.give_back(connection);
                    return answer;
                }
                // After any other failure the connection is not reused.
                Some(_) => return answer,
            }
        }
    }
}

impl Postgres {
    pub(crate) fn view<T, E: Failure>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = self.begun("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let answer = job(&mut Tx::postgres(&mut connection))?;
        connection.rollback()?;
        self.pool.give_back(connection);
        Ok(answer)
    }

    pub(crate) fn write_once<T, E: Failure>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = self.begun("BEGIN")?;
        let (answer, is_sound) = in_transaction(&mut connection, job, &self.hints, Tell::Always);
        let answer = answer?;
        if is_sound {
            self.pool.give_back(connection);
        }
        Ok(answer)
    }

    /// Locks this schema against other copies into it, until the connection is dropped or the
    /// process ends. Waits a moment for the lock, because a server does not notice at once that the
    /// process that held it was killed. `None` behind a pooler, where a session's lock would stay
    /// with a connection that others use.
    pub(crate) fn lock_for_a_copy(&self) -> Result<Option<PgConnection>, Error> {
        let Some(mut connection) = self.pool.beside()? else { return Ok(None) };
        connection.batch("SET lock_timeout = '2s'")?;
        let lock = "SELECT pg_advisory_lock(1346586701, hashtext(current_schema()))";
        match connection.query(lock, &[]) {
            Ok(_) => Ok(Some(connection)),
            Err(error) if error.kind == ErrorKind::Busy => {
                Err(Error::new(ErrorKind::Busy, "another copy into it is running"))
            }
            Err(error) => Err(error),
        }
    }

    /// A connection whose server has answered the BEGIN. A job that can run only once must not get
    /// a connection that died in the pool.
    fn begun(&self, statement: &'static str) -> Result<Taken<'_>, Error> {
        loop {
            let mut connection = self.pool.take()?;
            connection.begin(statement);
            match connection.clock() {
                Ok(_) => return Ok(connection),
                Err(error)
                    if error.kind == ErrorKind::Unreachable
                        && connection.is_used()
                        && !connection.is_late() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Did the connection die in the pool before the server saw the job? All connections do when the
/// server restarts. Such a connection is dropped, and the job runs on the next one. A server that
/// does not answer in time would not answer there either, and the caller would wait once more.
fn is_dead<T, E: Failure>(connection: &Taken<'_>, answer: &Result<T, E>) -> bool {
    let failed = answer.as_ref().err().and_then(Failure::store);
    failed.is_some_and(|error| error.kind == ErrorKind::Unreachable)
        && connection.is_used()
        && !connection.has_begun()
        && !connection.is_late()
}

/// When a hint is sent to subscribers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tell {
    /// Only if events were appended.
    Events,
    /// After every write: an import or a copy writes rows without appending events.
    Always,
}

/// Runs a job and commits it, with a hint if it wrote events. Also returns whether the connection
/// can be reused.
fn in_transaction<T, E: Failure>(
    connection: &mut PgConnection,
    job: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
    hints: &Hints,
    tell: Tell,
) -> (Result<T, E>, bool) {
    let writer = hints.writer();
    let mut tx = Tx::postgres(connection);
    let answer = job(&mut tx);
    let is_news = tell == Tell::Always || tx.event_count > 0;
    match answer {
        Ok(answer) => {
            let committed = match is_news {
                true => writer.commit(connection),
                false => connection.commit().map(|()| writer.send_pending(connection)),
            };
            match committed {
                Ok(is_sound) => (Ok(answer), is_sound),
                Err(error) => (Err(error.into()), false),
            }
        }
        Err(error) => {
            // Return the job's own error. If the rollback fails, the lost connection has rolled
            // back anyway.
            drop(connection.rollback());
            let is_sound = writer.send_pending(connection);
            (Err(error), is_sound)
        }
    }
}
