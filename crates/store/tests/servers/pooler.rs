//! pgbouncer in transaction mode: each transaction may use another session of the server.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use punchlist_store::{ErrorKind, sql};
use punchlist_testkit::server::{OwnServer, Restart};

use super::{ask, open, refused, write, written};

const WRITERS: usize = 8;
const WRITES: usize = 25;

/// Contract, "PostgreSQL": `?pooler=true` uses no named statements, no session settings and no LISTEN.
#[test]
fn a_store_behind_a_pooler_shares_few_connections_and_leaves_nothing_on_them() {
    let server = OwnServer::start();
    let pooler = server.pooler(2);
    let url = format!("{}?pooler=true&statement_timeout=5s", pooler.url());

    // All writers start at once on a store that does not exist yet.
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let url = url.clone();
            thread::spawn(move || {
                let store = open(&url).unwrap();
                for n in 0..WRITES {
                    write(&store, &format!("w{writer} n{n:02}")).unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    let store = Arc::new(open(&url).unwrap());
    assert_eq!(written(&store).unwrap().len(), WRITERS * WRITES);

    // The sessions are unchanged: they have no statements and no limits of ours.
    for _ in 0..10 {
        let named = sql!("SELECT count(*)::text FROM pg_prepared_statements");
        assert_eq!(ask(&store, named), Ok(Some("0".to_owned())));
    }
    let limit = sql!("SELECT current_setting('statement_timeout')");
    assert_eq!(ask(&store, limit), Ok(Some("5s".to_owned())));
    let direct = open(&server.url()).unwrap();
    let sessions = sql!(
        "SELECT count(*)::text FROM pg_stat_activity WHERE backend_type = 'client backend' \
         AND pid <> pg_backend_pid()"
    );
    let count: i64 = ask(&direct, sessions).unwrap().unwrap().parse().unwrap();
    assert!((1..=2).contains(&count), "{count}");

    // The server ends a statement that runs for too long.
    let hasty = open(&format!("{}?pooler=true&statement_timeout=2s", pooler.url())).unwrap();
    let start = Instant::now();
    let error = ask(&hasty, sql!("SELECT pg_sleep(30)::text")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Busy, "{error:?}");
    assert!(error.detail.contains("statement timeout"), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(20));

    // A watch polls, because it gets no notifications.
    let mut watch = store.watch().unwrap();
    let beside = Arc::clone(&store);
    let news = thread::spawn(move || {
        let append = sql!(
            "INSERT INTO events (seq, v, type, project_id, aggregate, actor, cause, at, data) \
             VALUES (1, 1, 'x', 'p', 'a', 'me', 'test', 1, '{}')"
        );
        beside.write(move |tx| tx.execute(append, &[]))
    });
    assert_eq!(news.join().unwrap(), Ok(1));
    assert_eq!(watch.wait(Duration::from_secs(10)), Ok(true));
}

/// The pooler stays, so it is the pooler that reports what happens to its server.
#[test]
fn a_server_that_restarts_or_is_lost_behind_a_pooler_is_unreachable() {
    let mut server = OwnServer::start();
    let pooler = server.pooler(2);
    let url = format!("{}?pooler=true&statement_timeout=2s", pooler.url());
    let store = open(&url).unwrap();
    write(&store, "before").unwrap();
    server.restart(Restart::Immediate);
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = write(&store, "after") {
        assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");
        assert!(Instant::now() < deadline, "{error:?}");
    }
    drop(server);
    for _ in 0..3 {
        let lost = write(&store, "meanwhile").unwrap_err();
        assert_eq!(lost.kind, ErrorKind::Unreachable, "{lost:?}");
    }
    let lost = refused(&url);
    assert_eq!(lost.kind, ErrorKind::Unreachable, "{lost:?}");
}

#[test]
fn a_pooler_that_refuses_the_settings_of_a_session_is_explained() {
    let server = OwnServer::start();
    let pooler = server.pooler(2);
    let error = refused(&pooler.url());
    assert!(error.detail.contains("unsupported startup parameter"), "{error:?}");
    let hint = "add ?pooler=true to the URL, or ignore_startup_parameters = options";
    assert!(error.detail.contains(hint), "{error:?}");
}
