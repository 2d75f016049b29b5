//! Taking work: one holder at a time, leases that expire, epochs that fence off old holders.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_core::{AgentPath, Role, Scope};
use punchlist_ops::{Envelope, Error};
use punchlist_store::care::examine;
use punchlist_store::migrate::MIGRATIONS;
use punchlist_store::sql::Sql;
use punchlist_store::{Options, sql};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

/// A worker with this name.
fn worker(world: &World, name: &str) -> Envelope {
    let mut envelope = world.envelope(Role::Worker);
    envelope.actor.agent = AgentPath::parse(&format!("primary.subagents.{name}")).unwrap();
    envelope.actor.principal = format!("worker:{}", envelope.actor.agent);
    envelope
}

fn next(lease_s: i64) -> Value {
    json!({ "planFile": "docs/plans/auth.md", "leaseS": lease_s })
}

/// Retries until it succeeds, for a limited time: a lease ends by the database's clock.
fn until_ok(mut ask: impl FnMut() -> Result<Value, Error>) -> Value {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        thread::yield_now();
    }
}

/// P-2: if many take the same item at once, exactly one gets it.
fn only_one_of_many_concurrent_takers_gets_the_item(backend: Backend) {
    let world = Arc::new(World::new(backend));
    let id = world.plan(&["task"])[0].clone();
    let start = Arc::new(Barrier::new(8));
    let takers: Vec<_> = (0..8)
        .map(|n| {
            let (world, start, id) = (Arc::clone(&world), Arc::clone(&start), id.clone());
            thread::spawn(move || {
                let me = worker(&world, &format!("w{n}"));
                start.wait();
                world.call_in(&me, "todo_take", json!({ "todoId": id }))
            })
        })
        .collect();
    let results: Vec<_> = takers.into_iter().map(|taker| taker.join().unwrap()).collect();
    let won: Vec<&Value> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
    assert_eq!(won.len(), 1);
    assert_eq!(won[0]["epoch"], 1);
    let holder = won[0]["todo"]["assignee"].as_str().unwrap();
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        assert_eq!((error.code(), error.meaning().exit), ("already_taken", 1));
        assert_eq!(error.to_json()["error"]["holder"], format!("worker:{holder}"));
    }
}

/// P-2: concurrent callers of `todo_next` get different items, until none is left.
fn concurrent_callers_of_next_get_different_items(backend: Backend) {
    let world = Arc::new(World::new(backend));
    let mut ids = world.plan(&["a", "b", "c", "d", "e", "f"]);
    let start = Arc::new(Barrier::new(8));
    let takers: Vec<_> = (0..8)
        .map(|n| {
            let (world, start) = (Arc::clone(&world), Arc::clone(&start));
            thread::spawn(move || {
                let me = worker(&world, &format!("w{n}"));
                start.wait();
                world.call_in(&me, "todo_next", next(600)).unwrap()["todo"]["id"].take()
            })
        })
        .collect();
    let taken = takers.into_iter().map(|taker| taker.join().unwrap());
    let (mut got, none): (Vec<Value>, Vec<Value>) = taken.partition(Value::is_string);
    got.sort_by_key(ToString::to_string);
    ids.sort();
    assert_eq!(got, ids.iter().map(|id| json!(id)).collect::<Vec<_>>());
    assert_eq!(none.len(), 2, "nothing to take is null, not an error");
}

/// P-2: taking an item again changes nothing; an item the caller holds comes first.
fn taking_again_changes_nothing(backend: Backend) {
    let world = World::new(backend);
    let ids = world.plan(&["a", "b"]);
    let me = worker(&world, "me");
    let first = world.call_in(&me, "todo_take", json!({ "todoId": ids[1] })).unwrap();
    assert_eq!((&first["todo"]["status"], &first["epoch"]), (&json!("in_progress"), &json!(1)));
    let lines = world.log().len();
    // Also by its number, written as text or as a number, and also with `todo_next`.
    for named in [json!("2"), json!("t2"), json!(2)] {
        assert_eq!(world.call_in(&me, "todo_take", json!({ "todoId": named })).unwrap(), first);
    }
    assert_eq!(world.call_in(&me, "todo_next", next(600)).unwrap(), first);
    assert_eq!(world.log().len(), lines);
    let other = world.call_in(&worker(&world, "other"), "todo_next", next(600)).unwrap();
    assert_eq!(other["todo"]["id"], json!(ids[0]));
}

