//! A watch sees what any other store writes, soon, and says no when nothing was written.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use punchlist_store::sql;
use punchlist_testkit::{Backend, on_every_lasting_store, on_every_store};

use crate::fixture::Fixture;

/// As soon as it must be seen; what it takes on an idle machine is far less.
const SOON: Duration = Duration::from_secs(20);

fn a_change_ends_the_wait(backend: Backend) {
    let fixture = Arc::new(Fixture::new(backend));
    let mut watch = fixture.store.watch().unwrap();
    let writer = Arc::clone(&fixture);
    let writing = thread::spawn(move || writer.create(&["a"], 2));
    let started = Instant::now();
    // A hint may come that means nothing; what counts is that the change is seen.
    while fixture.todos().is_empty() {
        watch.wait(SOON).unwrap();
        assert!(started.elapsed() < SOON, "the change was not seen");
    }
    writing.join().unwrap();
}

fn a_change_before_the_wait_is_not_missed(backend: Backend) {
    let fixture = Fixture::new(backend);
    let mut watch = fixture.store.watch().unwrap();
    fixture.create(&["a"], 2);
    let started = Instant::now();
    assert!(watch.wait(SOON).unwrap());
    assert!(started.elapsed() < Duration::from_secs(5));
}

fn another_process_is_seen_like_ones_own(backend: Backend) {
    let fixture = Fixture::new(backend);
    let other = fixture.place.open();
    let mut watch = other.watch().unwrap();
    fixture.create(&["a"], 2);
    assert!(watch.wait(SOON).unwrap());
}

/// On PostgreSQL a refusal or a read sends no hint, and neither does another store's write.
fn where_nothing_happens_nothing_is_seen(backend: Backend) {
    let (fixture, other) = (Fixture::new(backend), Fixture::new(backend));
    let mut watch = fixture.store.watch().unwrap();
    other.create(&["elsewhere"], 2);
    fixture.todos();
    assert!(!watch.wait(Duration::from_millis(150)).unwrap());
    assert!(!watch.wait(Duration::ZERO).unwrap());
}

/// What a restart of the server does to every connection there is, to those in the pool and to
/// those that listen.
#[test]
fn connections_that_were_cut_are_made_again() {
    let fixture = Fixture::new(Backend::Postgres);
    let cut = || {
        let schema = sql!("SELECT current_schema()::text");
        let schema = fixture.read(move |tx| tx.first(schema, &[], |row| row.text(0))).unwrap();
        let url = punchlist_testkit::stores::postgres_url();
        let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
        let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE pid <> pg_backend_pid() AND application_name = $1";
        assert!(!client.query(others, &[&schema]).unwrap().is_empty());
    };
    let name = sql!("SELECT set_config('application_name', current_schema()::text, false)");
    fixture.store.write(move |tx| tx.first(name, &[], |row| row.text(0))).unwrap();
    cut();
    assert_eq!(fixture.todos(), []);
    fixture.store.write(move |tx| tx.first(name, &[], |row| row.text(0))).unwrap();
    cut();
    fixture.create(&["after the cut"], 2);
    assert_eq!(fixture.todos().len(), 1);
}

on_every_store!(a_change_ends_the_wait, a_change_before_the_wait_is_not_missed);
on_every_lasting_store!(
    another_process_is_seen_like_ones_own,
    where_nothing_happens_nothing_is_seen
);
