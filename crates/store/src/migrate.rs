//! Forward-only migrations: a frozen list, applied under a lock, with a backup and a row count.
//!
//! A SQLite store is copied next to itself before it is migrated (P-17). After the statements,
//! every table that existed before must have as many rows as before. An applied migration is never
//! edited; a change is a new migration.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::postgres::PgConnection;
use crate::{Error, ErrorKind, Options, Tx, server_schema, sql};

/// One migration, in both dialects.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    pub version: i64,
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

/// All migrations, in order.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        sqlite: include_str!("schema/sqlite/0001_core.sql"),
        postgres: include_str!("schema/postgres/0001_core.sql"),
    },
    Migration {
        version: 2,
        sqlite: include_str!("schema/sqlite/0002_identity.sql"),
        postgres: include_str!("schema/postgres/0002_identity.sql"),
    },
    Migration {
        version: 3,
        sqlite: include_str!("schema/sqlite/0003_issues.sql"),
        postgres: include_str!("schema/postgres/0003_issues.sql"),
    },
    Migration {
        version: 4,
        sqlite: include_str!("schema/sqlite/0004_sessions.sql"),
        postgres: include_str!("schema/postgres/0004_sessions.sql"),
    },
    Migration {
        version: 5,
        sqlite: include_str!("schema/sqlite/0005_plans.sql"),
        postgres: include_str!("schema/postgres/0005_plans.sql"),
    },
    Migration {
        version: 6,
        sqlite: include_str!("schema/sqlite/0006_archive.sql"),
        postgres: include_str!("schema/postgres/0006_archive.sql"),
    },
    Migration {
        version: 7,
        sqlite: concat!(
            include_str!("schema/sqlite/0007_pre_order.sql"),
            include_str!("schema/sqlite/tree_keys.sql")
        ),
        postgres: concat!(
            include_str!("schema/postgres/0007_pre_order.sql"),
            include_str!("schema/postgres/tree_keys.sql")
        ),
    },
    Migration {
        version: 8,
        sqlite: include_str!("schema/sqlite/0008_missions.sql"),
        postgres: include_str!("schema/postgres/0008_missions.sql"),
    },
    Migration {
        version: 9,
        sqlite: include_str!("schema/sqlite/0009_views.sql"),
        postgres: include_str!("schema/postgres/0009_views.sql"),
    },
    Migration {
        version: 10,
        sqlite: include_str!("schema/sqlite/0010_runs.sql"),
        postgres: include_str!("schema/postgres/0010_runs.sql"),
    },
    Migration {
        version: 11,
        sqlite: include_str!("schema/sqlite/0011_authority.sql"),
        postgres: include_str!("schema/postgres/0011_authority.sql"),
    },
    Migration {
        version: 12,
        sqlite: include_str!("schema/sqlite/0012_places.sql"),
        postgres: include_str!("schema/postgres/0012_places.sql"),
    },
    Migration {
        version: 13,
        sqlite: include_str!("schema/sqlite/0013_session_reach.sql"),
        postgres: include_str!("schema/postgres/0013_session_reach.sql"),
    },
    Migration {
        version: 16,
        sqlite: include_str!("schema/sqlite/0016_everyday.sql"),
        postgres: include_str!("schema/postgres/0016_everyday.sql"),
    },
    Migration {
        version: 22,
        sqlite: include_str!("schema/sqlite/0022_gate_reach.sql"),
        postgres: include_str!("schema/postgres/0022_gate_reach.sql"),
    },
    Migration {
        version: 23,
        sqlite: include_str!("schema/sqlite/0023_hosts.sql"),
        postgres: include_str!("schema/postgres/0023_hosts.sql"),
    },
    Migration {
        version: 24,
        sqlite: include_str!("schema/sqlite/0024_pages.sql"),
        postgres: include_str!("schema/postgres/0024_pages.sql"),
    },
    Migration {
        version: 28,
        sqlite: include_str!("schema/sqlite/0028_after.sql"),
        postgres: include_str!("schema/postgres/0028_after.sql"),
    },
    Migration {
        version: 29,
        sqlite: include_str!("schema/sqlite/0029_mcp.sql"),
        postgres: include_str!("schema/postgres/0029_mcp.sql"),
    },
    Migration {
        version: 30,
        sqlite: include_str!("schema/sqlite/0030_history.sql"),
        postgres: include_str!("schema/postgres/0030_history.sql"),
    },
    Migration {
        version: 33,
        sqlite: concat!(
            include_str!("schema/sqlite/0033_taking.sql"),
            include_str!("schema/sqlite/taken.sql")
        ),
        postgres: concat!(
            include_str!("schema/postgres/0033_taking.sql"),
            include_str!("schema/postgres/taken.sql")
        ),
    },
    Migration {
        version: 34,
        sqlite: include_str!("schema/sqlite/0034_merges.sql"),
        postgres: include_str!("schema/postgres/0034_merges.sql"),
    },
    Migration {
        version: 35,
        sqlite: include_str!("schema/sqlite/0035_lookups.sql"),
        postgres: include_str!("schema/postgres/0035_lookups.sql"),
    },
    Migration {
        version: 36,
        sqlite: concat!(
            include_str!("schema/sqlite/0036_status_reason.sql"),
            include_str!("schema/sqlite/status_reasons.sql")
        ),
        postgres: concat!(
            include_str!("schema/postgres/0036_status_reason.sql"),
            include_str!("schema/postgres/status_reasons.sql")
        ),
    },
    Migration {
        version: 37,
        sqlite: include_str!("schema/sqlite/0037_shorter_views.sql"),
        postgres: include_str!("schema/postgres/0037_shorter_views.sql"),
    },
];