/// P-3: the item of a dead worker becomes free by itself, and the worker's late writes are refused
/// and logged.
fn a_silent_holder_loses_the_item_and_is_fenced(backend: Backend) {
    let world = World::new(backend);
    let id = world.plan(&["task"])[0].clone();
    let (slow, quick) = (worker(&world, "slow"), worker(&world, "quick"));
    let take = json!({ "todoId": id, "leaseS": 1 });
    let first = world.call_in(&slow, "todo_take", take).unwrap();
    assert_eq!(first["epoch"], 1);
    let second = until_ok(|| {
        let answer = world.call_in(&quick, "todo_next", next(600))?;
        // Nothing to take yet is not an error, so retry.
        let again = || Error::MissingContext { missing: vec![] };
        if answer["todo"].is_null() { Err(again()) } else { Ok(answer) }
    });
    assert_eq!((&second["epoch"], &second["todo"]["id"]), (&json!(2), &json!(id)));
    let lines = world.log().len();
    for (name, input) in [
        ("todo_heartbeat", json!({ "todoId": id, "epoch": 1 })),
        ("todo_heartbeat", json!({ "todoId": id, "epoch": 2 })),
    ] {
        let error = world.call_in(&slow, name, input).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("stale_epoch", 1));
        assert_eq!(error.to_json()["error"]["holder"], "worker:primary.subagents.quick");
    }
    let log = world.log();
    assert_eq!(log.len(), lines + 2);
    assert_eq!(log.last().unwrap()["type"], "command_refused");
    let beat = json!({ "todoId": id, "epoch": 2, "leaseS": 60 });
    assert_eq!(world.call_in(&quick, "todo_heartbeat", beat).unwrap()["epoch"], 2);
    let released = world
        .call_in(&quick, "todo_release", json!({ "todoId": id, "epoch": 2, "reason": "lunch" }))
        .unwrap();
    assert_eq!(
        (&released["todo"]["status"], &released["todo"]["assignee"]),
        (&json!("pending"), &Value::Null)
    );
    // The epoch never decreases, even after a release.
    let third = world.call_in(&slow, "todo_next", next(600)).unwrap();
    assert_eq!(third["epoch"], 3);
}

/// A task that was assigned stays with its agent when the agent's lease ends or is given back, and
/// the rows say so, also in a store from before they did.
fn an_assignment_outlives_the_lease_of_the_assigned_agent(backend: Backend) {
    let world = World::new(backend);
    let ids = world.plan(&["assigned", "taken"]);
    let (mine, other) = (worker(&world, "mine"), worker(&world, "other"));
    let agent = mine.actor.agent.as_str();
    world.call("agent_register", json!({ "agent": agent })).unwrap();
    world.call("task_assign", json!({ "taskId": ids[0], "agent": agent })).unwrap();
    for id in &ids {
        world.call_in(&mine, "todo_take", json!({ "todoId": id, "leaseS": 1 })).unwrap();
    }
    // The lease on `taken` was made last, so both are over as soon as it can be taken.
    let taken = until_ok(|| world.call_in(&other, "todo_take", json!({ "todoId": ids[1] })));
    assert_eq!(taken["todo"]["assignee"], other.actor.agent.as_str());
    let refused = || {
        let error = world.call_in(&other, "todo_take", json!({ "todoId": ids[0] })).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("assigned_to_another", 1));
    };
    refused();
    world.call_in(&other, "todo_release", json!({ "todoId": ids[1] })).unwrap();
    let next = world.call_in(&other, "todo_next", next(600)).unwrap();
    assert_eq!(next["todo"]["id"], json!(ids[1]), "not the one that is another's");
    let again = world.call_in(&mine, "todo_next", json!({ "planFile": "docs/plans/auth.md" }));
    assert_eq!(again.unwrap()["todo"]["id"], json!(ids[0]));
    let released = world.call_in(&mine, "todo_release", json!({ "todoId": ids[0] })).unwrap();
    let todo = &released["todo"];
    assert_eq!((&todo["assignee"], &todo["status"]), (&json!(agent), &json!("in_progress")));
    refused();
    let store = world.ops.store().unwrap();
    let fill = MIGRATIONS.iter().find(|step| step.sqlite.contains("assigned_by_taking")).unwrap();
    let last = |text: &'static str| &text[text.find("UPDATE").unwrap()..];
    let fill = Sql { sqlite: last(fill.sqlite), postgres: last(fill.postgres) };
    let forget = sql!("UPDATE todos SET assigned_by_taking = NULL");
    store.write(|tx| tx.execute(forget, &[])).unwrap();
    assert_eq!(store.write(move |tx| tx.execute(&fill, &[])), Ok(1));
    if backend != Backend::SqliteMemory {
        let report = examine(world.store.target(), Options::default());
        assert!(report.ok, "{report:?}");
    }
    // The orchestrator takes the assignment back.
    world.call("task_release", json!({ "taskId": ids[0] })).unwrap();
    world.call_in(&other, "todo_take", json!({ "todoId": ids[0] })).unwrap();
}

