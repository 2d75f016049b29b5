//! Delegations and their proposals: one queue, leases with epochs, and a root agent that decides.

use std::sync::Arc;

use punchlist_core::{Actor, AgentPath, Role};
use punchlist_ops::config::{Origin, Roster};
use punchlist_ops::{Envelope, Error};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

use crate::sessions::{bound, within};

fn delegate(world: &World, me: &Envelope) -> Value {
    let order = json!({ "type": "researcher", "mission": "Find out why.", "async": true });
    world.call_in(me, "delegate", order).unwrap()["delegationId"].clone()
}

/// The worker takes the next delegation and reports with this proposal.
fn report(world: &World, id: &Value, more: impl Into<Value>) -> Value {
    let more = more.into();
    let worker = world.envelope(Role::Worker);
    let taken = world.call_in(&worker, "delegation_take", json!({})).unwrap();
    assert_eq!(taken["delegation"]["id"], *id);
    let mut input = json!({ "delegationId": id, "epoch": taken["epoch"] });
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    world.call_in(&worker, "delegation_report", input).unwrap()["delegation"].clone()
}

fn items(world: &World, me: &Envelope) -> Vec<(String, String)> {
    let list = world.call_in(me, "todo", json!({ "action": "view" })).unwrap();
    let pair = |item: &Value| {
        let text = |name: &str| item[name].as_str().unwrap().to_owned();
        (text("content"), text("originAgent"))
    };
    list["items"].as_array().unwrap().iter().map(pair).collect()
}

fn updates(world: &World, number: i64) -> Vec<Value> {
    let shown = world.call("issue_show", json!({ "number": number })).unwrap();
    shown["updates"].as_array().unwrap().iter().map(|update| update["text"].clone()).collect()
}

/// F-8, S-25: when work fails permanently, its item is put on hold with the reason, on every list.
/// Delegating it again lifts the hold. The order contains the item's text (M-49).
fn a_failed_delegation_holds_its_item(backend: Backend) {
    let world = World::new(backend);
    let id = world.plan(&["Add the model"])[0].clone();
    let root = world.envelope(Role::Root);
    let order = json!({
        "type": "coder", "mission": "Mind the index.", "todoId": id, "async": true,
    });
    let made = world.call_in(&root, "delegate", order.clone()).unwrap();
    let shown = world.call("delegation_show", json!({ "delegationId": made["delegationId"] }));
    let mission = shown.unwrap()["delegation"]["mission"].as_str().unwrap().to_owned();
    assert!(mission.starts_with("Execute this task: Add the model."), "{mission}");
    assert!(mission.ends_with("\n\nMind the index."), "{mission}");
    let worker = world.envelope(Role::Worker);
    for _ in 0..2 {
        let taken = world.call_in(&worker, "delegation_take", json!({})).unwrap();
        let failed = json!({
            "delegationId": made["delegationId"], "epoch": taken["epoch"], "error": "no compiler",
        });
        world.call_in(&worker, "delegation_report", failed).unwrap();
    }
    let hold = || {
        let shown = world.call("todo_show", json!({ "todoId": id })).unwrap();
        shown["todo"]["hold"].clone()
    };
    assert_eq!(
        (&hold()["kind"], &hold()["reason"]),
        (&json!("failed"), &json!("coder failed: no compiler"))
    );
    world.call_in(&root, "delegate", order).unwrap();
    assert_eq!(hold(), Value::Null);
}

