//! Events that no subscriber can skip.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use punchlist_core::{Event, Time, event::ProjectOpened};
use punchlist_store::{Error, Stamp, Tx};
use punchlist_testkit::{Backend, on_every_store};

use crate::fixture::Fixture;

fn say(tx: &mut Tx<'_>, stamp: &Stamp, name: &str) -> Result<(), Error> {
    let (project_id, name) = (stamp.project, name.to_owned());
    let created_at = Time::from_micros(0);
    tx.append(stamp, "a", &Event::from(ProjectOpened { project_id, name, created_at }))
}

fn names(fixture: &Fixture, count: usize) -> Vec<String> {
    let read = |data: &str| serde_json::from_str::<serde_json::Value>(data).unwrap();
    let log = fixture.log(count);
    log.iter().map(|e| read(&e.data)["name"].as_str().unwrap().to_owned()).collect()
}

/// Two transactions overlap, and the older one commits later. A subscriber that has not seen it
/// must not have passed its number.
#[test]
fn a_late_commit_on_postgres_is_never_overtaken() {
    let fixture = Fixture::new(Backend::Postgres);
    let (store, stamp) = (Arc::clone(&fixture.store), fixture.stamp());
    let (inside, entered) = channel();
    let (release, released) = channel::<()>();
    let late = thread::spawn(move || {
        store.write(move |tx| {
            say(tx, &stamp, "older, commits later")?;
            // A read sends the waiting statements: from here on the transaction has its number.
            tx.project("any")?;
            inside.send(()).unwrap();
            released.recv().unwrap();
            Ok::<_, Error>(())
        })
    });
    entered.recv().unwrap();
    let stamp = fixture.stamp();
    fixture.store.write(move |tx| say(tx, &stamp, "younger, commits first")).unwrap();
    // The younger transaction is committed, but the older one may still get a lower number: nobody
    // may see the younger one yet.
    assert_eq!(names(&fixture, 0), Vec::<String>::new());
    release.send(()).unwrap();
    late.join().unwrap().unwrap();
    assert_eq!(names(&fixture, 2), ["older, commits later", "younger, commits first"]);
}

/// Writers race while a subscriber reads from its cursor: it sees every event once, in order.
fn a_subscriber_sees_every_event_once_and_in_order(backend: Backend) {
    const WRITERS: usize = 4;
    const EACH: usize = 25;
    let fixture = Fixture::new(backend);
    let project = fixture.list.project_id;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, stamp) = (Arc::clone(&fixture.store), fixture.stamp());
            thread::spawn(move || {
                for n in 0..EACH {
                    let stamp = stamp.clone();
                    store
                        .write(move |tx| {
                            say(tx, &stamp, &format!("{writer}-{n}-a"))?;
                            say(tx, &stamp, &format!("{writer}-{n}-b"))
                        })
                        .unwrap();
                }
            })
        })
        .collect();
    let mut cursor = 0;
    let mut seen = Vec::new();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while seen.len() < WRITERS * EACH * 2 && std::time::Instant::now() < deadline {
        for event in fixture.read(move |tx| tx.events_after(project, None, cursor, 7)) {
            assert!(event.seq > cursor);
            cursor = event.seq;
            seen.push(event.data);
        }
        thread::yield_now();
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let mut distinct = seen.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!((seen.len(), distinct.len()), (WRITERS * EACH * 2, WRITERS * EACH * 2));
}

fn the_newest_events_come_oldest_first_and_an_actor_can_be_asked_for(backend: Backend) {
    let fixture = Fixture::new(backend);
    for name in ["a", "b", "c"] {
        let mut stamp = fixture.stamp();
        stamp.actor.principal = format!("root:{name}");
        fixture.store.write(move |tx| say(tx, &stamp, name)).unwrap();
    }
    assert_eq!(names(&fixture, 3), ["a", "b", "c"]);
    let project = fixture.list.project_id;
    let last = fixture.read(move |tx| tx.events_last(project, None, None, 2));
    assert_eq!(last.iter().map(|e| e.actor.as_str()).collect::<Vec<_>>(), ["root:b", "root:c"]);
    let own = fixture.read(move |tx| tx.events_after(project, Some("root:b"), 0, 9));
    assert_eq!(own, last[..1]);
}

on_every_store!(
    a_subscriber_sees_every_event_once_and_in_order,
    the_newest_events_come_oldest_first_and_an_actor_can_be_asked_for,
);
