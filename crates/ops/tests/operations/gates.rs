//! Gates: asked once, answered once, and the effect of a sign-off on an issue.

use punchlist_core::Role;
use punchlist_testkit::{Backend, World, on_every_lasting_store, on_every_store};
use serde_json::{Value, json};

use crate::sessions::{bound, within};

fn answer(
    world: &World,
    gate: &Value,
    decision: &str,
    more: impl Into<Value>,
) -> Result<Value, String> {
    let more = more.into();
    let mut input = json!({ "gateId": gate, "decision": decision });
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    let operator = world.envelope(Role::Operator);
    world.call_in(&operator, "gate_answer", input).map_err(|error| error.code().to_owned())
}

fn updates(world: &World, number: i64) -> Vec<String> {
    let shown = world.call("issue_show", json!({ "number": number })).unwrap();
    let updates = shown["updates"].as_array().unwrap();
    let line =
        |u: &Value| format!("{}: {}", u["kind"].as_str().unwrap(), u["text"].as_str().unwrap());
    updates.iter().map(line).collect()
}

/// K-32, K-34, K-35, K-36, K-39, K-27, Q-K2, Q-K6, D-23: claim, ask, refuse and reopen, rework, ask
/// again, sign off. Only then, and only once, can the agent resolve the issue.
fn an_agent_can_close_an_issue_only_after_sign_off(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &["fast", "small"]);
    let me = within(&world, Role::Root, "s");
    let todo = |input: Value| world.call_in(&me, "todo", input);
    let done =
        |text: &str| todo(json!({ "action": "done", "content": text, "evidence": ["test:x"] }));
    let resolve = || {
        let input = json!({ "action": "transition", "number": number, "status": "resolved" });
        world.call_in(&me, "issue", input)
    };
    todo(json!({ "action": "add", "items": ["pretty"], "kind": "criterion" })).unwrap();
    todo(json!({ "items": ["work"] })).unwrap();
    done("work").unwrap();
    assert_eq!(resolve().unwrap_err().code(), "not_permitted", "K-36: drained closes nothing");
    for text in ["fast", "small", "pretty"] {
        done(text).unwrap();
    }
    let claimed = todo(json!({ "action": "view" })).unwrap();
    assert_eq!(claimed["items"][0]["status"], "completed");
    let child = json!({ "action": "create", "title": "Found on the way" });
    world.call_in(&me, "issue", child).unwrap();

    let reason = json!({ "reason": "acceptance criteria met, requesting sign-off" });
    let asked = world.call_in(&me, "checkpoint", reason.clone()).unwrap();
    assert_eq!(asked["state"], "open");
    let gate = asked["gateId"].clone();
    assert_eq!(world.call_in(&me, "checkpoint", reason.clone()).unwrap(), asked, "P-32");
    assert_eq!(resolve().unwrap_err().code(), "not_permitted");
    let session = world.call("session_show", json!({ "session": "s" })).unwrap();
    assert_eq!(session["session"]["state"], "paused");
    let operator = world.envelope(Role::Operator);
    let inbox = world.call_in(&operator, "gate_list", json!({ "state": "open" })).unwrap();
    let waiting = &inbox["gates"][0];
    assert_eq!((&waiting["purpose"], &waiting["number"]), (&json!("sign_off"), &json!(number)));
    assert_eq!(waiting["criteria"][0]["claim"]["evidence"], json!(["test:x"]), "P-24");
    assert_eq!(waiting["openChildren"][0]["number"], number + 1, "Q-K6");

    let refuse = json!({ "response": "measure it", "reopen": ["fast"] });
    answer(&world, &gate, "refuse", refuse).unwrap();
    let told = world.call_in(&me, "checkpoint", reason.clone()).unwrap();
    let expected = json!({ "gateId": gate, "state": "refused", "response": "measure it" });
    assert_eq!(told, expected);
    let shown = world.call("issue_show", json!({ "number": number })).unwrap();
    let fast = &shown["criteria"][0];
    assert_eq!((&fast["status"], &fast["claim"]), (&json!("pending"), &Value::Null));
    assert_eq!(fast["notes"], json!(["measure it"]));
    assert_eq!(shown["criteria"][1]["status"], "completed");

    done("fast").unwrap();
    let again = world.call_in(&me, "checkpoint", reason).unwrap();
    assert_eq!(again["state"], "open");
    assert_ne!(again["gateId"], gate);
    answer(&world, &again["gateId"], "resume", json!({})).unwrap();
    let shown = world.call("issue_show", json!({ "number": number })).unwrap();
    for criterion in shown["criteria"].as_array().unwrap() {
        assert_eq!(criterion["status"], "completed");
        assert!(criterion["acceptedAt"].is_string() && criterion["ratifiedAt"].is_string());
    }
    let comment = json!({ "action": "comment", "number": number, "text": "Done." });
    world.call_in(&me, "issue", comment).unwrap();
    let resolved = resolve().unwrap();
    assert_eq!(resolved["issue"]["status"], "resolved");
    assert_eq!(resolved["warning"], json!(format!("Closed with open children: #{}", number + 1)));
    let reopen = json!({ "number": number, "status": "open" });
    world.call_in(&operator, "issue_transition", reopen).unwrap();
    assert_eq!(resolve().unwrap_err().code(), "not_permitted", "a sign-off is good once");

    assert_eq!(
        updates(&world, number),
        [
            "system_note: Criterion claimed by root:primary: fast (test:x)",
            "system_note: Criterion claimed by root:primary: small (test:x)",
            "system_note: Criterion claimed by root:primary: pretty (test:x)",
            "system_note: Sign-off refused: measure it. Open again: `fast`.",
            "system_note: Criterion claimed by root:primary: fast (test:x)",
            "comment: Done.",
            "system_note: Closed: 3 of 3 criteria accepted.",
        ]
    );
}