/// How a store's version compares with ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Fresh,
    Older(i64),
    Current,
    Newer(i64),
    /// A copy into this store was started and not finished.
    Unfinished,
}

/// The schema version of this build.
pub(crate) fn known() -> i64 {
    latest(MIGRATIONS)
}

fn latest(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |migration| migration.version)
}

/// While a store is copied into, its version is negative, so that other processes refuse to open it.
pub(crate) fn compare(version: i64, migrations: &[Migration]) -> Found {
    if version < 0 {
        return Found::Unfinished;
    }
    match version.cmp(&latest(migrations)) {
        std::cmp::Ordering::Equal => Found::Current,
        std::cmp::Ordering::Greater => Found::Newer(version),
        std::cmp::Ordering::Less if version == 0 => Found::Fresh,
        std::cmp::Ordering::Less => Found::Older(version),
    }
}

pub(crate) fn newer(version: i64, migrations: &[Migration]) -> Error {
    let ours = latest(migrations);
    let detail = format!("its schema is version {version}, this punch knows {ours}; update punch");
    Error::new(ErrorKind::Newer, detail)
}

pub(crate) fn unfinished() -> Error {
    Error::new(ErrorKind::Unfinished, "a copy into it is not finished")
}

/// Migrates a SQLite file. If several processes try at once, one of them does it.
pub(crate) fn sqlite(
    connection: &Connection,
    migrations: &[Migration],
    path: Option<&Path>,
    application_id: i32,
) -> Result<(), Error> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let result = sqlite_locked(connection, migrations, path, application_id);
    let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    connection.execute_batch(end)?;
    result
}

fn sqlite_locked(
    connection: &Connection,
    migrations: &[Migration],
    path: Option<&Path>,
    application_id: i32,
) -> Result<(), Error> {
    let version: i64 =
        connection.query_row("SELECT user_version FROM pragma_user_version", [], |r| r.get(0))?;
    match compare(version, migrations) {
        Found::Current => return Ok(()),
        Found::Newer(version) => return Err(newer(version, migrations)),
        Found::Unfinished => return Err(unfinished()),
        Found::Older(version) => {
            if let Some(path) = path {
                back_up(path, version)?;
            }
        }
        Found::Fresh => {}
    }
    apply(&mut Tx::sqlite(connection), version, migrations)?;
    connection.pragma_update(None, "application_id", application_id)?;
    connection.pragma_update(None, "user_version", latest(migrations))?;
    Ok(())
}

/// Copies the store to `NAME.v1.bak` (or `.v1.2.bak`, …) over a separate connection. The caller
/// holds the write lock, so nothing changes during the copy.
fn back_up(path: &Path, version: i64) -> Result<(), Error> {
    let target = free_name(path, version);
    // The copy must be as private as the store.
    crate::sqlite::create_private(&target)?;
    let source = Connection::open(path)?;
    let mut copy = Connection::open(&target)?;
    let backup = rusqlite::backup::Backup::new(&source, &mut copy)?;
    backup.run_to_completion(1_000, std::time::Duration::ZERO, None)?;
    Ok(())
}

fn free_name(path: &Path, version: i64) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let first = path.with_file_name(format!("{name}.v{version}.bak"));
    let more = (2..).map(|n| path.with_file_name(format!("{name}.v{version}.{n}.bak")));
    std::iter::once(first.clone()).chain(more).find(|path| !path.exists()).unwrap_or(first)
}

