//! The examination of a server: the results for a good one, and for one with wrong settings.

use punchlist_store::care::{Check, Report, examine};
use punchlist_store::{Options, Target};
use punchlist_testkit::server::{OwnServer, Setup};

use super::open;

fn looked_over(server: &OwnServer) -> Report {
    drop(open(&server.url()).unwrap());
    examine(&Target::Postgres(server.url()), Options::default())
}

fn check<'r>(report: &'r Report, name: &str) -> &'r Check {
    report.checks.iter().find(|check| check.name == name).unwrap()
}

#[test]
fn a_server_that_may_lose_confirmed_writes_is_reported() {
    let script = "echo 'fsync = off\nautovacuum = off' >>\"$1/postgresql.conf\"";
    let report = looked_over(&OwnServer::start_with(Setup { script, socket: false }));
    assert!(!report.ok);
    let settings = check(&report, "settings");
    assert!(!settings.ok);
    for words in ["fsync is off", "autovacuum is off"] {
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
}