/// D-23: a sign-off applies to the issue as it was: any later change voids it.
fn a_change_after_the_sign_off_voids_it(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &["ok"]);
    let me = within(&world, Role::Root, "s");
    world.call_in(&me, "todo", json!({ "action": "done", "content": "ok" })).unwrap();
    let asked = world.call_in(&me, "checkpoint", json!({ "reason": "met" })).unwrap();
    answer(&world, &asked["gateId"], "resume", json!({})).unwrap();
    let add = json!({ "action": "add", "items": ["secretly more"], "kind": "criterion" });
    world.call_in(&me, "todo", add).unwrap();
    let resolve = json!({ "action": "transition", "number": number, "status": "resolved" });
    let error = world.call_in(&me, "issue", resolve).unwrap_err();
    assert!(error.hint().unwrap().contains("changed since the sign-off"), "{:?}", error.hint());
    // A sign-off of another session does not count either.
    world.call("session_start", json!({ "externalId": "t" })).unwrap();
    let resolve = json!({ "number": number, "status": "resolved" });
    let other = within(&world, Role::Root, "t");
    assert_eq!(
        world.call_in(&other, "issue_transition", resolve).unwrap_err().code(),
        "not_permitted"
    );
}

/// K-27: the operator's no is in the ledger, even if it opens no criterion again.
fn every_refused_sign_off_is_in_the_ledger(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &["ok"]);
    let me = within(&world, Role::Root, "s");
    world.call_in(&me, "todo", json!({ "action": "done", "content": "ok" })).unwrap();
    let asked = world.call_in(&me, "checkpoint", json!({ "reason": "met" })).unwrap();
    let none = json!({ "response": "no", "reopen": [] });
    answer(&world, &asked["gateId"], "refuse", none).unwrap();
    let bare = bound(&world, "t", &[]);
    let other = within(&world, Role::Root, "t");
    let ask = json!({ "reason": "done", "purpose": "sign_off" });
    let asked = world.call_in(&other, "checkpoint", ask).unwrap();
    answer(&world, &asked["gateId"], "refuse", json!({})).unwrap();
    let claimed = "system_note: Criterion claimed by root:primary: ok (no evidence)";
    assert_eq!(updates(&world, number), [claimed, "system_note: Sign-off refused: no."]);
    let told = "system_note: Sign-off refused: sign-off refused.";
    assert_eq!(updates(&world, bare), [told]);
}

