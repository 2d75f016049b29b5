//! The examination of a server: the results for a good one, and for each fault that it can have.

use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use punchlist_store::care::{Check, Limits, Report, examine_within};
use punchlist_store::{Options, Target};
use punchlist_testkit::server::{OwnServer, Setup};

use super::{open, write};

fn looked_over(server: &OwnServer) -> Report {
    drop(open(&server.url()).unwrap());
    within(server, Limits::default())
}

fn within(server: &OwnServer, limits: Limits) -> Report {
    examine_within(&Target::Postgres(server.url()), Options::default(), limits)
}

fn check<'r>(report: &'r Report, name: &str) -> &'r Check {
    report.checks.iter().find(|check| check.name == name).unwrap()
}

/// Examines the server until this check fails: statistics and replicas take a moment.
fn failed(server: &OwnServer, name: &str, limits: Limits) -> Check {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let report = within(server, limits);
        let found = check(&report, name);
        if !found.ok {
            assert!(!report.ok, "{report:?}");
            return found.clone();
        }
        assert!(Instant::now() < deadline, "{name} passes: {found:?}");
    }
}

fn says(check: &Check, detail: &str, hint: &str) {
    assert!(check.detail.contains(detail), "{check:?}");
    assert!(check.hint.as_deref().unwrap_or_default().contains(hint), "{check:?}");
}

fn admin(server: &OwnServer) -> Client {
    Client::connect(&server.url(), NoTls).unwrap()
}

#[test]
fn a_server_that_may_lose_confirmed_writes_is_reported() {
    let script = "echo 'fsync = off\nfull_page_writes = off\nautovacuum = off' \
                  >>\"$1/postgresql.conf\"";
    let report = looked_over(&OwnServer::start_with(Setup { script, socket: false }));
    assert!(!report.ok);
    let settings = check(&report, "settings");
    assert!(!settings.ok);
    for words in ["fsync is off", "full_page_writes is off", "autovacuum is off"] {
        assert!(settings.detail.contains(words), "{settings:?}");
    }
    for name in ["server", "transactions", "lag", "bloat"] {
        assert!(check(&report, name).ok, "{report:?}");
    }
}

#[test]
fn a_server_as_installed_passes() {
    let report = looked_over(&OwnServer::start());
    assert!(report.ok, "{report:?}");
    assert!(check(&report, "server").detail.starts_with("PostgreSQL "), "{report:?}");
    assert_eq!(check(&report, "settings").detail, "what is confirmed survives a crash");
    let open = "none is open for more than 60 minutes";
    assert_eq!(check(&report, "transactions").detail, open);
}

#[test]
fn a_transaction_that_stays_open_is_reported() {
    let server = OwnServer::start();
    assert!(looked_over(&server).ok);
    let limits = Limits { open_s: 0, horizon_s: 0, ..Limits::default() };
    // No limit is exceeded while nobody else has a transaction.
    assert!(check(&within(&server, limits), "transactions").ok);

    let mut idle = admin(&server);
    let mut transaction = idle.transaction().unwrap();
    let row = transaction.query_one("SELECT pg_backend_pid(), txid_current()", &[]).unwrap();
    let process: i32 = row.get(0);
    let found = failed(&server, "transactions", limits);
    says(&found, &format!("process {process} "), "pg_terminate_backend");
    says(&found, "has been idle in transaction for", "idle_in_transaction_session_timeout");
    // It has a transaction id, so it also delays what subscribers see.
    let found = failed(&server, "horizon", limits);
    says(&found, "a transaction has been open for", "pg_stat_activity");
    assert!(within(&server, Limits::default()).ok, "an hour has not passed");
    transaction.rollback().unwrap();
    assert!(check(&within(&server, limits), "transactions").ok);
}

