//! Idempotency keys: one effect, even for concurrent requests, and never another principal's
//! answer.

use std::sync::{Arc, Barrier};
use std::thread;

use punchlist_core::{Reach, Role};
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

/// The attack: a token for one project or issue uses up the predictable keys of another one.
fn a_key_of_another_project_or_reach_is_another_key(backend: Backend) {
    let world = World::new(backend);
    let file = |title: &str| json!({ "title": title, "forceNew": true });
    let in_test = Envelope { idempotency_key: Some("deploy-42".into()), ..keyed(&world, "k") };
    let mut elsewhere = Envelope { project: "elsewhere".to_owned(), ..in_test.clone() };
    elsewhere.actor.reach = Reach { project: Some("elsewhere".into()), ..Reach::default() };
    let mut narrowed = in_test.clone();
    narrowed.actor.reach = Reach { project: Some("test".into()), ..Reach::default() };
    let made: Vec<Value> = [&elsewhere, &in_test, &narrowed]
        .iter()
        .map(|who| world.call_in(who, "issue_create", file(&who.project)).unwrap())
        .collect();
    // Each has its own answer, and another request under the same key is still a conflict.
    for (who, made) in [&elsewhere, &in_test, &narrowed].iter().zip(&made) {
        let again = world.call_in(who, "issue_create", file(&who.project)).unwrap();
        assert_eq!(&again, made);
        let error = world.call_in(who, "issue_create", file("other")).unwrap_err();
        assert_eq!(error.code(), "idempotency_conflict");
    }
    let listed = world.call("issue_list", json!({})).unwrap();
    assert_eq!(listed["issues"].as_array().unwrap().len(), 2);
}

/// An older version stored answers under the principal alone.
fn an_answer_of_an_older_version_is_found(backend: Backend) {
    let world = World::new(backend);
    let envelope = keyed(&world, "k");
    let first = world.call_in(&envelope, "create_todo", plan("a")).unwrap();
    let store = world.ops.store().unwrap();
    let principal = envelope.actor.principal.clone();
    let older = move |tx: &mut punchlist_store::Tx<'_>| {
        tx.write(punchlist_store::sql!("UPDATE answers SET principal = $1"), &[(&principal).into()])
    };
    store.write(older).unwrap();
    assert_eq!(world.call_in(&envelope, "create_todo", plan("a")).unwrap(), first);
    // For another request it counts neither as an answer nor as a conflict.
    world.call_in(&envelope, "create_todo", plan("b")).unwrap();
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
    a_key_of_another_project_or_reach_is_another_key,
    an_answer_of_an_older_version_is_found,
    only_successes_are_kept_and_for_seven_days,
    two_at_once_have_one_effect,
);