/// A yes opens no criteria again, and covers no revision that nobody has seen.
fn a_yes_says_only_what_it_can_mean(backend: Backend) {
    let world = World::new(backend);
    bound(&world, "s", &["ok"]);
    let me = within(&world, Role::Root, "s");
    world.call_in(&me, "todo", json!({ "action": "done", "content": "ok" })).unwrap();
    let gate = world.call_in(&me, "checkpoint", json!({ "reason": "met" })).unwrap();
    let gate = &gate["gateId"];
    let refused = answer(&world, gate, "resume", json!({ "reopen": ["ok"] }));
    assert_eq!(refused.unwrap_err(), "bad_value");
    let refused = answer(&world, gate, "resume", json!({ "expectedRevision": 9999 }));
    assert_eq!(refused.unwrap_err(), "changed_since_asked");
    answer(&world, gate, "resume", json!({})).unwrap();
}

/// Closing an issue leaves nothing to sign off: its open sign-off leaves the inbox, and the session
/// goes on. Other questions of the session stay.
fn closing_an_issue_closes_its_sign_off(backend: Backend) {
    for close in ["resolved", "rejected", "duplicate"] {
        let world = World::new(backend);
        let operator = world.envelope(Role::Operator);
        let other = json!({ "title": "Something else" });
        let other = world.call_in(&operator, "issue_create", other).unwrap();
        let number = bound(&world, "s", &["ok"]);
        let me = within(&world, Role::Root, "s");
        world.call_in(&me, "todo", json!({ "action": "done", "content": "ok" })).unwrap();
        let reason = json!({ "reason": "met" });
        let gate = world.call_in(&me, "checkpoint", reason.clone()).unwrap()["gateId"].take();
        let (operation, input) = match close {
            "duplicate" => {
                let of = &other["issue"]["number"];
                ("issue_close_as_duplicate", json!({ "number": number, "of": of }))
            }
            status => ("issue_transition", json!({ "number": number, "status": status })),
        };
        world.call_in(&operator, operation, input).unwrap();
        let open = world.call_in(&operator, "gate_list", json!({ "state": "open" })).unwrap();
        assert_eq!(open["gates"], json!([]), "{close}");
        let session = world.call("session_show", json!({ "session": "s" })).unwrap();
        assert_eq!(session["session"]["state"], "active", "{close}");
        assert_eq!(answer(&world, &gate, "resume", json!({})).unwrap_err(), "already_answered");
        let ask = json!({ "reason": "met", "purpose": "sign_off" });
        let refused = world.call_in(&me, "checkpoint", ask).unwrap_err();
        assert_eq!(refused.code(), "wrong_issue_status", "{close}");
        // Reopened, the issue needs a new sign-off.
        let reopen = json!({ "number": number, "status": "open" });
        world.call_in(&operator, "issue_transition", reopen).unwrap();
        let again = world.call_in(&me, "checkpoint", reason).unwrap();
        assert_eq!(again["state"], "open");
        assert_ne!(again["gateId"], gate);
    }
}

/// A refused close says why the sign-off does not count.
fn a_void_sign_off_says_why(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &["ok"]);
    let me = within(&world, Role::Root, "s");
    world.call_in(&me, "todo", json!({ "action": "done", "content": "ok" })).unwrap();
    let gate = world.call_in(&me, "checkpoint", json!({ "reason": "met" })).unwrap();
    answer(&world, &gate["gateId"], "resume", json!({})).unwrap();
    world.call("session_start", json!({ "externalId": "t" })).unwrap();
    let other = within(&world, Role::Root, "t");
    for (by, status, void, hint) in [
        (&me, "rejected", "other_end", "the sign-off is for the other end"),
        (&other, "resolved", "other_session", "for the session that asked"),
    ] {
        let close = json!({ "number": number, "status": status });
        let error = world.call_in(by, "issue_transition", close).unwrap_err();
        assert_eq!(error.to_json()["error"]["void"], void);
        assert!(error.hint().unwrap().contains(hint), "{:?}", error.hint());
    }
    let close = json!({ "number": number, "status": "resolved" });
    world.call_in(&me, "issue_transition", close).unwrap();
}