#[test]
fn what_the_role_cannot_see_is_not_reported_as_well() {
    let primary = OwnServer::start();
    drop(open(&primary.url()).unwrap());
    let copy = format!(
        "rm -rf \"$1\"; \"$2/pg_basebackup\" -D \"$1\" -R -X stream -c fast -h 127.0.0.1 \
         -p {} -U punchlist",
        primary.port()
    );
    let _standby = OwnServer::start_with(Setup { script: &copy, socket: false });
    let mut admin = admin(&primary);
    let made = "CREATE ROLE plain LOGIN; GRANT pg_read_all_data, pg_write_all_data TO plain";
    admin.batch_execute(made).unwrap();
    let known = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn IS NOT NULL";
    let deadline = Instant::now() + Duration::from_secs(20);
    while admin.query_one(known, &[]).unwrap().get::<_, i64>(0) == 0 {
        assert!(Instant::now() < deadline, "the standby does not report");
    }
    let target = Target::Postgres(primary.url().replacen("punchlist@", "plain@", 1));
    let as_plain = || examine_within(&target, Options::default(), Limits::default());

    let report = as_plain();
    assert!(report.ok, "{report:?}");
    let grant = Some("GRANT pg_monitor TO plain");
    let found = check(&report, "transactions");
    assert!(found.detail.contains("of another role cannot be seen"), "{found:?}");
    assert_eq!(found.hint.as_deref(), grant);
    let found = check(&report, "lag");
    assert_eq!(found.detail, "the lag of 1 copy cannot be seen");
    assert_eq!(found.hint.as_deref(), grant);

    admin.batch_execute("GRANT pg_monitor TO plain").unwrap();
    let report = as_plain();
    assert_eq!(check(&report, "transactions").detail, "none is open for more than 60 minutes");
    assert_eq!(check(&report, "lag").detail, "1 copy keeps up");
}

/// A role that may read a store and not change it, or not all of it, would find that out with its
/// first write.
#[test]
fn a_role_without_rights_on_the_tables_is_reported() {
    let server = OwnServer::start();
    drop(open(&server.url()).unwrap());
    let mut admin = admin(&server);
    let target = Target::Postgres(server.url().replacen("punchlist@", "few@", 1));
    let schema = || {
        let report = examine_within(&target, Options::default(), Limits::default());
        let found = check(&report, "schema").clone();
        (found.ok, found.detail.split_once("; ").map(|(_, why)| why.to_owned()))
    };
    let bad = |why: &str| (false, Some(why.to_owned()));
    let all = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public";
    for (change, expected) in [
        ("CREATE ROLE few LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO few", None),
        (
            &*format!("GRANT {all} TO few"),
            Some(bad("few lacks USAGE on gates_row_seq and 4 more sequences")),
        ),
        (
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO few; \
             REVOKE USAGE ON SEQUENCE gates_row_seq FROM few",
            Some(bad("few lacks USAGE on the sequence gates_row_seq")),
        ),
        ("GRANT UPDATE ON SEQUENCE gates_row_seq TO few", Some((true, None))),
        ("GRANT USAGE ON SEQUENCE gates_row_seq TO few", Some((true, None))),
        ("REVOKE INSERT, UPDATE, DELETE ON schema_version FROM few", Some((true, None))),
        ("REVOKE DELETE ON leases FROM few", Some(bad("few lacks DELETE on the table leases"))),
        (
            "REVOKE SELECT ON todos FROM few",
            Some(bad("few lacks DELETE, SELECT on leases and 1 more table")),
        ),
        // Tables and sequences of others are none of our business.
        (
            &*format!(
                "GRANT {all} TO few; CREATE ROLE other; CREATE TABLE theirs (row BIGSERIAL); \
                 ALTER TABLE theirs OWNER TO other"
            ),
            Some((true, None)),
        ),
    ] {
        admin.batch_execute(change).unwrap();
        let found = schema();
        match expected {
            Some(expected) => assert_eq!(found, expected, "{change}"),
            None => {
                let why = found.1.unwrap_or_default();
                assert!(
                    why.starts_with("few lacks DELETE, INSERT, UPDATE on agents and "),
                    "{why}"
                );
            }
        }
    }
}

