//! The life of a plan: archived, restored, purged; and what remains of it.

use punchlist_core::Role;
use punchlist_ops::Error;
use punchlist_ops::views::PlanView;
use punchlist_testkit::{Backend, World, on_every_lasting_store, on_every_store};
use serde_json::{Value, json};

const FILE: &str = "docs/plans/auth.md";
const MARKDOWN: &str = "# Auth\n- [ ] a\n- [ ] b\n";

fn import(world: &World) -> Value {
    world.call("plan_import", json!({ "planFile": FILE, "markdown": MARKDOWN })).unwrap()
}

fn named(world: &World, operation: &str) -> Result<Value, Error> {
    world.call(operation, json!({ "planFile": FILE }))
}

fn purge(world: &World, input: Value) -> Result<Value, Error> {
    world.call_in(&world.envelope(Role::Operator), "plan_purge", input)
}

/// The number of tasks in the seed's own view.
fn in_view(world: &World) -> i64 {
    let count = punchlist_store::sql!("SELECT count(*) FROM tasks");
    let rows = world.ops.store().unwrap().read(|tx| tx.first(count, &[], |row| row.int(0)));
    rows.map_err(|error: punchlist_store::Error| error.to_string()).unwrap().unwrap()
}

/// The problems that the doctor finds; a store in memory cannot be examined.
fn sick(world: &World) -> Vec<String> {
    let bad = world.ops.examine().checks.into_iter().filter(|check| !check.ok);
    bad.map(|check| format!("{}: {}", check.name, check.detail)).collect()
}

/// Q-O1: an archived plan leaves every list, and is shown on request.
fn an_archived_plan_is_shown_only_on_request(backend: Backend) {
    let world = World::new(backend);
    let made = import(&world);
    let task = made["tasks"][0]["children"][0]["id"].clone();
    world.call("todo_claim", json!({ "todoId": task, "outcome": "done" })).unwrap();
    let shown = named(&world, "plan_tree").unwrap();
    let done = named(&world, "plan_archive").unwrap();
    assert_eq!(
        done,
        json!({ "planFile": FILE, "branch": "main", "archivedAt": "2026-11-15T08:00:00.000000Z",
            "open": 3, "settled": 0 })
    );
    let at = &done["archivedAt"];
    let nothing = json!({ "tasks": [], "current": null, "markdown": "", "archivedAt": at });
    assert_eq!(named(&world, "plan_tree").unwrap(), nothing);
    assert_eq!(named(&world, "plan_current").unwrap()["reason"], "no_tasks");
    assert_eq!(named(&world, "plan_render").unwrap()["text"], "");
    assert_eq!(named(&world, "todo_next").unwrap()["todo"], Value::Null);
    let listed = world.call("status", json!({})).unwrap();
    assert_eq!(listed["lists"], json!([]));
    let operator = world.envelope(Role::Operator);
    let waiting = world.call_in(&operator, "gate_list", json!({})).unwrap();
    assert!(!waiting.to_string().contains(task.as_str().unwrap()), "{waiting}");
    assert_eq!(in_view(&world), 0);
    let asked = json!({ "planFile": FILE, "includeArchived": true });
    let mut archived = world.call("plan_tree", asked.clone()).unwrap();
    assert_eq!(archived["archivedAt"].take(), done["archivedAt"]);
    assert_eq!(archived["tasks"], shown["tasks"]);
    let told = world.call("plan_render", asked).unwrap();
    assert!(told["text"].as_str().unwrap().starts_with("## Current Tasks"), "{told}");
    // Its tasks cannot be changed, even by an agent that still works on one.
    for (operation, input) in [
        ("task_complete", json!({ "taskId": task })),
        ("task_add", json!({ "parentId": task, "content": "more" })),
        ("todo_take", json!({ "todoId": task })),
        ("plan_archive", json!({ "planFile": FILE })),
        ("plan_finish", json!({ "planFile": FILE, "confirm": true })),
    ] {
        let error = world.call(operation, input).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("archived", 1), "{operation}: {error}");
    }
    let elsewhere = json!({ "planFile": FILE, "branch": "elsewhere" });
    let error = world.call("plan_archive", elsewhere).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("unknown_plan", 1));
    assert_eq!(sick(&world), [""; 0]);
}

