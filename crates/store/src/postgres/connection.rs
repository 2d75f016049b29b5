//! One connection with its prepared statements, on a small runtime of its own.
//!
//! A round trip costs more than a statement. The BEGIN goes out with the first statement, and
//! writes whose outcome nobody needs at once are kept and sent with whatever comes next, at the
//! latest with the COMMIT, in the order they were made; the first of them that fails is the error
//! of whatever they were sent with.

use std::collections::HashMap;
use std::fmt;

use ::postgres::types::ToSql;
use ::postgres::{NoTls, Row, Statement};
use futures_util::future::{join, join_all};
use tokio::runtime::Runtime;
use tokio_postgres::Client;

use super::Address;
use crate::sql::Value;
use crate::{Error, ErrorKind};

/// How many kept writes go out together: few enough that they are sent in their order.
const SENT_MAX: usize = 30;

const CLOCK: &str = crate::Dialect::Postgres.clock().postgres;

/// A connection. Statements are prepared once each; they are constants, so their text is a key.
pub(crate) struct PgConnection {
    client: Client,
    runtime: Runtime,
    statements: HashMap<&'static str, Statement>,
    /// A BEGIN that waits to be sent.
    begin: Option<&'static str>,
    kept: Vec<Kept>,
    /// The server has answered in this transaction.
    has_begun: bool,
    /// The server's clock when the transaction began.
    clock: Option<i64>,
    /// It has come back from a job before.
    is_used: bool,
}

/// A write that waits to be sent.
struct Kept {
    statement: Statement,
    params: Vec<Owned>,
}

/// A parameter that outlives its caller.
enum Owned {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

impl Owned {
    fn new(value: &Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(number) => Self::Int(*number),
            Value::Real(number) => Self::Real(*number),
            Value::Text(text) => Self::Text((*text).to_owned()),
        }
    }

    fn borrowed(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(number) => Value::Int(*number),
            Self::Real(number) => Value::Real(*number),
            Self::Text(text) => Value::Text(text),
        }
    }
}

impl fmt::Debug for PgConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PgConnection {{ statements: {} }}", self.statements.len())
    }
}

