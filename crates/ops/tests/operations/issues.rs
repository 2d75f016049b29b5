//! Issues through dispatch: created with criteria, shown in full, listed in pages, found by words.

use std::sync::{Arc, Barrier};
use std::thread;

use punchlist_core::Role;
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

use crate::sessions::{bound, within};

const NOW: &str = "2026-11-15T08:00:00.000000Z";

fn file(world: &World, title: &str) -> Value {
    world.call("issue_create", json!({ "title": title })).unwrap()["issue"].clone()
}

fn numbers(answer: &Value) -> Vec<i64> {
    let issues = answer["issues"].as_array().unwrap();
    issues.iter().map(|issue| issue["number"].as_i64().unwrap()).collect()
}

/// F-17: the whole row: an id, a number per project, its author, its text, its status.
fn an_issue_is_created_and_shown_in_full(backend: Backend) {
    let world = World::new(backend);
    let input =
        json!({ "title": "  Log in fails ", "body": " It stays white.\n", "criteria": null });
    let made = world.call("issue_create", input).unwrap();
    let id = made["issue"]["id"].clone();
    assert_eq!(id.as_str().unwrap().len(), 26);
    let issue = json!({
        "id": id, "number": 1, "title": "Log in fails", "body": "It stays white.",
        "status": "open", "assignment": null, "revision": 1, "createdBy": "root:primary",
        "createdAt": NOW, "updatedAt": NOW, "deferUntil": null,
        "labels": [], "priority": null, "assignee": null,
    });
    assert_eq!(made, json!({ "issue": issue }));
    let shown = world.call("issue_show", json!({ "number": 1 })).unwrap();
    let expected = json!({
        "issue": issue, "criteria": [], "steps": [], "links": [], "updates": [],
        "sessions": [], "openChildren": [], "checklist": "", "progress": "",
    });
    assert_eq!(shown, expected);
    assert_eq!(world.call("issue_list", json!({})).unwrap(), json!({ "issues": [issue] }));
    let types: Vec<Value> = world.log().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(types, ["project_opened", "issue_created"]);
}

/// The operator's criteria are ratified at once, an agent's are proposals. The issue is created
/// with all its criteria or not at all.
fn criteria_come_with_the_issue(backend: Backend) {
    let world = World::new(backend);
    for (number, role, ratified) in [(1, Role::Operator, json!(NOW)), (2, Role::Root, Value::Null)]
    {
        let long = "x".repeat(2_000);
        let input = json!({
            "title": format!("issue {number}"), "criteria": [" It works\n on Safari ", long],
        });
        let made = world.call_in(&world.envelope(role), "issue_create", input).unwrap();
        assert_eq!(
            (&made["issue"]["number"], &made["issue"]["revision"]),
            (&json!(number), &json!(2))
        );
        let shown = world.call("issue_show", json!({ "number": number })).unwrap();
        let item = |n: usize, content: &str| {
            json!({
                "id": shown["criteria"][n]["id"], "content": content, "status": "pending",
                "phase": null, "originAgent": "primary", "claim": null, "hold": null, "notes": [],
                "ratifiedAt": ratified, "acceptedAt": null, "createdAt": NOW, "updatedAt": NOW,
                "completedAt": null,
            })
        };
        let expected = json!({
            "issue": made["issue"],
            "criteria": [item(0, "It works\n on Safari"), item(1, &long)],
            "steps": [], "links": [], "updates": [], "sessions": [], "openChildren": [],
            "checklist": format!("# Criteria\n- [ ] It works on Safari\n- [ ] {long}\n"),
            "progress": "0 of 2 closed, 0 of 2 criteria met",
        });
        assert_eq!(shown, expected);
    }
    let before = world.log().len();
    let twice = json!({ "title": "third", "criteria": ["same", "same "] });
    let error = world.call("issue_create", twice).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("duplicate_text", 1));
    assert_eq!(world.log().len(), before);
    assert_eq!(numbers(&world.call("issue_list", json!({})).unwrap()), [2, 1]);
    // A refused issue does not use up a number.
    assert_eq!(file(&world, "third")["number"], 3);
    let status = world.call("status", json!({})).unwrap();
    let lists = status["lists"].as_array().unwrap();
    let mut about: Vec<&str> = lists.iter().map(|list| list["about"].as_str().unwrap()).collect();
    about.sort_unstable();
    assert_eq!(about, ["issue #1", "issue #2"]);
}

