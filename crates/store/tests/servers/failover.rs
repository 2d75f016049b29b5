//! Two servers in one URL: a primary and its standby.

use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use punchlist_store::{ErrorKind, sql};
use punchlist_testkit::server::{OwnServer, Setup};

use super::{ask, open, refused, write, written};

/// Contract, "PostgreSQL": several hosts, `target_session_attrs`.
#[test]
fn a_store_continues_on_the_standby_that_takes_over() {
    let primary = OwnServer::start();
    let copy = format!(
        "rm -rf \"$1\"; \"$2/pg_basebackup\" -D \"$1\" -R -X stream -c fast -h 127.0.0.1 \
         -p {} -U punchlist",
        primary.port()
    );
    let first = open(&primary.url()).unwrap();
    write(&first, "before the copy").unwrap();
    let standby = OwnServer::start_with(Setup { script: &copy, socket: false });

    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", standby.port(), primary.port());
    let url =
        |kind: &str| format!("postgres://punchlist@{hosts}/postgres?target_session_attrs={kind}");
    // The standby is first in the URL, and does not accept writes.
    let store = open(&url("read-write")).unwrap();
    write(&store, "on the primary").unwrap();
    for kind in ["standby", "read-only", "prefer-standby"] {
        let reader = open(&url(kind)).unwrap();
        assert_eq!(write(&reader, "nowhere").unwrap_err().kind, ErrorKind::ReadOnly, "{kind}");
    }
    let reader = open(&url("standby")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while written(&reader).unwrap().len() < 2 {
        assert!(Instant::now() < deadline, "the standby does not follow");
    }

    // A standby accepts no LISTEN, so its log is read at intervals.
    let mut watch = reader.watch().unwrap();
    let append = sql!(
        "INSERT INTO events (seq, v, type, project_id, aggregate, actor, cause, at, data) \
         VALUES (1, 1, 'x', 'p', 'a', 'me', 'test', 1, '{}')"
    );
    assert_eq!(store.write(move |tx| tx.execute(append, &[])), Ok(1));
    let deadline = Instant::now() + Duration::from_secs(20);
    while ask(&reader, sql!("SELECT type FROM events")).unwrap().is_none() {
        assert!(Instant::now() < deadline, "the watch does not see the event");
        watch.wait(Duration::from_secs(20)).unwrap();
    }
    drop(watch);

    // Here the standby is the last one that is asked, so that its answer becomes the error.
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port(), standby.port());
    let primary_first =
        open(&format!("postgres://punchlist@{hosts}/postgres?target_session_attrs=read-write"))
            .unwrap();

    // The primary is lost, and the standby takes over.
    drop(first);
    drop(primary);
    // Workers wait while the store is unreachable. They would end if it were read-only.
    for store in [&store, &primary_first] {
        let lost = write(store, "meanwhile").unwrap_err();
        assert_eq!(lost.kind, ErrorKind::Unreachable, "{lost:?}");
    }
    let mut admin = Client::connect(&standby.url(), NoTls).unwrap();
    assert!(admin.query_one("SELECT pg_promote(true, 30)", &[]).unwrap().get::<_, bool>(0));
    write(&store, "on the new primary").unwrap();
    assert_eq!(
        written(&store).unwrap(),
        ["before the copy", "on the new primary", "on the primary"]
    );
    let none_left = refused(&url("standby"));
    assert_eq!(none_left.kind, ErrorKind::Unreachable, "{none_left:?}");
    open(&url("prefer-standby")).unwrap();
}