/// D-24: without criteria an agent still needs a granted sign-off; the operator may close at any
/// time.
fn an_issue_without_criteria_needs_a_sign_off_too(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &[]);
    let me = within(&world, Role::Root, "s");
    let resolve = json!({ "action": "transition", "number": number, "status": "resolved" });
    let pause = world.call_in(&me, "checkpoint", json!({ "reason": "look" })).unwrap();
    answer(&world, &pause["gateId"], "resume", json!({})).unwrap();
    assert_eq!(world.call_in(&me, "issue", resolve.clone()).unwrap_err().code(), "not_permitted");
    let sign_off = json!({ "reason": "done", "purpose": "sign_off" });
    let asked = world.call_in(&me, "checkpoint", sign_off).unwrap();
    answer(&world, &asked["gateId"], "resume", json!({})).unwrap();
    world.call_in(&me, "issue", resolve).unwrap();
    assert_eq!(updates(&world, number), Vec::<String>::new());
    let unbound = world.envelope(Role::Root);
    let sign_off = json!({ "reason": "done", "purpose": "sign_off" });
    assert_eq!(world.call_in(&unbound, "checkpoint", sign_off).unwrap_err().code(), "unbound");
}

/// K-38, K-62: questions and forms use the same gate; an answer that does not match is refused, and
/// an answer counts once.
fn questions_and_forms_are_gates(backend: Backend) {
    let world = World::new(backend);
    bound(&world, "s", &[]);
    let me = within(&world, Role::Root, "s");
    let question = json!({ "question": "Which port?", "options": ["8080", "8443"] });
    let asked = world.call_in(&me, "ask", question.clone()).unwrap();
    answer(&world, &asked["gateId"], "resume", json!({ "response": "8443" })).unwrap();
    let told = world.call_in(&me, "ask", question.clone()).unwrap();
    let expected = json!({ "gateId": asked["gateId"], "state": "resumed", "response": "8443" });
    assert_eq!(told, expected);
    let anew = world.call_in(&me, "ask", question).unwrap();
    assert_ne!(anew["gateId"], asked["gateId"], "the answer came once; this is a new question");

    let schema = json!({ "type": "object", "required": ["region"], "properties": {
        "region": { "type": "string", "enum": ["eu", "us"] }, "canary": { "type": "boolean" } } });
    let form = json!({ "title": "Deploy", "schema": schema });
    let asked = world.call_in(&me, "form", form.clone()).unwrap();
    let bad = json!({ "response": { "region": "mars" } });
    assert_eq!(answer(&world, &asked["gateId"], "resume", bad), Err("bad_response".to_owned()));
    let good = json!({ "response": { "region": "eu", "canary": true } });
    answer(&world, &asked["gateId"], "resume", good).unwrap();
    let told = world.call_in(&me, "form", form).unwrap();
    assert_eq!(told["response"], json!({ "region": "eu", "canary": true }));
    let nested = json!({ "title": "x", "schema": { "properties": { "a": { "type": "object" } } } });
    let error = world.call_in(&me, "form", nested).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("bad_form", 2));
}

