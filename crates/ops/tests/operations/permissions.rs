//! Permission to call an outside tool: asked for one call, given once or always, refused, and
//! revoked.

use punchlist_core::{AgentPath, Role};
use punchlist_ops::{Envelope, Error};
use punchlist_testkit::{Backend, World, on_every_lasting_store, on_every_store};
use serde_json::{Value, json};

/// The runner of agents.
fn runner(world: &World) -> Envelope {
    world.envelope(Role::System)
}

fn question(call: &str) -> Value {
    json!({
        "tool": "deploy", "agent": "coder", "input": { "to": "staging" },
        "definition": { "command": ["./deploy.sh"] }, "run": "run-1", "call": call,
    })
}

fn ask(world: &World, input: Value) -> Value {
    world.call_in(&runner(world), "permission_ask", input).unwrap()
}

fn answer(world: &World, gate: &Value, decision: &str, response: &Value) -> Result<Value, Error> {
    let input = json!({ "gateId": gate, "decision": decision, "response": response });
    world.call_in(&world.envelope(Role::Operator), "gate_answer", input)
}

fn permissions(world: &World) -> Vec<Value> {
    let operator = world.envelope(Role::Operator);
    let mut listed = world.call_in(&operator, "permission_list", json!({})).unwrap();
    let Value::Array(found) = listed["permissions"].take() else { panic!("{listed}") };
    found
}

fn open_gates(world: &World) -> Vec<Value> {
    let operator = world.envelope(Role::Operator);
    let open = json!({ "state": "open", "kind": "permission" });
    let mut listed = world.call_in(&operator, "gate_list", open).unwrap();
    let Value::Array(found) = listed["gates"].take() else { panic!("{listed}") };
    found
}

/// One gate per call, with everything needed to judge it; asking again returns the same gate, and
/// it is answered once.
fn a_call_is_asked_about_once(backend: Backend) {
    let world = World::new(backend);
    let asked = ask(&world, question("c1"));
    assert_eq!((&asked["permission"], &asked["standing"]), (&json!("open"), &json!(false)));
    assert_eq!(ask(&world, question("c1")), asked, "asked again it is the same");
    let [gate] = open_gates(&world).try_into().unwrap();
    assert_eq!(gate["id"], asked["gateId"]);
    assert_eq!((&gate["tool"], &gate["agent"]), (&json!("deploy"), &json!("coder")));
    assert_eq!(gate["input"], json!({ "to": "staging" }));
    assert_eq!(gate["definition"], json!({ "command": ["./deploy.sh"] }));
    let said = answer(&world, &asked["gateId"], "resume", &json!("once")).unwrap();
    assert_eq!(said["gate"]["response"], json!({ "allow": "once" }), "kept in one form");
    let allowed = ask(&world, question("c1"));
    assert_eq!((&allowed["permission"], &allowed["standing"]), (&json!("allowed"), &json!(false)));
    // Once means once: the next call needs a new permission, and so does this one with another
    // input.
    assert_eq!(ask(&world, question("c2"))["permission"], "open");
    let mut other = question("c1");
    other["input"]["to"] = json!("production");
    assert_eq!(ask(&world, other)["permission"], "open");
    assert_eq!(permissions(&world), Vec::<Value>::new());
    let again = answer(&world, &asked["gateId"], "refuse", &Value::Null).unwrap_err();
    assert_eq!(again.code(), "already_answered");
}

fn a_refusal_is_for_that_call(backend: Backend) {
    let world = World::new(backend);
    let asked = ask(&world, question("c1"));
    answer(&world, &asked["gateId"], "refuse", &json!("not today")).unwrap();
    let denied = ask(&world, question("c1"));
    assert_eq!(
        (&denied["permission"], &denied["response"]),
        (&json!("denied"), &json!("not today"))
    );
    assert_eq!(ask(&world, question("c2"))["permission"], "open");
}

