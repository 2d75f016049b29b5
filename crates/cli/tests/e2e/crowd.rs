//! Many processes at once: all are served, and no acknowledged write is lost.

use std::collections::BTreeSet;
use std::process::Child;

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::support::{Place, Ran};

pub(crate) fn create(place: &Place, title: &str) -> Child {
    let mut child = place.call("create_todo", &json!({ "items": [{ "title": title }] })).spawn();
    drop(child.stdin.take());
    child
}

pub(crate) fn items(place: &Place) -> Vec<Value> {
    let mut answer = place.call("list_todo", &json!({ "status": "all" })).answer();
    match answer["items"].take() {
        Value::Array(items) => items,
        other => panic!("no items: {other}"),
    }
}

/// P-20: the store does not exist when the processes start.
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
    // Each was appended after the previous one, so no two have the same position.
    let places: BTreeSet<_> = items.iter().map(|item| item["priority"].as_i64()).collect();
    assert_eq!(places, (0..50).map(Some).collect());
    // One project, one list, fifty items, and no duplicates.
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
