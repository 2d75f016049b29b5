//! Session lists through the catalogue: `todo_write`, `todo_read`, taking items, promoting.

use std::sync::Arc;

use punchlist_core::Role;
use punchlist_ops::config::{Origin, Roster};
use punchlist_ops::{Envelope, Error};
use punchlist_testkit::{Backend, World, on_every_lasting_store, on_every_store};
use serde_json::{Value, json};

use crate::sessions::within;

/// An agent in a session named `s`.
fn begun(world: &World) -> Envelope {
    world.call("session_start", json!({ "title": "work", "externalId": "s" })).unwrap();
    within(world, Role::Root, "s")
}

fn write(world: &World, me: &Envelope, todos: impl Into<Value>) -> Result<Value, Error> {
    world.call_in(me, "todo_write", json!({ "todos": todos.into() }))
}

fn read(world: &World, me: &Envelope) -> Value {
    world.call_in(me, "todo_read", json!({})).unwrap()
}

fn summary(of: [usize; 6]) -> Value {
    let [total, pending, in_progress, completed, cancelled, held] = of;
    json!({
        "total": total, "pending": pending, "inProgress": in_progress,
        "completed": completed, "cancelled": cancelled, "held": held,
    })
}

/// S-9, X-10, D-10: the list is stored as written, with the model's own ids; items that are left out are
/// cancelled, and the answer says so (F-15, P-9).
fn a_list_is_replaced_as_a_whole_and_read_back(backend: Backend) {
    let world = World::new(backend);
    let me = begun(&world);
    let empty = json!({ "todos": [], "summary": summary([0; 6]) });
    assert_eq!(read(&world, &me), empty);
    let todos = json!([
        { "id": "1", "content": "Read the code", "status": "completed" },
        { "id": "2", "content": "Fix it", "status": "in_progress", "priority": "high" },
        { "id": "3", "content": "Test it" },
    ]);
    let written = write(&world, &me, todos).unwrap();
    let one = |id: &str, content: &str, status: &str, rank: &str| {
        let mut one = json!({ "id": id, "content": content });
        (one["status"], one["priority"]) = (json!(status), json!(rank));
        one
    };
    let expected = json!({
        "todos": [
            one("1", "Read the code", "completed", "medium"),
            one("2", "Fix it", "in_progress", "high"),
            one("3", "Test it", "pending", "medium"),
        ],
        "summary": summary([3, 1, 1, 1, 0, 0]),
    });
    assert_eq!(written, expected);
    assert_eq!(read(&world, &me), expected);
    let next = json!([{ "id": "3", "content": "Test it", "status": "in_progress" }]);
    let expected = json!({
        "todos": [
            one("1", "Read the code", "completed", "medium"),
            one("3", "Test it", "in_progress", "medium"),
            one("2", "Fix it", "cancelled", "high"),
        ],
        "summary": summary([3, 0, 1, 1, 1, 0]),
        "message": "1 of 3 cancelled by the agent.",
    });
    assert_eq!(write(&world, &me, next).unwrap(), expected);
    assert_eq!(read(&world, &me), expected);
    // S-12: another session has another list.
    world.call("session_start", json!({ "externalId": "other" })).unwrap();
    assert_eq!(read(&world, &within(&world, Role::Root, "other")), empty);
}

/// S-28, S-29, S-30: malformed items are skipped or held, with a message; a list of only malformed
/// items is empty.
fn malformed_items_are_skipped(backend: Backend) {
    let world = World::new(backend);
    let me = begun(&world);
    let blank = json!([{ "id": "1" }, { "content": " \n " }, { "content": null }]);
    let written = write(&world, &me, blank).unwrap();
    let warnings: Vec<String> =
        (1..=3).map(|n| format!("Item {n} has no content. Skipped.")).collect();
    assert_eq!(written, json!({ "todos": [], "summary": summary([0; 6]), "warnings": warnings }));
    let twice = json!([
        { "id": "a", "content": "Fix it" }, { "id": "b", "content": " Fix  it", "priority": "high" },
    ]);
    let written = write(&world, &me, twice).unwrap();
    let said = "`Fix it` conflicts with `Fix  it`, which comes first. Held.";
    assert_eq!(written["warnings"], json!([said]));
    assert_eq!(written["todos"][0]["hold"]["kind"], "blocked");
    assert_eq!(written["summary"], summary([2, 2, 0, 0, 0, 1]));
    let next = world.call_in(&me, "todo_next", json!({ "session": "s" })).unwrap();
    assert_eq!(next["todo"]["title"], "Fix  it");
}

