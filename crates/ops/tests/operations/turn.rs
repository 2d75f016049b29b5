//! The turn list in full: the seed's inputs and outputs, on every store.

use punchlist_core::Role;
use punchlist_ops::Error;
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

const NOW: &str = "2026-11-15T08:00:00.000000Z";

fn create(world: &World, titles: &[&str]) -> Vec<Value> {
    let items: Vec<Value> = titles.iter().map(|title| json!({ "title": title })).collect();
    let made = world.call("create_todo", json!({ "items": items })).unwrap();
    let created = made["created"].as_array().unwrap();
    created.iter().map(|item| item["id"].clone()).collect()
}

fn summary(world: &World) -> Value {
    world.call("list_todo", json!({})).unwrap()["summary"].clone()
}

/// T-9, T-10, T-5, T-11: a batch in one call, orders returned from one on, the next batch appended.
fn a_plan_is_created_in_one_call(backend: Backend) {
    let world = World::new(backend);
    let input = json!({ "items": [
        {
            "title": "  Measure  ", "context": "CI", "completionCriteria": "a table",
            "agentType": "researcher", "order": 2,
        },
        { "title": "Begin", "order": 1 },
        { "title": "End", "context": "   ", "agentType": null },
    ]});
    let made = world.call("create_todo", input).unwrap();
    let id = |n: usize| made["created"][n]["id"].clone();
    let expected = json!({
        "created": [
            { "id": id(0), "title": "Measure", "order": 2 },
            { "id": id(1), "title": "Begin", "order": 1 },
            { "id": id(2), "title": "End", "order": 3 },
        ],
        "totalPending": 3,
    });
    assert_eq!(made, expected);
    let more = world.call("create_todo", json!({ "items": [{ "title": "After" }] })).unwrap();
    let last = more["created"][0]["id"].clone();
    let expected =
        json!({ "created": [{ "id": last, "title": "After", "order": 4 }], "totalPending": 4 });
    assert_eq!(more, expected);

    // T-14, T-15, T-6: full items, in order.
    let item = |id: Value, title: &str, priority: i64| {
        json!({
            "id": id, "title": title, "context": "", "completionCriteria": "", "agentType": null,
            "status": "pending", "priority": priority, "outcome": null,
            "createdAt": NOW, "startedAt": null, "completedAt": null,
        })
    };
    let mut measure = item(id(0), "Measure", 1);
    measure["context"] = json!("CI");
    measure["completionCriteria"] = json!("a table");
    measure["agentType"] = json!("researcher");
    let expected = json!({
        "items": [item(id(1), "Begin", 0), measure, item(id(2), "End", 2), item(last, "After", 3)],
        "summary": { "total": 4, "pending": 4, "inProgress": 0, "completed": 0, "cancelled": 0 },
    });
    assert_eq!(world.call("list_todo", json!({})).unwrap(), expected);
}

/// T-16, T-17, T-36, Q-T1, D-9: completing and cancelling both keep an outcome and a time.
fn items_are_settled_with_an_outcome(backend: Backend) {
    let mut world = World::new(backend);
    let ids = create(&world, &["a", "b", "c"]);
    world.now = world.now.plus_seconds(60);
    let later = "2026-11-15T08:01:00.000000Z";
    let input = json!({ "todoId": ids[0], "outcome": " done " });
    let expected = json!({
        "id": ids[0], "title": "a", "status": "completed", "outcome": "done",
        "completedAt": later, "remaining": 2,
    });
    assert_eq!(world.call("complete_todo", input).unwrap(), expected);
    let input = json!({ "todoId": ids[1], "outcome": "no need", "status": "cancelled" });
    let expected = json!({
        "id": ids[1], "title": "b", "status": "cancelled", "outcome": "no need",
        "completedAt": later, "remaining": 1,
    });
    assert_eq!(world.call("complete_todo", input).unwrap(), expected);

    // T-13: open items by default, or those in a status; the summary covers the whole turn.
    let titles = |filter: Value| -> Vec<Value> {
        let listed = world.call("list_todo", filter).unwrap();
        assert_eq!(
            listed["summary"],
            json!({ "total": 3, "pending": 1, "inProgress": 0, "completed": 1, "cancelled": 1 })
        );
        listed["items"].as_array().unwrap().iter().map(|item| item["title"].clone()).collect()
    };
    assert_eq!(titles(json!({})), ["c"]);
    assert_eq!(titles(json!({ "status": "pending" })), ["c"]);
    assert_eq!(titles(json!({ "status": "in_progress" })), Vec::<Value>::new());
    assert_eq!(titles(json!({ "status": "completed" })), ["a"]);
    assert_eq!(titles(json!({ "status": "cancelled" })), ["b"]);
    assert_eq!(titles(json!({ "status": "all" })), ["a", "b", "c"]);
    let all = world.call("list_todo", json!({ "status": "all" })).unwrap();
    let times =
        |n: usize| (all["items"][n]["startedAt"].clone(), all["items"][n]["completedAt"].clone());
    assert_eq!(times(0), (json!(later), json!(later)));
    assert_eq!(times(1), (Value::Null, json!(later)));
}