/// Always applies to this project, this agent, this tool, and the tool's definition at that time.
fn a_permission_given_always_applies_to_later_calls(backend: Backend) {
    let world = World::new(backend);
    let first = ask(&world, question("c1"));
    let waiting = ask(&world, question("c2"));
    answer(&world, &first["gateId"], "resume", &json!({ "allow": "always" })).unwrap();
    assert_eq!(open_gates(&world), Vec::<Value>::new(), "who waited for the same goes on");
    assert_eq!(ask(&world, question("c2"))["gateId"], waiting["gateId"]);
    assert_eq!(ask(&world, question("c2"))["permission"], "allowed");
    let next = ask(&world, question("c3"));
    let expected = json!({
        "permission": "allowed", "gateId": first["gateId"], "standing": true,
        "response": { "allow": "always" },
    });
    assert_eq!(next, expected);
    let [permission] = permissions(&world).try_into().unwrap();
    assert_eq!(permission["id"], first["gateId"]);
    assert_eq!((&permission["tool"], &permission["agent"]), (&json!("deploy"), &json!("coder")));
    for (field, other) in [
        ("agent", json!("writer")),
        ("tool", json!("deploy2")),
        ("definition", json!({ "command": ["./other.sh"] })),
    ] {
        let mut input = question("c9");
        input[field] = other;
        assert_eq!(ask(&world, input)["permission"], "open", "{field}");
    }
    let mut elsewhere = runner(&world);
    elsewhere.project = "other".to_owned();
    let asked = world.call_in(&elsewhere, "permission_ask", question("c9")).unwrap();
    assert_eq!(asked["permission"], "open", "another project");
}

fn what_is_taken_back_is_asked_about_again(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    let first = ask(&world, question("c1"));
    answer(&world, &first["gateId"], "resume", &json!("always")).unwrap();
    let revoke = json!({ "id": first["gateId"] });
    let revoked = world.call_in(&operator, "permission_revoke", revoke.clone()).unwrap();
    assert!(revoked["permission"]["revokedAt"].is_string(), "{revoked}");
    assert_eq!(permissions(&world), Vec::<Value>::new());
    assert_eq!(ask(&world, question("c2"))["permission"], "open");
    assert_eq!(ask(&world, question("c1"))["permission"], "open", "also for the call it was given");
    let again = world.call_in(&operator, "permission_revoke", revoke).unwrap();
    assert_eq!(again, revoked, "twice is no mistake");
    let once = ask(&world, question("c5"));
    answer(&world, &once["gateId"], "resume", &json!("once")).unwrap();
    let wrong = json!({ "id": once["gateId"] });
    let refused = world.call_in(&operator, "permission_revoke", wrong).unwrap_err();
    assert_eq!(refused.code(), "no_permission");
}

/// P-21: no agent can answer, give or revoke a permission, and the attempt is logged.
fn no_agent_permits_itself(backend: Backend) {
    let world = World::new(backend);
    let gate = ask(&world, question("c1"))["gateId"].clone();
    for role in Role::ALL.into_iter().filter(|role| *role != Role::Operator) {
        let envelope = world.envelope(role);
        for (name, input) in [
            ("gate_answer", json!({ "gateId": gate, "decision": "resume", "response": "always" })),
            ("permission_list", json!({})),
            ("permission_revoke", json!({ "id": gate })),
        ] {
            let refused = world.call_in(&envelope, name, input).unwrap_err();
            assert_eq!(refused.code(), "not_permitted", "{role} {name}");
        }
    }
    assert_eq!(ask(&world, question("c1"))["permission"], "open");
    for role in [Role::Operator, Role::Lead, Role::Owner, Role::Worker] {
        let refused = world.call_in(&world.envelope(role), "permission_ask", question("c1"));
        assert_eq!(refused.unwrap_err().code(), "not_permitted", "{role}");
    }
    // A root may ask for itself and its subagents, and for no other agent.
    let root = world.envelope(Role::Root);
    let refused = world.call_in(&root, "permission_ask", question("c1")).unwrap_err();
    assert_eq!(refused.code(), "not_permitted");
    let mut own = question("c1");
    own["agent"] = json!("primary.subagents.w");
    assert_eq!(world.call_in(&root, "permission_ask", own).unwrap()["permission"], "open");
}

