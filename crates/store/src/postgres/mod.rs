//! PostgreSQL: a pool of blocking connections, one transaction on one of them per job.
//!
//! Rules hold through row locks taken in one fixed order, not through a global lock. Two
//! transactions that collide all the same (a unique key, a deadlock) are tried again here.
//! The connections must not be used or dropped on an async worker thread.

mod connection;
mod pool;

use crate::{Error, ErrorKind, Failure, Options, Tx, migrate};
pub(crate) use connection::PgConnection;
use pool::Pool;

/// How often a colliding job is run before it is given up.
const ATTEMPTS_MAX: u32 = 12;

/// A connection of its own to a server whose schema is left as it is.
pub(crate) fn look(url: &str) -> Result<PgConnection, Error> {
    Ok(PgConnection::new(pool::config(url)?.connect(::postgres::NoTls)?))
}

/// Runs a job on one consistent view that cannot change anything.
pub(crate) fn in_view<T>(
    connection: &mut PgConnection,
    job: impl FnOnce(&mut Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    connection.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    let answer = job(&mut Tx::postgres(connection));
    connection.batch("ROLLBACK")?;
    answer
}

/// A PostgreSQL store.
#[derive(Debug)]
pub(crate) struct Postgres {
    pool: Pool,
}

impl Postgres {
    pub(crate) fn open(url: &str, options: Options) -> Result<Self, Error> {
        let pool = Pool::new(url, options.connections_max)?;
        let mut connection = pool.take()?;
        migrate::postgres(&mut connection, options.migrations)?;
        pool.give_back(connection);
        Ok(Self { pool })
    }

    pub(crate) fn read<T, E, J>(&self, mut job: J) -> Result<T, E>
    where
        E: Failure,
        J: FnMut(&mut Tx<'_>) -> Result<T, E>,
    {
        let mut connection = self.pool.take()?;
        connection.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let answer = job(&mut Tx::postgres(&mut connection));
        connection.batch("ROLLBACK")?;
        self.pool.give_back(connection);
        answer
    }

    pub(crate) fn write<T, E, J>(&self, mut job: J) -> Result<T, E>
    where
        E: Failure,
        J: FnMut(&mut Tx<'_>) -> Result<T, E>,
    {
        let mut connection = self.pool.take()?;
        let mut attempt = 1;
        loop {
            let answer = attempt_write(&mut connection, &mut job);
            let collided = matches!(
                answer.as_ref().err().and_then(Failure::store),
                Some(error) if error.kind == ErrorKind::Conflict
            );
            if !collided || attempt == ATTEMPTS_MAX {
                // A connection that failed in any other way is not worth keeping.
                let broken = matches!(
                    answer.as_ref().err().and_then(Failure::store),
                    Some(error) if error.kind != ErrorKind::Conflict
                );
                if !broken {
                    self.pool.give_back(connection);
                }
                return answer;
            }
            attempt += 1;
        }
    }
}

fn attempt_write<T, E: Failure>(
    connection: &mut PgConnection,
    job: &mut impl FnMut(&mut Tx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    connection.batch("BEGIN")?;
    match job(&mut Tx::postgres(connection)) {
        Ok(answer) => {
            connection.batch("COMMIT")?;
            Ok(answer)
        }
        Err(error) => {
            // The job's own error is the one to tell; a lost connection has rolled back anyway.
            drop(connection.batch("ROLLBACK"));
            Err(error)
        }
    }
}