/// Bad input is refused with the problem and the accepted words, and changes nothing.
fn a_bad_list_changes_nothing(backend: Backend) {
    let world = World::new(backend);
    let me = begun(&world);
    write(&world, &me, json!([{ "id": "1", "content": "a", "status": "in_progress" }])).unwrap();
    let before = read(&world, &me);
    let many: Vec<Value> = (0..10_001).map(|n| json!({ "content": n.to_string() })).collect();
    for (todos, code, words) in [
        (json!([{ "content": "a", "status": "done" }]), "bad_value", "todos[0].status"),
        (json!([{ "content": "a", "priority": "urgent" }]), "bad_value", "todos[0].priority"),
        (json!([{ "content": "a", "state": "pending" }]), "unknown_field", "todos[0].state"),
        (json!([{ "content": 7 }]), "wrong_type", "todos[0].content"),
        (json!([{ "content": "x".repeat(2001) }]), "too_long", "2000"),
        (json!("a"), "wrong_type", "todos"),
        // S-24
        (json!(many), "too_long", "10000"),
        (
            json!([{ "id": "1", "content": "a" }, { "id": "1", "content": "b" }]),
            "duplicate_id",
            "`1`",
        ),
        (
            json!([{ "id": "1", "content": "a" }, { "content": "b", "status": "in_progress" }]),
            "one_in_progress",
            "`a` and `b`",
        ),
        (json!([{ "content": "a", "conflictsWith": "z" }]), "unknown_todo", "`z`"),
    ] {
        let error = write(&world, &me, todos).unwrap_err();
        assert_eq!(error.code(), code, "{error:?}");
        assert!(error.to_string().contains(words), "{error} names {words}");
        assert!(error.hint().is_some(), "{error}");
        assert_eq!(read(&world, &me), before);
    }
    let missing = world.call_in(&me, "todo_write", json!({})).unwrap_err();
    assert_eq!(missing.code(), "missing_field");
}

/// The list belongs to the session: root and operator can write it, a worker cannot. Without a
/// session there is no list, and the list of an ended session does not change.
fn only_root_and_operator_can_write_a_sessions_list(backend: Backend) {
    let world = World::new(backend);
    let me = begun(&world);
    let todos = || json!([{ "id": "1", "content": "a" }]);
    write(&world, &me, todos()).unwrap();
    write(&world, &within(&world, Role::Operator, "s"), todos()).unwrap();
    for role in [Role::Worker, Role::Lead, Role::Owner] {
        let error = write(&world, &within(&world, role, "s"), todos()).unwrap_err();
        assert_eq!(error.code(), "not_permitted", "{role}");
    }
    let nowhere = world.envelope(Role::Root);
    assert_eq!(write(&world, &nowhere, todos()).unwrap_err().code(), "missing_context");
    // A used key does not hide what is missing.
    let key = Some("k".to_owned());
    let keyed = |me: &Envelope| Envelope { idempotency_key: key.clone(), ..me.clone() };
    write(&world, &keyed(&me), todos()).unwrap();
    assert_eq!(write(&world, &keyed(&nowhere), todos()).unwrap_err().code(), "missing_context");
    let error = world.call_in(&nowhere, "todo_read", json!({})).unwrap_err();
    assert_eq!(error.code(), "missing_context");
    let unknown = within(&world, Role::Root, "nobody");
    assert_eq!(write(&world, &unknown, todos()).unwrap_err().code(), "unknown_session");
    world.call("session_end", json!({ "session": "s" })).unwrap();
    assert_eq!(write(&world, &me, json!([])).unwrap_err().code(), "session_ended");
    assert_eq!(read(&world, &me)["todos"][0]["status"], "pending");
}

/// a session with an issue uses the issue's list; and a configuration file can disable session
/// lists.
fn a_session_has_a_list_only_without_an_issue_and_if_enabled(backend: Backend) {
    let world = World::new(backend);
    let me = begun(&world);
    write(&world, &me, json!([{ "content": "a" }])).unwrap();
    world.call("issue_create", json!({ "title": "x" })).unwrap();
    world.call("session_bind", json!({ "session": "s", "number": 1 })).unwrap();
    let error = write(&world, &me, json!([])).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("already_bound", 1));
    assert!(error.hint().unwrap().contains("todo"));
    // Binding moved no todo (K-3).
    assert_eq!(read(&world, &me)["summary"]["pending"], 1);
    world.call("session_unbind", json!({ "session": "s" })).unwrap();
    write(&world, &me, json!([{ "content": "b" }])).unwrap();
    let off = Roster::default().read("session_lists = false", Origin::User).unwrap();
    let strict = Envelope { agents: Arc::new(off), ..me };
    let error = write(&world, &strict, json!([])).unwrap_err();
    assert_eq!(error.code(), "session_lists_off");
    assert!(error.to_string().contains("session_lists"));
    assert_eq!(read(&world, &strict)["todos"][0]["content"], "b");
}