#[test]
fn a_table_full_of_dead_rows_is_reported() {
    let script = "echo 'autovacuum = off' >>\"$1/postgresql.conf\"";
    let server = OwnServer::start_with(Setup { script, socket: false });
    drop(open(&server.url()).unwrap());
    let mut admin = admin(&server);
    let fill =
        "INSERT INTO facts (name, value) SELECT 'n' || n, 'x' FROM generate_series(1, 500) n";
    admin.batch_execute(fill).unwrap();
    admin.batch_execute("DELETE FROM facts WHERE value = 'x'").unwrap();
    // A connection reports its statistics at the latest when it ends.
    drop(admin);
    let found = failed(&server, "bloat", Limits { dead_rows: 500, ..Limits::default() });
    says(&found, "`facts` has 500 dead rows", "VACUUM");
    let more = within(&server, Limits { dead_rows: 501, ..Limits::default() });
    assert!(check(&more, "bloat").ok, "{more:?}");
}

#[test]
fn a_slot_that_nobody_reads_is_reported() {
    let server = OwnServer::start();
    assert_eq!(check(&looked_over(&server), "lag").detail, "the server has no copies");
    let make = "SELECT pg_create_physical_replication_slot('forgotten', true)";
    admin(&server).batch_execute(make).unwrap();
    write(&open(&server.url()).unwrap(), "more of the log").unwrap();
    assert_eq!(check(&within(&server, Limits::default()), "lag").detail, "1 copy keeps up");
    let found = failed(&server, "lag", Limits { lag_bytes: 0, ..Limits::default() });
    says(&found, "slot forgotten keeps the log by ", "drop unused slots");
}

#[test]
fn a_standby_that_does_not_follow_is_reported() {
    let primary = OwnServer::start();
    let store = open(&primary.url()).unwrap();
    let copy = format!(
        "rm -rf \"$1\"; \"$2/pg_basebackup\" -D \"$1\" -R -X stream -c fast -h 127.0.0.1 \
         -p {} -U punchlist",
        primary.port()
    );
    let mut standby = OwnServer::start_with(Setup { script: &copy, socket: false });
    let report = within(&standby, Limits::default());
    assert!(check(&report, "lag").detail.starts_with("this is a standby"), "{report:?}");
    // Its first report about itself has to arrive, or the primary does not know where it is.
    let mut admin = admin(&primary);
    let known = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn IS NOT NULL";
    let deadline = Instant::now() + Duration::from_secs(20);
    while admin.query_one(known, &[]).unwrap().get::<_, i64>(0) == 0 {
        assert!(Instant::now() < deadline, "the standby does not report");
    }
    standby.freeze();
    write(&store, "the standby does not get this").unwrap();
    let found = failed(&primary, "lag", Limits { lag_bytes: 0, ..Limits::default() });
    says(&found, "walreceiver is behind by ", "see that copies run");
    standby.thaw();
}

#[test]
fn a_server_whose_connections_are_nearly_used_up_is_reported() {
    // Three of them are reserved for superusers.
    let script = "echo 'max_connections = 13' >>\"$1/postgresql.conf\"";
    let server = OwnServer::start_with(Setup { script, socket: false });
    drop(open(&server.url()).unwrap());
    let mut others: Vec<Client> = (0..8).map(|_| admin(&server)).collect();
    let found = failed(&server, "server", Limits::default());
    says(&found, "9 of 10 connections are used", "raise max_connections");
    // Below nine tenths it passes.
    others.truncate(4);
    let deadline = Instant::now() + Duration::from_secs(20);
    while !check(&within(&server, Limits::default()), "server").ok {
        assert!(Instant::now() < deadline, "the server still counts closed connections");
    }
}
