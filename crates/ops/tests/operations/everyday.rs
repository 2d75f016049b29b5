//! What people do every day: change an issue, see what is ready, name things by a few characters.

use punchlist_core::Role;
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

fn number(world: &World, title: &str) -> i64 {
    let input = json!({ "title": title, "forceNew": true });
    world.call("issue_create", input).unwrap()["issue"]["number"].as_i64().unwrap()
}

fn titles(answer: &Value) -> Vec<&str> {
    let issues = answer["issues"].as_array().unwrap();
    issues.iter().map(|issue| issue["title"].as_str().unwrap()).collect()
}

/// K-55: the operator alone; the new words are found, the old ones are not.
fn operator_changes_an_issue(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    let number = number(&world, "Old words");
    let change = json!({
        "number": number, "title": "Fresh title", "body": "Why", "labels": ["login", "ui"],
        "priority": "high", "assignee": "ann",
    });
    let denied = world.call("issue_update", change.clone()).unwrap_err();
    assert_eq!((denied.code(), denied.meaning().exit), ("not_permitted", 4));
    let changed = world.call_in(&operator, "issue_update", change).unwrap()["issue"].clone();
    assert_eq!(changed["revision"], 2);
    assert_eq!(
        (&changed["labels"], &changed["assignee"]),
        (&json!(["login", "ui"]), &json!("ann"))
    );
    let found = |input: Value| world.call("issue_list", input).unwrap();
    assert_eq!(titles(&found(json!({ "text": "fresh" }))), ["Fresh title"]);
    assert_eq!(titles(&found(json!({ "text": "old" }))), [""; 0]);
    assert_eq!(titles(&found(json!({ "label": "ui" }))), ["Fresh title"]);
    assert_eq!(titles(&found(json!({ "label": "u" }))), [""; 0], "a label is matched whole");
    assert_eq!(titles(&found(json!({ "assignee": "ann", "text": "fresh" }))), ["Fresh title"]);
    assert_eq!(titles(&found(json!({ "assignee": "bob" }))), [""; 0]);
    let nobody = json!({ "number": number, "assignee": null, "labels": [] });
    let changed = world.call_in(&operator, "issue_update", nobody).unwrap()["issue"].clone();
    assert_eq!((&changed["labels"], &changed["assignee"]), (&json!([]), &Value::Null));
    assert_eq!((&changed["priority"], &changed["title"]), (&json!("high"), &json!("Fresh title")));
    let stale = json!({ "number": number, "title": "x", "expectedRevision": 1 });
    let refused = world.call_in(&operator, "issue_update", stale).unwrap_err();
    assert_eq!(refused.code(), "stale_revision");
}

/// Open, not blocked by an open issue, not deferred and assigned to nobody.
fn ready_lists_what_somebody_could_start(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    let [plain, blocked, deferred, taken, closed, urgent] =
        ["plain", "blocked", "deferred", "taken", "closed", "urgent"].map(|t| number(&world, t));
    let link = json!({ "number": blocked, "kind": "blocked_by", "to": plain });
    world.call("issue_link", link).unwrap();
    let defer = json!({ "number": deferred, "until": "2030-01-01T00:00:00Z" });
    world.call("issue_defer", defer).unwrap();
    let give = json!({ "number": taken, "assignee": "ann" });
    world.call_in(&operator, "issue_update", give).unwrap();
    let close = json!({ "number": closed, "status": "rejected", "reason": "no" });
    world.call_in(&operator, "issue_transition", close).unwrap();
    let rush = json!({ "number": urgent, "priority": "critical" });
    world.call_in(&operator, "issue_update", rush).unwrap();
    assert_eq!(titles(&world.call("ready", json!({})).unwrap()), ["urgent", "plain"]);
    let done = json!({ "number": plain, "status": "resolved", "reason": "done" });
    world.call_in(&operator, "issue_transition", done).unwrap();
    assert_eq!(titles(&world.call("ready", json!({})).unwrap()), ["urgent", "blocked"]);
    let open = world.call("issue_list", json!({ "open": true })).unwrap();
    assert_eq!(titles(&open), ["urgent", "taken", "deferred", "blocked"]);
}

/// A claim counts as claimed until the operator accepts it.
fn listed_issues_say_how_far_they_are(backend: Backend) {
    let world = World::new(backend);
    let new = json!({ "title": "x", "criteria": ["a", "b", "c"] });
    let number = world.call("issue_create", new).unwrap()["issue"]["number"].clone();
    let mut root = world.envelope(Role::Root);
    root.context.issue = number.as_i64();
    for input in [
        json!({ "action": "add", "items": ["step"] }),
        json!({ "action": "done", "content": "a" }),
        json!({ "action": "done", "content": "step" }),
    ] {
        world.call_in(&root, "todo", input).unwrap();
    }
    let listed = world.call("issue_list", json!({})).unwrap();
    let expected = json!({ "criteria": 3, "met": 0, "claimed": 1, "steps": 1, "stepsClosed": 1 });
    assert_eq!(listed["issues"][0]["progress"], expected);
    let shown = world.call("issue_show", json!({ "number": number })).unwrap();
    assert_eq!(shown["progress"], "2 of 4 closed, 0 of 3 criteria met, 1 claimed");
    let home = world.call("status", json!({})).unwrap();
    assert_eq!(home["issues"][0]["progress"], expected);
}

/// A person names an item by four characters or a part of its text; an agent by its id alone.
fn people_name_items_briefly(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    let ids = world.plan(&["Write the handler", "Write the docs"]);
    let show = |named: &str| world.call_in(&operator, "todo_show", json!({ "todoId": named }));
    let short = &ids[0][ids[0].len() - 4..];
    for named in [short, &short.to_lowercase(), "Write the handler", "handler"] {
        assert_eq!(show(named).unwrap()["todo"]["id"], json!(ids[0]), "{named}");
    }
    let refused = show("write the").unwrap_err();
    assert_eq!((refused.code(), refused.meaning().exit), ("ambiguous_text", 1));
    assert_eq!(show("no such thing").unwrap_err().code(), "unknown_todo");
    let by_agent = |named: &str| world.call("todo_show", json!({ "todoId": named }));
    assert_eq!(by_agent(short).unwrap()["todo"]["id"], json!(ids[0]));
    assert_eq!(by_agent("handler").unwrap_err().code(), "unknown_todo");
}

fn plans_and_projects_are_listed(backend: Backend) {
    let world = World::new(backend);
    let ids = world.plan(&["one", "two"]);
    world.call("task_complete", json!({ "taskId": ids[0] })).unwrap();
    let plans = world.call("plan_list", json!({})).unwrap();
    let plan = &plans["plans"][0];
    assert_eq!(plan["planFile"], "docs/plans/auth.md");
    assert_eq!((&plan["completed"], &plan["archivedAt"]), (&json!(1), &Value::Null));
    let projects = world.call("project_list", json!({})).unwrap();
    assert_eq!(projects["projects"], json!([{ "name": "test", "current": true }]));
    let home = world.call("status", json!({})).unwrap();
    assert_eq!(home["plans"][0]["planFile"], "docs/plans/auth.md");
}

on_every_store!(
    operator_changes_an_issue,
    ready_lists_what_somebody_could_start,
    listed_issues_say_how_far_they_are,
    people_name_items_briefly,
    plans_and_projects_are_listed,
);
