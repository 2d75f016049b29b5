//! A watch sees the writes of any other store soon, and reports false when nothing was written.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use punchlist_store::sql;
use punchlist_testkit::{Backend, on_every_lasting_store, on_every_store};

use crate::fixture::Fixture;

/// The latest time to see it; an idle machine needs far less.
const SOON: Duration = Duration::from_secs(20);

fn a_change_ends_the_wait(backend: Backend) {
    let fixture = Arc::new(Fixture::new(backend));
    let mut watch = fixture.store.watch().unwrap();
    let writer = Arc::clone(&fixture);
    let writing = thread::spawn(move || writer.create(&["a"], 2));
    let started = Instant::now();
    // A false hint may come first; the change must be seen in the end.
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
    assert!(started.elapsed() < SOON / 2);
}

fn another_process_is_seen_like_ones_own(backend: Backend) {
    let fixture = Fixture::new(backend);
    let other = fixture.place.open();
    let mut watch = other.watch().unwrap();
    fixture.create(&["a"], 2);
    assert!(watch.wait(SOON).unwrap());
}

/// On PostgreSQL a refusal, a read and a write to another store send no hint.
fn without_a_write_the_watch_reports_nothing(backend: Backend) {
    let (fixture, other) = (Fixture::new(backend), Fixture::new(backend));
    // Connections and prepared statements exist before the watch.
    other.create(&["elsewhere"], 2);
    fixture.todos();
    for seed in 3..33 {
        let begun = Instant::now();
        let mut watch = fixture.store.watch().unwrap();
        other.create(&["elsewhere too"], seed);
        fixture.todos();
        let seen = [Duration::from_millis(150), Duration::ZERO].map(|time| watch.wait(time));
        // After a second a watch of a server looks by itself, and reports that.
        if backend != Backend::Postgres || begun.elapsed() < Duration::from_secs(1) {
            assert_eq!(seen, [Ok(false), Ok(false)]);
            return;
        }
    }
    panic!("it never took less than a second");
}

/// Cuts every connection, as a server restart does: those in the pool and those that listen.
#[test]
fn lost_connections_are_restored() {
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
    without_a_write_the_watch_reports_nothing
);
