//! Work that the wrong agent judges or takes: marked or refused.

use punchlist_core::{AgentPath, Role, TokenId};
use punchlist_ops::{Envelope, Proof};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

fn agent(world: &World, role: Role, path: &str) -> Envelope {
    let mut envelope = world.envelope(role);
    envelope.actor.agent = AgentPath::parse(path).unwrap();
    envelope.actor.principal = format!("{role}:{path}");
    envelope
}

/// A root that accepts its own claim on a plan is marked in the log, the item and the audit; an
/// acceptance by another agent is not.
fn a_self_accepted_claim_is_marked(backend: Backend) {
    let world = World::new(backend);
    let ids = world.plan(&["mine", "yours"]);
    let (me, other) = (agent(&world, Role::Root, "primary"), agent(&world, Role::Root, "other"));
    for id in &ids {
        let claim = json!({ "todoId": id, "outcome": "done", "evidence": ["note:see"] });
        world.call_in(&me, "todo_claim", claim).unwrap();
    }
    let accepted = world.call_in(&me, "todo_accept", json!({ "todoId": ids[0] })).unwrap();
    assert_eq!(accepted["todo"]["selfAccepted"], true, "{accepted}");
    let accepted = world.call_in(&other, "todo_accept", json!({ "todoId": ids[1] })).unwrap();
    assert_eq!(accepted["todo"]["selfAccepted"], Value::Null, "{accepted}");
    let completed: Vec<Value> = world
        .log()
        .into_iter()
        .filter(|event| event["type"] == "todo_completed")
        .map(|event| event["data"]["selfAccepted"].clone())
        .collect();
    assert_eq!(completed, [json!(true), Value::Null]);
    let audit = world.call("audit_closes", json!({})).unwrap();
    assert_eq!(audit["counts"]["selfAccepted"], 1, "{audit}");
}

/// Issue 15: an agent that claims under the name of its own subagent, or with the same token, and
/// then accepts has accepted its own claim. Two tokens of the operator's are two parties.
fn a_claim_through_ones_own_subagent_is_marked(backend: Backend) {
    let world = World::new(backend);
    let tokens = [
        TokenId::parse("01JCQ0000000000000000000AA"),
        TokenId::parse("01JCQ0000000000000000000AB"),
    ];
    let by = |role: Role, path: &str, token: Option<usize>| {
        let mut envelope = agent(&world, role, path);
        let token = token.map(|at| tokens[at].unwrap());
        envelope.proof = token.map_or(Proof::Nothing, Proof::Token);
        envelope
    };
    let (root, worker, x) = (Role::Root, Role::Worker, "primary.subagents.x");
    let table = [
        ("below", (worker, x, None), (root, "primary", None), json!(true)),
        ("below, one token", (worker, x, Some(0)), (root, "primary", Some(0)), json!(true)),
        ("below, two tokens", (worker, x, Some(1)), (root, "primary", Some(0)), Value::Null),
        ("beside, one token", (root, "other", Some(0)), (root, "primary", Some(0)), json!(true)),
        ("beside", (root, "other", None), (root, "primary", None), Value::Null),
        ("above", (root, "primary", None), (root, "primary.lead", None), Value::Null),
    ];
    let titles: Vec<&str> = table.iter().map(|row| row.0).collect();
    let ids = world.plan(&titles);
    world.call("agent_register", json!({ "agent": x })).unwrap();
    for ((title, claimer, accepter, marked), id) in table.into_iter().zip(&ids) {
        if claimer.0 == worker {
            world.call("task_assign", json!({ "taskId": id, "agent": x })).unwrap();
        }
        let (claimer, accepter) =
            (by(claimer.0, claimer.1, claimer.2), by(accepter.0, accepter.1, accepter.2));
        let claim = json!({ "todoId": id, "outcome": "done", "evidence": ["note:see"] });
        world.call_in(&claimer, "todo_claim", claim).unwrap();
        let accepted = world.call_in(&accepter, "todo_accept", json!({ "todoId": id })).unwrap();
        assert_eq!(accepted["todo"]["selfAccepted"], marked, "{title}: {accepted}");
    }
    let audit = world.call("audit_closes", json!({})).unwrap();
    assert_eq!(audit["counts"]["selfAccepted"], 3, "{audit}");
}