/// P-32: a claim that has no gate is in the inbox until it is judged. Criteria are not listed
/// there: they are judged at sign-off.
fn a_claim_without_a_gate_is_in_the_inbox(backend: Backend) {
    let world = World::new(backend);
    bound(&world, "s", &["ok"]);
    let task = world.plan(&["task"])[0].clone();
    let claim = json!({ "todoId": task, "outcome": "done", "evidence": ["pr:7"] });
    world.call("todo_claim", claim).unwrap();
    let me = within(&world, Role::Root, "s");
    world.call_in(&me, "todo", json!({ "action": "done", "content": "ok" })).unwrap();
    let operator = world.envelope(Role::Operator);
    let inbox = || world.call_in(&operator, "gate_list", json!({ "state": "open" })).unwrap();
    let review = json!({
        "todoId": task, "title": "task", "kind": "step", "list": "plan", "of": "docs/plans/auth.md",
        "claim": {
            "by": "root:primary", "at": "2026-11-15T08:00:00.000000Z", "outcome": "done",
            "evidence": ["pr:7"],
        },
    });
    assert_eq!(inbox(), json!({ "gates": [], "reviews": [review] }));
    world.call_in(&operator, "todo_accept", json!({ "todoId": task })).unwrap();
    assert_eq!(inbox(), json!({ "gates": [] }));
}

/// Only the first answer counts; only the operator answers; a gate of another project is not found.
fn an_answer_counts_once(backend: Backend) {
    let world = World::new(backend);
    bound(&world, "s", &[]);
    let me = within(&world, Role::Root, "s");
    let asked = world.call_in(&me, "ask", json!({ "question": "Go?" })).unwrap();
    let gate = &asked["gateId"];
    for role in [Role::Root, Role::Lead, Role::Owner, Role::Worker, Role::System] {
        let input = json!({ "gateId": gate, "decision": "resume" });
        let error = world.call_in(&within(&world, role, "s"), "gate_answer", input).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("not_permitted", 4), "P-21 {role}");
    }
    answer(&world, gate, "resume", json!({ "response": "yes" })).unwrap();
    for decision in ["resume", "refuse"] {
        let again = answer(&world, gate, decision, json!({ "response": "no" }));
        assert_eq!(again, Err("already_answered".to_owned()));
    }
    let told = world.call_in(&me, "ask", json!({ "question": "Go?" })).unwrap();
    assert_eq!((&told["state"], &told["response"]), (&json!("resumed"), &json!("yes")));
    let nobody = json!("01JCQ0000000000000000000AB");
    assert_eq!(answer(&world, &nobody, "resume", json!({})), Err("unknown_gate".to_owned()));
    let worker = world.envelope(Role::Worker);
    let error = world.call_in(&worker, "ask", json!({ "question": "Go?" })).unwrap_err();
    assert_eq!(error.code(), "not_permitted");
}

/// A token that is narrowed to one issue reaches only what belongs to that issue: no other gates,
/// sessions, delegations or chats, not even with the operator role.
fn a_narrowed_token_reaches_only_its_issue(backend: Backend) {
    let world = World::new(backend);
    let (mine, other) = (bound(&world, "mine", &["ok"]), bound(&world, "other", &["ok"]));
    let gate = |session: &str| {
        let me = within(&world, Role::Root, session);
        world.call_in(&me, "ask", json!({ "question": session })).unwrap()["gateId"].clone()
    };
    let (own_gate, foreign_gate) = (gate("mine"), gate("other"));
    let foreign = within(&world, Role::Root, "other");
    let order = json!({ "type": "coder", "mission": "x" });
    let delegation = world.call_in(&foreign, "delegate", order).unwrap()["delegationId"].clone();
    let mut narrowed = world.envelope(Role::Operator);
    narrowed.actor.reach.number = Some(mine);
    // A thing that the caller names by its id alone and does not reach is reported as unknown.
    for (name, input, code) in [
        ("gate_answer", json!({ "gateId": foreign_gate, "decision": "resume" }), "unknown_gate"),
        ("gate_list", json!({ "session": "other" }), "unknown_session"),
        ("session_show", json!({ "session": "other" }), "unknown_session"),
        ("session_end", json!({ "session": "other" }), "unknown_session"),
        ("delegation_show", json!({ "delegationId": delegation }), "unknown_delegation"),
    ] {
        let error = world.call_in(&narrowed, name, input.clone()).unwrap_err();
        assert_eq!(error.code(), code, "{name} {input}");
    }
    let taken = world.call_in(&narrowed, "delegation_take", json!({})).unwrap();
    assert_eq!(taken["delegation"], Value::Null);
    for (name, input) in [
        ("gate_list", json!({})),
        ("gate_list", json!({ "number": other })),
        ("session_list", json!({})),
        ("session_bind", json!({ "session": "mine", "number": other, "takeOver": true })),
        ("issue_show", json!({ "number": other })),
        ("issue_comment", json!({ "number": other, "text": "x" })),
        ("issue_link", json!({ "number": mine, "kind": "relates_to", "to": other })),
        ("criterion_drop", json!({ "number": other, "content": "ok" })),
        ("issue_checklist_edit", json!({ "number": other, "markdown": "" })),
    ] {
        let error = world.call_in(&narrowed, name, input.clone()).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("out_of_reach", 4), "{name} {input}");
    }
    let answer = json!({ "gateId": own_gate, "decision": "resume" });
    world.call_in(&narrowed, "gate_answer", answer).unwrap();
    // Lists leave out what is out of reach.
    let listed = world.call_in(&narrowed, "delegation_list", json!({})).unwrap();
    assert_eq!(listed, json!({ "delegations": [] }));
    world.call_in(&narrowed, "session_show", json!({ "session": "mine" })).unwrap();
    world.call_in(&narrowed, "gate_list", json!({ "number": mine })).unwrap();
}

