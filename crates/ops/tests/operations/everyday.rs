//! Everyday work of people: changing an issue, seeing what is ready, naming things by a few
//! characters.

use punchlist_core::Role;
use punchlist_ops::views::PlanView;
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

/// K-55: only the operator may. The issue is then found by its new words and not by the old ones.
fn only_the_operator_changes_an_issue(backend: Backend) {
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
    assert_eq!(changed["body"], "Why", "what is absent stays");
    let same = json!({ "number": number, "body": null });
    assert_eq!(world.call_in(&operator, "issue_update", same).unwrap()["issue"]["body"], "Why");
    let empty = json!({ "number": number, "body": "" });
    assert_eq!(world.call_in(&operator, "issue_update", empty).unwrap()["issue"]["body"], "");
    let stale = json!({ "number": number, "title": "x", "expectedRevision": 1 });
    let refused = world.call_in(&operator, "issue_update", stale).unwrap_err();
    assert_eq!(refused.code(), "stale_revision");
}

/// An issue is ready if it is open, not blocked by an open issue, not deferred and not assigned.
fn ready_lists_the_issues_that_can_be_started(backend: Backend) {
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
fn listed_issues_show_their_progress(backend: Backend) {
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
    let expected =
        json!({ "criteria": 3, "met": 0, "claimed": 1, "steps": 1, "stepsClosed": 1, "held": 0 });
    assert_eq!(listed["issues"][0]["progress"], expected);
    let shown = world.call("issue_show", json!({ "number": number })).unwrap();
    assert_eq!(shown["progress"], "1 of 4 closed, 0 of 3 criteria met, 1 claimed");
    let home = world.call("status", json!({})).unwrap();
    assert_eq!(home["issues"][0]["progress"], expected);
}

/// A person names an item by four characters or a part of its text; an agent only by its id.
fn people_may_name_items_by_a_short_form(backend: Backend) {
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
    // A settled task is no longer found by its text.
    let done = json!({ "taskId": "handler", "outcome": "done" });
    let done = world.call_in(&operator, "task_complete", done).unwrap();
    assert_eq!(done["tasks"][0]["state"], "completed");
    let by_agent = |named: &str| world.call("todo_show", json!({ "todoId": named }));
    assert_eq!(by_agent(short).unwrap()["todo"]["id"], json!(ids[0]));
    assert_eq!(by_agent("handler").unwrap_err().code(), "unknown_todo");
}

/// Progress is counted by tasks without subtasks, on every surface.
fn plans_count_their_leaves(backend: Backend) {
    let world = World::new(backend);
    let markdown =
        "# Checkout\n\n## Draw\n- [x] Form\n- [-] Icon\n\n## Pay\n- [ ] Card\n- [ ] Bank\n";
    let plan = json!({ "planFile": "docs/a.md", "markdown": markdown });
    world.call("plan_import", plan).unwrap();
    let listed = world.call("plan_list", json!({})).unwrap();
    let counts = ["open", "completed", "cancelled"].map(|name| &listed["plans"][0][name]);
    assert_eq!(counts, [&json!(2), &json!(1), &json!(1)]);
    let tree = world.call("plan_tree", json!({ "planFile": "docs/a.md" })).unwrap();
    let view: PlanView = serde_json::from_value(tree).unwrap();
    let mut states: Vec<&str> = view.leaves().iter().map(|task| task.state.name()).collect();
    states.sort_unstable();
    assert_eq!(states, ["cancelled", "completed", "pending", "pending"]);
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

/// K-29: the operator orders criteria and steps; an agent orders its own steps. The issue's
/// revision grows, and an open sign-off stays valid.
fn items_of_a_checklist_can_be_moved(backend: Backend) {
    let world = World::new(backend);
    let mut operator = world.envelope(Role::Operator);
    let new = json!({ "title": "x", "criteria": ["fast", "small"] });
    world.call_in(&operator, "issue_create", new).unwrap();
    operator.context.issue = Some(1);
    let set = json!({ "action": "set", "items": ["read", "# Build", "plan", "code"] });
    world.call_in(&operator, "todo", set).unwrap();
    let shown = || world.call("issue_show", json!({ "number": 1 })).unwrap();
    let texts = |part: &str| -> Vec<String> {
        let items = shown()[part].take();
        let content = |item: &Value| item["content"].as_str().unwrap().to_owned();
        items.as_array().unwrap().iter().map(content).collect()
    };
    let revision = shown()["issue"]["revision"].as_i64().unwrap();
    let moves = |who, item: &str, before: Option<&str>| {
        world.call_in(who, "todo_move", json!({ "todoId": item, "before": before }))
    };
    let moved = moves(&operator, "small", Some("fast")).unwrap();
    assert_eq!(moved["todo"]["title"], "small");
    moves(&operator, "code", Some("plan")).unwrap();
    assert_eq!(texts("criteria"), ["small", "fast"]);
    assert_eq!(texts("steps"), ["read", "code", "plan"]);
    moves(&operator, "read", Some("plan")).unwrap();
    assert_eq!(
        shown()["checklist"],
        "# Criteria\n- [ ] small\n- [ ] fast\n\n# Build\n- [ ] code\n- [/] read\n- [ ] plan\n"
    );
    moves(&operator, "code", None).unwrap();
    assert_eq!(texts("steps"), ["read", "plan", "code"]);
    assert_eq!(shown()["issue"]["revision"], revision + 4);
    let log = world.log();
    let parts = log.iter().filter(|line| line["type"] == "checklist_changed").skip(2);
    assert!(
        parts.clone().count() >= 4 && parts.clone().all(|line| line["data"]["parts"].is_null())
    );
    // An agent names items by id, and may not move criteria.
    let root = world.envelope(Role::Root);
    let id = |part: &str, at: usize| shown()[part][at]["id"].as_str().unwrap().to_owned();
    moves(&root, &id("steps", 2), Some(&id("steps", 0))).unwrap();
    assert_eq!(texts("steps"), ["code", "read", "plan"]);
    let denied = moves(&root, &id("criteria", 1), Some(&id("criteria", 0))).unwrap_err();
    assert_eq!((denied.code(), denied.meaning().exit), ("not_permitted", 4));
    let (task, anyone) = (world.plan(&["one", "two"]), world.envelope(Role::Operator));
    for (item, before, code) in [
        (id("steps", 0), Some(id("steps", 0)), "bad_place"),
        (id("steps", 0), Some(id("criteria", 0)), "bad_place"),
        (id("steps", 0), Some(task[0].clone()), "bad_place"),
        (task[1].clone(), Some(task[0].clone()), "not_permitted"),
        (id("steps", 0), Some("01JCQ0000000000000000000AB".to_owned()), "unknown_todo"),
    ] {
        let refused = moves(&anyone, &item, before.as_deref());
        assert_eq!(refused.unwrap_err().code(), code, "{before:?}");
    }
    assert_eq!(texts("steps"), ["code", "read", "plan"]);
}

/// Items of a session's list are named by the ids that the model gave them. They can be moved in
/// front of a settled item, too.
fn items_of_a_sessions_list_can_be_moved(backend: Backend) {
    let world = World::new(backend);
    world.call("session_start", json!({ "externalId": "s" })).unwrap();
    let mut me = world.envelope(Role::Root);
    me.context.session = Some("s".to_owned());
    let todos = json!([
        { "id": "1", "content": "a", "status": "completed" },
        { "id": "2", "content": "b" },
        { "id": "3", "content": "c", "priority": "low" },
    ]);
    world.call_in(&me, "todo_write", json!({ "todos": todos })).unwrap();
    let order = || -> String {
        let read = world.call_in(&me, "todo_read", json!({})).unwrap();
        let ids = read["todos"].as_array().unwrap().iter().map(|todo| todo["id"].as_str().unwrap());
        ids.collect()
    };
    let moves = |id: &str, before: Value| {
        world.call_in(&me, "todo_move", json!({ "todoId": id, "before": before }))
    };
    moves("3", json!("2")).unwrap();
    assert_eq!(order(), "132");
    let settled = world.call_in(&me, "todo_move", json!({ "todoId": "1" })).unwrap_err();
    assert_eq!(settled.code(), "unknown_todo", "a settled item is not named by the model's id");
    moves("3", Value::Null).unwrap();
    assert_eq!(order(), "123");
}

/// An issue that was resolved without accepted criteria shows that, no matter who closed it. A
/// rejected issue has no criteria to meet.
fn an_issue_resolved_without_accepted_criteria_says_so(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    let new = |criteria: &[&str]| {
        let new = json!({ "title": "x", "criteria": criteria, "forceNew": true });
        world.call_in(&operator, "issue_create", new).unwrap()["issue"]["number"].clone()
    };
    for (criteria, status, said) in [
        (&["a"][..], "resolved", json!("Closed although 1 criterion is not accepted")),
        (&["a", "b"], "resolved", json!("Closed although 2 criteria are not accepted")),
        (&["a"], "rejected", Value::Null),
        (&[], "resolved", Value::Null),
    ] {
        let close = json!({ "number": new(criteria), "status": status, "reason": "done" });
        let closed = world.call_in(&operator, "issue_transition", close).unwrap();
        assert_eq!(closed["warning"], said, "{criteria:?} {status}");
    }
}

on_every_store!(
    an_issue_resolved_without_accepted_criteria_says_so,
    items_of_a_checklist_can_be_moved,
    items_of_a_sessions_list_can_be_moved,
    only_the_operator_changes_an_issue,
    ready_lists_the_issues_that_can_be_started,
    listed_issues_show_their_progress,
    people_may_name_items_by_a_short_form,
    plans_count_their_leaves,
    plans_and_projects_are_listed,
);