/// T-12: if one item is bad, none is created.
fn a_batch_is_all_or_nothing(backend: Backend) {
    let world = World::new(backend);
    create(&world, &["a"]);
    let before = world.log().len();
    for bad in
        [json!({ "title": " " }), json!({ "titel": "x" }), json!({ "title": "x", "order": 0 })]
    {
        let input = json!({ "items": [{ "title": "good" }, bad] });
        assert!(world.call("create_todo", input).is_err());
    }
    assert_eq!(summary(&world)["total"], 1);
    assert_eq!(world.log().len(), before);
}

/// T-18: a settled item, an unknown id, an id of another turn or project: an error, no change.
fn settling_a_settled_unknown_or_foreign_item_is_refused(backend: Backend) {
    let world = World::new(backend);
    let ids = create(&world, &["a", "b"]);
    let settle = |id: &Value| json!({ "todoId": id, "outcome": "x" });
    world.call("complete_todo", settle(&ids[0])).unwrap();
    let before = world.log().len();

    let mut other_turn = world.envelope(Role::Root);
    other_turn.context.turn = Some("t2".to_owned());
    let mut other_project = world.envelope(Role::Root);
    other_project.project = "another".to_owned();
    let here = world.envelope(Role::Root);
    // Both turns exist, so it is the id that is foreign and not the turn.
    for envelope in [&other_turn, &other_project] {
        let input = json!({ "items": [{ "title": "x" }] });
        world.call_in(envelope, "create_todo", input).unwrap();
    }
    let before = before + 2;
    for (envelope, id, code) in [
        (&here, ids[0].clone(), "already_settled"),
        (&here, json!("01JCQ0000000000000000000AB"), "unknown_todo"),
        (&here, json!("task-3"), "unknown_todo"),
        (&other_turn, ids[1].clone(), "unknown_todo"),
        (&other_project, ids[1].clone(), "unknown_todo"),
    ] {
        let error = world.call_in(envelope, "complete_todo", settle(&id)).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), (code, 1), "{id}");
    }
    assert_eq!(world.log().len(), before);
    assert_eq!(summary(&world)["pending"], 1);
}

/// T-19, T-20: the turn comes only from the envelope; without one, the call is refused.
fn the_turn_comes_from_the_envelope_alone(backend: Backend) {
    let world = World::new(backend);
    let input = json!({ "items": [{ "title": "a", "turnId": "t9" }], "turnId": "t9", "conversationId": "c9" });
    world.call("create_todo", input).unwrap();
    assert_eq!(summary(&world)["total"], 1);
    let mut elsewhere = world.envelope(Role::Root);
    elsewhere.context.turn = Some("t9".to_owned());
    let listed = world.call_in(&elsewhere, "list_todo", json!({})).unwrap();
    assert_eq!(listed["summary"]["total"], 0);

    for (conversation, turn, missing) in [
        (None, Some("t1"), vec!["conversation"]),
        (Some("c1"), None, vec!["turn"]),
        (Some("c1"), Some("  "), vec!["turn"]),
        (None, None, vec!["conversation", "turn"]),
    ] {
        let mut envelope = world.envelope(Role::Root);
        envelope.context.conversation = conversation.map(str::to_owned);
        envelope.context.turn = turn.map(str::to_owned);
        for (name, input) in [
            ("create_todo", json!({ "items": [{ "title": "x" }] })),
            ("list_todo", json!({})),
            ("complete_todo", json!({ "todoId": "x", "outcome": "y" })),
        ] {
            let error = world.call_in(&envelope, name, input).unwrap_err();
            assert_eq!(error, Error::MissingContext { missing: missing.clone() });
        }
    }
}

