//! Many processes at once, and processes that are killed: nothing acknowledged is lost.

use std::collections::BTreeSet;
use std::process::Child;
use std::time::Instant;

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::bad_store::integrity;
use crate::support::{Place, Ran};

/// How many children are killed.
const KILLED: u32 = 40;

fn create(place: &Place, title: &str) -> Child {
    let mut child = place.call("create_todo", &json!({ "items": [{ "title": title }] })).spawn();
    drop(child.stdin.take());
    child
}

fn items(place: &Place) -> Vec<Value> {
    let mut answer = place.call("list_todo", &json!({ "status": "all" })).answer();
    match answer["items"].take() {
        Value::Array(items) => items,
        other => panic!("no items: {other}"),
    }
}

/// P-20: the store does not exist when the crowd comes.
fn a_crowd_creates(backend: Backend) {
    let place = Place::new(backend);
    let crowd: Vec<Child> = (0..50).map(|n| create(&place, &format!("item {n}"))).collect();
    let mut acknowledged = BTreeSet::new();
    for child in crowd {
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.exit, ran.remarks().as_str()), (Some(0), ""), "{ran:?}");
        let created = &ran.json()["created"][0];
        acknowledged.insert((created["id"].to_string(), created["title"].to_string()));
    }
    let items = items(&place);
    let stored: BTreeSet<_> =
        items.iter().map(|item| (item["id"].to_string(), item["title"].to_string())).collect();
    assert_eq!((items.len(), stored), (50, acknowledged));
    // Each was appended after the one before it: no two have the same place.
    let places: BTreeSet<_> = items.iter().map(|item| item["priority"].as_i64()).collect();
    assert_eq!(places, (0..50).map(Some).collect());
    // One project, one list, fifty items, and nothing twice.
    assert_eq!(place.log_of(52), 52);
}

#[test]
fn fifty_processes_create_at_once_on_sqlite() {
    a_crowd_creates(Backend::SqliteFile);
}

#[test]
fn fifty_processes_create_at_once_on_postgres() {
    a_crowd_creates(Backend::Postgres);
}

/// Children are killed after a growing time: some before they open the store, some in the middle,
/// some when they are done.
fn what_was_acknowledged_stays(backend: Backend) -> Place {
    let started = Instant::now();
    Place::new(backend).create("how long it takes to make a store and an item");
    let step = started.elapsed() * 3 / 2 / KILLED;
    let place = Place::new(backend);
    let mut acknowledged = BTreeSet::new();
    for n in 0..KILLED {
        let started = Instant::now();
        let mut child = create(&place, &format!("item {n}"));
        while started.elapsed() < n * step && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        // Killing what has ended already is no failure.
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        // Whatever reached us was said after the commit, even if the end came then.
        if let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) {
            acknowledged.insert(answer["created"][0]["id"].to_string());
        } else {
            assert!(!output.status.success(), "a success without an answer");
        }
    }
    // The last word is a whole run, which finds a store it can use.
    acknowledged.insert(json!(place.create("the last")).to_string());
    let stored: BTreeSet<_> = items(&place).iter().map(|item| item["id"].to_string()).collect();
    let lost: Vec<_> = acknowledged.difference(&stored).collect();
    assert_eq!(lost, [""; 0]);
    // All or nothing: every item in the list is one line of the log.
    assert_eq!(place.log_of(stored.len() + 2), stored.len() + 2);
    place
}

#[test]
fn what_was_acknowledged_survives_a_kill_on_sqlite() {
    let place = what_was_acknowledged_stays(Backend::SqliteFile);
    assert_eq!(integrity(&place.file()), "ok");
}

#[test]
fn what_was_acknowledged_survives_a_kill_on_postgres() {
    what_was_acknowledged_stays(Backend::Postgres);
}