/// Importing the file restores the plan as it was: the same rows, the same states.
fn an_import_restores_an_archived_plan(backend: Backend) {
    let world = World::new(backend);
    let made = import(&world);
    let task = made["tasks"][0]["children"][0]["id"].clone();
    world.call("task_complete", json!({ "taskId": task })).unwrap();
    let before = named(&world, "plan_tree").unwrap();
    named(&world, "plan_archive").unwrap();
    let back = import(&world);
    assert_eq!((&back["tasks"], &back["changes"]["unchanged"]), (&before["tasks"], &json!(3)));
    assert_eq!((made.get("unarchived"), &back["unarchived"]), (None, &json!(true)));
    assert_eq!(named(&world, "plan_tree").unwrap(), before);
    assert_eq!(in_view(&world), 3);
    assert_eq!(sick(&world), [""; 0]);
}

/// Q-O1: finishing reports how many tasks are open, and needs one confirmation.
fn a_plan_with_open_tasks_is_finished_only_when_confirmed(backend: Backend) {
    let world = World::new(backend);
    import(&world);
    let before = named(&world, "plan_tree").unwrap();
    let error = named(&world, "plan_finish").unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("open_tasks", 1));
    assert_eq!(error.to_json()["error"]["open"], 3);
    assert_eq!(named(&world, "plan_tree").unwrap(), before);
    let sure = json!({ "planFile": FILE, "confirm": true });
    assert_eq!(world.call("plan_finish", sure).unwrap()["open"], 3);
    let worker = world.envelope(Role::Worker);
    let error = world.call_in(&worker, "plan_archive", json!({ "planFile": FILE })).unwrap_err();
    assert_eq!(error.meaning().exit, 4);
}

/// Q-O1, Q-O2: a confirmed purge deletes the rows and keeps the log; no number is reused.
fn a_purge_deletes_the_rows_and_keeps_the_log(backend: Backend) {
    let mut world = World::new(backend);
    let made = import(&world);
    let task = made["tasks"][0]["children"][1].clone();
    let other = json!({ "planFile": "other.md", "markdown": "# Other\n- [ ] x\n" });
    world.call("plan_import", other).unwrap();
    let (id, last) = (task["id"].as_str().unwrap(), task["seq"].as_i64().unwrap());
    world.call("todo_take", json!({ "todoId": id })).unwrap();
    world.call("task_complete", json!({ "taskId": id, "outcome": "merged" })).unwrap();
    named(&world, "plan_archive").unwrap();
    let before = world.log();
    assert_eq!(before.len(), 11);
    // Too recent or not confirmed: nothing is deleted.
    let week = |sure: bool| json!({ "archivedOlderThan": "7d", "confirm": sure });
    assert_eq!(purge(&world, week(true)).unwrap(), json!({ "plans": [], "tasks": 0 }));
    world.now = world.now.plus_seconds(8 * 86_400);
    let unsure = purge(&world, week(false)).unwrap_err();
    assert_eq!((unsure.code(), unsure.meaning().exit), ("unconfirmed", 1));
    let said = unsure.to_string();
    assert!(said.contains("3 tasks of 1 plan") && said.contains(FILE), "{said}");
    assert_eq!(unsure.to_json()["error"]["plans"][0]["tasks"], 3);
    let by_root = world.call("plan_purge", week(true)).unwrap_err();
    assert_eq!((by_root.code(), by_root.meaning().exit), ("not_permitted", 4));
    let bad = purge(&world, json!({ "archivedOlderThan": "soon", "confirm": true })).unwrap_err();
    assert_eq!((bad.code(), bad.meaning().exit), ("bad_value", 2));
    let asked = json!({ "planFile": FILE, "includeArchived": true });
    let kept = world.call("plan_tree", asked.clone()).unwrap();
    assert_eq!(kept["tasks"].as_array().unwrap().len(), 1);
    // Now it is confirmed and old enough.
    let gone = purge(&world, week(true)).unwrap();
    assert_eq!((&gone["tasks"], &gone["plans"][0]["planFile"]), (&json!(3), &json!(FILE)));
    assert_eq!(purge(&world, week(true)).unwrap(), json!({ "plans": [], "tasks": 0 }));
    assert_eq!(world.call("plan_tree", asked).unwrap()["tasks"], json!([]));
    let error = world.call("task_complete", json!({ "taskId": id })).unwrap_err();
    assert_eq!(error.code(), "unknown_todo");
    let log = world.log();
    assert_eq!(log[..11], before[..], "who did what, and when, stays");
    assert_eq!((&log[11]["type"], &log[11]["data"]["todos"]), (&json!("list_purged"), &json!(3)));
    assert_eq!(sick(&world), [""; 0], "the log goes on from there");
    let seen = json!({ "planFile": "other.md" });
    assert_eq!(world.call("plan_tree", seen).unwrap()["tasks"][0]["content"], "Other");
    // A new plan with the same file gets new numbers.
    let again = import(&world);
    assert_eq!(again["changes"]["added"], 3);
    assert!(again["tasks"][0]["seq"].as_i64().unwrap() > last, "{again}");
    assert_eq!(sick(&world), [""; 0]);
}