/// In a list that allows one item in progress, a second caller gets nothing during the first lease.
fn one_at_a_time_means_one_holder(backend: Backend) {
    let world = World::new(backend);
    let started = world.call("session_start", json!({ "externalId": "s1" })).unwrap();
    let session_id = started["session"]["id"].as_str().unwrap().to_owned();
    let ids = world.list(Scope::Session { session_id }, &["a", "b"]);
    let mut other = world.envelope(Role::Root);
    other.actor.principal = "root:other".to_owned();
    let ask = json!({ "session": "s1" });
    let mine = world.call("todo_next", ask.clone()).unwrap();
    assert_eq!(mine["todo"]["id"], json!(ids[0]));
    let nothing = json!({ "todo": null, "epoch": null, "leaseUntil": null });
    let mut got = world.call_in(&other, "todo_next", ask.clone()).unwrap();
    let why = got.as_object_mut().unwrap().remove("why").unwrap();
    assert_eq!((&got, &why["reason"]), (&nothing, &json!("held_by_another")));
    for envelope in [&other, &world.envelope(Role::Root)] {
        let take = json!({ "todoId": ids[1] });
        let error = world.call_in(envelope, "todo_take", take).unwrap_err();
        assert_eq!(error.code(), "one_in_progress");
    }
    world.call("todo_release", json!({ "todoId": ids[0] })).unwrap();
    // The epoch continues, even after nobody held the item (P-3, ADR 0009).
    assert_eq!(mine["epoch"], 1);
    let theirs = world.call_in(&other, "todo_next", ask).unwrap();
    assert_eq!((&theirs["todo"]["id"], &theirs["epoch"]), (&json!(ids[0]), &json!(2)));
}

/// P-1, P-4, P-27: held, deferred and claimed items cannot be taken.
fn held_deferred_and_claimed_items_cannot_be_taken(backend: Backend) {
    let mut world = World::new(backend);
    let ids = world.plan(&["held", "resting", "claimed", "free"]);
    let root = |name: &str, input: Value| world.call(name, input).unwrap();
    root("todo_hold", json!({ "todoId": ids[0], "kind": "blocked", "reason": "no key" }));
    root("todo_defer", json!({ "todoId": ids[1], "until": "2026-11-15T09:00:00Z" }));
    let claim = json!({ "todoId": ids[2], "outcome": "done", "evidence": ["commit:0123abc"] });
    let claimed = root("todo_claim", claim);
    assert_eq!(claimed["todo"]["claim"]["evidence"], json!(["commit:0123abc"]));
    assert_eq!(claimed["todo"]["status"], "pending");
    for (id, code) in [(&ids[0], "held"), (&ids[1], "deferred"), (&ids[2], "already_claimed")] {
        let error = world.call("todo_take", json!({ "todoId": id })).unwrap_err();
        assert_eq!(error.code(), code);
    }
    let got = |world: &World, name: &str| {
        let answer = world.call_in(&worker(world, name), "todo_next", next(600)).unwrap();
        answer["todo"]["title"].clone()
    };
    assert_eq!(got(&world, "a"), "free");
    assert_eq!(got(&world, "b"), Value::Null);
    world.call("todo_unhold", json!({ "todoId": ids[0] })).unwrap();
    assert_eq!(got(&world, "b"), "held");
    world.now = world.now.plus_seconds(3600);
    assert_eq!(got(&world, "c"), "resting");
    let back = json!({ "todoId": ids[2], "feedback": "not on Windows" });
    world.call("todo_return", back).unwrap();
    assert_eq!(got(&world, "d"), "claimed");
}