/// Migrates a PostgreSQL schema, under an advisory lock.
pub(crate) fn postgres(connection: &mut PgConnection, options: Options) -> Result<(), Error> {
    let migrations = options.migrations;
    // Check the version first: usually nothing is to be done, and no lock is needed.
    let version = server_schema::version(&mut Tx::postgres(connection))?;
    if version == 0 {
        server_schema::require_schema(&mut Tx::postgres(connection))?;
    }
    match compare(version, migrations) {
        Found::Current => return Ok(()),
        Found::Newer(version) => return Err(newer(version, migrations)),
        Found::Unfinished if options.is_copied_into => return Ok(()),
        Found::Unfinished => return Err(unfinished()),
        Found::Fresh | Found::Older(_) => {}
    }
    connection.begin("BEGIN");
    match postgres_locked(connection, options) {
        Ok(()) => connection.commit(),
        Err(error) => {
            connection.rollback()?;
            Err(error)
        }
    }
}

fn postgres_locked(connection: &mut PgConnection, options: Options) -> Result<(), Error> {
    let migrations = options.migrations;
    alone(&mut Tx::postgres(connection), options)?;
    // A migration has no time limit, but it waits only 30 s for a table lock: later queries
    // would queue behind it.
    connection.migrate(
        "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '30s'; \
         CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)",
    )?;
    let version = server_schema::version(&mut Tx::postgres(connection))?;
    if version == 0 {
        // Not before the lock: another process may just have made our tables.
        server_schema::require_free_names(&mut Tx::postgres(connection))?;
    }
    match compare(version, migrations) {
        Found::Current => return Ok(()),
        Found::Newer(version) => return Err(newer(version, migrations)),
        Found::Unfinished => return Err(unfinished()),
        Found::Fresh | Found::Older(_) => {}
    }
    let mut tx = Tx::postgres(connection);
    apply(&mut tx, version, migrations)?;
    tx.execute(sql!("DELETE FROM schema_version"), &[])?;
    tx.execute(
        sql!("INSERT INTO schema_version (version) VALUES ($1)"),
        &[latest(migrations).into()],
    )?;
    if version == 0 && latest(migrations) >= IDENTITY_SINCE {
        tx.put_fact(IDENTITY_TO_COME, "tokens")?;
    }
    Ok(())
}