/// No number is reused, even if the highest one was purged.
fn a_purged_number_is_not_reused(backend: Backend) {
    let world = World::new(backend);
    let made = import(&world);
    let last = made["tasks"][0]["children"][1]["seq"].as_i64().unwrap();
    named(&world, "plan_archive").unwrap();
    purge(&world, json!({ "archivedOlderThan": "0s", "confirm": true })).unwrap();
    assert_eq!(import(&world)["tasks"][0]["seq"], last + 1);
}

/// O-19: the doctor names a cycle that was made by hand. Nothing loops, crashes or is hidden, and
/// importing the plan's file repairs it.
fn a_cycle_made_by_hand_is_reported_and_blocks_nothing(backend: Backend) {
    let world = World::new(backend);
    let deep = "# Auth\n- [ ] a\n  - [ ] b\n    - [ ] c\n- [ ] d\n";
    let import = || world.call("plan_import", json!({ "planFile": FILE, "markdown": deep }));
    let made = import().unwrap();
    let mut task = &made["tasks"][0];
    let ids: Vec<String> = std::iter::from_fn(|| {
        task = task["children"].as_array()?.first()?;
        Some(task["id"].as_str().unwrap().to_owned())
    })
    .collect();
    let [a, b, c] = &ids[..] else { panic!("{made}") };
    assert_eq!(sick(&world), [""; 0]);
    let (child, parent) = (a.clone(), c.clone());
    let hung = world.ops.store().unwrap().write(move |tx| {
        let statement = punchlist_store::sql!("UPDATE todos SET parent_id = $1 WHERE id = $2");
        tx.execute(statement, &[(&parent).into(), (&child).into()])
    });
    hung.map_err(|error: punchlist_store::Error| error.to_string()).unwrap();
    let report = world.ops.examine();
    let trees = report.checks.iter().find(|check| check.name == "trees").unwrap();
    let circle = format!("a circle of 3 todos: {a} under {c} under {b} under {a}");
    assert_eq!((trees.ok, &trees.detail), (false, &circle));
    assert!(trees.hint.as_ref().unwrap().contains("import the plan's file again"), "{trees:?}");
    let shown = named(&world, "plan_tree").unwrap();
    for content in ["Auth", "a", "b", "c", "d"] {
        let line = format!("[ ] {content}");
        assert!(shown["markdown"].as_str().unwrap().contains(&line), "{line}: {shown}");
    }
    assert_eq!(named(&world, "plan_current").unwrap()["current"]["content"], "d");
    assert!(named(&world, "plan_render").unwrap()["text"].as_str().unwrap().contains("] d"));
    let worker = world.envelope(Role::Worker);
    let error = world.call_in(&worker, "task_complete", json!({ "taskId": b })).unwrap_err();
    assert_eq!(error.code(), "not_permitted");
    world.call("task_assign", json!({ "taskId": b, "agent": "primary" })).unwrap();
    import().unwrap();
    let trees = world.ops.examine().checks.into_iter().find(|check| check.name == "trees");
    assert!(trees.unwrap().ok);
    assert_eq!(named(&world, "plan_tree").unwrap()["tasks"][0]["children"][0]["id"], json!(a));
}