/// An issue with two steps: the first is in progress by policy, without a holder.
fn two_steps(world: &World) -> Vec<String> {
    let operator = world.envelope(Role::Operator);
    world.call_in(&operator, "issue_create", json!({ "title": "Log in fails" })).unwrap();
    let mut person = operator;
    person.context.issue = Some(1);
    let add = json!({ "action": "add", "items": ["a", "b"] });
    world.call_in(&person, "todo", add).unwrap();
    let shown = world.call("issue_show", json!({ "number": 1 })).unwrap();
    let steps = shown["steps"].as_array().unwrap();
    steps.iter().map(|step| step["id"].as_str().unwrap().to_owned()).collect()
}

/// P-2, P-3: a released step is in progress again by policy (K-20), but without a holder: another
/// agent can take it, and the old epoch is stale.
fn a_released_step_can_be_taken_by_another_agent(backend: Backend) {
    let world = World::new(backend);
    let ids = two_steps(&world);
    let me = world.envelope(Role::Root);
    let mut other = world.envelope(Role::Root);
    other.actor.principal = "root:other".to_owned();
    other.actor.agent = AgentPath::parse("other").unwrap();
    let ask = json!({ "number": 1 });
    let mine = world.call_in(&me, "todo_next", ask.clone()).unwrap();
    assert_eq!((&mine["todo"]["id"], &mine["epoch"]), (&json!(ids[0]), &json!(1)));
    // Nor can an agent claim an item that another one holds.
    let claim = json!({ "todoId": ids[0], "outcome": "done" });
    let refused = world.call_in(&other, "todo_claim", claim).unwrap_err();
    assert_eq!((refused.code(), refused.meaning().exit), ("already_taken", 1));
    assert_eq!(refused.to_json()["error"]["holder"], me.actor.principal);
    let release = json!({ "todoId": ids[0], "epoch": 1, "reason": "out of time" });
    let released = world.call_in(&me, "todo_release", release.clone()).unwrap();
    assert_eq!(released["todo"]["status"], "in_progress", "K-20");
    for (name, input) in
        [("todo_heartbeat", json!({ "todoId": ids[0], "epoch": 1 })), ("todo_release", release)]
    {
        assert_eq!(world.call_in(&me, name, input).unwrap_err().code(), "stale_epoch", "{name}");
    }
    let theirs = world.call_in(&other, "todo_next", ask).unwrap();
    assert_eq!((&theirs["todo"]["id"], &theirs["epoch"]), (&json!(ids[0]), &json!(2)));
    let refused = world.call_in(&me, "todo_take", json!({ "todoId": ids[0] })).unwrap_err();
    assert_eq!(refused.code(), "already_taken");
}

/// Q-O3: a result that arrives after a reassignment settles nothing, but is kept.
fn a_late_result_is_refused_and_kept(backend: Backend) {
    let world = World::new(backend);
    let id = world.plan(&["task"])[0].clone();
    let (old, new) = (worker(&world, "old"), worker(&world, "new"));
    for path in [&old.actor.agent, &new.actor.agent] {
        world.call("agent_register", json!({ "agent": path.as_str() })).unwrap();
        let assign = json!({ "taskId": id, "agent": path.as_str() });
        world.call("task_assign", assign).unwrap();
    }
    let complete = json!({ "taskId": id, "outcome": "built it my way" });
    let refused = world.call_in(&old, "task_complete", complete).unwrap_err();
    assert_eq!((refused.code(), refused.meaning().exit), ("not_permitted", 4));
    let claim = json!({ "todoId": id, "outcome": "and tested it" });
    assert_eq!(world.call_in(&old, "todo_claim", claim).unwrap_err().code(), "not_permitted");
    // An agent that never had the task is refused too, but its report is not a late result.
    let stranger = worker(&world, "stranger");
    let complete = json!({ "taskId": id, "outcome": "never mine" });
    let refused = world.call_in(&stranger, "task_complete", complete).unwrap_err();
    assert_eq!(refused.code(), "not_permitted");
    let stale = json!({ "taskId": id, "outcome": "an old lease", "epoch": 7 });
    assert_eq!(world.call_in(&new, "task_complete", stale).unwrap_err().code(), "stale_epoch");
    let shown = world.call("todo_show", json!({ "todoId": id })).unwrap();
    assert_eq!(shown["todo"]["status"], "in_progress");
    let late: Vec<_> = shown["lateReports"].as_array().unwrap().iter().collect();
    let said: Vec<_> = late.iter().map(|report| &report["outcome"]).collect();
    assert_eq!(said, ["built it my way", "and tested it", "an old lease"]);
    assert_eq!(late[0]["by"], json!(old.actor.principal));
}

