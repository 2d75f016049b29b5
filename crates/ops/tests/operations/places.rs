//! Repositories whose projects would have the same name.

use punchlist_core::Role;
use punchlist_ops::{Envelope, Place};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

/// A caller in a folder whose project has chosen the name `api`.
fn caller(world: &World, folder: &str) -> Envelope {
    let mut envelope = world.envelope(Role::Root);
    envelope.project = "api".to_owned();
    envelope.context.place = Some(Place { folder: folder.to_owned(), ..Place::default() });
    envelope.context.names = vec!["api".to_owned(), format!("{folder}.api")];
    envelope
}

fn titles(world: &World, envelope: &Envelope) -> Vec<Value> {
    let listed = world.call_in(envelope, "issue_list", json!({})).unwrap();
    listed["issues"].as_array().unwrap().iter().map(|issue| issue["title"].clone()).collect()
}

/// Contract, Context: another repository with the same folder name gets its own project, even if it
/// has chosen the name before that was taken.
fn a_call_with_a_name_that_was_taken_is_made_in_the_callers_own_project(backend: Backend) {
    let world = World::new(backend);
    let (work, clients) = (caller(&world, "work"), caller(&world, "clients"));
    world.call_in(&work, "issue_create", json!({ "title": "Of work" })).unwrap();
    assert_eq!(titles(&world, &clients), [""; 0], "reading creates nothing and shows no other");
    world.call_in(&clients, "issue_create", json!({ "title": "Of clients" })).unwrap();
    assert_eq!(titles(&world, &work), ["Of work"]);
    assert_eq!(titles(&world, &clients), ["Of clients"]);
    let status = world.call_in(&clients, "status", json!({})).unwrap();
    assert_eq!(status["project"], "clients.api");
    // Who names the project means it, wherever they are.
    let mut named = clients;
    named.context.place = None;
    assert_eq!(titles(&world, &named), ["Of work"]);
}

/// A token for the project of that name does not reach the one that the call is made in.
fn a_narrowed_token_does_not_follow_to_another_project(backend: Backend) {
    let world = World::new(backend);
    let (work, mut clients) = (caller(&world, "work"), caller(&world, "clients"));
    world.call_in(&work, "issue_create", json!({ "title": "Of work" })).unwrap();
    clients.actor.reach.project = Some("api".to_owned());
    for (name, input) in [("issue_list", json!({})), ("issue_create", json!({ "title": "Mine" }))] {
        let refused = world.call_in(&clients, name, input).unwrap_err();
        assert_eq!(refused.code(), "out_of_reach", "{name}");
    }
}

on_every_store!(
    a_call_with_a_name_that_was_taken_is_made_in_the_callers_own_project,
    a_narrowed_token_does_not_follow_to_another_project,
);
