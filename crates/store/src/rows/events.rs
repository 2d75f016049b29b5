//! The log: appended in the transaction of the change, and read so that no event is skipped.
//!
//! SQLite's one writer numbers events by row id. On PostgreSQL a lower number may commit later, so
//! the transaction id is part of the number and readers stay below the horizon (ADR 0004).

use punchlist_core::{Actor, Event, ListId, ProjectId, Time, TodoId};

use super::{opt_time, time, word};
use crate::sql::{Row, Value};
use crate::{Dialect, Error, ErrorKind, Tx, sql};

/// Bits for the events of one PostgreSQL transaction.
const EVENT_BITS: u32 = 20;

/// The stored fact with the value of [`event_base!`].
const EVENT_BASE: &str = "event_base";

/// The highest event number an import may contain. The numbers above it are enough for ever.
pub(crate) const SEQ_MAX: i64 = 1 << 62;

/// The fields that all events of one command share.
#[derive(Clone, Debug)]
pub struct Stamp {
    pub project: ProjectId,
    pub actor: Actor,
    /// The cause: the operation's name.
    pub cause: &'static str,
    pub at: Time,
    /// What proved the actor's identity: `terminal`, `none`, or the id of its token or run.
    pub proof: String,
    /// The real time, even if `at` was overridden.
    pub recorded_at: Time,
}

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub seq: i64,
    pub v: i64,
    pub type_name: String,
    pub project: ProjectId,
    pub aggregate: String,
    pub actor: String,
    pub acting_as: Option<String>,
    pub cause: String,
    pub at: Time,
    /// The data as stored, JSON.
    pub data: String,
    /// What proved the actor's identity; absent in logs of older versions.
    pub proof: Option<String>,
    /// The real time when it was recorded; in logs of older versions it equals `at`.
    pub recorded_at: Time,
}

/// If the two times of an event differ by more than this, the clock was overridden.
const CLOCK_TOLERANCE_S: i64 = 60;

/// Was the clock of an event overridden? Its own time, and the real time when it was recorded.
#[must_use]
pub const fn is_set_clock(at: Time, recorded_at: Time) -> bool {
    let apart = at.micros().abs_diff(recorded_at.micros());
    apart > CLOCK_TOLERANCE_S.unsigned_abs() * 1_000_000
}

impl Recorded {
    /// Was it recorded with an overridden clock (`PUNCHLIST_NOW`)?
    #[must_use]
    pub const fn is_under_set_clock(&self) -> bool {
        is_set_clock(self.at, self.recorded_at)
    }

    /// The event; `None` if this build does not know its type.
    pub fn event(&self) -> Result<Option<Event>, Error> {
        Ok(Event::read(&self.type_name, &self.data)?)
    }

    /// The event, if it has this type; others are not parsed.
    pub fn event_of(&self, type_name: &str) -> Result<Option<Event>, Error> {
        if self.type_name == type_name { self.event() } else { Ok(None) }
    }
}

macro_rules! columns {
    () => {
        "seq, v, type, project_id, aggregate, actor, acting_as, cause, at, data, \
         proof, recorded_at"
    };
}

/// The base for event numbers from PostgreSQL transaction ids: where an imported log ended. Without
/// it, new numbers could be lower than imported ones, because transaction ids differ between
/// clusters (ADR 0012).
macro_rules! event_base {
    () => {
        "coalesce((SELECT CAST(value AS BIGINT) FROM facts WHERE name = 'event_base'), 0)"
    };
}
pub(crate) use event_base;

/// Inserts one event on SQLite. Without a number, SQLite assigns the next one.
macro_rules! insert_lite {
    () => {
        concat!(
            "INSERT INTO events (",
            columns!(),
            ") VALUES (CAST($10 AS INTEGER), $7, $11, $1, $2, $3, $4, $5, $6, $12, $8, $9)"
        )
    };
}