/// The cursor stays correct while issues are added, and numbers are per project.
fn pages_stay_correct_while_issues_are_added(backend: Backend) {
    let world = World::new(backend);
    for n in 1..=7 {
        file(&world, &format!("number {n}"));
    }
    let mut other = world.envelope(Role::Root);
    other.project = "other".to_owned();
    let made = world.call_in(&other, "issue_create", json!({ "title": "alone" })).unwrap();
    assert_eq!(made["issue"]["number"], 1);
    let first = world.call("issue_list", json!({ "limit": 3 })).unwrap();
    assert_eq!((numbers(&first), &first["nextCursor"]), (vec![7, 6, 5], &json!(5)));
    file(&world, "added meanwhile");
    let second = world.call("issue_list", json!({ "limit": 3, "cursor": 5 })).unwrap();
    assert_eq!((numbers(&second), &second["nextCursor"]), (vec![4, 3, 2], &json!(2)));
    let last = world.call("issue_list", json!({ "limit": 3, "cursor": 2 })).unwrap();
    assert_eq!(numbers(&last), [1]);
    assert_eq!(last.get("nextCursor"), None);
    let exact = world.call("issue_list", json!({ "limit": 8 })).unwrap();
    assert_eq!((numbers(&exact).len(), exact.get("nextCursor")), (8, None));
    assert_eq!(numbers(&world.call("issue_list", json!({ "limit": 5_000 })).unwrap()).len(), 8);
    assert_eq!(numbers(&world.call_in(&other, "issue_list", json!({})).unwrap()), [1]);
}

/// P-26: full-text search over title and body, with status and pages.
fn issues_are_found_by_words(backend: Backend) {
    let world = World::new(backend);
    for (title, body) in [
        ("Log in fails on Safari", "White page"),
        ("Logging is loud", "Each page is logged"),
        ("Größe falsch", "page_count"),
    ] {
        world.call("issue_create", json!({ "title": title, "body": body })).unwrap();
    }
    world.call("issue_transition", json!({ "number": 2, "status": "triaged" })).unwrap();
    let found = |input: Value| numbers(&world.call("issue_list", input).unwrap());
    assert_eq!(found(json!({ "text": "LOG" })), [2, 1]);
    assert_eq!(found(json!({ "text": "log, safari!" })), [1]);
    assert_eq!(found(json!({ "text": "größe" })), [3]);
    assert_eq!(found(json!({ "text": "page" })), [3, 2, 1]);
    assert_eq!(found(json!({ "text": "page", "status": "triaged" })), [2]);
    assert_eq!(found(json!({ "text": "page", "cursor": 3, "limit": 1 })), [2]);
    assert_eq!(found(json!({ "text": "nothing" })), [0; 0]);
    assert_eq!(found(json!({ "text": "  " })), [3, 2, 1], "blank is absent");
    assert_eq!(found(json!({ "text": "x' OR 1=1 --" })), [0; 0]);
    let error = world.call("issue_list", json!({ "text": "'*\"" })).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("bad_value", 2));
    assert_eq!(error.to_string(), "`text` cannot be `'*\"`");
}