/// How often a waiting process checks whether the migration is done.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Waits until no other process migrates this schema. The lock belongs to the transaction, so it works
/// through a pooler, and ends with the process that holds it.
fn alone(tx: &mut Tx<'_>, options: Options) -> Result<(), Error> {
    // Locked per schema, so that stores in different schemas do not wait for one another.
    let lock = sql!(
        "SELECT CASE WHEN pg_try_advisory_xact_lock(1346586700, hashtext(current_schema())) \
         THEN 'mine' END"
    );
    let deadline = Instant::now() + Duration::from_millis(options.busy_ms.into());
    let mut has_told = false;
    while tx.first(lock, &[], |row| row.opt_text(0))?.flatten().is_none() {
        let who = tx.first(
            sql!(
                "SELECT 'process ' || l.pid || coalesce(' (' || a.application_name || ')', '') \
                 FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid \
                 WHERE l.locktype = 'advisory' AND l.classid = 1346586700 AND l.granted \
                 AND l.objid::bigint = hashtext(current_schema())::bigint & 4294967295 \
                 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            ),
            &[],
            |row| row.text(0),
        )?;
        let who = who.unwrap_or_else(|| "another process".to_owned());
        if Instant::now() >= deadline {
            let detail =
                format!("{who} is bringing the store's schema forward; try again when it is done");
            return Err(Error::new(ErrorKind::Busy, detail));
        }
        if let (false, Some(tell)) = (has_told, options.notice) {
            tell(&format!("waiting: {who} is bringing the store's schema forward"));
        }
        has_told = true;
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// The stored fact that a store on a server requires tokens once it has an operator's token. It is
/// set on new stores since the identity rule exists; older stores stay open.
pub const IDENTITY_TO_COME: &str = "identity_to_come";

/// The first schema version whose new stores get an identity rule.
const IDENTITY_SINCE: i64 = 11;

impl Tx<'_> {
    /// Marks a store as the target of a copy, or as finished.
    pub(crate) fn mark_version(&mut self, is_finished: bool) -> Result<(), Error> {
        let version = if is_finished { known() } else { -known() };
        match self.dialect() {
            crate::Dialect::Sqlite => self.batch(&format!("PRAGMA user_version = {version}")),
            crate::Dialect::Postgres => {
                self.write(sql!("UPDATE schema_version SET version = $1"), &[version.into()])
            }
        }
    }

    /// The schema's version, if a copy into this store was started and not finished. No migration
    /// brings such a store forward.
    pub(crate) fn unfinished_version(&mut self) -> Result<Option<i64>, Error> {
        let version = self.version()?;
        Ok((version < 0).then_some(-version))
    }

    /// Fails unless the store has the schema of this build. It had when it was opened, but another
    /// program may have changed it since.
    pub fn check_schema(&mut self) -> Result<(), Error> {
        let version = self.version()?;
        match compare(version, MIGRATIONS) {
            Found::Current => Ok(()),
            Found::Newer(version) => Err(newer(version, MIGRATIONS)),
            Found::Unfinished => Err(unfinished()),
            Found::Fresh | Found::Older(_) => {
                let (kind, ours) = (ErrorKind::Unreachable, known());
                let detail = format!("its schema is version {version}, this punch needs {ours}");
                Err(Error::new(kind, detail))
            }
        }
    }

    fn version(&mut self) -> Result<i64, Error> {
        match self.dialect() {
            crate::Dialect::Sqlite => {
                let asked = sql!("SELECT user_version FROM pragma_user_version");
                Ok(self.first(asked, &[], |row| row.int(0))?.unwrap_or_default())
            }
            crate::Dialect::Postgres => server_schema::version(self),
        }
    }
}

/// Runs the migrations above `version` and checks that no row was lost.
fn apply(tx: &mut Tx<'_>, version: i64, migrations: &[Migration]) -> Result<(), Error> {
    let before = counts(tx)?;
    for migration in migrations.iter().filter(|migration| migration.version > version) {
        tx.migrate(match tx.dialect() {
            crate::Dialect::Sqlite => migration.sqlite,
            crate::Dialect::Postgres => migration.postgres,
        })?;
    }
    let after = counts(tx)?;
    for (table, rows) in before {
        match after.iter().find(|(name, _)| *name == table) {
            Some((_, now)) if *now == rows => {}
            found => {
                let now = found.map_or(0, |(_, now)| *now);
                let detail = format!("the migration left {now} of {rows} rows in `{table}`");
                return Err(Error::new(ErrorKind::Backend, detail));
            }
        }
    }
    Ok(())
}

/// The row counts of the tables that a migration must keep. A table that does not exist yet is left
/// out.
fn counts(tx: &mut Tx<'_>) -> Result<Vec<(&'static str, i64)>, Error> {
    let tables = tx.query(
        tx.dialect().pick(
            sql!("SELECT name FROM sqlite_master WHERE type = 'table'"),
            sql!("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()"),
        ),
        &[],
        |row| row.text(0),
    )?;
    let mut counts = Vec::new();
    for (table, count) in [
        ("projects", sql!("SELECT count(*) FROM projects")),
        ("lists", sql!("SELECT count(*) FROM lists")),
        ("todos", sql!("SELECT count(*) FROM todos")),
        ("todo_notes", sql!("SELECT count(*) FROM todo_notes")),
        ("events", sql!("SELECT count(*) FROM events")),
        ("outbox", sql!("SELECT count(*) FROM outbox")),
        ("answers", sql!("SELECT count(*) FROM answers")),
        ("tokens", sql!("SELECT count(*) FROM tokens")),
        ("facts", sql!("SELECT count(*) FROM facts")),
        ("leases", sql!("SELECT count(*) FROM leases")),
        ("issues", sql!("SELECT count(*) FROM issues")),
        ("issue_search", sql!("SELECT count(*) FROM issue_search")),
        ("conversations", sql!("SELECT count(*) FROM conversations")),
        ("messages", sql!("SELECT count(*) FROM messages")),
        ("sessions", sql!("SELECT count(*) FROM sessions")),
        ("bindings", sql!("SELECT count(*) FROM bindings")),
        ("gates", sql!("SELECT count(*) FROM gates")),
        ("issue_updates", sql!("SELECT count(*) FROM issue_updates")),
        ("issue_links", sql!("SELECT count(*) FROM issue_links")),
        ("delegations", sql!("SELECT count(*) FROM delegations")),
        ("agents", sql!("SELECT count(*) FROM agents")),
    ] {
        if tables.iter().any(|name| name == table) {
            counts.push((table, tx.first(count, &[], |row| row.int(0))?.unwrap_or(0)));
        }
    }
    Ok(counts)
}