/// K-48, K-49, K-50, K-52, Q-K3: a worker proposes in its report; the root accepts, changes or
/// rejects it. Only accepted items are stored, with the worker's path, and reported once.
fn the_root_decides_on_a_workers_proposal(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &[]);
    let me = within(&world, Role::Root, "s");
    let path = "primary.subagents.researcher".to_owned();
    let id = delegate(&world, &me);
    let words = "I looked.\n```todo-proposal\n[\"Patch the cookie\", \"Add a test\"]\n```";
    let back = report(&world, &id, json!({ "result": words }));
    assert_eq!((&back["state"], &back["decision"]), (&json!("returned"), &Value::Null));
    assert_eq!(back["proposal"]["items"][1]["content"], "Add a test");
    assert_eq!(items(&world, &me), [], "nothing is stored yet");
    let decide = |id: &Value, decision: &str, more: Value| {
        let mut input = json!({ "delegationId": id, "decision": decision });
        for (name, value) in more.as_object().unwrap() {
            input[name] = value.clone();
        }
        world.call_in(&me, "proposal_decide", input)
    };
    decide(&id, "accept", json!({})).unwrap();
    let taken: Vec<(String, String)> =
        ["Patch the cookie", "Add a test"].map(|text| (text.to_owned(), path.clone())).to_vec();
    assert_eq!(items(&world, &me), taken);
    assert_eq!(updates(&world, number), [json!(format!("Sublist of {path} approved: 2 items."))]);
    assert_eq!(decide(&id, "reject", json!({})).unwrap_err().code(), "proposal_settled");

    let id = delegate(&world, &me);
    let proposal = json!({ "items": [{ "content": "Add a test" }, { "content": "More" }] });
    report(&world, &id, json!({ "result": "x", "proposal": proposal }));
    assert_eq!(decide(&id, "modify", json!({})).unwrap_err().code(), "items_required");
    let with_items = decide(&id, "accept", json!({ "items": [{ "content": "Other" }] }));
    let error = with_items.unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("items_not_taken", 2));
    let other =
        json!({ "items": [{ "content": "Add a test" }, { "content": "Less", "phase": "P" }] });
    let modified = decide(&id, "modify", other).unwrap();
    assert_eq!(modified["skipped"], json!(["Already on the list: Add a test"]));
    assert_eq!(items(&world, &me).last().unwrap(), &("Less".to_owned(), path));

    let id = delegate(&world, &me);
    let proposal = json!({ "items": [{ "content": "Rewrite it all" }] });
    report(&world, &id, json!({ "result": "x", "proposal": proposal }));
    let before = items(&world, &me);
    let why = "Not all of it: begin with the cookie.";
    let rejected = decide(&id, "reject", json!({ "reason": why })).unwrap();
    let shown = world.call_in(&me, "delegation_show", json!({ "delegationId": id })).unwrap();
    assert_eq!(shown["delegation"]["decisionReason"], why, "the delegating agent reads why");
    assert_eq!(rejected["delegation"]["decision"], "reject", "the delegation keeps it (Q-K3)");
    assert_eq!(rejected["delegation"]["proposal"]["items"][0]["content"], "Rewrite it all");
    assert_eq!((items(&world, &me), updates(&world, number).len()), (before, 2));
    let none = delegate(&world, &me);
    report(&world, &none, json!({ "result": "```todo-proposal\nunreadable\n```" }));
    assert_eq!(decide(&none, "accept", json!({})).unwrap_err().code(), "no_proposal");
}

/// K-51: with the policy `auto` a proposal is stored without review. The policy at the time of
/// delegating counts.
fn a_proposal_under_the_auto_policy_is_stored_at_once(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &[]);
    let mut me = within(&world, Role::Root, "s");
    let text = "[agents.researcher]\ntodo_review = \"auto\"";
    me.agents = Arc::new(Roster::default().read(text, Origin::Project).unwrap());
    let id = delegate(&world, &me);
    me.agents = Arc::default();
    let proposal = json!({ "items": [{ "content": "a" }] });
    let back = report(&world, &id, json!({ "result": "x", "proposal": proposal }));
    assert_eq!(back["decision"], "accept");
    assert_eq!(items(&world, &me)[0].1, "primary.subagents.researcher");
    assert_eq!(updates(&world, number).len(), 1);
}