/// D-19: an item that failed is held by its own id: it is open but cannot be worked on, and
/// everybody sees why.
fn an_item_is_held_by_its_own_id(backend: Backend) {
    let world = World::new(backend);
    let me = begun(&world);
    // A plan's task has the same number; inside the session its own list takes precedence.
    let plan = world.plan(&["task"]);
    let todos = json!([{ "id": "1", "content": "a" }, { "id": "2", "content": "b" }]);
    write(&world, &me, todos).unwrap();
    let hold = json!({ "todoId": "1", "kind": "failed", "reason": "no network, tried twice" });
    let held = world.call_in(&me, "todo_hold", hold.clone()).unwrap();
    assert_eq!(held["todo"]["title"], "a");
    let shown = read(&world, &me);
    assert_eq!(shown["summary"], summary([2, 2, 0, 0, 0, 1]));
    assert_eq!(shown["todos"][0]["hold"]["kind"], "failed");
    let start = json!([{ "id": "1", "content": "a", "status": "in_progress" }]);
    assert_eq!(write(&world, &me, start).unwrap_err().code(), "held");
    let next = world.call_in(&me, "todo_next", json!({ "session": "s" })).unwrap();
    assert_eq!(next["todo"]["title"], "b");
    world.call_in(&me, "todo_unhold", json!({ "todoId": "1" })).unwrap();
    assert_eq!(read(&world, &me)["summary"]["held"], 0);
    // Outside the session the number means the plan's task.
    let held = world.call("todo_hold", hold).unwrap();
    assert_eq!(held["todo"]["id"], json!(plan[0]));
}

/// S-11, D-20: the next item to take is the most important one. If an item is in progress and free,
/// only that one can be taken.
fn the_next_item_is_chosen_by_priority(backend: Backend) {
    let world = World::new(backend);
    let me = begun(&world);
    let todos = |first: &str| {
        json!([
            { "id": "1", "content": "low", "priority": "low" },
            { "id": "2", "content": "medium", "status": first },
            { "id": "3", "content": "high", "priority": "high" },
        ])
    };
    let next = || {
        let taken = world.call_in(&me, "todo_next", json!({ "session": "s" })).unwrap();
        taken["todo"]["title"].clone()
    };
    write(&world, &me, todos("in_progress")).unwrap();
    assert_eq!(next(), "medium");
    world.call_in(&me, "todo_release", json!({ "todoId": "2" })).unwrap();
    assert_eq!(next(), "high");
    let unknown = world.call_in(&me, "todo_next", json!({ "session": "zzz" })).unwrap_err();
    assert_eq!(unknown.code(), "unknown_session");
}