/// Inserts several events on PostgreSQL, numbered within their transaction. The base of the numbers
/// is read once for all of them.
macro_rules! insert_pg {
    ($rows:literal) => {
        concat!(
            "INSERT INTO events (",
            columns!(),
            ") SELECT b.first + e.n, CAST($7 AS BIGINT), e.type, $1, $2, $3, $4, $5, \
             CAST($6 AS BIGINT), e.data, $8, CAST($9 AS BIGINT) FROM (SELECT ",
            event_base!(),
            " + (pg_current_xact_id()::text::bigint << 20) AS first OFFSET 0) AS b, \
             (VALUES ",
            $rows,
            ") AS e (n, type, data)"
        )
    };
}

macro_rules! horizon {
    () => {
        concat!(
            "(",
            event_base!(),
            " + (pg_snapshot_xmin(pg_current_snapshot())::text::bigint << 20))"
        )
    };
}

macro_rules! select {
    ($condition:expr) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM events WHERE project_id = $1 \
             AND (CAST($2 AS TEXT) IS NULL OR actor = $2) AND ",
            $condition
        )
    };
}

impl Tx<'_> {
    /// Appends an event.
    pub fn append(&mut self, stamp: &Stamp, aggregate: &str, event: &Event) -> Result<(), Error> {
        self.append_all(stamp, aggregate, std::slice::from_ref(event))
    }

    /// Appends events. On PostgreSQL three go into one statement, because a round trip costs more
    /// than a row. SQLite would copy every page that such a statement touches, to be able to undo
    /// half of it.
    pub fn append_all(
        &mut self,
        stamp: &Stamp,
        aggregate: &str,
        events: &[Event],
    ) -> Result<(), Error> {
        let at_once = match self.dialect() {
            Dialect::Sqlite => 1,
            Dialect::Postgres => 3,
        };
        for some in events.chunks(at_once) {
            self.append_some(stamp, aggregate, some)?;
        }
        Ok(())
    }

    fn append_some(
        &mut self,
        stamp: &Stamp,
        aggregate: &str,
        events: &[Event],
    ) -> Result<(), Error> {
        let project = stamp.project.to_string();
        let mut params = vec![
            Value::from(&project),
            aggregate.into(),
            (&stamp.actor.principal).into(),
            stamp.actor.carried().map(punchlist_core::Role::name).into(),
            stamp.cause.into(),
            stamp.at.micros().into(),
            Event::VERSION.into(),
            (&stamp.proof).into(),
            stamp.recorded_at.micros().into(),
        ];
        let data: Vec<String> =
            events.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        for (event, data) in events.iter().zip(&data) {
            // With NULL, SQLite numbers the row one above the last.
            let number = match self.dialect() {
                Dialect::Sqlite => self.above.take().map(|last| last + 1),
                Dialect::Postgres => Some(self.next_number()?),
            };
            params.extend([number.into(), event.type_name().into(), Value::from(data)]);
        }
        // No RETURNING: SQLite would use a temporary table for it every time.
        let statement = match (self.dialect(), events.len()) {
            (Dialect::Sqlite, _) => sql!(insert_lite!()),
            (Dialect::Postgres, 1) => sql!(insert_pg!("(CAST($10 AS BIGINT), $11, $12)")),
            (Dialect::Postgres, 2) => {
                sql!(insert_pg!("(CAST($10 AS BIGINT), $11, $12), (CAST($13 AS BIGINT), $14, $15)"))
            }
            (Dialect::Postgres, _) => sql!(insert_pg!(
                "(CAST($10 AS BIGINT), $11, $12), (CAST($13 AS BIGINT), $14, $15), \
                 (CAST($16 AS BIGINT), $17, $18)"
            )),
        };
        self.write(statement, &params)?;
        Ok(())
    }

    /// The number of the next event in this transaction.
    fn next_number(&mut self) -> Result<i64, Error> {
        let number = self.event_count;
        if number >> EVENT_BITS != 0 {
            return Err(Error::new(ErrorKind::Backend, "too many events in one transaction"));
        }
        self.event_count += 1;
        Ok(number)
    }

    /// Makes the log continue above an imported number. It must be called only on an empty log that
    /// nobody else can write to, because the base must not change once an event was numbered with
    /// it. SQLite continues from the last row by itself.
    pub(crate) fn number_above(&mut self, last: i64) -> Result<(), Error> {
        match self.dialect() {
            Dialect::Sqlite => Ok(()),
            Dialect::Postgres => {
                let base = ((last >> EVENT_BITS) + 1) << EVENT_BITS;
                self.put_fact(EVENT_BASE, &base.to_string())
            }
        }
    }

    /// Does the log contain the event that a subscriber saw last? On PostgreSQL an event above the
    /// horizon counts as missing, because no subscriber can have seen it (ADR 0010).
    pub fn has_event(&mut self, seq: i64) -> Result<bool, Error> {
        let statement = self.dialect().pick(
            sql!("SELECT seq FROM events WHERE seq = $1"),
            sql!("SELECT seq FROM events WHERE seq = $1 AND seq < ", horizon!()),
        );
        Ok(self.first(statement, &[seq.into()], |row| row.int(0))?.is_some())
    }

    /// The events of a project after a number, in order and without gaps. With `actor`, only those
    /// that this principal caused.
    pub fn events_after(
        &mut self,
        project: ProjectId,
        actor: Option<&str>,
        after: i64,
        limit: i64,
    ) -> Result<Vec<Recorded>, Error> {
        let project = project.to_string();
        let statement = self.dialect().pick(
            sql!(select!("seq > $3 ORDER BY seq LIMIT $4")),
            sql!(select!("seq > $3 AND seq < "), horizon!(), " ORDER BY seq LIMIT $4"),
        );
        let params = [(&project).into(), actor.into(), after.into(), limit.into()];
        self.query(statement, &params, read)
    }

    /// The newest events of a project, oldest first; with `before`, only those before it.
    pub fn events_last(
        &mut self,
        project: ProjectId,
        actor: Option<&str>,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<Recorded>, Error> {
        let project = project.to_string();
        let statement = self.dialect().pick(
            sql!(select!("seq < $4 ORDER BY seq DESC LIMIT $3")),
            sql!(select!("seq < $4 AND seq < "), horizon!(), " ORDER BY seq DESC LIMIT $3"),
        );
        let before = before.unwrap_or(i64::MAX);
        let params = [(&project).into(), actor.into(), limit.into(), before.into()];
        let mut events = self.query(statement, &params, read)?;
        events.reverse();
        Ok(events)
    }
}