/// A worker sees only what was forwarded, decides nothing, and holds its work by a lease: a stale
/// report is refused, a failure is retried once, and a cancelled delegation stays cancelled.
fn work_is_taken_by_lease_and_reported_once(backend: Backend) {
    let world = World::new(backend);
    bound(&world, "s", &["secret criterion"]);
    let me = within(&world, Role::Root, "s");
    let id = delegate(&world, &me);
    let worker = world.envelope(Role::Worker);
    for (name, input) in [
        ("proposal_decide", json!({ "delegationId": id, "decision": "accept" })),
        ("delegate", json!({ "type": "x", "mission": "y" })),
        ("delegation_list", json!({})),
    ] {
        let error = world.call_in(&worker, name, input).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("not_permitted", 4), "{name}");
    }
    let taken = world.call_in(&worker, "delegation_take", json!({ "types": ["coder"] })).unwrap();
    assert_eq!(taken, json!({ "delegation": null, "epoch": null, "leaseUntil": null }));
    let taken =
        world.call_in(&worker, "delegation_take", json!({ "types": ["researcher"] })).unwrap();
    assert!(!taken.to_string().contains("secret criterion"), "K-50");
    assert_eq!((&taken["epoch"], &taken["delegation"]["state"]), (&json!(1), &json!("running")));
    let none = world.call_in(&worker, "delegation_take", json!({})).unwrap();
    assert_eq!(none["delegation"], Value::Null, "it is held");
    let failed = |epoch: i64| {
        let input = json!({ "delegationId": id, "epoch": epoch, "error": "no network" });
        world.call_in(&worker, "delegation_report", input)
    };
    // A stale epoch is refused and logged, whatever the call was.
    assert_eq!(failed(7).unwrap_err().code(), "stale_epoch");
    let beat = json!({ "delegationId": id, "epoch": 7 });
    let beat = world.call_in(&worker, "delegation_heartbeat", beat).unwrap_err();
    assert_eq!(beat.code(), "stale_epoch");
    let log = world.log();
    let lines = log.iter().filter(|event| event["type"] == "delegation_refused");
    let lines: Vec<&Value> = lines.collect();
    assert_eq!((lines.len(), &lines[0]["data"]["delegationId"]), (2, &json!(id)));
    assert!(lines[0]["data"]["refusal"].to_string().contains("\"epoch\":7"), "{lines:?}");
    let back = failed(1).unwrap();
    assert_eq!(back["delegation"]["state"], "queued", "one retry");
    assert_eq!(failed(1).unwrap_err().code(), "stale_epoch");
    let taken = world.call_in(&worker, "delegation_take", json!({})).unwrap();
    assert_eq!(taken["epoch"], 2);
    assert_eq!(failed(2).unwrap()["delegation"]["state"], "failed");
    let cancel = json!({ "delegationId": id });
    assert_eq!(
        world.call_in(&me, "delegation_cancel", cancel).unwrap_err().code(),
        "delegation_over"
    );

    let id = delegate(&world, &me);
    world.call_in(&worker, "delegation_take", json!({})).unwrap();
    let cancel = json!({ "delegationId": id, "reason": "not needed" });
    let cancelled = world.call_in(&me, "delegation_cancel", cancel).unwrap();
    assert_eq!(cancelled["delegation"]["state"], "cancelled");
    let late = json!({ "delegationId": id, "epoch": 1, "result": "done" });
    let error = world.call_in(&worker, "delegation_report", late).unwrap_err();
    assert_eq!(error.code(), "delegation_over");
    for bad in [json!({}), json!({ "result": "a", "error": "b" })] {
        let mut input = json!({ "delegationId": id, "epoch": 1 });
        for (name, value) in bad.as_object().unwrap() {
            input[name] = value.clone();
        }
        assert_eq!(
            world.call_in(&worker, "delegation_report", input).unwrap_err().meaning().exit,
            2
        );
    }
    let odd = json!({ "type": "two words", "mission": "x" });
    assert_eq!(world.call_in(&me, "delegate", odd).unwrap_err().code(), "bad_agent_type");
}