on_every_lasting_store!(a_cycle_made_by_hand_is_reported_and_blocks_nothing);

/// D-12: a task that waits for another is neither current, handed out nor taken until that one is
/// settled; its plan says what it waits for.
fn tasks_wait_for_others(backend: Backend) {
    let world = World::new(backend);
    let file = "# T\n- [ ] ship\n  after: \"test\"\n  - [ ] pack\n- [ ] build\n- [ ] test\n";
    let import = json!({ "planFile": "p.md", "markdown": file });
    let imported = world.call("plan_import", import.clone()).unwrap();
    let tasks = imported["tasks"][0]["children"].clone();
    let (ship, build, test) = (&tasks[0], &tasks[1], &tasks[2]);
    let number = |task: &Value| format!("t{}", task["seq"]);
    assert_eq!(ship["after"], json!([test["id"]]));
    assert_eq!(ship["waitsFor"], json!([number(test)]));
    assert_eq!(ship["children"][0]["waitsFor"], json!([number(test)]));
    assert_eq!(imported["current"]["content"], "build");
    let after = |task: &Value, first: Value| {
        world.call("task_after", json!({ "taskId": task["seq"], "after": first }))
    };
    let changed = after(test, json!([build["seq"]])).unwrap();
    assert!(changed["markdown"].as_str().unwrap().contains("test (waits for t"), "{changed}");
    let circle = after(build, json!([number(ship)])).unwrap_err();
    assert_eq!((circle.code(), circle.meaning().exit), ("dependency_cycle", 1));
    let other = world.plan(&["elsewhere"]);
    assert_eq!(after(build, json!([other[0]])).unwrap_err().code(), "unknown_todo");
    let next = || {
        let next = json!({ "planFile": "p.md" });
        let taken = world.call("todo_next", next).unwrap();
        let release = json!({ "todoId": taken["todo"]["id"], "epoch": taken["epoch"] });
        world.call("todo_release", release).unwrap();
        taken["todo"]["title"].as_str().unwrap().to_owned()
    };
    assert_eq!(next(), "build");
    let take = json!({ "todoId": ship["children"][0]["id"] });
    let refused = world.call("todo_take", take.clone()).unwrap_err();
    assert_eq!((refused.code(), refused.meaning().exit), ("waiting", 1));
    // A worker that was assigned a waiting task is not handed it either.
    world.call("task_assign", json!({ "taskId": test["seq"], "agent": "primary" })).unwrap();
    assert_eq!(next(), "build");
    for (done, then) in [(build, "test"), (test, "pack")] {
        world.call("task_complete", json!({ "taskId": done["seq"] })).unwrap();
        let current = world.call("plan_current", json!({ "planFile": "p.md" })).unwrap();
        assert_eq!((current["current"]["content"].as_str(), next()), (Some(then), then.to_owned()));
    }
    world.call("todo_take", take).unwrap();
    let same = world.call("plan_import", import).unwrap();
    assert_eq!(same["changes"]["unchanged"], 5);
}

