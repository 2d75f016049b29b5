//! F-2 outside missions: work on a settled item is stopped, whatever list the item is on.

use punchlist_core::Role;
use punchlist_ops::{Envelope, Error};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

use crate::sessions::{bound, within};

fn delegate(world: &World, me: &Envelope, todo: &str) -> Value {
    let order = json!({ "type": "coder", "mission": "x", "todoId": todo, "async": true });
    world.call_in(me, "delegate", order).unwrap()["delegationId"].clone()
}

fn take(world: &World) -> Value {
    world.call_in(&world.envelope(Role::Worker), "delegation_take", json!({})).unwrap()
}

fn report(world: &World, taken: &Value) -> Result<Value, Error> {
    let (id, epoch) = (&taken["delegation"]["id"], &taken["epoch"]);
    let report = json!({ "delegationId": id, "epoch": epoch, "result": "merged" });
    world.call_in(&world.envelope(Role::Worker), "delegation_report", report)
}

fn state(world: &World, id: &Value) -> Value {
    let shown = world.call("delegation_show", json!({ "delegationId": id })).unwrap();
    shown["delegation"]["state"].clone()
}

/// A worker holds the work on one item, and the work on another is queued. Then `settle` settles
/// both.
fn stops(world: &World, me: &Envelope, (held, queued): (&str, &str), settle: impl FnOnce()) {
    let running = delegate(world, me, held);
    let taken = take(world);
    assert_eq!(taken["delegation"]["id"], running);
    let waiting = delegate(world, me, queued);
    settle();
    assert_eq!([state(world, &running), state(world, &waiting)], ["cancelled", "cancelled"]);
    assert_eq!(take(world)["delegation"], Value::Null);
    let late = report(world, &taken).unwrap_err();
    assert_eq!((late.code(), late.meaning().exit), ("delegation_over", 1));
    let shown = world.call_in(me, "todo_show", json!({ "todoId": held })).unwrap();
    assert_eq!(shown["lateReports"][0]["outcome"], "merged");
}

/// F-2
fn work_on_a_cancelled_task_stops(backend: Backend) {
    let world = World::new(backend);
    let ids = world.plan(&["a", "b"]);
    stops(&world, &world.envelope(Role::Root), (&ids[0], &ids[1]), || {
        for id in &ids {
            world.call("task_cancel", json!({ "taskId": id, "reason": "no" })).unwrap();
        }
    });
}

/// F-2: what is below a cancelled task is dropped with it.
fn work_below_a_cancelled_task_stops(backend: Backend) {
    let world = World::new(backend);
    let top = world.plan(&["top"])[0].clone();
    let below = |content: &str| {
        let add = json!({ "parentId": top, "content": content });
        world.call("task_add", add).unwrap();
        let log = world.log();
        let made = log.iter().rev().find(|event| event["type"] == "todo_created").unwrap();
        made["data"]["todo"]["id"].as_str().unwrap().to_owned()
    };
    let (held, queued) = (below("a"), below("b"));
    stops(&world, &world.envelope(Role::Root), (&held, &queued), || {
        world.call("task_cancel", json!({ "taskId": top, "reason": "no" })).unwrap();
    });
}

/// F-2
fn work_on_an_archived_plan_stops(backend: Backend) {
    let world = World::new(backend);
    let ids = world.plan(&["a", "b"]);
    stops(&world, &world.envelope(Role::Root), (&ids[0], &ids[1]), || {
        let plan = json!({ "planFile": "docs/plans/auth.md", "branch": "main" });
        world.call("plan_archive", plan).unwrap();
    });
}

/// F-2
fn work_on_a_settled_step_stops(backend: Backend) {
    let world = World::new(backend);
    bound(&world, "s", &[]);
    let me = within(&world, Role::Root, "s");
    let act = |input: Value| world.call_in(&me, "todo", input).unwrap();
    act(json!({ "action": "add", "items": ["a", "b"] }));
    stops(&world, &me, ("a", "b"), || {
        act(json!({ "action": "drop", "content": "a", "text": "no" }));
        act(json!({ "action": "done", "content": "b" }));
    });
}

/// F-2
fn work_on_a_settled_item_of_a_turn_stops(backend: Backend) {
    let world = World::new(backend);
    let me = world.envelope(Role::Root);
    let items = json!({ "items": [{ "title": "a" }, { "title": "b" }] });
    let made = world.call_in(&me, "create_todo", items).unwrap()["created"].clone();
    let id = |n: usize| made[n]["id"].as_str().unwrap().to_owned();
    stops(&world, &me, (&id(0), &id(1)), || {
        for n in [0, 1] {
            let done = json!({ "todoId": id(n), "outcome": "done" });
            world.call_in(&me, "complete_todo", done).unwrap();
        }
    });
}

/// A worker may complete its own task. It can still report what it did.
fn a_worker_that_completes_its_task_reports(backend: Backend) {
    let world = World::new(backend);
    let task = world.plan(&["a"])[0].clone();
    let worker = world.envelope(Role::Worker);
    let agent = worker.actor.agent.to_string();
    world.call("agent_register", json!({ "agent": agent })).unwrap();
    world.call("task_assign", json!({ "taskId": task, "agent": agent })).unwrap();
    delegate(&world, &world.envelope(Role::Root), &task);
    let taken = take(&world);
    let done = json!({ "taskId": task, "outcome": "merged" });
    world.call_in(&worker, "task_complete", done).unwrap();
    assert_eq!(report(&world, &taken).unwrap()["delegation"]["state"], "returned");
}

/// the open items of a session's list become steps of its issue. They are not given up.
fn work_on_items_that_become_steps_goes_on(backend: Backend) {
    let world = World::new(backend);
    let start = json!({ "title": "s", "externalId": "s" });
    world.call_in(&world.envelope(Role::Root), "session_start", start).unwrap();
    let me = within(&world, Role::Root, "s");
    let todos = json!([{ "id": "1", "content": "a", "status": "pending", "priority": "high" }]);
    world.call_in(&me, "todo_write", json!({ "todos": todos })).unwrap();
    let log = world.log();
    let made = log.iter().rev().find(|event| event["type"] == "todo_created").unwrap();
    let id = made["data"]["todo"]["id"].as_str().unwrap();
    let work = delegate(&world, &me, id);
    let promote = json!({ "session": "s", "title": "An issue" });
    world.call_in(&world.envelope(Role::Operator), "session_promote", promote).unwrap();
    assert_eq!(state(&world, &work), "queued");
}

on_every_store!(
    work_on_a_cancelled_task_stops,
    work_below_a_cancelled_task_stops,
    work_on_an_archived_plan_stops,
    work_on_a_settled_step_stops,
    work_on_a_settled_item_of_a_turn_stops,
    a_worker_that_completes_its_task_reports,
    work_on_items_that_become_steps_goes_on,
);