macro_rules! select_all {
    ($condition:expr) => {
        concat!("SELECT ", columns!(), " FROM events WHERE ", $condition)
    };
}

impl Tx<'_> {
    /// The events of all projects after this number, in order and without gaps.
    pub fn all_events_after(&mut self, after: i64, limit: i64) -> Result<Vec<Recorded>, Error> {
        let statement = self.dialect().pick(
            sql!(select_all!("seq > $1 ORDER BY seq LIMIT $2")),
            sql!(select_all!("seq > $1 AND seq < "), horizon!(), " ORDER BY seq LIMIT $2"),
        );
        self.query(statement, &[after.into(), limit.into()], read)
    }

    /// The number of the newest readable event of all projects; 0 if there is none.
    pub fn last_event(&mut self) -> Result<i64, Error> {
        let statement = self.dialect().pick(
            sql!("SELECT seq FROM events ORDER BY seq DESC LIMIT 1"),
            sql!("SELECT seq FROM events WHERE seq < ", horizon!(), " ORDER BY seq DESC LIMIT 1"),
        );
        Ok(self.first(statement, &[], |row| row.int(0))?.unwrap_or(0))
    }
}

impl Tx<'_> {
    /// The events of one type in all projects, in order. It reads the whole log.
    pub(crate) fn events_of_type(&mut self, type_name: &str) -> Result<Vec<Recorded>, Error> {
        let statement = sql!(select_all!("type = $1 ORDER BY seq"));
        self.query(statement, &[type_name.into()], read)
    }

    /// The refused commands on a list; on a delegation, the refused reports and who took the work.
    /// Oldest first. The condition is that of the index `events_late`.
    pub fn refusals_on(&mut self, aggregate: &str) -> Result<Vec<Recorded>, Error> {
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM events WHERE aggregate = $1 AND (type = 'command_refused' \
                 OR type = 'delegation_refused' OR type = 'delegation_started') ORDER BY seq"
            ),
            &[aggregate.into()],
            read,
        )
    }
}

