//! The current task is looked up by key. These tests compare it with the one computed from the
//! whole tree after random changes, and compare the keys with the log.

use punchlist_core::{AgentPath, Role};
use punchlist_store::care::examine;
use punchlist_store::migrate::MIGRATIONS;
use punchlist_store::sql::Sql;
use punchlist_store::{Options, Store, sql};
use punchlist_testkit::{Backend, World, on_every_lasting_store};
use serde_json::{Value, json};

const FILE: &str = "docs/plans/auth.md";

/// Reproducible pseudo-random numbers.
struct Lot(u64);

impl Lot {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The tasks of a tree in pre-order.
fn flat(plan: &Value) -> Vec<Value> {
    let mut open: Vec<&Value> = plan["tasks"].as_array().unwrap().iter().rev().collect();
    let mut found = Vec::new();
    while let Some(task) = open.pop() {
        found.push(task.clone());
        open.extend(task["children"].as_array().unwrap().iter().rev());
    }
    found
}

fn tree(world: &World) -> Value {
    world.call("plan_tree", json!({ "planFile": FILE })).unwrap()
}

/// A file with a random selection of these tasks, in random order and nesting.
fn file(lot: &mut Lot) -> String {
    let mut names: Vec<usize> = (0..25).collect();
    let mut text = "# Plan\n".to_owned();
    let mut depth = 0;
    for _ in 0..12 + lot.below(12) {
        let name = names.swap_remove(lot.below(names.len()));
        let mark = [' ', ' ', ' ', 'x', '-'][lot.below(5)];
        text.push_str(&format!("{}- [{mark}] t{name}\n", "  ".repeat(depth)));
        depth = lot.below(depth + 2).min(6);
    }
    text
}

/// A random action on a random task; a refused one changes nothing.
fn act(world: &World, lot: &mut Lot) {
    let tasks = flat(&tree(world));
    let task = &tasks[lot.below(tasks.len())]["id"];
    let agent = ["backend", "frontend"][lot.below(2)];
    let (name, input) = match lot.below(13) {
        0 | 1 => ("task_assign", json!({ "taskId": task, "agent": agent })),
        8 => ("todo_hold", json!({ "todoId": task, "kind": "blocked", "reason": "no key" })),
        9 => ("todo_unhold", json!({ "todoId": task })),
        10 => ("todo_defer", json!({ "todoId": task, "until": "2026-11-16T08:00:00Z" })),
        11 => ("task_reopen", json!({ "taskId": task, "reason": "by mistake" })),
        12 => ("todo_claim", json!({ "todoId": task, "outcome": "done" })),
        2..=4 => ("task_complete", json!({ "taskId": task })),
        5 => ("task_cancel", json!({ "taskId": task, "reason": "no" })),
        6 => ("task_release", json!({ "taskId": task })),
        _ => {
            let content = format!("added {}", lot.below(1_000_000));
            ("task_add", json!({ "parentId": task, "content": content }))
        }
    };
    drop(world.call(name, input));
}

/// D-12, D-13: looked up or computed from the whole tree, the current task is the same.
fn the_looked_up_current_task_matches_the_whole_tree(backend: Backend) {
    for seed in 0..6 {
        let (world, mut lot) = (World::new(backend), Lot(seed));
        for _ in 0..4 {
            let import = json!({ "planFile": FILE, "markdown": file(&mut lot) });
            world.call("plan_import", import).unwrap();
            for _ in 0..12 {
                act(&world, &mut lot);
                let (whole, place) = (
                    tree(&world),
                    world.call("plan_current", json!({ "planFile": FILE })).unwrap(),
                );
                assert_eq!(
                    place["current"]["id"], whole["current"]["id"],
                    "{seed}: {}",
                    whole["markdown"]
                );
                let tasks = flat(&whole);
                let current = tasks.iter().find(|task| task["id"] == place["current"]["id"]);
                let is_parent = current.is_some_and(|task| task["children"] != json!([]));
                assert_eq!(place["reason"] == "ready_to_close", is_parent, "{seed}: {place}");
                the_assigned_agent_gets_the_current_task(&world, &whole, &place["current"]);
            }
        }
        let sound = || {
            let report = examine(world.store.target(), Options::default());
            assert!(report.ok, "{seed}: {report:?}");
        };
        sound();
        // A store from before the keys existed gets the same ones.
        let store = world.ops.store().unwrap();
        let forget = sql!("UPDATE todos SET tree_key = NULL");
        assert!(store.write(|tx| tx.execute(forget, &[])).unwrap() > 0);
        assert_eq!(store.write(|tx| tx.execute(&fill(), &[])), Ok(tasks_in(store)));
        sound();
    }
}

/// If the current task can be worked on and is assigned, `todo_next` gives that agent exactly this
/// task.
fn the_assigned_agent_gets_the_current_task(world: &World, whole: &Value, current: &Value) {
    let Some(agent) = current["agent"].as_str() else { return };
    let mut me = world.envelope(Role::Root);
    me.actor.agent = AgentPath::parse(agent).unwrap();
    me.actor.principal = format!("root:{agent}");
    let next = world.call_in(&me, "todo_next", json!({ "planFile": FILE })).unwrap();
    let markdown = whole["markdown"].as_str().unwrap();
    let shown = world.call("todo_show", json!({ "todoId": current["id"] })).unwrap();
    let waits = ["claim", "hold", "deferUntil"].iter().any(|why| !shown["todo"][why].is_null());
    if !waits {
        assert_eq!(next["todo"]["id"], current["id"], "{markdown}");
    } else {
        assert_ne!(next["todo"]["id"], current["id"], "{markdown}");
    }
    let store = world.ops.store().unwrap();
    store.write(|tx| tx.execute(sql!("DELETE FROM leases"), &[])).unwrap();
    if next["todo"]["id"] != current["id"] && next["todo"]["id"].is_string() {
        // Taking it assigned it, so release it before the next comparison.
        world.call("task_release", json!({ "taskId": next["todo"]["id"] })).unwrap();
    }
}

/// The statement by which the migration fills its column.
fn fill() -> Sql {
    let step = MIGRATIONS.iter().find(|step| step.sqlite.contains("tree_key")).unwrap();
    let last = |text: &'static str| &text[text.find("WITH RECURSIVE").unwrap()..];
    Sql { sqlite: last(step.sqlite), postgres: last(step.postgres) }
}

/// The number of tasks, visible or not.
fn tasks_in(store: &Store) -> u64 {
    let count = sql!("SELECT count(*) FROM todos");
    let count = store.read(|tx| tx.first(count, &[], |row| row.int(0))).unwrap();
    count.unwrap().unsigned_abs()
}

/// The next task is the first free leaf in reading order, not in position order.
fn tasks_are_taken_in_reading_order(backend: Backend) {
    let world = World::new(backend);
    let text =
        "# Plan\n- [ ] a\n  - [ ] a1\n  - [ ] a2\n- [ ] b\n  - [ ] b1\n    - [ ] b11\n- [ ] c\n";
    let mut envelope = world.envelope(Role::Root);
    envelope.context.branch = Some("topic".to_owned());
    world.call_in(&envelope, "plan_import", json!({ "planFile": FILE, "markdown": text })).unwrap();
    let taken: Vec<Value> = (0..5)
        .map(|n| {
            let mut me = world.envelope(Role::Worker);
            me.context.branch.clone_from(&envelope.context.branch);
            me.actor.agent = AgentPath::parse(&format!("primary.subagents.w{n}")).unwrap();
            me.actor.principal = format!("worker:{}", me.actor.agent);
            world.call_in(&me, "todo_next", json!({ "planFile": FILE })).unwrap()["todo"]["title"]
                .take()
        })
        .collect();
    assert_eq!(taken, [json!("a1"), json!("a2"), json!("b11"), json!("c"), json!(null)]);
}

/// A wrong key is found and named.
fn the_doctor_rebuilds_the_keys(backend: Backend) {
    let world = World::new(backend);
    let text = "# Plan\n- [ ] a\n- [ ] b\n";
    world.call("plan_import", json!({ "planFile": FILE, "markdown": text })).unwrap();
    let store = world.ops.store().unwrap();
    let spoil = sql!("UPDATE todos SET tree_key = 'a0a9' WHERE title = 'b'");
    store.write(|tx| tx.execute(spoil, &[])).unwrap();
    let report = examine(world.store.target(), Options::default());
    let fold = report.checks.iter().find(|check| check.name == "fold").unwrap();
    assert!(
        !fold.ok && fold.detail.contains("its place is a0a9, the log says a0a1/a1a3"),
        "{fold:?}"
    );
}

on_every_lasting_store!(
    the_looked_up_current_task_matches_the_whole_tree,
    tasks_are_taken_in_reading_order,
    the_doctor_rebuilds_the_keys,
);