/// No agent can accept a claim on an issue, least of all its own; the operator's own completions
/// are accepted at once.
fn no_agent_accepts_on_an_issue(backend: Backend) {
    let world = World::new(backend);
    let new = json!({ "title": "Log in fails", "criteria": ["A test covers it"] });
    world.call("issue_create", new).unwrap();
    let mut root = world.envelope(Role::Root);
    root.context.issue = Some(1);
    let done = json!({ "action": "done", "content": "A test covers it" });
    world.call_in(&root, "todo", done.clone()).unwrap();
    let shown = world.call("issue_show", json!({ "number": 1 })).unwrap();
    assert_eq!(shown["criteria"][0]["acceptedAt"], Value::Null);
    let mut operator = world.envelope(Role::Operator);
    operator.context.issue = Some(1);
    for role in [Role::Root, Role::Lead, Role::Owner, Role::Worker, Role::System] {
        let mut caller = world.envelope(role);
        caller.context.issue = Some(1);
        let accept = json!({ "todoId": "A test covers it" });
        assert!(world.call_in(&caller, "todo_accept", accept).is_err(), "{role}");
    }
    world.call_in(&operator, "todo", done).unwrap();
    let shown = world.call("issue_show", json!({ "number": 1 })).unwrap();
    assert!(shown["criteria"][0]["acceptedAt"].is_string(), "{shown}");
}

/// P-3: a task that is assigned to another agent, or has open tasks below it, cannot be taken. A
/// task that a worker took is free again after its lease expires or is released.
fn a_task_of_another_agent_cannot_be_taken(backend: Backend) {
    let world = World::new(backend);
    let ids = world.plan(&["assigned", "free"]);
    for path in ["a.subagents.w", "b.subagents.w"] {
        world.call("agent_register", json!({ "agent": path })).unwrap();
    }
    let a = agent(&world, Role::Worker, "a.subagents.w");
    let b = agent(&world, Role::Worker, "b.subagents.w");
    let assign = json!({ "taskId": ids[0], "agent": "a.subagents.w" });
    world.call("task_assign", assign).unwrap();
    let take = |caller: &Envelope, id: &str| {
        world.call_in(caller, "todo_take", json!({ "todoId": id, "leaseS": 60 }))
    };
    let refused = take(&b, &ids[0]).unwrap_err();
    assert_eq!(refused.code(), "assigned_to_another");
    assert_eq!(refused.to_json()["error"]["agent"], "a.subagents.w");
    take(&a, &ids[0]).unwrap();
    // Taking assigns the task, and releasing ends the assignment.
    let taken = take(&b, &ids[1]).unwrap();
    assert_eq!(take(&a, &ids[1]).unwrap_err().code(), "already_taken");
    let release = json!({ "todoId": ids[1], "epoch": taken["epoch"] });
    world.call_in(&b, "todo_release", release).unwrap();
    take(&a, &ids[1]).unwrap();
    let below = json!({ "parentId": ids[1], "content": "a part of it" });
    world.call("task_add", below).unwrap();
    world.call("task_release", json!({ "taskId": ids[1] })).unwrap();
    assert_eq!(take(&b, &ids[1]).unwrap_err().code(), "open_children");
}

/// Events recorded with an overridden clock are found by their real time, and marked.
fn an_overridden_clock_hides_nothing(backend: Backend) {
    let mut world = World::new(backend);
    let id = world.plan(&["done long ago"])[0].clone();
    world.now = punchlist_core::Time::parse("2020-01-01T00:00:00Z").unwrap();
    world.call("task_complete", json!({ "taskId": id, "outcome": "quietly" })).unwrap();
    world.now = punchlist_core::Time::parse("2026-11-15T08:00:00Z").unwrap();
    let digest = world.call("digest", json!({ "since": "24h" })).unwrap();
    assert_eq!(digest["total"]["completed"], 1, "{digest}");
    assert_eq!(digest["actors"][0]["deeds"][0]["setClock"], true, "{digest}");
    let audit = world.call("audit_closes", json!({ "since": "24h" })).unwrap();
    assert_eq!(audit["closes"][0]["setClock"], true, "{audit}");
}

on_every_store!(
    a_self_accepted_claim_is_marked,
    a_claim_through_ones_own_subagent_is_marked,
    no_agent_accepts_on_an_issue,
    a_task_of_another_agent_cannot_be_taken,
    an_overridden_clock_hides_nothing,
);