/// Issues that wait for a person are found over all pages: by an open gate, an undecided proposal or
/// a claim to review; with the other filters.
fn issues_that_wait_are_found(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    for (session, criteria) in [("asks", &["ok"][..]), ("claims", &[]), ("quiet", &["fine"])] {
        bound(&world, session, criteria);
    }
    let asks = within(&world, Role::Root, "asks");
    let asked = world.call_in(&asks, "ask", json!({ "question": "Which?" })).unwrap();
    let claims = within(&world, Role::Root, "claims");
    world.call_in(&claims, "todo", json!({ "items": ["Measure"] })).unwrap();
    let steps = world.call("issue_show", json!({ "number": 2 })).unwrap();
    let claim = json!({ "todoId": steps["steps"][0]["id"], "outcome": "measured" });
    world.call_in(&claims, "todo_claim", claim).unwrap();
    // A claimed criterion waits for its sign-off, which is a gate.
    let quiet = within(&world, Role::Root, "quiet");
    world.call_in(&quiet, "todo", json!({ "action": "done", "content": "fine" })).unwrap();
    for n in 0..5 {
        file(&world, &format!("Newer number {n} of another kind"));
    }
    let waiting = |more: Value| {
        let mut input = json!({ "waiting": true });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        numbers(&world.call("issue_list", input).unwrap())
    };
    assert_eq!(waiting(json!({})), [2, 1]);
    assert_eq!(waiting(json!({ "limit": 1 })), [2]);
    assert_eq!(waiting(json!({ "limit": 1, "cursor": 2 })), [1]);
    assert_eq!(waiting(json!({ "status": "open" })), [2, 1]);
    assert_eq!(waiting(json!({ "status": "resolved" })), [0; 0]);
    assert_eq!(waiting(json!({ "open": true, "text": "asks" })), [1]);
    assert_eq!(waiting(json!({ "label": "bug" })), [0; 0]);
    let answer = json!({ "gateId": asked["gateId"], "decision": "resume", "response": "this" });
    world.call_in(&operator, "gate_answer", answer).unwrap();
    assert_eq!(waiting(json!({})), [2]);
    assert_eq!(waiting(json!({ "text": "asks" })), [0; 0]);
}

fn a_project_nobody_wrote_to_has_no_issues(backend: Backend) {
    let world = World::new(backend);
    assert_eq!(world.call("issue_list", json!({})).unwrap(), json!({ "issues": [] }));
    for (operation, input) in [
        ("issue_show", json!({ "number": 1 })),
        ("issue_transition", json!({ "number": 1, "status": "triaged" })),
    ] {
        let error = world.call(operation, input).unwrap_err();
        let expected = json!({ "error": {
            "code": "unknown_issue", "message": "there is no issue #1 here",
            "hint": "issue_list shows the issues", "number": 1,
        }});
        assert_eq!((error.to_json(), error.meaning().exit), (expected, 1));
    }
    assert_eq!(world.log(), Vec::<Value>::new());
}

/// Two callers that create the same issue at once: one succeeds, the other gets its number. Two
/// that create different issues get different numbers. This also holds if they create the project.
fn concurrent_creators_do_not_collide(backend: Backend) {
    let world = Arc::new(World::new(backend));
    let start = Arc::new(Barrier::new(8));
    let creators: Vec<_> = (0..8)
        .map(|n| {
            let (world, start) = (Arc::clone(&world), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                let title = if n % 2 == 0 { "The same".to_owned() } else { format!("Other {n}") };
                world.call("issue_create", json!({ "title": title }))
            })
        })
        .collect();
    let answers: Vec<_> = creators.into_iter().map(|creator| creator.join().unwrap()).collect();
    let mut filed: Vec<i64> = answers
        .iter()
        .filter_map(|answer| answer.as_ref().ok())
        .map(|made| made["issue"]["number"].as_i64().unwrap())
        .collect();
    filed.sort_unstable();
    assert_eq!(filed, [1, 2, 3, 4, 5]);
    let refused: Vec<&str> =
        answers.iter().filter_map(|answer| answer.as_ref().err()).map(|e| e.code()).collect();
    assert_eq!(refused, ["look_alike"; 3]);
}

on_every_store!(
    an_issue_is_created_and_shown_in_full,
    criteria_come_with_the_issue,
    pages_stay_correct_while_issues_are_added,
    issues_are_found_by_words,
    issues_that_wait_are_found,
    a_project_nobody_wrote_to_has_no_issues,
    concurrent_creators_do_not_collide,
);