impl PgConnection {
    pub(super) fn connect(address: &Address) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::new(ErrorKind::Backend, format!("no runtime: {error}")))?;
        let (client, connection) = runtime
            .block_on(address.config.connect(NoTls))
            .map_err(|error| address.unreached(error))?;
        // It lives as long as the client; whoever uses the client learns how it ended.
        runtime.spawn(async move { drop(connection.await) });
        Ok(Self {
            client,
            runtime,
            statements: HashMap::new(),
            begin: None,
            kept: Vec::new(),
            has_begun: false,
            clock: None,
            is_used: false,
        })
    }

    pub(super) const fn is_used(&self) -> bool {
        self.is_used
    }

    pub(super) const fn mark_used(&mut self) {
        self.is_used = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// The server has answered in this transaction: it was alive when the job began.
    pub(super) const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The server's clock when the transaction began, in microseconds; outside of one: now.
    pub(crate) fn clock(&mut self) -> Result<i64, Error> {
        if self.clock.is_none() && self.begin.is_some() {
            self.flush()?;
        }
        match self.clock {
            Some(micros) => Ok(micros),
            None => Ok(told(&self.query(CLOCK, &[])?, 0).unwrap_or_default()),
        }
    }

    fn statement(&mut self, sql: &'static str) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.runtime.block_on(self.client.prepare(sql))?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// Asks the server something, behind all that waits to be sent.
    fn ask<T>(
        &mut self,
        asked: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Error> {
        let clock = match self.begin {
            Some(_) => Some(self.statement(CLOCK)?),
            None => None,
        };
        self.ask_behind(clock, asked)
    }

    /// The same; behind a BEGIN that waits, the clock is asked for with this statement.
    fn ask_behind<T>(
        &mut self,
        clock: Option<Statement>,
        asked: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Error> {
        let (waiting, kept) = (self.begin.take(), std::mem::take(&mut self.kept));
        let client = &self.client;
        let (begun, answer) = self.runtime.block_on(async {
            let behind = async {
                let (sent, answer) = join(send(client, &kept), asked(client)).await;
                sent.and_then(|()| Ok(answer?))
            };
            join(begin(client, waiting, clock), behind).await
        });
        self.clock = begun?.or(self.clock);
        self.has_begun = true;
        answer
    }

    pub(crate) fn query(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Result<Vec<Row>, Error> {
        let statement = self.statement(sql)?;
        let params = as_params(params);
        self.ask(async |client| client.query(&statement, &params).await)
    }

    /// The same for a statement that tells the server's clock itself, in this column: where it is
    /// the first of its transaction, the clock need not be asked for beside it.
    pub(crate) fn query_with_clock(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        column: usize,
    ) -> Result<Vec<Row>, Error> {
        let statement = self.statement(sql)?;
        let params = as_params(params);
        let rows = self.ask_behind(None, async |client| client.query(&statement, &params).await)?;
        self.clock = self.clock.or_else(|| told(&rows, column));
        Ok(rows)
    }

    pub(crate) fn execute(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Result<u64, Error> {
        let statement = self.statement(sql)?;
        let params = as_params(params);
        self.ask(async |client| client.execute(&statement, &params).await)
    }

    /// Keeps a write to be sent with what comes next.
    pub(crate) fn keep(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<(), Error> {
        let statement = self.statement(sql)?;
        let params = params.iter().map(Owned::new).collect();
        self.kept.push(Kept { statement, params });
        // A large write goes out in parts, so that its order is sure and its size is bounded.
        if self.kept.len() >= SENT_MAX {
            self.flush()?;
        }
        Ok(())
    }

    /// Sends what is kept.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.ask(async |_| Ok(()))
    }

    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.ask(async |client| client.batch_execute(sql).await)
    }

    /// Begins a transaction with the first statement, and asks for the server's clock on the way.
    pub(super) fn begin(&mut self, statement: &'static str) {
        self.kept.clear();
        (self.has_begun, self.clock) = (false, None);
        self.begin = Some(statement);
    }

    /// Sends what is kept, and the COMMIT with it. Where one of the writes failed, the server has
    /// turned the COMMIT into a rollback, and the write's error is the answer.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        if self.begin.is_some() {
            if self.kept.is_empty() {
                self.begin = None;
                return Ok(());
            }
            // Never BEGIN and COMMIT at once: a job the server has not heard of is run again.
            if let Err(error) = self.flush() {
                drop(self.rollback());
                return Err(error);
            }
        }
        self.batch("COMMIT")
    }

    /// The same, and right behind it a statement of its own transaction: it costs no round trip.
    /// Whether that one worked is the inner answer.
    pub(super) fn commit_and(&mut self, sql: &'static str) -> Result<bool, Error> {
        let statement = self.statement(sql)?;
        // Never BEGIN and COMMIT at once: a job the server has not heard of is run again.
        if self.begin.is_some()
            && let Err(error) = self.flush()
        {
            drop(self.rollback());
            return Err(error);
        }
        self.ask(async |client| {
            let behind = client.query(&statement, &[]);
            let (committed, behind) = join(client.batch_execute("COMMIT"), behind).await;
            committed.map(|()| behind.is_ok())
        })
    }

    /// Undoes the transaction; what was kept is not even sent.
    pub(super) fn rollback(&mut self) -> Result<(), Error> {
        self.kept.clear();
        if self.begin.take().is_some() { Ok(()) } else { self.batch("ROLLBACK") }
    }
}

/// Sends a BEGIN that waited, and asks for the clock behind it.
async fn begin(
    client: &Client,
    statement: Option<&str>,
    clock: Option<Statement>,
) -> Result<Option<i64>, Error> {
    let Some(statement) = statement else { return Ok(None) };
    let Some(clock) = clock else {
        client.batch_execute(statement).await?;
        return Ok(None);
    };
    let (begun, rows) = join(client.batch_execute(statement), client.query(&clock, &[])).await;
    begun?;
    Ok(told(&rows?, 0))
}

/// The clock as an answer tells it.
fn told(rows: &[Row], column: usize) -> Option<i64> {
    rows.first().map(|row| row.get(column))
}

/// Sends writes one behind the other without waiting in between; the first error counts.
async fn send(client: &Client, kept: &[Kept]) -> Result<(), Error> {
    let sent = join_all(kept.iter().map(|kept| async move {
        let values: Vec<Value<'_>> = kept.params.iter().map(Owned::borrowed).collect();
        client.execute(&kept.statement, &as_params(&values)).await
    }));
    for result in sent.await {
        result?;
    }
    Ok(())
}

fn as_params<'a>(params: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}
