//! The orchestrator of a plan: what it watches, what it gets when it wakes, and that nothing else
//! hands out work.

use std::fs;

use punchlist_core::Role;
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

const FILE: &str = "docs/plans/auth.md";

fn import(world: &World, markdown: &str) -> Value {
    world.call("plan_import", json!({ "planFile": FILE, "markdown": markdown })).unwrap()
}

fn tree(world: &World) -> Value {
    world.call("plan_tree", json!({ "planFile": FILE })).unwrap()
}

fn render(world: &World, form: &str) -> String {
    let told = world.call("plan_render", json!({ "planFile": FILE, "form": form })).unwrap();
    told["text"].as_str().unwrap().trim_end().to_owned()
}

fn register(world: &World, agent: &str) {
    world.call("agent_register", json!({ "agent": agent })).unwrap();
}

/// The tasks below the root, by content.
fn child<'a>(plan: &'a Value, content: &str) -> &'a Value {
    let children = plan["tasks"][0]["children"].as_array().unwrap();
    children.iter().find(|task| task["content"] == content).unwrap()
}

/// O-22: an agent's status is in the log, where the orchestrator watches it, and shows at once in
/// the state and the needs of its task. Nothing is stored for that.
fn an_agents_status_is_watched_and_shows_in_its_task(backend: Backend) {
    let mut world = World::new(backend);
    let made = import(&world, "# Auth\n- [ ] a\n- [ ] b\n");
    register(&world, "backend");
    let id = child(&made, "a")["id"].clone();
    world.call("task_assign", json!({ "taskId": id, "agent": "backend" })).unwrap();
    let mut count = world.log().len();
    assert_eq!(count, 8);
    for (status, state, needs) in [
        ("busy", "active", Value::Null),
        ("blocked", "blocked", Value::Null),
        ("failed", "failed", json!("reassignment")),
        ("complete", "active", json!("completion")),
        ("archived", "active", json!("reassignment")),
        ("busy", "active", Value::Null),
    ] {
        let said = json!({ "agent": "backend", "status": status });
        world.call("agent_status", said).unwrap();
        let before = count;
        // The status `complete` also claims the task.
        count += if status == "complete" { 2 } else { 1 };
        let log = world.log();
        assert_eq!(log.len(), count, "{status}");
        let seen = &log[before];
        assert_eq!(
            (&seen["type"], &seen["data"]["agent"], &seen["data"]["status"]),
            (&json!("agent_changed"), &json!("backend"), &json!(status))
        );
        let plan = tree(&world);
        let (mine, other) = (child(&plan, "a"), child(&plan, "b"));
        assert_eq!((&mine["state"], &mine["needs"]), (&json!(state), &needs), "{status}");
        assert_eq!((&other["state"], &other["needs"]), (&json!("pending"), &Value::Null));
    }
    // The task also shows that a busy agent is no longer heard from.
    world.now = world.now.plus_seconds(301);
    assert_eq!(child(&tree(&world), "a")["needs"], "reassignment");
    assert!(render(&world, "tasks").contains("(@backend, needs reassignment)"));
}

