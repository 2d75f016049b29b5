//! The whole life of an issue over real MCP: three servers, three principals, one store.
//!
//! Created with criteria, sent to an agent, planned, helped by a worker whose proposal is taken in,
//! claimed, refused at sign-off, reworked, signed off, resolved; and the next session sees it all.

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::party::Party;
use crate::support::Place;

/// Calls `todo` and returns its items in short.
fn todo(party: &Party, input: Value) -> Vec<String> {
    let answer = party.call("todo", input);
    let line = |item: &Value| {
        let text = |name: &str| item[name].as_str().unwrap();
        format!("{} {}", text("status"), text("content"))
    };
    answer["items"].as_array().unwrap().iter().map(line).collect()
}

/// K-7, K-35, K-36, K-39, K-49, K-5, P-7 through the binary, on both databases.
fn an_issue_lives_over_mcp(backend: Backend) {
    let place = Place::new(backend);
    let secret = &place.operator();
    let operator = Party::new(&place, &[], Some(secret));
    let names = operator.client.names();
    assert_eq!(
        names,
        [
            "issue_list",
            "issue_show",
            "gate_list",
            "gate_answer",
            "mission_status",
            "todo_accept",
            "todo_return"
        ]
    );

    // Created with criteria, and sent to an agent.
    let new =
        json!({ "title": "Log in fails", "criteria": ["It works on Safari", "A test covers it"] });
    let issue = operator.call("issue_create", new);
    assert_eq!(issue["issue"]["number"], 1);
    let send = json!({ "number": 1, "message": "Start with a test." });
    let sent = operator.call("session_send_to_agent", send);
    let session = sent["session"]["id"].as_str().unwrap();

    // The agent reads, and plans.
    let root = Party::new(&place, &["--session", session], None);
    let tools = ["todo", "issue", "checkpoint", "ask", "form", "delegate"];
    assert_eq!(root.client.names(), tools);
    let view = root.call("issue", json!({ "action": "view", "number": 1 }));
    assert_eq!(view["checklist"], "# Criteria\n- [ ] It works on Safari\n- [ ] A test covers it\n");
    let set = json!({ "action": "set", "items": ["Read the code", "# Fix", "Patch it"] });
    assert_eq!(
        todo(&root, set),
        [
            "pending It works on Safari",
            "pending A test covers it",
            "in_progress Read the code",
            "pending Patch it"
        ]
    );
    todo(&root, json!({ "action": "done", "content": "Read the code" }));

    // A worker proposes items in its report; the root accepts them.
    let order = json!({ "type": "researcher", "mission": "Why does log in fail?", "async": true });
    let delegation = root.call("delegate", order)["delegationId"].clone();
    let worker = Party::new(&place, &["--agent", "primary.subagents.researcher"], None);
    for tool in ["todo", "issue", "checkpoint", "gate_answer", "proposal_decide"] {
        assert!(!worker.client.names().iter().any(|name| name == tool), "{tool} is hidden");
    }
    assert_eq!(worker.refused("todo", json!({ "action": "view" })), "not_permitted");
    let taken = worker.call("delegation_take", json!({ "types": ["researcher"] }));
    let report = json!({
        "delegationId": delegation, "epoch": taken["epoch"],
        "result": "The cookie.\n```todo-proposal\n- [ ] Set SameSite\n- [ ] Clear old cookies\n```",
    });
    worker.call("delegation_report", report);
    let decide = json!({ "delegationId": delegation, "decision": "accept" });
    assert_eq!(worker.refused("proposal_decide", decide.clone()), "not_permitted");
    root.call("proposal_decide", decide);
    let listed = root.call("todo", json!({ "action": "view" }));
    let origin = |text: &str| {
        let items = listed["items"].as_array().unwrap();
        let item = items.iter().find(|item| item["content"] == text).unwrap();
        item["originAgent"].as_str().unwrap().to_owned()
    };
    assert_eq!(origin("Set SameSite"), "primary.subagents.researcher");
    assert_eq!(origin("Patch it"), "primary");

    // Work is done and claimed, and sign-off is requested.
    for text in ["Set SameSite", "Clear old cookies", "Patch it"] {
        todo(&root, json!({ "action": "done", "content": text }));
    }
    for (text, evidence) in
        [("It works on Safari", "note:seen"), ("A test covers it", "test:login")]
    {
        todo(&root, json!({ "action": "done", "content": text, "evidence": [evidence] }));
    }
    let resolve = json!({ "action": "transition", "number": 1, "status": "resolved" });
    assert_eq!(root.refused("issue", resolve.clone()), "not_permitted");
    assert_eq!(
        root.refused("todo", json!({ "action": "drop", "content": "A test covers it" })),
        "not_permitted"
    );
    let reason = json!({ "reason": "acceptance criteria met, requesting sign-off" });
    let asked = root.call("checkpoint", reason.clone());
    assert_eq!(asked["state"], "open");
    let answer = json!({ "gateId": asked["gateId"], "decision": "resume" });
    assert_eq!(root.refused("gate_answer", answer), "not_permitted", "not even by name");

    // Sign-off is refused, and the work is redone.
    let inbox = operator.call("gate_list", json!({ "state": "open" }));
    assert_eq!(inbox["gates"][0]["criteria"][1]["claim"]["evidence"], json!(["test:login"]));
    let refuse = json!({
        "gateId": asked["gateId"], "decision": "refuse", "response": "Which test?",
        "reopen": ["A test covers it"],
    });
    operator.call("gate_answer", refuse);
    let told = root.call("checkpoint", reason.clone());
    assert_eq!((&told["state"], &told["response"]), (&json!("refused"), &json!("Which test?")));
    let reopened = root.call("todo", json!({ "action": "view" }));
    let criterion = &reopened["items"][1];
    assert_eq!(
        (&criterion["status"], &criterion["notes"]),
        (&json!("pending"), &json!(["Which test?"]))
    );
    let done = json!({
        "action": "done", "content": "A test covers it", "evidence": ["test:e2e::login", "commit:0123abcd"],
    });
    todo(&root, done);

    // After sign-off, and only then, the issue is resolved.
    let again = root.call("checkpoint", reason);
    assert_ne!(again["gateId"], asked["gateId"]);
    assert_eq!(root.refused("issue", resolve.clone()), "not_permitted");
    let resume = json!({ "gateId": again["gateId"], "decision": "resume", "response": "Good." });
    operator.call("gate_answer", resume.clone());
    assert_eq!(operator.refused("gate_answer", resume), "already_answered");
    let resolved = root.call("issue", resolve);
    assert_eq!(resolved["issue"]["status"], "resolved");
    root.call("session_end", json!({}));
    root.end();

    // The next session sees the history.
    let start = json!({ "externalId": "next-day" });
    let next = Party::new(&place, &["--session", "next-day"], None);
    next.call("session_start", start);
    next.call("session_bind", json!({ "session": "next-day", "number": 1 }));
    assert_eq!(
        todo(&next, json!({ "action": "view" })),
        [
            "completed It works on Safari",
            "completed A test covers it",
            "completed Read the code",
            "completed Set SameSite",
            "completed Clear old cookies",
            "completed Patch it",
        ]
    );
    let context = next.call("session_context", json!({}));
    let text = context["text"].as_str().unwrap();
    assert!(text.contains("(resolved)") && text.contains("- [x] Patch it"), "{text}");
    let shown = operator.call("issue_show", json!({ "number": 1 }));
    let told: Vec<&str> =
        shown["updates"].as_array().unwrap().iter().map(|u| u["text"].as_str().unwrap()).collect();
    assert_eq!(
        told,
        [
            "Sublist of primary.subagents.researcher approved: 2 items.",
            "Criterion claimed by root:primary: It works on Safari (note:seen)",
            "Criterion claimed by root:primary: A test covers it (test:login)",
            "Sign-off refused: Which test? Open again: `A test covers it`.",
            "Criterion claimed by root:primary: A test covers it (test:e2e::login, commit:0123abcd)",
            "Closed: 2 of 2 criteria accepted.",
        ]
    );
    assert_eq!(shown["sessions"].as_array().unwrap().len(), 2);
    for party in [operator, worker, next] {
        party.end();
    }
    let doctor = place.punch(["doctor", "--json"]).answer();
    let store = &doctor["store"];
    assert_eq!(store["ok"], true, "{doctor}");
}

on_every_lasting_store!(an_issue_lives_over_mcp);