/// If many answer at once, one answer counts.
fn only_one_of_many_concurrent_answers_counts(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &["ok"]);
    let me = within(&world, Role::Root, "s");
    world.call_in(&me, "todo", json!({ "action": "done", "content": "ok" })).unwrap();
    let asked = world.call_in(&me, "checkpoint", json!({ "reason": "met" })).unwrap();
    let gate = &asked["gateId"];
    let world = &world;
    let answers: Vec<Result<Value, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = ["resume", "refuse", "resume", "refuse"]
            .map(|decision| scope.spawn(move || answer(world, gate, decision, json!({}))))
            .into_iter()
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
    let state = answers.iter().find_map(|a| a.as_ref().ok()).unwrap()["gate"]["state"].clone();
    let shown = world.call("issue_show", json!({ "number": number })).unwrap();
    let expected = if state == "resumed" { "completed" } else { "pending" };
    assert_eq!(shown["criteria"][0]["status"], expected);
}

/// The operator drops, removes and ratifies single criteria; each change is reported once (K-27).
fn the_operator_owns_the_criteria(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &[]);
    let me = within(&world, Role::Root, "s");
    let add = json!({ "action": "add", "items": ["fast", "small", "pretty"], "kind": "criterion" });
    world.call_in(&me, "todo", add).unwrap();
    let operator = world.envelope(Role::Operator);
    let on = |name: &str, text: &str| {
        world.call_in(&operator, name, json!({ "number": number, "content": text }))
    };
    on("criterion_ratify", "fast").unwrap();
    assert_eq!(on("criterion_ratify", "fast").unwrap_err().code(), "already_ratified");
    let dropped = on("criterion_drop", "smal").unwrap();
    assert_eq!(dropped["criteria"][1]["status"], "abandoned");
    assert_eq!(on("criterion_drop", "nothing like it").unwrap_err().code(), "no_such_text");
    let edit = json!({ "number": number, "markdown": "# Criteria\n- [ ] fast\n- [-] small\n" });
    let edited = world.call_in(&operator, "issue_checklist_edit", edit).unwrap();
    assert_eq!(edited["checklist"], "# Criteria\n- [ ] fast\n- [-] small\n", "D-25");
    for name in ["criterion_ratify", "criterion_drop"] {
        let input = json!({ "number": number, "content": "fast" });
        let error = world.call_in(&me, name, input).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), ("not_permitted", 4));
        let hint = error.hint().unwrap();
        assert!(!hint.trim_end().ends_with(':'), "it names nobody: {hint}");
    }
    assert_eq!(
        updates(&world, number),
        [
            "system_note: Criterion ratified: fast",
            "system_note: Criterion dropped: small",
            "system_note: Criterion removed: pretty",
        ]
    );
}