/// M-58, M-59: the seed's fields, with its defaults. The caller field of the input is ignored.
fn an_order_has_the_fields_of_the_design(backend: Backend) {
    let world = World::new(backend);
    let me = world.envelope(Role::Root);
    for (more, mode) in [
        (json!({}), "sync"),
        (json!({ "async": false }), "sync"),
        (json!({ "async": true }), "async"),
    ] {
        let mut order = json!({
            "type": "researcher", "mission": "Look.", "rationale": "because", "callerAgentId": "boss",
        });
        order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = world.call_in(&me, "delegate", order).unwrap();
        assert_eq!((&made["mode"], &made["state"]), (&json!(mode), &json!("queued")));
        let show = json!({ "delegationId": made["delegationId"] });
        let shown = world.call_in(&me, "delegation_show", show).unwrap()["delegation"].clone();
        assert_eq!(shown["rationale"], "because");
        assert_eq!(shown["delegatedBy"], json!(me.actor.principal));
        assert_eq!(shown["agent"], "primary.subagents.researcher");
    }
    for missing in [json!({ "type": "x" }), json!({ "mission": "x" })] {
        assert_eq!(world.call_in(&me, "delegate", missing).unwrap_err().code(), "missing_field");
    }
}

/// A type that no file configures is accepted, with a warning.
fn work_for_an_unconfigured_agent_is_queued_with_a_warning(backend: Backend) {
    let world = World::new(backend);
    let mut me = world.envelope(Role::Root);
    let config = "[agents.known]\nmodel = \"scripted:x\"\n";
    me.agents = Arc::new(Roster::default().read(config, Origin::User).unwrap());
    let order = |kind: &str| json!({ "type": kind, "mission": "x", "async": true });
    let known = world.call_in(&me, "delegate", order("known")).unwrap();
    assert_eq!((&known["state"], &known["warning"]), (&json!("queued"), &Value::Null));
    let ghost = world.call_in(&me, "delegate", order("ghost")).unwrap();
    assert_eq!(ghost["state"], "queued");
    let warning = ghost["warning"].as_str().unwrap();
    assert!(warning.contains("no agent `ghost` is configured"), "{warning}");
}

/// F-2: the holder of a cancelled delegation learns of it from its next heartbeat.
fn a_cancelled_delegation_cannot_be_kept_alive(backend: Backend) {
    let world = World::new(backend);
    let me = world.envelope(Role::Root);
    let worker = world.envelope(Role::Worker);
    let id = delegate(&world, &me);
    world.call_in(&worker, "delegation_take", json!({})).unwrap();
    let beat = json!({ "delegationId": id, "epoch": 1 });
    world.call_in(&worker, "delegation_heartbeat", beat.clone()).unwrap();
    world.call_in(&me, "delegation_cancel", json!({ "delegationId": id })).unwrap();
    let error = world.call_in(&worker, "delegation_heartbeat", beat).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("delegation_over", 1));
}

/// Settled is final: a settled item cannot be delegated.
fn a_settled_item_is_not_delegated(backend: Backend) {
    let world = World::new(backend);
    let id = world.plan(&["Add the model"])[0].clone();
    world.call("task_cancel", json!({ "taskId": id, "reason": "no" })).unwrap();
    let order = json!({ "type": "coder", "mission": "x", "todoId": id, "async": true });
    let error = world.call("delegate", order).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("already_settled", 1));
    let list = world.call("delegation_list", json!({})).unwrap();
    assert_eq!(list["delegations"], json!([]));
}

/// Q-T1: delegating an item of a turn starts it, unless another one is in progress.
fn a_delegated_item_of_a_turn_is_in_progress(backend: Backend) {
    let world = World::new(backend);
    let items = json!({ "items": [{ "title": "one" }, { "title": "two" }] });
    let created = world.call("create_todo", items).unwrap()["created"].clone();
    for item in created.as_array().unwrap() {
        let order = json!({ "type": "coder", "mission": "x", "todoId": item["id"], "async": true });
        world.call("delegate", order).unwrap();
    }
    let show = |n: usize| {
        let shown = world.call("todo_show", json!({ "todoId": created[n]["id"] })).unwrap();
        (shown["todo"]["status"].clone(), shown["todo"]["startedAt"].is_string())
    };
    assert_eq!(show(0), (json!("in_progress"), true));
    assert_eq!(show(1), (json!("pending"), false));
}