/// An assignment made by taking ends with the lease, also if the lease ended with a hold.
fn a_task_that_was_held_and_released_can_be_taken_by_another_agent(backend: Backend) {
    let world = World::new(backend);
    let id = world.plan(&["task"])[0].clone();
    let (one, other) = (worker(&world, "one"), worker(&world, "other"));
    world.call_in(&one, "todo_take", json!({ "todoId": id })).unwrap();
    let hold = json!({ "todoId": id, "kind": "blocked", "reason": "no key" });
    world.call_in(&one, "todo_hold", hold).unwrap();
    world.call("todo_unhold", json!({ "todoId": id })).unwrap();
    let taken = world.call_in(&other, "todo_take", json!({ "todoId": id })).unwrap();
    assert_eq!(taken["todo"]["assignee"], other.actor.agent.as_str());
}

/// A task that was taken is handed on, whatever ended its lease; its own agent comes first.
fn a_task_that_nobody_holds_any_more_is_next_for_others(backend: Backend) {
    let world = World::new(backend);
    let ids = world.plan(&["held", "returned", "assigned", "new"]);
    let (one, other) = (worker(&world, "one"), worker(&world, "other"));
    for id in &ids[..3] {
        world.call_in(&one, "todo_take", json!({ "todoId": id })).unwrap();
    }
    let hold = json!({ "todoId": ids[0], "kind": "blocked", "reason": "no key" });
    world.call_in(&one, "todo_hold", hold).unwrap();
    world.call_in(&one, "todo_claim", json!({ "todoId": ids[1], "outcome": "done" })).unwrap();
    // An assignment that somebody makes does not end with a lease.
    world.call_in(&one, "todo_release", json!({ "todoId": ids[2] })).unwrap();
    let third = worker(&world, "third").actor.agent;
    world.call("agent_register", json!({ "agent": third })).unwrap();
    world.call("task_assign", json!({ "taskId": ids[2], "agent": third })).unwrap();
    let next = |who: &Envelope| {
        let taken =
            world.call_in(who, "todo_next", json!({ "planFile": "docs/plans/auth.md" })).unwrap();
        taken["todo"]["title"].as_str().unwrap().to_owned()
    };
    // Nobody has lifted the hold or answered the claim yet.
    assert_eq!(next(&worker(&world, "early")), "new");
    world.call("todo_unhold", json!({ "todoId": ids[0] })).unwrap();
    world.call("todo_return", json!({ "todoId": ids[1], "feedback": "tests?" })).unwrap();
    assert_eq!(next(&one), "held");
    assert_eq!(next(&other), "returned");
    assert_eq!(next(&other), "returned");
}

