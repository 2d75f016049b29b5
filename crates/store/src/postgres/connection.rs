//! One connection, and the one transaction on it.
//!
//! A round trip costs more than a statement. The BEGIN is sent with the first statement. A write
//! whose result is not needed at once is sent with the next statement, at the latest with the
//! COMMIT. If it fails, the statement it was sent with returns its error.
//!
//! The server answers each request separately, so two rules keep a transaction atomic. Only reads
//! are sent together with a BEGIN, because a write would be committed if the BEGIN failed. And
//! after a failed statement nothing is committed.

use std::time::{Duration, Instant};

use super::line::Line;
use super::request::{Done, Request};
use super::row::PgRow;
use super::{Address, reach};
use crate::sql::Value;
use crate::{Dialect, Error, ErrorKind};

const CLOCK: &str = Dialect::Postgres.clock().postgres;

/// How many statements and bytes are queued before they are sent. The responses to this many writes
/// fit into the socket's buffers, so the two sides cannot block each other.
const QUEUED_MAX: usize = 200;
const QUEUED_BYTES_MAX: usize = 256 * 1024;
/// The time limit of migrations, which have no limit on the server.
const MIGRATION_TIME_MAX: Duration = Duration::from_secs(6 * 3600);

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct PgConnection {
    line: Line,
    queued: Vec<Request>,
    queued_bytes: usize,
    /// Settings that are sent with every BEGIN.
    settings: Option<String>,
    /// A BEGIN that is not sent yet.
    begin: Option<&'static str>,
    /// Is a transaction open on the server? A BEGIN was sent, and neither a COMMIT nor a ROLLBACK.
    is_open: bool,
    /// Has a statement of this transaction failed?
    has_failed: bool,
    /// Has the server responded in this transaction?
    has_begun: bool,
    /// The server's clock when the transaction began.
    clock: Option<i64>,
    along: Along,
    /// Has this connection been used for an earlier job?
    is_used: bool,
}

impl PgConnection {
    pub(super) fn connect(address: &Address) -> Result<Self, Error> {
        let line = reach::connect(address).map_err(|error| address.unreached(error))?;
        Ok(Self {
            line,
            queued: Vec::new(),
            queued_bytes: 0,
            settings: address.settings(),
            begin: None,
            is_open: false,
            has_failed: false,
            has_begun: false,
            clock: None,
            along: Along::Nothing,
            is_used: false,
        })
    }

    /// The underlying connection, for a listener.
    pub(super) fn into_line(self) -> Line {
        self.line
    }

    pub(super) const fn is_used(&self) -> bool {
        self.is_used
    }

    pub(super) const fn mark_used(&mut self) {
        self.is_used = true;
    }

    pub(super) const fn is_broken(&self) -> bool {
        self.line.is_broken()
    }

    /// Did the server stop answering? False if it closed the connection.
    pub(super) const fn is_late(&self) -> bool {
        self.line.is_late()
    }

    /// Has the server responded in this transaction? Then it was alive when the job began.
    pub(super) const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The server's clock at the start of the transaction, in microseconds; outside a transaction,
    /// now.
    pub(crate) fn clock(&mut self) -> Result<i64, Error> {
        if self.clock.is_none() && self.begin.is_some() {
            self.flush()?;
        }
        match self.clock {
            Some(micros) => Ok(micros),
            None => Ok(clock_of(&self.query(CLOCK, &[])?, 0)?.unwrap_or_default()),
        }
    }

    pub(crate) fn query(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Result<Vec<PgRow>, Error> {
        self.queue_begin(sql, Clock::Asked)?;
        self.queue(sql, params);
        self.run().map(rows)
    }

    /// Like `query`, for a statement that returns the server's clock in this column. If it is the
    /// first of its transaction, the clock need not be requested separately.
    pub(crate) fn query_with_clock(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        column: usize,
    ) -> Result<Vec<PgRow>, Error> {
        self.queue_begin(sql, Clock::Told)?;
        self.queue(sql, params);
        let rows = self.run().map(rows)?;
        if self.clock.is_none() {
            self.clock = clock_of(&rows, column)?;
        }
        Ok(rows)
    }

    /// Queues a query for one text, to be sent with the next statement; [`Self::asked`] returns its
    /// result.
    pub(crate) fn ask_along(&mut self, sql: &'static str, params: &[Value<'_>]) {
        self.along = Along::Waiting(Request::statement(sql, params));
    }