/// Work on a task of an archived plan outlives the plan: the delegation ends, and the work behind it
/// is taken.
fn a_purged_plan_does_not_block_the_queue(backend: Backend) {
    let mut world = World::new(backend);
    let made = import(&world);
    let root = world.envelope(Role::Root);
    let delegate = |world: &World, more: Value| {
        let mut order = json!({ "type": "coder", "mission": "Do it.", "async": true });
        order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.call_in(&root, "delegate", order).unwrap()["delegationId"].clone()
    };
    let about = |n: usize| json!({ "todoId": made["tasks"][0]["children"][n]["id"] });
    // Archiving stops the work that there is (F-2), so this comes after it.
    named(&world, "plan_archive").unwrap();
    let reported = delegate(&world, about(0));
    let abandoned = delegate(&world, about(1));
    world.now = world.now.plus_seconds(8 * 86_400);
    purge(&world, json!({ "archivedOlderThan": "7d", "confirm": true })).unwrap();
    let last = delegate(&world, json!({}));
    let worker = world.envelope(Role::Worker);
    let take = || world.call_in(&worker, "delegation_take", json!({})).unwrap();
    for _ in 0..2 {
        let taken = take();
        assert_eq!(taken["delegation"]["id"], reported);
        let failed = json!({ "delegationId": reported, "epoch": taken["epoch"], "error": "gone" });
        world.call_in(&worker, "delegation_report", failed).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(take()["delegation"]["id"], abandoned);
        let ended = punchlist_store::sql!("UPDATE delegations SET lease_until = 0");
        world.ops.store().unwrap().write(|tx| tx.write(ended, &[])).unwrap();
    }
    assert_eq!(take()["delegation"]["id"], last);
    for id in [reported, abandoned] {
        let shown = world.call("delegation_show", json!({ "delegationId": id })).unwrap();
        assert_eq!(shown["delegation"]["state"], "failed");
    }
}

/// What is below a cancelled task is no work: it is not current, not handed out, and keeps no task
/// above it open. Open tasks anywhere else below a task do.
fn tasks_below_a_cancelled_one_are_dropped(backend: Backend) {
    let world = World::new(backend);
    let text = "# R\n- [ ] e\n  - [ ] e1\n    - [ ] e11\n- [x] b\n  - [ ] b1\n";
    let made = world.call("plan_import", json!({ "planFile": FILE, "markdown": text })).unwrap();
    let root = &made["tasks"][0];
    let (e, b1) = (&root["children"][0], &root["children"][1]["children"][0]);
    let [e1, e11] = [&e["children"][0], &e["children"][0]["children"][0]];
    let current = || named(&world, "plan_current").unwrap()["current"]["content"].take();
    assert_eq!(current(), "e11");
    let assign = json!({ "taskId": e1["seq"], "agent": "primary" });
    world.call("task_assign", assign).unwrap();
    world.call("task_cancel", json!({ "taskId": e["seq"], "reason": "no" })).unwrap();
    assert_eq!(current(), "b1");
    let tree = named(&world, "plan_tree").unwrap();
    assert_eq!(tree["current"]["content"], "b1");
    for task in [e1, e11] {
        for (name, input) in [
            ("todo_take", json!({ "todoId": task["seq"] })),
            ("task_assign", json!({ "taskId": task["seq"], "agent": "primary" })),
            ("task_add", json!({ "parentId": task["seq"], "content": "more" })),
            ("task_complete", json!({ "taskId": task["seq"] })),
        ] {
            let error = world.call(name, input).unwrap_err();
            let code = (error.code(), error.meaning().exit);
            assert_eq!(code, ("below_cancelled", 1), "{name}: {error}");
        }
    }
    let complete = |task: &Value| world.call("task_complete", json!({ "taskId": task["seq"] }));
    let error = complete(root).unwrap_err();
    assert_eq!(error.code(), "open_children");
    assert!(error.to_string().ends_with("has an open task below it: t6 `b1`"), "{error}");
    let next = named(&world, "todo_next").unwrap();
    assert_eq!(next["todo"]["id"], b1["id"]);
    complete(b1).unwrap();
    let settled = complete(b1).unwrap_err();
    assert_eq!((settled.code(), &settled.facts()["isTask"]), ("already_settled", &json!(true)));
    let hint = "add a new task instead; task_reopen reopens it, for root and the operator";
    assert_eq!(settled.hint().as_deref(), Some(hint));
    assert_eq!(named(&world, "todo_next").unwrap()["todo"], Value::Null);
    assert_eq!(current(), "R");
    complete(root).unwrap();
    assert_eq!(named(&world, "plan_current").unwrap()["reason"], "all_settled");
    let plan = &world.call("plan_list", json!({})).unwrap()["plans"][0];
    let counts = ["open", "completed", "cancelled"].map(|name| plan[name].clone());
    assert_eq!(counts, [0, 1, 1].map(Value::from), "a dropped task counts as cancelled");
    let view: PlanView = serde_json::from_value(named(&world, "plan_tree").unwrap()).unwrap();
    let leaves: Vec<&str> = view.leaves().iter().map(|task| task.content.as_str()).collect();
    assert_eq!(leaves, ["b1"], "a dropped task is no part of the progress");
    let line = json!({ "planFile": FILE, "form": "line" });
    let line = world.call("plan_render", line).unwrap()["text"].take();
    let expected = format!("Plan {FILE}: nothing is current, all 2 tasks are settled");
    assert_eq!(line, expected);
    named(&world, "plan_finish").unwrap();
    world.call("plan_import", json!({ "planFile": FILE, "markdown": text })).unwrap();
    // Reopened, it brings back what is below it.
    world.call("task_reopen", json!({ "taskId": root["seq"], "reason": "more" })).unwrap();
    world.call("task_reopen", json!({ "taskId": e["seq"], "reason": "after all" })).unwrap();
    assert_eq!(current(), "e11");
}