/// O-25, F-11: an agent that wakes gets the current state, after a message, after an agent's event
/// and after a compaction: as one line, or in full. Reading it changes nothing.
fn a_waking_agent_gets_the_state_in_both_sizes(backend: Backend) {
    let world = World::new(backend);
    let made = import(&world, "# Auth\n- [ ] a\n- [ ] b\n");
    register(&world, "backend");
    let id = child(&made, "a")["id"].clone();
    let line =
        |settled: u8, rest: &str| format!("Plan {FILE}: {settled} of 2 tasks settled; {rest}");
    assert_eq!(render(&world, "line"), line(0, "current: a (pending)"));
    assert_eq!(
        render(&world, "tree"),
        "[ ] Auth (plan: docs/plans/auth.md)\n    [ ] a  <-- current\n    [ ] b"
    );
    world.call("task_assign", json!({ "taskId": id, "agent": "backend" })).unwrap();
    assert_eq!(render(&world, "line"), line(0, "current: a (@backend, active)"));
    let blocked = json!({ "agent": "backend", "status": "blocked", "note": "no key" });
    world.call("agent_status", blocked).unwrap();
    assert_eq!(render(&world, "line"), line(0, "current: a (@backend, blocked)"));
    assert_eq!(
        render(&world, "tasks"),
        "## Current Tasks\n- [ ] a (@backend, blocked)  <-- current\n- [ ] b (pending)"
    );
    world.call("task_complete", json!({ "taskId": id })).unwrap();
    assert_eq!(render(&world, "line"), line(1, "current: b (pending)"));
    let full = render(&world, "tree");
    assert!(
        full.contains("[x] a (@backend, completed)\n    [ ] b (pending)  <-- current"),
        "{full}"
    );
    // The short form is one line, and both are within their budgets.
    assert!(render(&world, "line").lines().count() == 1 && full.lines().count() == 3);
    let short = json!({ "planFile": FILE, "form": "tree", "budget": 60 });
    let short = world.call("plan_render", short).unwrap();
    assert!(short["text"].as_str().unwrap().chars().count() <= 60, "{short}");
    assert_eq!(world.log().len(), 10, "no wake leaves a line");
}

/// F-10: one authority hands out work. Only the command for it starts, assigns or settles a task:
/// no import, no agent status, no finished child, no read.
fn only_commands_start_or_settle_tasks(backend: Backend) {
    let world = World::new(backend);
    let text = "# Auth\n- [ ] a\n  - [ ] a1\n- [ ] b\n";
    let made = import(&world, text);
    register(&world, "backend");
    let (a, a1) = (child(&made, "a"), &child(&made, "a")["children"][0]);
    let states = || {
        let plan = tree(&world);
        let below = &child(&plan, "a")["children"][0];
        let all = [&plan["tasks"][0], child(&plan, "a"), below, child(&plan, "b")];
        all.map(|task| (task["state"].clone(), task["agent"].clone()))
    };
    let open = (json!("pending"), Value::Null);
    let active = (json!("active"), json!("backend"));
    let done = (json!("completed"), json!("backend"));
    let same = |expected: [&(Value, Value); 4]| assert_eq!(states(), expected.map(Clone::clone));
    same([&open, &open, &open, &open]);
    world.call("task_assign", json!({ "taskId": a1["id"], "agent": "backend" })).unwrap();
    same([&open, &open, &active, &open]);
    for status in ["busy", "complete", "idle"] {
        world.call("agent_status", json!({ "agent": "backend", "status": status })).unwrap();
        import(&world, text);
        render(&world, "tree");
        same([&open, &open, &active, &open]);
    }
    world.call("task_complete", json!({ "taskId": a1["id"] })).unwrap();
    same([&open, &open, &done, &open]);
    assert_eq!(tree(&world)["current"]["id"], a["id"], "ready to close, and not closed");
    // Of three agents that ask for work, one gets the only task.
    let mut taken = Vec::new();
    for name in ["x", "y", "z"] {
        let mut me = world.envelope(Role::Worker);
        let path = format!("primary.subagents.{name}");
        me.actor.agent = punchlist_core::AgentPath::parse(&path).unwrap();
        me.actor.principal = format!("worker:{path}");
        let got = world.call_in(&me, "todo_next", json!({ "planFile": FILE })).unwrap();
        taken.push(got["todo"]["title"].clone());
    }
    assert_eq!(taken, [json!("b"), Value::Null, Value::Null]);
}

