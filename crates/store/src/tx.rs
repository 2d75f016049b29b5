//! The one transaction, synchronous, on either database.
//!
//! A `Tx` runs statements; the statements are in `rows`, one file per aggregate. A job cannot
//! commit: the store commits after the job has returned.

use crate::postgres::PgConnection;
use crate::sql::{Row, Sql, Value};
use crate::{Dialect, Error};

/// A running transaction.
#[derive(Debug)]
pub struct Tx<'a> {
    connection: Connection<'a>,
    /// How many events this transaction has written (PostgreSQL).
    pub(crate) event_count: i64,
    /// The next event is numbered above this (SQLite), for example after a restore.
    pub(crate) above: Option<i64>,
}

/// When the result of a query is known.
#[derive(Debug)]
pub enum Asked {
    Now(Option<String>),
    /// After the next statement.
    Later,
}

#[derive(Debug)]
enum Connection<'a> {
    Sqlite(&'a rusqlite::Connection),
    Postgres(&'a mut PgConnection),
}

impl<'a> Tx<'a> {
    pub(crate) const fn sqlite(connection: &'a rusqlite::Connection) -> Self {
        Self { connection: Connection::Sqlite(connection), event_count: 0, above: None }
    }

    pub(crate) const fn postgres(connection: &'a mut PgConnection) -> Self {
        Self { connection: Connection::Postgres(connection), event_count: 0, above: None }
    }

    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        match self.connection {
            Connection::Sqlite(_) => Dialect::Sqlite,
            Connection::Postgres(_) => Dialect::Postgres,
        }
    }

    /// The SQLite connection, for a query whose rows are visited while other queries run.
    pub(crate) const fn sqlite_connection(&self) -> Option<&'a rusqlite::Connection> {
        match self.connection {
            Connection::Sqlite(connection) => Some(connection),
            Connection::Postgres(_) => None,
        }
    }

    /// All rows of a query, read one by one.
    pub fn query<T>(
        &mut self,
        sql: &Sql,
        params: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        match &mut self.connection {
            Connection::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql.sqlite)?;
                let mut rows = statement.query(rusqlite::params_from_iter(params))?;
                let mut found = Vec::new();
                while let Some(row) = rows.next()? {
                    found.push(read(&Row::Sqlite(row))?);
                }
                Ok(found)
            }
            Connection::Postgres(connection) => connection
                .query(sql.postgres, params)?
                .iter()
                .map(|row| read(&Row::Postgres(row)))
                .collect(),
        }
    }

    /// The first row of a query, if there is one.
    pub fn first<T>(
        &mut self,
        sql: &Sql,
        params: &[Value<'_>],
        read: impl Fn(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match &mut self.connection {
            Connection::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql.sqlite)?;
                let mut rows = statement.query(rusqlite::params_from_iter(params))?;
                rows.next()?.map(|row| read(&Row::Sqlite(row))).transpose()
            }
            Connection::Postgres(connection) => connection
                .query(sql.postgres, params)?
                .first()
                .map(|row| read(&Row::Postgres(row)))
                .transpose(),
        }
    }

    /// The first row of a query that returns the database's clock in this column. On PostgreSQL
    /// [`Tx::clock`] reuses that value; on SQLite reading the clock costs nothing.
    pub(crate) fn first_with_clock<T>(
        &mut self,
        sql: &Sql,
        params: &[Value<'_>],
        column: usize,
        read: impl Fn(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match &mut self.connection {
            Connection::Sqlite(_) => self.first(sql, params, read),
            Connection::Postgres(connection) => connection
                .query_with_clock(sql.postgres, params, column)?
                .first()
                .map(|row| read(&Row::Postgres(row)))
                .transpose(),
        }
    }

    /// Asks for one text. On PostgreSQL the query is sent with the next statement, without a round
    /// trip of its own, and [`Tx::asked`] returns the result.
    pub(crate) fn ask_along(&mut self, sql: &Sql, params: &[Value<'_>]) -> Result<Asked, Error> {
        match &mut self.connection {
            Connection::Sqlite(_) => self
                .first(sql, params, |row| row.opt_text(0))
                .map(|text| Asked::Now(text.flatten())),
            Connection::Postgres(connection) => {
                connection.ask_along(sql.postgres, params);
                Ok(Asked::Later)
            }
        }
    }

    /// The result of a query that was sent along: the text of its first row.
    pub(crate) fn asked(&mut self) -> Result<Option<String>, Error> {
        match &mut self.connection {
            Connection::Sqlite(_) => Err(Error::not_asked()),
            Connection::Postgres(connection) => connection.asked(),
        }
    }

    /// Runs a statement and returns the number of changed rows.
    pub fn execute(&mut self, sql: &Sql, params: &[Value<'_>]) -> Result<u64, Error> {
        match &mut self.connection {
            Connection::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql.sqlite)?;
                Ok(statement.execute(rusqlite::params_from_iter(params))? as u64)
            }
            Connection::Postgres(connection) => connection.execute(sql.postgres, params),
        }
    }

    /// Runs a statement whose result is not needed now. On PostgreSQL it is sent with the next
    /// statement, which also returns its error; at the latest, that is the commit.
    pub fn write(&mut self, sql: &Sql, params: &[Value<'_>]) -> Result<(), Error> {
        match &mut self.connection {
            Connection::Sqlite(_) => self.execute(sql, params).map(|_| ()),
            Connection::Postgres(connection) => connection.keep(sql.postgres, params),
        }
    }

    /// Sends the statements that are waiting, so that their errors are reported now.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        match &mut self.connection {
            Connection::Sqlite(_) => Ok(()),
            Connection::Postgres(connection) => connection.flush(),
        }
    }

    /// Runs several statements that take no parameters.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), Error> {
        match &mut self.connection {
            Connection::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Connection::Postgres(connection) => connection.batch(sql),
        }
    }

    /// Like `batch`, for statements that rewrite whole tables and may take hours.
    pub(crate) fn migrate(&mut self, sql: &str) -> Result<(), Error> {
        match &mut self.connection {
            Connection::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Connection::Postgres(connection) => connection.migrate(sql),
        }
    }

    /// The database's own clock, which decides about leases and expiry.
    pub fn clock(&mut self) -> Result<punchlist_core::Time, Error> {
        let micros = match &mut self.connection {
            Connection::Postgres(connection) => connection.clock()?,
            Connection::Sqlite(_) => {
                self.first(Dialect::Sqlite.clock(), &[], |row| row.int(0))?.unwrap_or_default()
            }
        };
        Ok(punchlist_core::Time::from_micros(micros))
    }
}