/// Holds whose time is over do not hide the others from the status.
fn expired_holds_do_not_hide_others(backend: Backend) {
    let mut world = World::new(backend);
    let titles: Vec<String> = (0..12).map(|n| format!("task {n}")).collect();
    let ids = world.plan(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    let hold = |world: &World, id: &str, until: Value| {
        let hold = json!({ "todoId": id, "kind": "blocked", "reason": "no key", "until": until });
        world.call("todo_hold", hold).unwrap();
    };
    hold(&world, &ids[0], Value::Null);
    world.now = world.now.plus_seconds(1);
    for id in &ids[1..] {
        hold(&world, id, json!("2026-11-15T09:00:00Z"));
    }
    world.now = world.now.plus_seconds(7_200);
    let operator = world.envelope(Role::Operator);
    let held = world.call_in(&operator, "status", json!({})).unwrap()["held"].clone();
    let titles: Vec<&Value> = held.as_array().unwrap().iter().map(|row| &row["title"]).collect();
    assert_eq!(titles, ["task 0"]);
}

/// P-1: a hold with an end expires: the item can be taken, and is shown without the hold.
fn a_hold_with_an_end_expires(backend: Backend) {
    let mut world = World::new(backend);
    let ids = world.plan(&["a", "b"]);
    let steps = two_steps(&world);
    let until = "2026-11-15T09:00:00.000000Z";
    for id in [&ids[0], &steps[0]] {
        let hold = json!({ "todoId": id, "kind": "blocked", "reason": "no key", "until": until });
        let held = world.call("todo_hold", hold).unwrap();
        assert_eq!(held["todo"]["hold"]["until"], until);
    }
    let got = |world: &World, name: &str, ask: Value| {
        let answer = world.call_in(&worker(world, name), "todo_next", ask).unwrap();
        answer["todo"]["title"].clone()
    };
    let hold = |world: &World, id: &str| {
        let shown = world.call("todo_show", json!({ "todoId": id })).unwrap();
        shown["todo"]["hold"].clone()
    };
    assert_eq!(got(&world, "w1", next(600)), "b");
    assert_eq!(got(&world, "w2", next(600)), Value::Null);
    world.now = world.now.plus_seconds(3599);
    assert_eq!(hold(&world, &ids[0])["reason"], "no key");
    assert_eq!(got(&world, "w2", next(600)), Value::Null);
    world.now = world.now.plus_seconds(1);
    assert_eq!(hold(&world, &ids[0]), Value::Null);
    let issue = world.call("issue_show", json!({ "number": 1 })).unwrap();
    assert_eq!(issue["steps"][0]["hold"], Value::Null);
    assert_eq!(got(&world, "w2", next(600)), "a");
    let taken = world.call("todo_take", json!({ "todoId": steps[0] })).unwrap();
    assert_eq!(taken["todo"]["hold"], Value::Null);
    // The log agrees with the tables, although no event records the end of the hold.
    let report = examine(world.store.target(), Options::default());
    assert!(report.ok, "{report:?}");
}

/// P-21: the claimant cannot judge its own claim; root can, which completes the item.
fn a_claim_is_judged_by_another_agent(backend: Backend) {
    let world = World::new(backend);
    let id = world.plan(&["task"])[0].clone();
    let maker = worker(&world, "maker");
    world.call_in(&maker, "todo_take", json!({ "todoId": id })).unwrap();
    let claim = json!({ "todoId": id, "outcome": "built", "evidence": ["test:ci"] });
    world.call_in(&maker, "todo_claim", claim.clone()).unwrap();
    for (name, input) in [
        ("todo_accept", json!({ "todoId": id })),
        ("todo_return", json!({ "todoId": id, "feedback": "mine" })),
    ] {
        let error = world.call_in(&maker, name, input).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("not_permitted", 4));
    }
    let again = world.call_in(&maker, "todo_claim", claim).unwrap_err();
    assert_eq!(again.code(), "already_claimed");
    let done = world.call("todo_accept", json!({ "todoId": id })).unwrap();
    assert_eq!(
        (&done["todo"]["status"], &done["todo"]["outcome"], &done["todo"]["evidence"]),
        (&json!("completed"), &json!("built"), &json!(["test:ci"]))
    );
    // A worker cannot release, hold or claim another worker's task.
    let id = world.list(Scope::Plan { branch: "main".into(), plan_file: "p2".into() }, &["x"])[0]
        .clone();
    world.call_in(&maker, "todo_take", json!({ "todoId": id })).unwrap();
    let stranger = worker(&world, "stranger");
    for (name, input) in [
        ("todo_release", json!({ "todoId": id })),
        ("todo_hold", json!({ "todoId": id, "kind": "failed", "reason": "x" })),
        ("todo_claim", json!({ "todoId": id, "outcome": "x" })),
    ] {
        let error = world.call_in(&stranger, name, input).unwrap_err();
        assert_eq!(error.code(), "not_permitted", "{name}");
    }
}