    /// The result of the query that was queued in this transaction: the first row's text.
    pub(crate) fn asked(&mut self) -> Result<Option<String>, Error> {
        if matches!(self.along, Along::Waiting(_) | Along::Queued(_)) {
            self.flush()?;
        }
        match &self.along {
            Along::Answered(text) => Ok(text.clone()),
            _ => Err(Error::not_asked()),
        }
    }

    /// Runs a statement. Returns the number of changed rows.
    pub(crate) fn execute(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Result<u64, Error> {
        self.queue_begin(sql, Clock::Asked)?;
        self.queue(sql, params);
        Ok(self.run()?.changed)
    }

    /// Queues a write, to be sent with the next statement.
    pub(crate) fn keep(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<(), Error> {
        self.queue_begin(sql, Clock::Asked)?;
        self.queue(sql, params);
        let is_full = self.queued.len() >= QUEUED_MAX || self.queued_bytes >= QUEUED_BYTES_MAX;
        if is_full { self.flush() } else { Ok(()) }
    }

    /// Sends the queued statements and checks their results.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.queue_begin("", Clock::Asked)?;
        if self.queued.is_empty() {
            return Ok(());
        }
        self.run().map(|_| ())
    }

    /// Runs a text of statements without parameters, one after the other.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.flush()?;
        self.queued.push(Request::Text(sql.to_owned()));
        self.run().map(|_| ())
    }

    /// Like `batch`, without the usual time limit.
    pub(crate) fn migrate(&mut self, sql: &str) -> Result<(), Error> {
        self.flush()?;
        self.queued.push(Request::Text(sql.to_owned()));
        self.run_until(Instant::now() + MIGRATION_TIME_MAX).map(|_| ())
    }

    /// Begins a transaction with its first statement, which also requests the server's clock.
    pub(crate) fn begin(&mut self, statement: &'static str) {
        self.forget();
        (self.has_begun, self.has_failed, self.clock) = (false, false, None);
        self.along = Along::Nothing;
        self.begin = Some(statement);
    }

    /// Sends the queued writes together with the COMMIT. If a write failed, the transaction is
    /// rolled back and the write's error is returned.
    pub(crate) fn commit(&mut self) -> Result<(), Error> {
        self.commit_and(None).map(|_| ())
    }

    /// Like `commit`, followed by a statement in its own transaction, without another round trip.
    /// Returns whether that statement succeeded.
    pub(super) fn commit_and(&mut self, behind: Option<&'static str>) -> Result<bool, Error> {
        let committed = self.finish(behind);
        if committed.is_err() {
            drop(self.rollback());
        }
        committed
    }

    fn finish(&mut self, behind: Option<&'static str>) -> Result<bool, Error> {
        // Never send BEGIN and COMMIT together, because a job that the server has not seen is run
        // again.
        if !self.has_begun && !self.queued.is_empty() {
            self.flush()?;
        }
        if self.has_failed {
            // The job ignored an error, so nothing of the transaction is committed.
            let detail = "a statement had failed before, and the transaction was undone";
            return Err(Error::new(ErrorKind::Backend, detail));
        }
        let is_open = self.is_open;
        if is_open {
            self.queued.push(Request::Text("COMMIT".to_owned()));
        }
        self.begin = None;
        let writes = self.queued.len();
        if let Some(behind) = behind {
            self.queue(behind, &[]);
        }
        if self.queued.is_empty() {
            return Ok(true);
        }
        let requests = self.forget();
        let mut answers = self.line.run(&requests).into_iter();
        for answer in answers.by_ref().take(writes) {
            answer.map_err(|error| match error.kind {
                ErrorKind::Unreachable if is_open => {
                    let unknown = "whether the change was kept is not known";
                    Error::new(error.kind, format!("{}; {unknown}", error.detail))
                }
                _ => error,
            })?;
        }
        self.is_open = false;
        Ok(answers.all(|answer| answer.is_ok()))
    }

