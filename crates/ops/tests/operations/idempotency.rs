//! Idempotency keys: one effect, even for concurrent requests, and never another principal's
//! answer.

use std::sync::{Arc, Barrier};
use std::thread;

use punchlist_core::Role;
use punchlist_ops::{Envelope, Error};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

fn keyed(world: &World, key: &str) -> Envelope {
    Envelope { idempotency_key: Some(key.to_owned()), ..world.envelope(Role::Root) }
}

fn plan(title: &str) -> Value {
    json!({ "items": [{ "title": title, "context": "c" }] })
}

/// P-25
fn another_input_under_the_same_key_is_a_conflict(backend: Backend) {
    let world = World::new(backend);
    let envelope = keyed(&world, "k");
    let first = world.call_in(&envelope, "create_todo", plan("a")).unwrap();
    let conflict = Err(Error::IdempotencyConflict { key: "k".to_owned() });
    assert_eq!(world.call_in(&envelope, "create_todo", plan("b")), conflict);
    // An equal input in another turn is another request.
    let mut elsewhere = envelope.clone();
    elsewhere.context.turn = Some("t2".to_owned());
    assert_eq!(world.call_in(&elsewhere, "create_todo", plan("a")), conflict);
    // The order of fields does not matter.
    let turned = json!({ "items": [{ "context": "c", "title": "a" }] });
    assert_eq!(world.call_in(&envelope, "create_todo", turned), Ok(first));
    let listed = world.call("list_todo", json!({})).unwrap();
    assert_eq!(listed["summary"]["total"], 1);
}

/// P-25: authority is checked before a stored answer is replayed, and keys are per principal.
fn a_stored_answer_is_for_its_own_principal(backend: Backend) {
    let world = World::new(backend);
    let envelope = keyed(&world, "k");
    world.call_in(&envelope, "create_todo", plan("a")).unwrap();
    let mut worker = envelope.clone();
    worker.actor.role = Role::Worker;
    let error = world.call_in(&worker, "create_todo", plan("a")).unwrap_err();
    assert_eq!(error.code(), "not_permitted");
    let mut other = envelope;
    other.actor.principal = "root:other".to_owned();
    world.call_in(&other, "create_todo", plan("a")).unwrap();
    assert_eq!(world.call("list_todo", json!({})).unwrap()["summary"]["total"], 2);
}

/// A refusal is not stored: the same key may succeed later. An answer is stored for seven days.
fn only_successes_are_kept_and_for_seven_days(backend: Backend) {
    let mut world = World::new(backend);
    let id = world.call("create_todo", plan("a")).unwrap()["created"][0]["id"].clone();
    let mut wrong = keyed(&world, "k");
    wrong.context.turn = Some("t2".to_owned());
    let input = json!({ "todoId": id, "outcome": "done" });
    assert!(world.call_in(&wrong, "complete_todo", input.clone()).is_err());
    let envelope = keyed(&world, "k");
    world.call_in(&envelope, "complete_todo", input.clone()).unwrap();
    world.now = world.now.plus_seconds(7 * 24 * 3600);
    let error = world.call_in(&keyed(&world, "k"), "complete_todo", input).unwrap_err();
    assert_eq!(error.code(), "already_settled");
}

fn two_at_once_have_one_effect(backend: Backend) {
    let world = Arc::new(World::new(backend));
    let start = Arc::new(Barrier::new(6));
    let callers: Vec<_> = (0..6)
        .map(|_| {
            let (world, start) = (Arc::clone(&world), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                world.call_in(&keyed(&world, "k"), "create_todo", plan("a"))
            })
        })
        .collect();
    let answers: Vec<Value> = callers.into_iter().map(|c| c.join().unwrap().unwrap()).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(world.call("list_todo", json!({})).unwrap()["summary"]["total"], 1);
}

on_every_store!(
    another_input_under_the_same_key_is_a_conflict,
    a_stored_answer_is_for_its_own_principal,
    only_successes_are_kept_and_for_seven_days,
    two_at_once_have_one_effect,
);
