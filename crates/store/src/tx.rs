//! The one transaction, synchronous, on either database.
//!
//! A `Tx` runs statements; what the statements are stands in `rows`, one file per aggregate. It
//! cannot be committed from inside: the store commits after the job has answered.

use crate::postgres::PgConnection;
use crate::sql::{Row, Sql, Value};
use crate::{Dialect, Error};

/// A running transaction.
#[derive(Debug)]
pub struct Tx<'a> {
    connection: Connection<'a>,
    /// How many events this transaction has written (PostgreSQL).
    pub(crate) event_count: i64,
    /// The next event is numbered above this (SQLite), as after a restore.
    pub(crate) above: Option<i64>,
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

    /// The SQLite connection beneath, for a query whose rows are visited while others run.
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

    /// The first row of a query that tells the database's clock in this column. On PostgreSQL
    /// [`Tx::clock`] then has it from there; SQLite's costs nothing to ask.
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

    /// Runs a statement; says how many rows it changed.
    pub fn execute(&mut self, sql: &Sql, params: &[Value<'_>]) -> Result<u64, Error> {
        match &mut self.connection {
            Connection::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql.sqlite)?;
                Ok(statement.execute(rusqlite::params_from_iter(params))? as u64)
            }
            Connection::Postgres(connection) => connection.execute(sql.postgres, params),
        }
    }

    /// Runs a statement whose outcome nobody needs at once. On PostgreSQL it is sent with what
    /// comes next, and its error, too, comes with that: at the latest with the commit.
    pub fn write(&mut self, sql: &Sql, params: &[Value<'_>]) -> Result<(), Error> {
        match &mut self.connection {
            Connection::Sqlite(_) => self.execute(sql, params).map(|_| ()),
            Connection::Postgres(connection) => connection.keep(sql.postgres, params),
        }
    }

    /// Sends what was kept back, to hear now whether it went well.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        match &mut self.connection {
            Connection::Sqlite(_) => Ok(()),
            Connection::Postgres(connection) => connection.flush(),
        }
    }

    /// Runs several statements that take no parameters: migrations.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), Error> {
        match &mut self.connection {
            Connection::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Connection::Postgres(connection) => connection.batch(sql),
        }
    }

    /// The database's own clock, by which leases and expiry are judged.
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