/// promoting turns the open items into steps, in their order. Nothing is cancelled, and it
/// happens completely or not at all.
fn promoting_moves_open_items_to_the_issue(backend: Backend) {
    let world = World::new(backend);
    let me = begun(&world);
    let todos = json!([
        { "id": "1", "content": "done", "status": "completed" },
        { "id": "2", "content": "begun", "status": "in_progress" },
        { "id": "3", "content": "first", "priority": "high" },
        { "id": "4", "content": "stuck" },
    ]);
    write(&world, &me, todos).unwrap();
    let hold = json!({ "todoId": "4", "kind": "blocked", "reason": "no key" });
    world.call_in(&me, "todo_hold", hold).unwrap();
    let before = read(&world, &me);
    let mut operator = within(&world, Role::Operator, "s");
    world.call_in(&operator, "issue_create", json!({ "title": "Log in fails" })).unwrap();
    let alike = json!({ "title": "Log in fails!" });
    let error = world.call_in(&operator, "session_promote", alike).unwrap_err();
    assert_eq!(error.code(), "look_alike");
    assert_eq!(read(&world, &me), before, "all or nothing");
    operator.actor.agent = punchlist_core::AgentPath::parse("desk").unwrap();
    let promote = json!({ "title": "The build is slow", "criteria": ["it works"] });
    let promoted = world.call_in(&operator, "session_promote", promote).unwrap();
    let shown = world.call("issue_show", json!({ "number": 2 })).unwrap();
    assert_eq!(promoted["issue"]["revision"], shown["issue"]["revision"]);
    let steps: Vec<_> = shown["steps"].as_array().unwrap().iter().collect();
    let told: Vec<_> = steps
        .iter()
        .map(|s| (s["content"].as_str().unwrap(), s["status"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("first", "pending"), ("begun", "in_progress"), ("stuck", "pending")]);
    assert_eq!(steps[2]["hold"]["reason"], "no key");
    let view = world.call_in(&me, "todo", json!({ "action": "view" })).unwrap();
    let origins: Vec<_> =
        view["items"].as_array().unwrap().iter().map(|i| &i["originAgent"]).collect();
    assert_eq!(origins, ["desk", "primary", "primary", "primary"]);
    let updates = shown["updates"].as_array().unwrap();
    assert_eq!(updates.len(), 0, "no ledger line: {updates:?}");
    let left = read(&world, &me);
    assert_eq!(left["summary"], summary([1, 0, 0, 1, 0, 0]));
    assert_eq!(left.get("message"), None, "handed on is not given up");
    assert_eq!(write(&world, &me, json!([])).unwrap_err().code(), "already_bound");
}

/// S-24: the visible part of a session's list is bounded; its history stays in the log.
fn a_list_stays_in_bounds(backend: Backend) {
    let world = World::new(backend);
    let me = begun(&world);
    for round in 0..3 {
        let todos: Vec<Value> =
            (0..400).map(|n| json!({ "content": format!("{round}.{n}") })).collect();
        write(&world, &me, json!(todos)).unwrap();
    }
    let shown = read(&world, &me);
    assert_eq!(shown["summary"], summary([1000, 400, 0, 0, 600, 0]));
}

/// A session's list has room for 2,000 open items; one more is refused by the rule, not as malformed.
fn a_list_has_room_for_2000_open_items(backend: Backend) {
    let world = World::new(backend);
    let me = begun(&world);
    let todos = |count: usize| -> Vec<Value> {
        (0..count).map(|n| json!({ "id": n.to_string(), "content": n.to_string() })).collect()
    };
    write(&world, &me, todos(2_000)).unwrap();
    let full = write(&world, &me, todos(2_001)).unwrap_err();
    assert_eq!((full.code(), full.meaning().exit), ("list_full", 1));
    assert_eq!(read(&world, &me)["summary"]["pending"], 2_000);
}

/// If two lists are written at once, one of them is stored: never a mixture, never two items in
/// progress.
fn of_two_lists_written_at_once_one_is_stored(backend: Backend) {
    let world = World::new(backend);
    let me = begun(&world);
    for _ in 0..5 {
        std::thread::scope(|scope| {
            for name in ["x", "y"] {
                let (world, me) = (&world, &me);
                scope.spawn(move || {
                    let todos = json!([
                        { "id": format!("{name}1"), "content": format!("{name}1"), "status": "in_progress" },
                        { "id": format!("{name}2"), "content": format!("{name}2") },
                    ]);
                    write(world, me, todos).unwrap();
                });
            }
        });
        let shown = read(&world, &me);
        assert_eq!(
            (&shown["summary"]["inProgress"], &shown["summary"]["pending"]),
            (&json!(1), &json!(1))
        );
        let open = shown["todos"].as_array().unwrap().iter().filter(|t| t["status"] != "cancelled");
        let first: Vec<String> = open.map(|t| t["id"].as_str().unwrap()[..1].to_owned()).collect();
        assert_eq!(first[0], first[1]);
    }
}

on_every_store!(
    a_list_is_replaced_as_a_whole_and_read_back,
    malformed_items_are_skipped,
    a_bad_list_changes_nothing,
    only_root_and_operator_can_write_a_sessions_list,
    a_session_has_a_list_only_without_an_issue_and_if_enabled,
    an_item_is_held_by_its_own_id,
    the_next_item_is_chosen_by_priority,
    promoting_moves_open_items_to_the_issue,
    a_list_stays_in_bounds,
    a_list_has_room_for_2000_open_items,
);

mod lasting {
    use super::*;
    on_every_lasting_store!(of_two_lists_written_at_once_one_is_stored);
}