/// T-21: a worker is refused, whatever it calls; the operator is not.
fn workers_are_refused_and_the_operator_is_not(backend: Backend) {
    let world = World::new(backend);
    let ids = create(&world, &["a"]);
    let calls = [
        ("create_todo", json!({ "items": [{ "title": "x" }] })),
        ("list_todo", json!({})),
        ("complete_todo", json!({ "todoId": ids[0], "outcome": "y" })),
    ];
    for role in [Role::Worker, Role::Lead, Role::Owner] {
        for (name, input) in calls.clone() {
            let error = world.call_in(&world.envelope(role), name, input).unwrap_err();
            assert_eq!((error.code(), error.meaning().exit), ("not_permitted", 4), "{role} {name}");
        }
    }
    assert_eq!(summary(&world)["pending"], 1);
    for (name, input) in calls {
        world.call_in(&world.envelope(Role::Operator), name, input).unwrap();
    }
}

/// T-4, T-32, T-33, T-37: the rows of a turn stay, the next turn starts empty, and the state is
/// always that of the store.
fn a_new_turn_starts_empty_and_the_old_rows_stay(backend: Backend) {
    let world = World::new(backend);
    create(&world, &["a", "b"]);
    let mut next = world.envelope(Role::Root);
    next.context.turn = Some("t2".to_owned());
    let listed = world.call_in(&next, "list_todo", json!({ "status": "all" })).unwrap();
    let none = json!({ "total": 0, "pending": 0, "inProgress": 0, "completed": 0, "cancelled": 0 });
    assert_eq!(listed, json!({ "items": [], "summary": none }));
    assert_eq!(summary(&world)["pending"], 2);
}

/// Reads create neither a project nor a list.
fn reads_create_nothing(backend: Backend) {
    let world = World::new(backend);
    world.call("list_todo", json!({ "status": "all" })).unwrap();
    world.call("status", json!({})).unwrap();
    assert_eq!(world.log(), Vec::<Value>::new());
    let error = world.call("complete_todo", json!({ "todoId": "x", "outcome": "y" })).unwrap_err();
    assert_eq!(error.code(), "unknown_todo");
    assert_eq!(world.log(), Vec::<Value>::new());
}

/// X-10, and the log: every change is an event with its actor, its cause and its full new values.
fn every_change_is_logged(backend: Backend) {
    let world = World::new(backend);
    let ids = create(&world, &["a"]);
    let mut operator = world.envelope(Role::Operator);
    operator.actor.role = Role::Root;
    let input = json!({ "todoId": ids[0], "outcome": "ok" });
    world.call_in(&operator, "complete_todo", input).unwrap();
    let mut log = world.log();
    let types: Vec<Value> = log.iter().map(|event| event["type"].clone()).collect();
    assert_eq!(types, ["project_opened", "list_opened", "todo_created", "todo_completed"]);
    let mut last = log.pop().unwrap();
    last["seq"].take();
    assert!(last["recordedAt"].take().as_str().unwrap() > NOW, "the real clock");
    let expected = json!({
        "seq": null, "v": 1, "type": "todo_completed", "project": "test",
        "aggregate": log[1]["aggregate"], "actor": "operator:primary", "as": "root",
        "cause": "complete_todo", "at": NOW, "recordedAt": null, "proof": "engine",
        "data": {
            "todoId": ids[0], "outcome": "ok", "evidence": [], "startedAt": NOW,
            "settledAt": NOW,
            "settledBy": { "principal": "operator:primary", "role": "root" },
        },
    });
    assert_eq!(last, expected);
}

on_every_store!(
    a_plan_is_created_in_one_call,
    items_are_settled_with_an_outcome,
    a_batch_is_all_or_nothing,
    settling_a_settled_unknown_or_foreign_item_is_refused,
    the_turn_comes_from_the_envelope_alone,
    workers_are_refused_and_the_operator_is_not,
    a_new_turn_starts_empty_and_the_old_rows_stay,
    reads_create_nothing,
    every_change_is_logged,
);