/// Nothing to take has a reason, where only one item may be in progress.
fn nothing_to_take_says_why(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    world.call_in(&operator, "issue_create", json!({ "title": "Log in fails" })).unwrap();
    let mut bob = world.envelope(Role::Root);
    bob.actor.agent = AgentPath::parse("bob").unwrap();
    bob.actor.principal = "root:bob".to_owned();
    let next = |by: &Envelope| world.call_in(by, "todo_next", json!({ "number": 1 })).unwrap();
    assert_eq!(next(&bob)["why"], json!({ "reason": "none_open" }));
    let mut named = world.envelope(Role::Root);
    named.context.issue = Some(1);
    world.call_in(&named, "todo", json!({ "items": ["s1", "s2"] })).unwrap();
    let taken = next(&named);
    assert_eq!((&taken["todo"]["title"], taken.get("why")), (&json!("s1"), None));
    let why = next(&bob);
    assert_eq!(
        why["why"],
        json!({ "reason": "held_by_another", "title": "s1", "holder": "root:primary",
            "until": taken["leaseUntil"] })
    );
    for content in ["s1", "s2"] {
        let block = json!({ "action": "block", "content": content, "text": "no key" });
        world.call_in(&named, "todo", block).unwrap();
    }
    assert_eq!(next(&bob)["why"], json!({ "reason": "none_ready" }));
}

fn bad_wishes_are_refused_and_change_nothing(backend: Backend) {
    let world = World::new(backend);
    let id = world.plan(&["task"])[0].clone();
    let lines = world.log().len();
    for (name, input, code, exit) in [
        ("todo_take", json!({ "todoId": id, "leaseS": 0 }), "bad_value", 2),
        ("todo_take", json!({ "todoId": id, "leaseS": 31_536_000 }), "bad_value", 2),
        ("todo_take", json!({ "todoId": "nonsense" }), "unknown_todo", 1),
        ("todo_take", json!({ "todoId": "999" }), "unknown_todo", 1),
        ("todo_heartbeat", json!({ "todoId": id, "epoch": 1 }), "stale_epoch", 1),
        ("todo_release", json!({ "todoId": id }), "wrong_status", 1),
        ("todo_accept", json!({ "todoId": id }), "no_claim", 1),
        ("todo_hold", json!({ "todoId": id, "kind": "sad", "reason": "x" }), "bad_value", 2),
        ("todo_hold", json!({ "todoId": id, "kind": "failed", "reason": " " }), "missing_field", 2),
        ("todo_defer", json!({ "todoId": id, "until": "soon" }), "bad_value", 2),
        (
            "todo_claim",
            json!({ "todoId": id, "outcome": "x", "evidence": ["vibes"] }),
            "bad_value",
            2,
        ),
        ("todo_next", json!({}), "missing_field", 2),
        ("todo_next", json!({ "planFile": "a", "session": "b" }), "bad_value", 2),
    ] {
        let error = world.call(name, input.clone()).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), (code, exit), "{name} {input}");
    }
    // A missing plan is an error; a plan without open tasks is not.
    let none = world.call("todo_next", json!({ "planFile": "nowhere.md" })).unwrap_err();
    assert_eq!((none.code(), none.meaning().exit), ("unknown_plan", 1));
    // The stale heartbeat was logged, and nothing else.
    assert_eq!(world.log().len(), lines + 1);
    // Items of a turn list cannot be taken.
    let turn = world.call("create_todo", json!({ "items": [{ "title": "x" }] })).unwrap();
    let take = json!({ "todoId": turn["created"][0]["id"] });
    let error = world.call("todo_take", take).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("not_permitted", 4));
}

on_every_store!(
    nothing_to_take_says_why,
    only_one_of_many_concurrent_takers_gets_the_item,
    concurrent_callers_of_next_get_different_items,
    taking_again_changes_nothing,
    a_silent_holder_loses_the_item_and_is_fenced,
    an_assignment_outlives_the_lease_of_the_assigned_agent,
    one_at_a_time_means_one_holder,
    held_deferred_and_claimed_items_cannot_be_taken,
    a_released_step_can_be_taken_by_another_agent,
    a_task_that_was_held_and_released_can_be_taken_by_another_agent,
    a_task_that_nobody_holds_any_more_is_next_for_others,
    expired_holds_do_not_hide_others,
    a_hold_with_an_end_expires,
    a_late_result_is_refused_and_kept,
    a_claim_is_judged_by_another_agent,
    bad_wishes_are_refused_and_change_nothing,
);