/// F-12: each step is one call. Assigning a task and completing it are two calls, splitting it is
/// one, and none needs another call to correct the tree, the times or the parents.
fn every_step_is_one_call(backend: Backend) {
    let mut world = World::new(backend);
    let made = import(&world, "# Auth\n- [ ] a\n");
    register(&world, "backend");
    let id = child(&made, "a")["id"].clone();
    let before = world.log().len();
    assert_eq!(before, 5);
    // The number of events of each: assigning also starts.
    let steps = [
        ("task_assign", json!({ "taskId": id, "agent": "backend" }), 2),
        ("task_add", json!({ "parentId": id, "content": "a1" }), 1),
        ("task_complete", json!({ "taskId": "3" }), 1),
        ("task_complete", json!({ "taskId": id, "outcome": "merged" }), 1),
    ];
    let mut count = before;
    for (operation, input, lines) in steps {
        world.now = world.now.plus_seconds(1);
        let answer = world.call(operation, input).unwrap();
        assert!(answer["markdown"].as_str().unwrap().starts_with("[ ] Auth"), "{answer}");
        count += lines;
        assert_eq!(world.log().len(), count, "{operation}");
    }
    let plan = tree(&world);
    let (task, below) = (child(&plan, "a"), &child(&plan, "a")["children"][0]);
    assert_eq!((&task["state"], &task["outcome"]), (&json!("completed"), &json!("merged")));
    assert_eq!((&below["parentId"], &below["state"]), (&task["id"], &json!("completed")));
}

/// D-11: `updated_at` changes with every change; `created_at` does not.
fn a_change_updates_updated_at(backend: Backend) {
    let mut world = World::new(backend);
    let made = import(&world, "# Auth\n- [ ] a\n- [ ] b\n");
    register(&world, "backend");
    let id = child(&made, "a")["id"].clone();
    let times = |world: &World| {
        let statement = punchlist_store::sql!(
            "SELECT created_at, updated_at FROM tasks WHERE content <> 'Auth' ORDER BY content"
        );
        let read = world
            .ops
            .store()
            .unwrap()
            .read(|tx| tx.query(statement, &[], |row| Ok((row.text(0)?, row.text(1)?))));
        read.map_err(|error: punchlist_store::Error| error.to_string()).unwrap()
    };
    let at = |second: u8| format!("2026-11-15T08:00:0{second}.000000Z");
    assert_eq!(times(&world), [(at(0), at(0)), (at(0), at(0))]);
    for (second, operation, input) in [
        (1, "task_assign", json!({ "taskId": id, "agent": "backend" })),
        (2, "task_release", json!({ "taskId": id })),
        (3, "task_complete", json!({ "taskId": id })),
    ] {
        world.now = world.now.plus_seconds(1);
        world.call(operation, input).unwrap();
        assert_eq!(times(&world), [(at(0), at(second)), (at(0), at(0))], "{operation}");
    }
}

/// O-2: a person picks a line of TODO.md; the plan is written, split, assigned, done and finished.
/// The line belongs to the person and stays unchanged until they tick it.
fn from_a_line_of_todo_md_to_a_finished_plan(backend: Backend) {
    let world = World::new(backend);
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".git")).unwrap();
    fs::create_dir_all(folder.path().join("docs/plans")).unwrap();
    let backlog = "# Backlog\n\n- [ ] Add authentication\n- [ ] Faster builds\n";
    fs::write(folder.path().join("TODO.md"), backlog).unwrap();
    fs::write(folder.path().join(FILE), "# Add authentication\n1. Model\n2. Login\n").unwrap();
    let mut me = world.envelope(Role::Root);
    me.context.directory = Some(folder.path().display().to_string());
    let call = |operation: &str, input: Value| world.call_in(&me, operation, input).unwrap();
    let plan = call("plan_import", json!({ "planFile": FILE }));
    register(&world, "backend");
    for content in ["Model", "Login"] {
        let id = &child(&plan, content)["id"];
        call("task_assign", json!({ "taskId": id, "agent": "backend" }));
        call("task_complete", json!({ "taskId": id, "outcome": "merged" }));
    }
    call("task_complete", json!({ "taskId": plan["tasks"][0]["id"] }));
    assert_eq!(call("plan_finish", json!({ "planFile": FILE }))["settled"], 3);
    assert_eq!(fs::read_to_string(folder.path().join("TODO.md")).unwrap(), backlog);
}

on_every_store!(
    an_agents_status_is_watched_and_shows_in_its_task,
    a_waking_agent_gets_the_state_in_both_sizes,
    only_commands_start_or_settle_tasks,
    every_step_is_one_call,
    a_change_updates_updated_at,
    from_a_line_of_todo_md_to_a_finished_plan,
);
