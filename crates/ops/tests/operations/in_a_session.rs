//! What a session means for other operations: the issue it is bound to, the questions it asks, and
//! that it goes on after its end.

use punchlist_core::Role;
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

use crate::sessions::{bound, within};

/// K-34: the same words ask for something else once every criterion is claimed.
fn a_checkpoint_in_the_words_of_a_pause_becomes_a_sign_off(backend: Backend) {
    for is_answered in [false, true] {
        let world = World::new(backend);
        bound(&world, "s", &["fast"]);
        let me = within(&world, Role::Root, "s");
        let operator = world.envelope(Role::Operator);
        let ask = || world.call_in(&me, "checkpoint", json!({ "reason": "all is done" })).unwrap();
        let pause = ask();
        if is_answered {
            let resume = json!({ "gateId": pause["gateId"], "decision": "resume" });
            world.call_in(&operator, "gate_answer", resume).unwrap();
        }
        let done = json!({ "action": "done", "content": "fast" });
        world.call_in(&me, "todo", done).unwrap();
        let sign_off = ask();
        assert_eq!(sign_off["state"], "open");
        let open = world.call_in(&operator, "gate_list", json!({ "state": "open" })).unwrap();
        let open: Vec<_> = open["gates"].as_array().unwrap().iter().collect();
        assert_eq!(open.len(), 1);
        assert_eq!(
            (&open[0]["id"], &open[0]["purpose"]),
            (&sign_off["gateId"], &json!("sign_off"))
        );
    }
}

/// Contract, Configuration: `punch todo …` needs an issue or a session that has one.
fn items_are_found_and_taken_in_the_issue_of_the_session(backend: Backend) {
    let world = World::new(backend);
    bound(&world, "s", &[]);
    let me = within(&world, Role::Root, "s");
    world.call_in(&me, "todo", json!({ "action": "add", "items": ["read", "write"] })).unwrap();
    let shown = world.call_in(&me, "todo_show", json!({ "todoId": "write" })).unwrap();
    assert_eq!(shown["todo"]["title"], "write");
    for input in [json!({ "session": "s" }), json!({})] {
        let taken = world.call_in(&me, "todo_next", input).unwrap();
        assert_eq!(taken["todo"]["title"], "read");
    }
    let nowhere = world.call("todo_next", json!({})).unwrap_err();
    assert_eq!(nowhere.code(), "missing_field");
    let choices = "`number, planFile or session`";
    assert_eq!(nowhere.to_string(), format!("{choices} is missing or empty"));
    assert_eq!(nowhere.hint().unwrap(), format!("give {choices}"));
    let unknown = world.call("todo_show", json!({ "todoId": "write" })).unwrap_err();
    assert_eq!(unknown.code(), "unknown_todo", "without a session the text names nothing");

    // The session's own list comes first while something is open in it.
    let own = json!({ "todos": [{ "content": "mine", "status": "pending", "priority": "high" }] });
    let unbound = within(&world, Role::Root, "t");
    world.call("session_start", json!({ "externalId": "t" })).unwrap();
    world.call_in(&unbound, "todo_write", own).unwrap();
    let taken = world.call_in(&unbound, "todo_next", json!({ "session": "t" })).unwrap();
    assert_eq!(taken["todo"]["title"], "mine");
}

/// The hint of a session that has ended is to start it again.
fn a_session_that_had_ended_is_started_again(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &[]);
    let root = world.envelope(Role::Root);
    world.call_in(&root, "session_end", json!({ "session": "s" })).unwrap();
    let bind = json!({ "session": "s", "number": number });
    let refused = world.call_in(&root, "session_bind", bind.clone()).unwrap_err();
    assert_eq!(refused.code(), "session_ended");
    let start = json!({ "externalId": "s" });
    let again = world.call_in(&root, "session_start", start.clone()).unwrap();
    let session = &again["session"];
    assert_eq!((&session["state"], &session["boundIssue"]), (&json!("active"), &Value::Null));
    world.call_in(&root, "session_bind", bind).unwrap();
    let running = world.call_in(&root, "session_start", start).unwrap();
    assert_eq!(running["session"]["boundIssue"], number, "one that runs stays as it is");
}

/// The session of `punch mcp` itself: its process cannot start another.
fn the_own_session_of_a_server_goes_on_with_the_next_write(backend: Backend) {
    let world = World::new(backend);
    let mut server = world.envelope(Role::Root);
    server.context.own_session = Some("mcp-1".to_owned());
    let ask = || world.call_in(&server, "ask", json!({ "question": "Which?" }));
    ask().unwrap();
    world.call("session_end", json!({ "session": "mcp-1" })).unwrap();
    ask().unwrap();
    let shown = world.call("session_show", json!({ "session": "mcp-1" })).unwrap();
    assert_eq!(shown["session"]["state"], "paused", "by its open question");
}

/// Contract, P-26: `forceNew` overrides the likeness wherever an issue is created.
fn a_session_is_promoted_to_a_look_alike_only_by_force(backend: Backend) {
    let world = World::new(backend);
    world.call("issue_create", json!({ "title": "Slow build" })).unwrap();
    world.call("session_start", json!({ "externalId": "s" })).unwrap();
    let mut promote = json!({ "session": "s", "title": "Slow build" });
    let refused = world.call("session_promote", promote.clone()).unwrap_err();
    assert_eq!(refused.code(), "look_alike");
    promote["forceNew"] = true.into();
    assert_eq!(world.call("session_promote", promote).unwrap()["issue"]["number"], 2);
}

/// Q-K2: a criterion that was dropped is no part of the definition of done.
fn a_dropped_criterion_cannot_be_ratified(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &["fast"]);
    let me = within(&world, Role::Root, "s");
    let propose = json!({ "action": "add", "items": ["small"], "kind": "criterion" });
    world.call_in(&me, "todo", propose).unwrap();
    let operator = world.envelope(Role::Operator);
    let named = json!({ "number": number, "content": "small" });
    world.call_in(&operator, "criterion_drop", named.clone()).unwrap();
    let refused = world.call_in(&operator, "criterion_ratify", named).unwrap_err();
    assert_eq!(refused.code(), "already_settled");
}

/// K-55: null clears a field, absence keeps it.
fn a_priority_can_be_removed(backend: Backend) {
    let world = World::new(backend);
    world.call("issue_create", json!({ "title": "Slow build" })).unwrap();
    let operator = world.envelope(Role::Operator);
    let priority = |input: Value| {
        world.call_in(&operator, "issue_update", input).unwrap()["issue"]["priority"].take()
    };
    assert_eq!(priority(json!({ "number": 1, "priority": "high" })), "high");
    assert_eq!(priority(json!({ "number": 1, "title": "Slow" })), "high");
    assert_eq!(priority(json!({ "number": 1, "priority": null })), Value::Null);
}

on_every_store!(
    a_checkpoint_in_the_words_of_a_pause_becomes_a_sign_off,
    items_are_found_and_taken_in_the_issue_of_the_session,
    a_session_that_had_ended_is_started_again,
    the_own_session_of_a_server_goes_on_with_the_next_write,
    a_session_is_promoted_to_a_look_alike_only_by_force,
    a_dropped_criterion_cannot_be_ratified,
    a_priority_can_be_removed,
);