/// A dropped task will never be completed, so nothing waits for it; brought back, it is waited for
/// again.
fn nothing_waits_for_a_dropped_task(backend: Backend) {
    let world = World::new(backend);
    let text = "# R\n- [ ] ship\n  after: \"test\"\n- [ ] checks\n  - [ ] unit\n    - [ ] test\n";
    let made = world.call("plan_import", json!({ "planFile": FILE, "markdown": text })).unwrap();
    let (ship, checks) = (&made["tasks"][0]["children"][0], &made["tasks"][0]["children"][1]);
    let test = &checks["children"][0]["children"][0];
    let take = || world.call("todo_take", json!({ "todoId": ship["id"] }));
    let next = || {
        let taken = named(&world, "todo_next").unwrap();
        let release = json!({ "todoId": taken["todo"]["id"], "epoch": taken["epoch"] });
        world.call("todo_release", release).unwrap();
        taken["todo"]["title"].clone()
    };
    let waits =
        || named(&world, "plan_tree").unwrap()["tasks"][0]["children"][0]["waitsFor"].take();
    assert_eq!((next(), waits()), (json!("test"), json!([format!("t{}", test["seq"])])));
    assert_eq!(take().unwrap_err().code(), "waiting");
    world.call("task_cancel", json!({ "taskId": checks["seq"], "reason": "no" })).unwrap();
    assert_eq!((next(), waits()), (json!("ship"), Value::Null));
    let taken = take().unwrap();
    let release = json!({ "todoId": ship["id"], "epoch": taken["epoch"] });
    world.call("todo_release", release).unwrap();
    world.call("task_reopen", json!({ "taskId": checks["seq"], "reason": "yes" })).unwrap();
    assert_eq!((next(), take().unwrap_err().code()), (json!("test"), "waiting"));
}

/// A plan has no owner and no lead, so a refused worker is not sent to them.
fn a_worker_refused_on_a_task_is_told_whom_to_ask(backend: Backend) {
    let world = World::new(backend);
    let made = import(&world);
    let task = json!({ "taskId": made["tasks"][0]["children"][0]["seq"] });
    let worker = world.envelope(Role::Worker);
    let error = world.call_in(&worker, "task_complete", task).unwrap_err();
    assert_eq!(error.code(), "not_permitted");
    let hint = error.hint().unwrap_or_default();
    assert_eq!(hint, "ask the agent it is assigned to, or the root agent");
}

on_every_store!(
    a_worker_refused_on_a_task_is_told_whom_to_ask,
    a_purged_plan_does_not_block_the_queue,
    tasks_below_a_cancelled_one_are_dropped,
    nothing_waits_for_a_dropped_task,
    tasks_wait_for_others,
    an_archived_plan_is_shown_only_on_request,
    an_import_restores_an_archived_plan,
    a_plan_with_open_tasks_is_finished_only_when_confirmed,
    a_purge_deletes_the_rows_and_keeps_the_log,
    a_purged_number_is_not_reused,
);