fn a_wrong_answer_changes_nothing(backend: Backend) {
    let world = World::new(backend);
    let gate = ask(&world, question("c1"))["gateId"].clone();
    for response in
        [json!("forever"), json!({ "allow": "never" }), json!({}), json!(1), json!(true)]
    {
        let refused = answer(&world, &gate, "resume", &response).unwrap_err();
        assert_eq!(refused.code(), "bad_response", "{response}");
        assert!(refused.to_string().contains("`once` or `always`"), "{refused}");
    }
    assert_eq!(open_gates(&world).len(), 1);
    let mut long = question("c1");
    long["definition"] = json!({ "command": ["x".repeat(20_000)] });
    let refused = world.call_in(&runner(&world), "permission_ask", long).unwrap_err();
    assert_eq!(refused.code(), "too_long");
    let mut long = question("c2");
    long["input"] = json!({ "text": "ä".repeat(10_000) });
    ask(&world, long);
    let shown = open_gates(&world)[1]["input"].as_str().unwrap().to_owned();
    assert!(shown.len() < 5_000 && shown.ends_with("(20011 bytes in all)"), "{shown}");
}

/// The gate belongs to the session: it pauses the session, and the answer resumes it.
fn the_session_waits(backend: Backend) {
    let world = World::new(backend);
    world.call("session_start", json!({ "externalId": "s" })).unwrap();
    let mut runner = runner(&world);
    runner.context.session = Some("s".to_owned());
    let asked = world.call_in(&runner, "permission_ask", question("c1")).unwrap();
    let state = || {
        let shown = world.call("session_show", json!({ "session": "s" })).unwrap();
        shown["session"]["state"].clone()
    };
    assert_eq!(state(), "paused");
    answer(&world, &asked["gateId"], "refuse", &Value::Null).unwrap();
    assert_eq!(state(), "active");
}

/// Concurrent requests for the same call create one gate.
fn concurrent_requests_create_one_gate(backend: Backend) {
    let world = World::new(backend);
    ask(&world, question("c0"));
    let gates: Vec<Value> = std::thread::scope(|scope| {
        let asked = (0..8).map(|_| scope.spawn(|| ask(&world, question("c1"))["gateId"].clone()));
        let asked: Vec<_> = asked.collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert!(gates.iter().all(|gate| *gate == gates[0]), "{gates:?}");
    assert_eq!(open_gates(&world).len(), 2);
}

/// An entry is found however many other gates come before it.
fn a_list_continues_at_its_cursor(backend: Backend) {
    let world = World::new(backend);
    for n in 0..6 {
        let mut input = question("c");
        input["agent"] = json!(AgentPath::parse(&format!("a{n}")).unwrap());
        let gate = ask(&world, input)["gateId"].clone();
        let allow = if n % 2 == 0 { "once" } else { "always" };
        answer(&world, &gate, "resume", &json!(allow)).unwrap();
    }
    let operator = world.envelope(Role::Operator);
    let page = |input: Value| world.call_in(&operator, "permission_list", input).unwrap();
    let agents = |page: &Value| -> Vec<String> {
        let found = page["permissions"].as_array().unwrap().iter();
        found.map(|one| one["agent"].as_str().unwrap().to_owned()).collect()
    };
    let first = page(json!({ "limit": 2 }));
    assert_eq!(agents(&first), ["a1", "a3"]);
    let rest = page(json!({ "limit": 2, "cursor": first["nextCursor"] }));
    assert_eq!((agents(&rest), rest.get("nextCursor")), (vec!["a5".to_owned()], None));
    assert_eq!(agents(&page(json!({ "tool": "nothing" }))), Vec::<String>::new());
}

on_every_store!(
    a_call_is_asked_about_once,
    a_refusal_is_for_that_call,
    a_permission_given_always_applies_to_later_calls,
    what_is_taken_back_is_asked_about_again,
    no_agent_permits_itself,
    a_wrong_answer_changes_nothing,
    the_session_waits,
    a_list_continues_at_its_cursor,
);
on_every_lasting_store!(concurrent_requests_create_one_gate);
