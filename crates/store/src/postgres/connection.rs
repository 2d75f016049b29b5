//! One connection, and the one transaction on it.
//!
//! A round trip costs more than a statement. The BEGIN goes out with the first statement that is
//! waited for, and writes whose outcome nobody needs at once with whatever comes next, at the latest
//! with the COMMIT; the first of them that fails is the error of whatever they were sent with.

use std::fmt;

use super::Address;
use super::pipeline::{Answer, Pipeline, Wanted};
use super::row::PgRow;
use super::startup;
use super::wire::Wire;
use crate::sql::Value;
use crate::{Dialect, Error, ErrorKind};

const CLOCK: &str = Dialect::Postgres.clock().postgres;
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// A connection.
pub(crate) struct PgConnection {
    pipeline: Pipeline,
    /// A BEGIN that waits to be queued.
    begin: Option<&'static str>,
    /// The server has answered in this transaction.
    has_begun: bool,
    /// The server's clock when the transaction began.
    clock: Option<i64>,
    /// It has come back from a job before.
    is_used: bool,
}

impl fmt::Debug for PgConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PgConnection {{ queued: {} }}", self.pipeline.queued())
    }
}

impl PgConnection {
    pub(super) fn connect(address: &Address) -> Result<Self, Error> {
        let wire = startup::connect(&address.config).map_err(|error| address.unreached(error))?;
        let pipeline = Pipeline::new(wire);
        Ok(Self { pipeline, begin: None, has_begun: false, clock: None, is_used: false })
    }

    /// The line beneath, for somebody who only listens.
    pub(super) fn into_wire(self) -> Wire {
        self.pipeline.into_wire()
    }

    pub(super) const fn is_used(&self) -> bool {
        self.is_used
    }

    pub(super) const fn mark_used(&mut self) {
        self.is_used = true;
    }

    pub(super) const fn is_broken(&self) -> bool {
        self.pipeline.is_broken()
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
            None => Ok(told(&self.query(CLOCK, &[])?, 0)?.unwrap_or_default()),
        }
    }

    pub(crate) fn query(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Result<Vec<PgRow>, Error> {
        self.queue_begin()?;
        self.pipeline.queue(sql, params, Wanted::Rows)?;
        Ok(self.run()?.or_error()?.rows)
    }

    /// The same for a statement that tells the server's clock itself, in this column: where it is
    /// the first of its transaction, the clock need not be asked for beside it.
    pub(crate) fn query_with_clock(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        column: usize,
    ) -> Result<Vec<PgRow>, Error> {
        if let Some(begin) = self.begin.take() {
            self.pipeline.queue(begin, &[], Wanted::Nothing)?;
        }
        self.pipeline.queue(sql, params, Wanted::Rows)?;
        let rows = self.run()?.or_error()?.rows;
        if self.clock.is_none() {
            self.clock = told(&rows, column)?;
        }
        Ok(rows)
    }

    /// Runs a statement; says how many rows it changed.
    pub(crate) fn execute(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Result<u64, Error> {
        self.queue_begin()?;
        self.pipeline.queue(sql, params, Wanted::Nothing)?;
        Ok(self.run()?.or_error()?.changed())
    }

    /// Queues a write to be sent with what comes next.
    pub(crate) fn keep(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<(), Error> {
        self.queue_begin()?;
        self.pipeline.queue(sql, params, Wanted::Nothing)?;
        if self.pipeline.is_full() { self.flush() } else { Ok(()) }
    }

    /// Sends what is queued, and hears what became of it.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.queue_begin()?;
        if self.pipeline.queued() == 0 {
            return Ok(());
        }
        self.run()?.or_error().map(|_| ())
    }

    /// Runs statements that are no constants and take no parameters, one after the other.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.flush()?;
        self.pipeline.run_text(sql)?.or_error().map(|_| ())
    }

    /// Begins a transaction with the first statement, and asks for the server's clock on the way.
    pub(super) fn begin(&mut self, statement: &'static str) {
        self.pipeline.clear();
        (self.has_begun, self.clock) = (false, None);
        self.begin = Some(statement);
    }

    /// Sends what is queued, and the COMMIT with it. Where one of the writes failed the transaction
    /// is undone, and the write's error is the answer.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        self.commit_and(None).map(|_| ())
    }

    /// The same, and right behind it a statement of its own transaction: it costs no round trip.
    /// Whether that one worked is the answer.
    pub(super) fn commit_and(&mut self, behind: Option<&'static str>) -> Result<bool, Error> {
        let committed = self.finish(behind);
        if committed.is_err() {
            drop(self.rollback());
        }
        committed
    }

    fn finish(&mut self, behind: Option<&'static str>) -> Result<bool, Error> {
        // Never BEGIN and COMMIT at once: a job the server has not heard of is run again.
        if !self.has_begun && self.pipeline.queued() > 0 {
            self.flush()?;
        }
        let (writes, begun) = (self.pipeline.queued(), self.has_begun);
        if begun {
            self.pipeline.queue(COMMIT, &[], Wanted::Nothing)?;
        }
        self.begin = None;
        if let Some(behind) = behind {
            self.pipeline.queue(behind, &[], Wanted::Nothing)?;
        }
        if self.pipeline.queued() == 0 {
            return Ok(true);
        }
        let answer = self.run()?;
        match answer.failed {
            Some(error) if begun && answer.done <= writes => Err(error),
            // Somebody took an error for no error: nothing of the transaction was kept.
            _ if begun && answer.tags.get(writes).is_some_and(|tag| tag == ROLLBACK) => {
                let detail = "a statement had failed before, and the transaction was undone";
                Err(Error::new(ErrorKind::Backend, detail))
            }
            failed => Ok(failed.is_none()),
        }
    }

    /// Undoes the transaction; what was queued is not even sent.
    pub(super) fn rollback(&mut self) -> Result<(), Error> {
        self.pipeline.clear();
        self.begin = None;
        if !self.pipeline.is_open() {
            return Ok(());
        }
        self.pipeline.queue(ROLLBACK, &[], Wanted::Nothing)?;
        self.run()?.or_error().map(|_| ())
    }

    /// Queues a BEGIN that waits, and asks for the clock behind it.
    fn queue_begin(&mut self) -> Result<(), Error> {
        if let Some(begin) = self.begin.take() {
            self.pipeline.queue(begin, &[], Wanted::Nothing)?;
            self.pipeline.queue(CLOCK, &[], Wanted::Clock)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<Answer, Error> {
        let answer = self.pipeline.run()?;
        self.has_begun |= answer.done > 0;
        self.clock = answer.clock.or(self.clock);
        Ok(answer)
    }
}

/// The clock as an answer tells it.
fn told(rows: &[PgRow], column: usize) -> Result<Option<i64>, Error> {
    rows.first().map_or(Ok(None), |row| row.int(column))
}