impl Tx<'_> {
    /// The claims of an item, the answers to them, and the changes that a mission made to it, oldest
    /// first. The condition is that of the index `events_judged`.
    pub fn judgements_of(&mut self, list: ListId, todo: TodoId) -> Result<Vec<Recorded>, Error> {
        let (list, named) = (list.to_string(), format!("%{todo}%"));
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM events WHERE aggregate = $1 AND (type = 'todo_claimed' \
                 OR type = 'claim_returned' OR cause = 'mission_todo_update' \
                 OR cause = 'mission_todo_complete' OR cause = 'todo_accept' \
                 OR cause = 'delegate') AND data LIKE $2 ORDER BY seq"
            ),
            &[(&list).into(), (&named).into()],
            read,
        )
    }

    /// The events by which items of a list came to an agent, in order. No index helps: this is read
    /// only to judge a report that was refused, and every take would have to keep the index.
    pub fn assignments_on(&mut self, list: ListId) -> Result<Vec<Recorded>, Error> {
        let list = list.to_string();
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM events WHERE aggregate = $1 AND type IN ('todo_assigned', 'todo_taken') \
                 ORDER BY seq"
            ),
            &[(&list).into()],
            read,
        )
    }
}

/// The number of events per page of `look_back`.
const PAGE: i64 = 1_000;

impl Tx<'_> {
    /// Visits the events of a project since a time, newest first. The log is in write order. The
    /// clocks of several machines may differ by up to the time span of one page.
    pub fn look_back(
        &mut self,
        project: ProjectId,
        since: Time,
        visit: &mut dyn FnMut(&Recorded) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let project = project.to_string();
        let mut before = i64::MAX;
        loop {
            let page = self.query(
                sql!(
                    "SELECT ",
                    columns!(),
                    " FROM events WHERE project_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3"
                ),
                &[(&project).into(), before.into(), PAGE.into()],
                read,
            )?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            before = last.seq;
            let mut young = page.iter().filter(|event| event.recorded_at >= since).peekable();
            if young.peek().is_none() {
                return Ok(());
            }
            for event in young {
                visit(event)?;
            }
        }
    }
}

/// Visits one event; it may query the store.
type Visit<'v> = dyn FnMut(&mut Tx<'_>, Recorded) -> Result<(), Error> + 'v;

macro_rules! by_aggregate {
    ($before:expr) => {
        concat!($before, "SELECT ", columns!(), " FROM events ORDER BY aggregate, seq")
    };
}

impl Tx<'_> {
    /// Visits the whole log of the store, sorted by aggregate and number. The log is never in
    /// memory as a whole, because both databases sort on disk.
    pub(crate) fn each_event(&mut self, visit: &mut Visit<'_>) -> Result<(), Error> {
        if let Some(connection) = self.sqlite_connection() {
            let mut statement = connection.prepare(sql!(by_aggregate!("")).sqlite)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                visit(&mut Tx::sqlite(connection), read(&Row::Sqlite(row))?)?;
            }
            return Ok(());
        }
        self.batch(by_aggregate!("DECLARE whole_log NO SCROLL CURSOR FOR "))?;
        loop {
            let page = self.query(sql!("FETCH 1000 FROM whole_log"), &[], read)?;
            if page.is_empty() {
                return self.batch("CLOSE whole_log");
            }
            for event in page {
                visit(self, event)?;
            }
        }
    }
}

fn read(row: &Row<'_>) -> Result<Recorded, Error> {
    let at = time(row, 8)?;
    Ok(Recorded {
        seq: row.int(0)?,
        v: row.int(1)?,
        type_name: row.text(2)?,
        project: word("project id", row.str(3)?, ProjectId::parse)?,
        aggregate: row.text(4)?,
        actor: row.text(5)?,
        acting_as: row.opt_text(6)?,
        cause: row.text(7)?,
        at,
        data: row.text(9)?,
        proof: row.opt_text(10)?,
        recorded_at: opt_time(row, 11)?.unwrap_or(at),
    })
}
