//! The examination behind `punch doctor`: finds faults of a store without changing it.
//!
//! A check that cannot run counts as failed, with the reason. The examination also works on a
//! damaged, foreign or newer store.

use std::path::Path;

use punchlist_core::text::counted;
use rusqlite::Connection;
use serde::Serialize;

use super::server::{self, Limits};
use super::{disk, fold, trees};
use crate::migrate::{self, Found};
use crate::postgres::PgConnection;
use crate::rows::events::event_base;
use crate::{Dialect, Error, ErrorKind, Options, Target, Tx, postgres, server_schema, sql, sqlite};

/// Work that has been due for this long is overdue: one hour.
const OVERDUE_S: i64 = 3_600;
/// Work with this many attempts will probably never succeed.
const ATTEMPTS_MANY: i64 = 10;
/// How many faults of one kind are listed.
const NAMED_MAX: usize = 5;

/// The result of an examination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The location of the store, without a password.
    pub target: String,
    pub dialect: &'static str,
    /// `None` if there is no store, or it cannot be read.
    pub schema_version: Option<i64>,
    /// Did all checks pass?
    pub ok: bool,
    pub checks: Vec<Check>,
}

impl Report {
    /// For a reader that may not see the whole store: keeps whether each check passed, and drops
    /// the findings, which may be about any project.
    #[must_use]
    pub fn in_short(mut self) -> Self {
        for check in &mut self.checks {
            check.detail = "a narrowed token sees only whether the store is sound".to_owned();
            check.hint = (!check.ok).then(|| "ask the operator to run `punch doctor`".to_owned());
        }
        self
    }
}

/// One check and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
    /// What to do about a failure, or to see the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Check {
    pub(super) fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, ok: true, detail: detail.into(), hint: None }
    }

    pub(super) fn bad(name: &'static str, detail: impl Into<String>, hint: &str) -> Self {
        Self { name, ok: false, detail: detail.into(), hint: Some(hint.to_owned()) }
    }

    /// A check that found no fault and could not see everything.
    pub(super) fn partial(name: &'static str, detail: impl Into<String>, hint: String) -> Self {
        Self { name, ok: true, detail: detail.into(), hint: Some(hint) }
    }

    fn failed(name: &'static str, error: &Error) -> Self {
        let hint = match error.kind {
            ErrorKind::Corrupt => RESTORE,
            ErrorKind::NotOurs => "name another store with --db",
            ErrorKind::Newer => "update punch",
            ErrorKind::Unfinished => UNFINISHED,
            ErrorKind::Busy | ErrorKind::Conflict => "try again",
            ErrorKind::Full => "free some space",
            ErrorKind::ReadOnly | ErrorKind::Unreachable => "check --db and the permissions",
            ErrorKind::Stopped | ErrorKind::Backend => "look at what the database says",
        };
        Self::bad(name, error.to_string(), hint)
    }
}

/// What to do about a copy that was cut off.
pub const UNFINISHED: &str =
    "repeat `punch store copy FROM TO` with the same version of punch, which continues it";

const RESTORE: &str = "put a backup back with `punch restore FILE`";

/// Examines a store. Changes nothing; an older store is not migrated.
#[must_use]
pub fn examine(target: &Target, options: Options) -> Report {
    examine_within(target, options, Limits::default())
}

/// Like [`examine`], with other limits for a server.
#[must_use]
pub fn examine_within(target: &Target, options: Options, limits: Limits) -> Report {
    let dialect = match target {
        Target::File(_) | Target::Memory => Dialect::Sqlite,
        Target::Postgres(_) => Dialect::Postgres,
    };
    let (schema_version, checks) = match target {
        Target::File(path) => file(path, options),
        Target::Memory => (None, vec![Check::good("present", "a store in memory is always new")]),
        Target::Postgres(url) => on_server(url, options, limits),
    };
    let ok = checks.iter().all(|check| check.ok);
    Report { target: target.to_string(), dialect: dialect.name(), schema_version, ok, checks }
}

/// An open store on either database.
enum Patient {
    Sqlite(Connection),
    Postgres(Box<PgConnection>),
}

