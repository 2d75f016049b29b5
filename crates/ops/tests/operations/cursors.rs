//! A cursor is the number of an event that was seen. If the log no longer has that event, the
//! caller gets an error and never silently skips a gap (P-29).

use std::time::Duration;

use punchlist_core::Role;
use punchlist_ops::Error;
use punchlist_ops::follow::Follow;
use punchlist_store::sql;
use punchlist_store::sql::Sql;
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

fn fill(world: &World, count: usize) {
    let items: Vec<Value> = (0..count).map(|n| json!({ "title": format!("item {n}") })).collect();
    world.call("create_todo", json!({ "items": items })).unwrap();
}

/// The numbers of the log's events, once there are `count` of them.
fn numbers(world: &World, count: usize) -> Vec<i64> {
    let log = world.log();
    assert_eq!(log.len(), count);
    log.iter().map(|event| event["seq"].as_i64().unwrap()).collect()
}

/// Deletes events, as if the log had been cut or restored. No operation does this.
fn cut(world: &World, statement: &'static Sql, seq: i64) {
    let store = world.ops.store().unwrap();
    let gone = store.write(move |tx| tx.execute(statement, &[seq.into()])).unwrap();
    assert!(gone > 0);
}

fn read_after(world: &World, after: i64) -> Result<Vec<i64>, Error> {
    let page = world.call("event_list", json!({ "after": after }))?;
    let events = page["events"].as_array().unwrap();
    Ok(events.iter().map(|event| event["seq"].as_i64().unwrap()).collect())
}

#[track_caller]
fn refused(world: &World, after: i64, last_seq: i64) {
    let expected = Error::ResetRequired { after, last_seq: Some(last_seq) };
    assert_eq!(read_after(world, after), Err(expected.clone()));
    // A caller that follows the log from there gets the same error at once.
    let root = world.envelope(Role::Root);
    let mut follow = Follow::after(&world.ops, &root, Some(after)).unwrap();
    assert_eq!(follow.next(Duration::from_secs(20)).unwrap_err(), expected);
}

fn a_number_that_no_event_has_is_refused(backend: Backend) {
    let world = World::new(backend);
    refused(&world, 1 << 40, 0);
    fill(&world, 3);
    let log = numbers(&world, 5);
    refused(&world, log[4] + 1, log[4]);
    assert_eq!(read_after(&world, log[4]), Ok(vec![]));
    for start in [0, -7] {
        assert_eq!(read_after(&world, start), Ok(log.clone()));
    }
    // A worker sees only the end of its own events.
    let worker = world.envelope(Role::Worker);
    let input = json!({ "after": log[4] + 1 });
    let error = world.call_in(&worker, "event_list", input).unwrap_err();
    let expected = json!({ "error": {
        "code": "reset_required",
        "message": format!(
            "the log does not continue from event {}: the store was restored, or its log cut, \
             since then", log[4] + 1
        ),
        "hint": "read the state again, then the log with --after 0",
        "after": log[4] + 1, "lastSeq": 0,
    } });
    assert_eq!(error.to_json(), expected);
}

/// P-29: the cursor is older than the retained log.
fn a_cursor_before_the_retained_log_is_refused(backend: Backend) {
    let world = World::new(backend);
    fill(&world, 4);
    let log = numbers(&world, 6);
    cut(&world, sql!("DELETE FROM events WHERE seq <= $1"), log[2]);
    for gone in &log[..3] {
        refused(&world, *gone, log[5]);
    }
    assert_eq!(read_after(&world, log[3]), Ok(log[4..].to_vec()));
    assert_eq!(read_after(&world, 0), Ok(log[3..].to_vec()));
}

/// P-29: a dump of the same server is restored. Event numbers contain transaction ids, which are
/// never reused, so new events cannot be confused with those seen before.
#[test]
fn a_cursor_from_before_a_restored_dump_is_refused_on_postgres() {
    let world = World::new(Backend::Postgres);
    fill(&world, 2);
    fill(&world, 2);
    let log = numbers(&world, 6);
    let root = world.envelope(Role::Root);
    let mut follow = Follow::after(&world.ops, &root, None).unwrap();
    cut(&world, sql!("DELETE FROM events WHERE seq > $1"), log[3]);
    world.call("complete_todo", json!({ "todoId": todo(&world), "outcome": "done" })).unwrap();
    let now = numbers(&world, 5);
    assert_eq!(now[..4], log[..4]);
    let told = follow.next(Duration::from_secs(20));
    assert!(matches!(told, Err(Error::ResetRequired { .. })), "{told:?}");
    refused(&world, log[5], now[4]);
    assert_eq!(read_after(&world, log[3]), Ok(now[4..].to_vec()));
}

/// P-29: a dump is restored into a younger cluster, whose transaction ids are lower: new events
/// would be below the cursor and hidden by it.
#[test]
fn a_cursor_above_the_clusters_event_numbers_is_refused_on_postgres() {
    let world = World::new(Backend::Postgres);
    fill(&world, 2);
    let log = numbers(&world, 4);
    cut(&world, sql!("UPDATE events SET seq = seq + (1::bigint << 60) WHERE seq > $1"), log[2]);
    refused(&world, log[3] + (1 << 60), log[2]);
}

fn todo(world: &World) -> Value {
    world.call("list_todo", json!({})).unwrap()["items"][0]["id"].take()
}

on_every_store!(a_number_that_no_event_has_is_refused, a_cursor_before_the_retained_log_is_refused,);