    /// Rolls the transaction back. Queued statements are not sent.
    pub(crate) fn rollback(&mut self) -> Result<(), Error> {
        self.forget();
        self.begin = None;
        if !std::mem::take(&mut self.is_open) || self.is_broken() {
            return Ok(());
        }
        self.queued.push(Request::Text("ROLLBACK".to_owned()));
        self.run().map(|_| ())
    }

    fn queue(&mut self, sql: &'static str, params: &[Value<'_>]) {
        let texts = params.iter().map(|param| match param {
            Value::Text(text) => text.len(),
            _ => 0,
        });
        self.queued_bytes += sql.len() + texts.sum::<usize>();
        self.queued.push(Request::statement(sql, params));
    }

    /// Drops the queued statements, none of which was sent.
    fn forget(&mut self) -> Vec<Request> {
        self.queued_bytes = 0;
        std::mem::take(&mut self.queued)
    }

    /// Queues a waiting BEGIN, and requests the clock with it; then the query that goes along. Only
    /// reads are sent together with the BEGIN: if it failed, a write could not be rolled back.
    fn queue_begin(&mut self, first: &str, clock: Clock) -> Result<(), Error> {
        let Some(begin) = self.begin.take() else {
            self.queue_along();
            return Ok(());
        };
        let clock = (clock == Clock::Asked).then_some(CLOCK);
        let parts = [Some(begin), self.settings.as_deref(), clock];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        self.queued.push(Request::Text(text));
        self.is_open = true;
        self.queue_along();
        let reads = first.is_empty() || first.starts_with("SELECT") || first.starts_with("WITH");
        if reads { Ok(()) } else { self.run().map(|_| ()) }
    }

    fn queue_along(&mut self) {
        match std::mem::replace(&mut self.along, Along::Nothing) {
            Along::Waiting(request) => {
                self.along = Along::Queued(self.queued.len());
                self.queued.push(request);
            }
            other => self.along = other,
        }
    }

    fn run(&mut self) -> Result<Done, Error> {
        let requests = self.forget();
        let answers = self.line.run(&requests);
        self.take_in(answers)
    }

    fn run_until(&mut self, deadline: Instant) -> Result<Done, Error> {
        let requests = self.forget();
        let answers = self.line.run_until(&requests, deadline);
        self.take_in(answers)
    }

    /// The result of the last request, unless an earlier one failed.
    fn take_in(&mut self, answers: Vec<Result<Done, Error>>) -> Result<Done, Error> {
        let mut last = Done::default();
        for (at, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(done) => {
                    self.has_begun = true;
                    if self.along.is_at(at) {
                        self.along = Along::Answered(first_text(done)?);
                        continue;
                    }
                    let clock = done.texts.last().and_then(|text| text.parse().ok());
                    self.clock = self.clock.or(clock);
                    last = done;
                }
                Err(error) => {
                    self.has_failed |= self.is_open;
                    // Its answer does not come any more, and its place is another's now.
                    if matches!(self.along, Along::Queued(_)) {
                        self.along = Along::Nothing;
                    }
                    return Err(error);
                }
            }
        }
        Ok(last)
    }
}

/// A query whose result is needed later in the transaction.
#[derive(Debug)]
enum Along {
    Nothing,
    Waiting(Request),
    /// Its place among the queued statements.
    Queued(usize),
    Answered(Option<String>),
}

impl Along {
    const fn is_at(&self, place: usize) -> bool {
        matches!(self, Self::Queued(queued) if *queued == place)
    }
}

/// The text of a result with at most one row.
fn first_text(done: Done) -> Result<Option<String>, Error> {
    let rows = rows(done);
    rows.first().map_or(Ok(None), |row| Ok(row.text(0)?.map(str::to_owned)))
}

/// How a transaction gets the clock: by a separate request, or from its first statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    Asked,
    Told,
}

fn rows(done: Done) -> Vec<PgRow> {
    done.rows.into_iter().map(PgRow).collect()
}

/// Reads the clock from this column of the first row.
fn clock_of(rows: &[PgRow], column: usize) -> Result<Option<i64>, Error> {
    rows.first().map_or(Ok(None), |row| row.int(column))
}