impl Patient {
    /// Runs each check in its own read transaction, so that a failed check does not affect the
    /// next.
    fn view<T>(&mut self, job: impl FnOnce(&mut Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        match self {
            Self::Sqlite(connection) => {
                connection.execute_batch("BEGIN")?;
                let answer = job(&mut Tx::sqlite(connection));
                drop(connection.execute_batch("ROLLBACK"));
                answer
            }
            Self::Postgres(connection) => postgres::in_view(connection, job),
        }
    }

    fn check(
        &mut self,
        name: &'static str,
        job: impl FnOnce(&mut Tx<'_>) -> Result<Check, Error>,
    ) -> Check {
        self.view(job).unwrap_or_else(|error| Check::failed(name, &error))
    }
}

fn file(path: &Path, options: Options) -> (Option<i64>, Vec<Check>) {
    if !path.exists() {
        let detail = "there is no store here yet; the first write makes it";
        return (None, vec![Check::good("present", detail)]);
    }
    let mut checks = vec![disk::permissions(path), disk::room(path)];
    let looked = sqlite::look(path, options).and_then(|connection| {
        let header = sqlite::header(&connection)?;
        Ok((connection, header))
    });
    let (connection, header) = match looked {
        Ok(found) => found,
        Err(error) => {
            checks.insert(0, Check::failed("present", &error));
            return (None, checks);
        }
    };
    if header.is_empty {
        checks.insert(0, Check::good("present", "an empty file; the first write makes a store"));
        return (None, checks);
    }
    if !header.is_ours() {
        let error = Error::new(ErrorKind::NotOurs, "its tables are not punchlist's");
        checks.insert(0, Check::failed("present", &error));
        return (None, checks);
    }
    let found = migrate::compare(header.version, options.migrations);
    let mut patient = Patient::Sqlite(connection);
    let integrity = patient.check("integrity", integrity);
    checks.splice(0..0, [schema(found, header.version, options), integrity]);
    look_inside(&mut patient, found, &mut checks);
    // While a store is copied into, its version is negative.
    (Some(header.version.abs()), checks)
}

/// Is there a store on this server? Nothing is changed.
pub fn is_on_server(url: &str) -> Result<bool, Error> {
    let mut connection = postgres::look(url)?;
    Ok(postgres::in_view(&mut connection, server_schema::version)? != 0)
}

fn on_server(url: &str, options: Options, limits: Limits) -> (Option<i64>, Vec<Check>) {
    let version = postgres::look(url).and_then(|mut connection| {
        let version = postgres::in_view(&mut connection, |tx| {
            let version = server_schema::version(tx)?;
            if version == 0 {
                server_schema::require_schema(tx)?;
                server_schema::require_free_names(tx)?;
            }
            Ok(version)
        })?;
        Ok((connection, version))
    });
    let (connection, version) = match version {
        Ok(found) => found,
        Err(error) => return (None, vec![Check::failed("present", &error)]),
    };
    let found = migrate::compare(version, options.migrations);
    let mut patient = Patient::Postgres(Box::new(connection));
    if version == 0 {
        return (None, vec![patient.check("present", |tx| to_come(tx, found))]);
    }
    let mut checks = vec![patient.check("schema", |tx| {
        let schema = schema(found, version, options);
        Ok(match server_schema::obstacle(tx, found)? {
            Some((why, hint)) if schema.ok => {
                Check::bad("schema", format!("version {version}; {why}"), &hint)
            }
            _ => schema,
        })
    })];
    look_inside(&mut patient, found, &mut checks);
    checks.push(patient.check("horizon", |tx| horizon(tx, limits)));
    for (name, job) in server::CHECKS {
        checks.push(patient.check(name, |tx| job(tx, limits)));
    }
    checks.push(patient.check("disk", |tx| {
        let statement = sql!("SELECT pg_database_size(current_database())");
        let bytes = tx.first(statement, &[], |row| row.int(0))?.unwrap_or_default();
        Ok(Check::good("disk", format!("the database takes {}", disk::bytes(bytes.unsigned_abs()))))
    }));
    // While a store is copied into, its version is negative.
    (Some(version.abs()), checks)
}

/// Could the first write make a store here?
fn to_come(tx: &mut Tx<'_>, found: Found) -> Result<Check, Error> {
    Ok(match server_schema::obstacle(tx, found)? {
        Some((why, hint)) => {
            Check::bad("present", format!("there is no store here yet, and {why}"), &hint)
        }
        None => Check::good("present", "there is no store here yet; the first write makes it"),
    })
}

/// Checks that need the tables. They run only on a store of our own version.
fn look_inside(patient: &mut Patient, found: Found, checks: &mut Vec<Check>) {
    if found == Found::Current {
        checks.push(patient.check("references", references));
        checks.push(patient.check("trees", trees::check));
        checks.push(patient.check("fold", fold::check));
        checks.push(patient.check("outbox", outbox));
    }
}

fn schema(found: Found, version: i64, options: Options) -> Check {
    let detail = format!("version {version}");
    match found {
        Found::Current | Found::Fresh => Check::good("schema", detail),
        Found::Older(_) => {
            Check::good("schema", format!("{detail}; punch migrates it at its next use"))
        }
        Found::Unfinished => Check::failed("schema", &migrate::unfinished()),
        Found::Newer(version) => {
            Check::failed("schema", &migrate::newer(version, options.migrations))
        }
    }
}

/// SQLite's own check of every page and index.
fn integrity(tx: &mut Tx<'_>) -> Result<Check, Error> {
    let statement = sql!("PRAGMA integrity_check(20)");
    let said = tx.query(statement, &[], |row| row.text(0))?;
    Ok(match said.as_slice() {
        [only] if only == "ok" => Check::good("integrity", "every page and index is sound"),
        faults => Check::bad("integrity", named(faults), RESTORE),
    })
}

/// Checks that every reference points to an existing row.
pub(super) fn references(tx: &mut Tx<'_>) -> Result<Check, Error> {
    let mut faults = Vec::new();
    if tx.dialect() == Dialect::Sqlite {
        let statement = sql!(
            "SELECT \"table\" || ' refers to a missing row of ' || \"parent\" \
             FROM pragma_foreign_key_check LIMIT 20"
        );
        faults = tx.query(statement, &[], |row| row.text(0))?;
    }
    for (thing, above, statement) in [
        (
            "list",
            "project",
            sql!(
                "SELECT count(*) FROM lists AS l \
                 WHERE NOT EXISTS (SELECT 1 FROM projects AS p WHERE p.id = l.project_id)"
            ),
        ),
        (
            "todo",
            "list",
            sql!(
                "SELECT count(*) FROM todos AS t \
                 WHERE NOT EXISTS (SELECT 1 FROM lists AS l WHERE l.id = t.list_id)"
            ),
        ),
        (
            "note",
            "todo",
            sql!(
                "SELECT count(*) FROM todo_notes AS n \
                 WHERE NOT EXISTS (SELECT 1 FROM todos AS t WHERE t.id = n.todo_id)"
            ),
        ),
        (
            "event",
            "project",
            sql!(
                "SELECT count(*) FROM events AS e \
                 WHERE NOT EXISTS (SELECT 1 FROM projects AS p WHERE p.id = e.project_id)"
            ),
        ),
    ] {
        match tx.first(statement, &[], |row| row.int(0))?.unwrap_or_default() {
            0 => {}
            1 => faults.push(format!("1 {thing} without its {above}")),
            count => faults.push(format!("{count} {thing}s without their {above}")),
        }
    }
    Ok(if faults.is_empty() {
        Check::good("references", "every list, todo, note and event has its parent")
    } else {
        Check::bad("references", named(&faults), RESTORE)
    })
}

/// Finds work that nobody does: due long ago and not held, or tried many times.
fn outbox(tx: &mut Tx<'_>) -> Result<Check, Error> {
    let now = tx.clock()?;
    let overdue = tx.first(
        sql!(
            "SELECT count(*) FROM outbox WHERE done_at IS NULL AND due_at <= $1 \
             AND kind NOT LIKE 'answer%' \
             AND (lease_until IS NULL OR lease_until <= $2)"
        ),
        &[now.plus_seconds(-OVERDUE_S).micros().into(), now.micros().into()],
        |row| row.int(0),
    )?;
    let stuck = tx.first(
        sql!(
            "SELECT count(*), max(last_error) FROM outbox WHERE done_at IS NULL AND attempts >= $1"
        ),
        &[ATTEMPTS_MANY.into()],
        |row| Ok((row.int(0)?, row.opt_text(1)?)),
    )?;
    let mut faults = Vec::new();
    match overdue.unwrap_or_default() {
        0 => {}
        count => faults.push(format!("{count} due for more than an hour and held by nobody")),
    }
    match stuck {
        None | Some((0, _)) => {}
        Some((count, error)) => {
            let last = error.map_or(String::new(), |error| format!(" (last: {error})"));
            faults.push(format!("{count} tried {ATTEMPTS_MANY} times and more{last}"));
        }
    }
    Ok(if faults.is_empty() {
        Check::good("outbox", "no work is overdue")
    } else {
        Check::bad("outbox", named(&faults), "check that a worker runs, and read its output")
    })
}

/// Finds old open transactions in the cluster, which delay what subscribers see (ADR 0004).
fn horizon(tx: &mut Tx<'_>, limits: Limits) -> Result<Check, Error> {
    let statement = sql!(
        "SELECT count(*) FROM events WHERE seq >= ",
        event_base!(),
        " + (pg_snapshot_xmax(pg_current_snapshot())::text::bigint << 20)"
    );
    let ahead = tx.first(statement, &[], |row| row.int(0))?.unwrap_or_default();
    if ahead > 0 {
        // This happens when a dump is restored into a younger cluster.
        let events = counted(ahead, "event is", "events are");
        let detail = format!("{events} numbered above what this cluster counts to yet");
        let hint = "subscribers would skip new events: export the store and import it into an \
                    empty one, or raise the cluster's next transaction id above the highest \
                    `seq >> 20` of `events` (pg_resetwal -x)";
        return Ok(Check::bad("horizon", detail, hint));
    }
    let statement = sql!(
        "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::bigint \
         FROM pg_stat_activity WHERE backend_xid IS NOT NULL"
    );
    let oldest = tx.first(statement, &[], |row| row.int(0))?.unwrap_or_default();
    Ok(if oldest < limits.horizon_s {
        Check::good("horizon", "no old transaction holds events back")
    } else {
        let detail = format!("a transaction has been open for {oldest} s and holds events back");
        Check::bad("horizon", detail, "find it in pg_stat_activity and end it")
    })
}

/// The first few faults, and the number of the others.
pub(super) fn named(faults: &[String]) -> String {
    let shown = faults.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join("; ");
    match faults.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}