/// K-29, K-30: the operator's edit and the agent's calls change the same rows. A stale or faulty
/// edit changes nothing and the error says what is true.
fn an_edit_by_hand_and_an_agent_change_the_same_rows(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &["ok"]);
    let me = within(&world, Role::Root, "s");
    world.call_in(&me, "todo", json!({ "items": ["a", "b"] })).unwrap();
    world
        .call_in(&me, "todo", json!({ "action": "note", "content": "b", "text": "mind" }))
        .unwrap();
    let operator = world.envelope(Role::Operator);
    let show = || world.call("issue_show", json!({ "number": number })).unwrap();
    let before = show();
    let edit = |markdown: &str, revision: &Value| {
        let input = json!({ "number": number, "markdown": markdown, "expectedRevision": revision });
        world.call_in(&operator, "issue_checklist_edit", input)
    };
    let markdown = before["checklist"].as_str().unwrap().replace("- [/] a", "- [x] a\n- [ ] new");
    let edited = edit(&markdown, &before["issue"]["revision"]).unwrap();
    let texts: Vec<(&Value, &Value)> =
        edited["steps"].as_array().unwrap().iter().map(|s| (&s["content"], &s["status"])).collect();
    assert_eq!(
        texts,
        [
            (&json!("a"), &json!("completed")),
            (&json!("new"), &json!("in_progress")),
            (&json!("b"), &json!("pending")),
        ]
    );
    assert_eq!(edited["steps"][2]["id"], before["steps"][1]["id"]);
    assert_eq!(edited["steps"][2]["notes"], json!(["mind"]));
    // F-16: an item that the operator removed is named, so that the agent does not add it again.
    let without = edited["checklist"].as_str().unwrap().replace("- [ ] b\n  - note: mind\n", "");
    let edited = edit(&without, &edited["issue"]["revision"]).unwrap();
    let view = world.call_in(&me, "todo", json!({ "action": "view" })).unwrap();
    assert_eq!(view["message"], "Removed by the operator, not to be added again: `b`.");
    let context = world.call_in(&me, "session_context", json!({})).unwrap();
    assert!(context["text"].as_str().unwrap().contains("not to be added again: `b`"));
    world.call_in(&me, "todo", json!({ "action": "done", "content": "new" })).unwrap();
    let stale = edit(&markdown, &edited["issue"]["revision"]).unwrap_err();
    assert_eq!((stale.code(), stale.meaning().exit), ("stale_revision", 1));
    let now = show();
    assert_eq!(stale.to_json()["error"]["checklist"], now["checklist"], "the newer text is shown");
    let faulty = edit("# Criteria\n- [%] ok\nwords\n", &now["issue"]["revision"]).unwrap_err();
    assert_eq!((faulty.code(), faulty.meaning().exit), ("bad_checklist", 2));
    assert!(faulty.to_string().contains("line 2") && faulty.to_string().contains("line 3"));
    assert_eq!(show(), now);
    let mut large = "- [ ] x\n".repeat(140_000);
    large.truncate(1 << 20 | 1);
    assert_eq!(edit(&large, &Value::Null).unwrap_err().meaning().exit, 2);
    let denied = json!({ "number": number, "markdown": "" });
    let error = world.call_in(&me, "issue_checklist_edit", denied).unwrap_err();
    assert_eq!(error.meaning().exit, 4);
}

on_every_store!(
    a_void_sign_off_says_why,
    closing_an_issue_closes_its_sign_off,
    a_yes_says_only_what_it_can_mean,
    every_refused_sign_off_is_in_the_ledger,
    an_agent_can_close_an_issue_only_after_sign_off,
    a_change_after_the_sign_off_voids_it,
    an_issue_without_criteria_needs_a_sign_off_too,
    questions_and_forms_are_gates,
    a_claim_without_a_gate_is_in_the_inbox,
    a_narrowed_token_reaches_only_its_issue,
    an_answer_counts_once,
    the_operator_owns_the_criteria,
    an_edit_by_hand_and_an_agent_change_the_same_rows,
);

mod lasting {
    use super::*;
    on_every_lasting_store!(only_one_of_many_concurrent_answers_counts);
}