/// A worker takes the delegation of this task and reports; returns the answer.
fn reported(world: &World, task: &str, between: impl FnOnce()) -> Result<Value, Error> {
    let order = json!({ "type": "coder", "mission": "x", "todoId": task, "async": true });
    world.call("delegate", order).unwrap();
    let worker = world.envelope(Role::Worker);
    let taken = world.call_in(&worker, "delegation_take", json!({})).unwrap();
    between();
    let id = &taken["delegation"]["id"];
    let report = json!({ "delegationId": id, "epoch": taken["epoch"], "result": "merged" });
    world.call_in(&worker, "delegation_report", report)
}

/// Design §2: the report on a plan task is a claim in the reporter's name, which root accepts.
fn a_report_claims_its_plan_task(backend: Backend) {
    let world = World::new(backend);
    let ids = world.plan(&["assigned", "free"]);
    let agent = "primary.subagents.coder";
    world.call("agent_register", json!({ "agent": agent })).unwrap();
    world.call("task_assign", json!({ "taskId": ids[0], "agent": agent })).unwrap();
    for (task, status) in ids.iter().zip(["in_progress", "pending"]) {
        reported(&world, task, || {}).unwrap();
        let todo = &world.call("todo_show", json!({ "todoId": task })).unwrap()["todo"];
        assert_eq!(todo["status"], status, "{todo}");
        assert_eq!(todo["claim"]["outcome"], "merged");
        assert_eq!(todo["claim"]["by"], "worker:primary.subagents.w");
        world.call("todo_accept", json!({ "todoId": task })).unwrap();
    }
}

/// Q-O3: a task that is assigned to another agent stops the work on it; its late result is refused
/// and kept.
fn a_report_after_a_reassignment_is_refused_and_kept(backend: Backend) {
    let world = World::new(backend);
    let task = world.plan(&["x"])[0].clone();
    let agent = |name: &str| format!("primary.subagents.{name}");
    for name in ["coder", "other"] {
        world.call("agent_register", json!({ "agent": agent(name) })).unwrap();
    }
    let assign = |name: &str| {
        world.call("task_assign", json!({ "taskId": task, "agent": agent(name) })).unwrap();
    };
    let late = reported(&world, &task, || {
        // Assigning it to its own agent, or to the delegating one, stops nothing.
        assign("coder");
        world.call("task_assign", json!({ "taskId": task, "agent": "primary" })).unwrap();
        assign("coder");
        assign("other");
        // An agent that never had the work is refused too, but its report is not a late result.
        let id = &world.call("delegation_list", json!({})).unwrap()["delegations"][0]["id"];
        let mut stranger = world.envelope(Role::Worker);
        stranger.actor =
            Actor::new(Role::Worker, AgentPath::parse("primary.subagents.stranger").unwrap());
        let report = json!({ "delegationId": id, "epoch": 77, "result": "never mine" });
        world.call_in(&stranger, "delegation_report", report).unwrap_err();
    });
    let late = late.unwrap_err();
    assert_eq!((late.code(), late.meaning().exit), ("delegation_over", 1));
    let shown = world.call("todo_show", json!({ "todoId": task })).unwrap();
    assert_eq!(shown["todo"]["claim"], Value::Null);
    assert_eq!(shown["delegations"][0]["state"], "cancelled");
    let at = shown["lateReports"][0]["at"].clone();
    let by = "worker:primary.subagents.w";
    assert_eq!(shown["lateReports"], json!([{ "by": by, "outcome": "merged", "at": at }]));
    let kept = reported(&world, &task, || assign("coder"));
    assert_eq!(kept.unwrap()["delegation"]["state"], "returned");
}

on_every_store!(
    work_for_an_unconfigured_agent_is_queued_with_a_warning,
    a_cancelled_delegation_cannot_be_kept_alive,
    a_settled_item_is_not_delegated,
    a_delegated_item_of_a_turn_is_in_progress,
    a_report_claims_its_plan_task,
    a_report_after_a_reassignment_is_refused_and_kept,
    an_order_has_the_fields_of_the_design,
    a_failed_delegation_holds_its_item,
    the_root_decides_on_a_workers_proposal,
    a_proposal_under_the_auto_policy_is_stored_at_once,
    work_is_taken_by_lease_and_reported_once,
);
