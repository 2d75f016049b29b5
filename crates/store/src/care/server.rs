//! The checks of a PostgreSQL server itself: version, settings, connections, replication lag, dead rows
//! and long transactions.
//!
//! A role without `pg_monitor` does not see everything; a check says what it cannot see.

use punchlist_core::text::counted;

use super::disk;
use super::doctor::{Check, named};
use crate::{Error, Tx, sql};

/// The oldest version of the server that we know to work: 13.
const VERSION_MIN: i64 = 130_000;
/// The limits beyond which a server counts as unwell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A transaction that is open for longer prevents the server from vacuuming.
    pub open_s: i64,
    /// A transaction that writes and is open for longer delays what subscribers see.
    pub horizon_s: i64,
    /// A replica or slot may be behind by this many bytes of the log.
    pub lag_bytes: i64,
    /// A table is bloated if it has at least this many dead rows, and more dead rows than live ones.
    pub dead_rows: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { open_s: 3_600, horizon_s: 300, lag_bytes: 1 << 30, dead_rows: 100_000 }
    }
}

/// The checks, each with its name.
pub(super) type Job = fn(&mut Tx<'_>, Limits) -> Result<Check, Error>;
pub(super) const CHECKS: [(&str, Job); 5] = [
    ("server", version),
    ("settings", settings),
    ("transactions", transactions),
    ("lag", lag),
    ("bloat", bloat),
];

fn version(tx: &mut Tx<'_>, _: Limits) -> Result<Check, Error> {
    let asked = sql!(
        "SELECT current_setting('server_version'), current_setting('server_version_num')::bigint, \
         (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL \
          AND coalesce(backend_type, 'client backend') = 'client backend'), \
         current_setting('max_connections')::bigint - \
         current_setting('superuser_reserved_connections')::bigint"
    );
    let found =
        tx.first(asked, &[], |row| Ok((row.text(0)?, row.int(1)?, row.int(2)?, row.int(3)?)))?;
    let Some((name, number, used, room)) = found else {
        return Ok(Check::bad(
            "server",
            "the server did not report its version",
            "look at its log",
        ));
    };
    let detail = format!("PostgreSQL {name}; {used} of {room} connections are used");
    Ok(if number < VERSION_MIN {
        Check::bad("server", detail, "use PostgreSQL 13 or newer")
    } else if used * 10 >= room * 9 {
        Check::bad("server", detail, "raise max_connections, lower pool_size, or use a pooler")
    } else {
        Check::good("server", detail)
    })
}

/// Checks the settings that protect confirmed writes, and those that keep tables fast.
fn settings(tx: &mut Tx<'_>, _: Limits) -> Result<Check, Error> {
    let asked = sql!(
        "SELECT current_setting('fsync'), current_setting('autovacuum'), \
         current_setting('server_encoding'), current_setting('synchronous_commit'), \
         current_setting('full_page_writes'), \
         coalesce(current_setting('punchlist.disposable', true), '')"
    );
    let found = tx.first(asked, &[], |row| (0..6).map(|n| row.text(n)).collect())?;
    let found: Vec<String> = found.unwrap_or_default();
    let [fsync, autovacuum, encoding, synchronous, full_pages, disposable] = found.as_slice()
    else {
        return Ok(Check::bad("settings", "the server does not tell them", "look at its log"));
    };
    let mut faults = Vec::new();
    // A server for tests declares that its data is disposable.
    if fsync != "on" && disposable != "on" {
        faults.push("fsync is off: a crash may destroy the store".to_owned());
    }
    if full_pages != "on" && disposable != "on" {
        faults.push("full_page_writes is off: a crash may tear pages".to_owned());
    }
    if autovacuum != "on" {
        faults.push("autovacuum is off: tables grow and get slow".to_owned());
    }
    if encoding != "UTF8" {
        faults.push(format!("the database is encoded in {encoding}: make one in UTF8"));
    }
    if !faults.is_empty() {
        return Ok(Check::bad("settings", named(&faults), "change them in postgresql.conf"));
    }
    let promise = match synchronous.as_str() {
        _ if disposable == "on" => "its data may be lost, as punchlist.disposable says",
        "off" => "a crash may lose the last commits (synchronous_commit is off)",
        _ => "what is confirmed survives a crash",
    };
    Ok(Check::good("settings", promise))
}

fn transactions(tx: &mut Tx<'_>, limits: Limits) -> Result<Check, Error> {
    let asked = sql!(
        "SELECT pid::bigint, coalesce(application_name, ''), coalesce(state, ''), \
         extract(epoch FROM clock_timestamp() - xact_start)::bigint FROM pg_stat_activity \
         WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() \
         AND xact_start < clock_timestamp() - $1 * interval '1 second' ORDER BY xact_start LIMIT 20"
    );
    let old = tx.query(asked, &[(limits.open_s as f64).into()], |row| {
        let (process, program, state, age) = (row.int(0)?, row.text(1)?, row.text(2)?, row.int(3)?);
        Ok(format!("process {process} ({program}) has been {state} for {age} s"))
    })?;
    if !old.is_empty() {
        let hint = "end it with pg_terminate_backend(PROCESS), and set \
                    idle_in_transaction_session_timeout";
        return Ok(Check::bad("transactions", named(&old), hint));
    }
    let found = format!("none is open for more than {} minutes", limits.open_s / 60);
    // For a session that the role may not see, the server shows little more than that it is there.
    let unseen = sql!(
        "SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL AND usesysid IS NOT NULL \
         AND backend_type IS NULL"
    );
    let unseen = tx.first(unseen, &[], |row| row.int(0))?.unwrap_or_default();
    if unseen == 0 {
        return Ok(Check::good("transactions", found));
    }
    let unseen = counted(unseen, "session of another role", "sessions of other roles");
    partial(tx, "transactions", &format!("{found}; {unseen} cannot be seen"))
}

/// A check that could not see everything, with the grant that this role lacks.
fn partial(tx: &mut Tx<'_>, name: &'static str, detail: &str) -> Result<Check, Error> {
    let role = tx.first(sql!("SELECT quote_ident(current_user)"), &[], |row| row.text(0))?;
    let hint = format!("GRANT pg_monitor TO {}", role.unwrap_or_default());
    Ok(Check::partial(name, detail, hint))
}

/// Checks how far replicas are behind, and how much WAL the server keeps for them.
fn lag(tx: &mut Tx<'_>, limits: Limits) -> Result<Check, Error> {
    if let Some(seconds) = tx
        .first(
            sql!(
                "SELECT CASE WHEN pg_is_in_recovery() THEN coalesce(extract(epoch FROM \
                 clock_timestamp() - pg_last_xact_replay_timestamp()), 0)::bigint END"
            ),
            &[],
            |row| row.opt_int(0),
        )?
        .flatten()
    {
        let detail = format!("this is a standby; its newest change is {seconds} s old");
        return Ok(Check::good("lag", detail));
    }
    let asked = sql!(
        "SELECT coalesce(application_name, '') || ' is behind', \
             pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint, \
             CASE WHEN state IS NULL THEN 1 ELSE 0 END::bigint FROM pg_stat_replication \
         UNION ALL SELECT 'slot ' || slot_name || ' keeps the log', \
             pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint, 0::bigint \
             FROM pg_replication_slots WHERE NOT active"
    );
    let copies = tx.query(asked, &[], |row| Ok((row.text(0)?, row.opt_int(1)?, row.int(2)?)))?;
    let unseen: i64 = copies.iter().map(|(_, _, unseen)| unseen).sum();
    let (count, late) = (
        copies.len(),
        copies.into_iter().filter_map(|(what, bytes, _)| {
            let bytes = bytes.filter(|bytes| *bytes > limits.lag_bytes)?;
            Some(format!("{what} by {}", disk::bytes(bytes.unsigned_abs())))
        }),
    );
    let late: Vec<String> = late.collect();
    if late.is_empty() && unseen > 0 {
        let unseen = counted(unseen, "copy", "copies");
        return partial(tx, "lag", &format!("the lag of {unseen} cannot be seen"));
    }
    Ok(match (late.as_slice(), count) {
        ([], 0) => Check::good("lag", "the server has no copies"),
        ([], 1) => Check::good("lag", "1 copy keeps up"),
        ([], count) => Check::good("lag", format!("{count} copies keep up")),
        (late, _) => Check::bad("lag", named(late), "see that copies run, and drop unused slots"),
    })
}

fn bloat(tx: &mut Tx<'_>, limits: Limits) -> Result<Check, Error> {
    let asked = sql!(
        "SELECT relname::text, n_dead_tup FROM pg_stat_user_tables \
         WHERE schemaname = current_schema() AND n_dead_tup >= $1 AND n_dead_tup > n_live_tup \
         ORDER BY n_dead_tup DESC LIMIT 20"
    );
    let bloated = tx.query(asked, &[limits.dead_rows.into()], |row| {
        Ok(format!("`{}` has {} dead rows", row.text(0)?, row.int(1)?))
    })?;
    Ok(if bloated.is_empty() {
        Check::good("bloat", "no table is full of dead rows")
    } else {
        let hint = "VACUUM (ANALYZE) the table, and end transactions that stay open";
        Check::bad("bloat", named(&bloated), hint)
    })
}
