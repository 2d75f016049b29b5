//! Refusals of issues: look-alikes, unknown transitions, and transitions without authority.

use punchlist_core::Role;
use punchlist_core::issue::{IssueStatus, MoveVerdict, may_move};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

/// P-26: an issue that looks like an open one is refused and that one named, unless `forceNew`.
fn a_look_alike_is_refused_and_named(backend: Backend) {
    let world = World::new(backend);
    let file = |input: Value| world.call("issue_create", input);
    let body = "The page stays white after the password was given; the console shows a timeout, \
                and reloading it never helps";
    file(json!({ "title": "Login page crashes on Safari", "body": body })).unwrap();
    world.call("issue_transition", json!({ "number": 1, "status": "in_progress" })).unwrap();
    let before = world.log().len();
    for title in
        ["login PAGE: crashes on safari!", "The login page crashes on Safari", "Safari, again"]
    {
        let error = file(json!({ "title": title, "body": body })).unwrap_err();
        let expected = json!({ "error": {
            "code": "look_alike",
            "message": "issue #1 looks the same and is in_progress: `Login page crashes on Safari`",
            "hint": "work on #1, or give `forceNew` if this is another matter",
            "number": 1, "title": "Login page crashes on Safari", "status": "in_progress",
        }});
        assert_eq!((error.to_json(), error.meaning().exit), (expected, 1), "{title}");
    }
    assert_eq!(world.log().len(), before, "a refusal changes nothing");
    file(json!({ "title": "Login page crashes on Chrome" })).unwrap();
    let twin = json!({ "title": "Login page crashes on Safari", "forceNew": true });
    assert_eq!(file(twin).unwrap()["issue"]["number"], 3);
    // Issues of another project, and closed ones, do not count.
    let mut other = world.envelope(Role::Root);
    other.project = "other".to_owned();
    let same = json!({ "title": "Login page crashes on Safari" });
    world.call_in(&other, "issue_create", same.clone()).unwrap();
    for number in [1, 3] {
        let close = json!({ "number": number, "status": "resolved" });
        world.call_in(&world.envelope(Role::Operator), "issue_transition", close).unwrap();
    }
    assert_eq!(file(same).unwrap()["issue"]["number"], 4);
}

/// F-17: operators triage, agents help: every status × target × role, with its answer.
fn every_transition_follows_the_table(backend: Backend) {
    let mut world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    let mut number = 0;
    for from in IssueStatus::ALL {
        for to in IssueStatus::ALL {
            for role in [Role::Operator, Role::Root] {
                number += 1;
                let file = json!({ "title": "a", "forceNew": true });
                world.call("issue_create", file).unwrap();
                if from != IssueStatus::Open {
                    let go = json!({ "number": number, "status": from });
                    world.call_in(&operator, "issue_transition", go).unwrap();
                }
                let show = json!({ "number": number });
                let before = world.call("issue_show", show.clone()).unwrap()["issue"].clone();
                world.now = world.now.plus_seconds(60);
                let go = json!({ "number": number, "status": to, "confirm": true });
                let answer = world.call_in(&world.envelope(role), "issue_transition", go);
                let after = world.call("issue_show", show).unwrap()["issue"].clone();
                match (may_move(role, from, to, false), answer) {
                    (MoveVerdict::Allow, Ok(answer)) => {
                        let mut expected = before;
                        expected["status"] = json!(to);
                        expected["revision"] =
                            json!(expected["revision"].as_i64().unwrap_or_default() + 1);
                        expected["updatedAt"] = json!(world.now);
                        assert_eq!(answer, json!({ "issue": expected }));
                        assert_eq!(after, expected);
                    }
                    (verdict, Err(error)) => {
                        let expected = match verdict {
                            MoveVerdict::Deny => ("not_permitted", 4),
                            _ => ("wrong_issue_status", 1),
                        };
                        assert_eq!((error.code(), error.meaning().exit), expected);
                        assert_eq!(after, before);
                    }
                    (verdict, answer) => panic!("{role}: {from} to {to}: {verdict:?} {answer:?}"),
                }
            }
        }
    }
}

/// A denied close says who may close, and is logged; an impossible transition names the possible
/// ones.
fn a_refused_transition_says_what_to_do(backend: Backend) {
    let world = World::new(backend);
    let made = world.call("issue_create", json!({ "title": "a" })).unwrap();
    let id = made["issue"]["id"].clone();
    let go = |role: Role, status: &str| {
        let input = json!({ "number": 1, "status": status, "reason": " done " });
        world.call_in(&world.envelope(role), "issue_transition", input)
    };
    let denied = go(Role::Root, "resolved").unwrap_err().to_json();
    let facts = json!({
        "code": "not_permitted",
        "message": "the role root may not move issue #1 from open to resolved",
        "hint": "ask for sign-off with checkpoint, purpose sign_off; the operator decides",
        "role": "root", "number": 1, "status": "open", "to": "resolved", "asked": null,
    });
    assert_eq!(denied, json!({ "error": facts }));
    let wrong = go(Role::Root, "open").unwrap_err().to_json();
    let facts = json!({
        "code": "wrong_issue_status", "message": "issue #1 is already open",
        "hint": "it can become triaged or in_progress",
        "number": 1, "status": "open", "to": "open", "allowed": ["triaged", "in_progress"],
    });
    assert_eq!(wrong, json!({ "error": facts }));
    go(Role::Operator, "rejected").unwrap();
    let closed = go(Role::Root, "triaged").unwrap_err();
    assert_eq!(closed.to_string(), "issue #1 is rejected and cannot become triaged");
    assert_eq!(closed.hint().unwrap(), "the operator may reopen it");
    assert_eq!(go(Role::Root, "open").unwrap_err().hint().unwrap(), "ask the operator to move it");
    let log = world.log();
    let line = |n: usize| (log[n]["type"].clone(), log[n]["actor"].clone(), log[n]["data"].clone());
    assert_eq!(log.len(), 5);
    assert!(log[1..].iter().all(|event| event["aggregate"] == id));
    let refusal = |status: &str, to: &str| {
        let asked = Value::Null;
        let facts =
            json!({ "role": "root", "number": 1, "status": status, "to": to, "asked": asked });
        json!({ "issueId": id, "number": 1, "refusal": { "issue_move_not_permitted": facts } })
    };
    let refused = json!("issue_transition_refused");
    let root = json!("root:primary");
    assert_eq!(line(2), (refused.clone(), root.clone(), refusal("open", "resolved")));
    let moved = json!({
        "issueId": id, "number": 1, "from": "open", "status": "rejected", "reason": "done",
        "revision": 2, "parts": ["status"],
    });
    assert_eq!(line(3), (json!("issue_transitioned"), json!("operator:primary"), moved));
    assert_eq!(line(4), (refused, root, refusal("rejected", "open")));
}

#[test]
fn bad_input_names_the_field_and_creates_no_store() {
    for (operation, input, code, message) in [
        ("issue_create", json!({}), "missing_field", "`title` is missing or empty"),
        ("issue_create", json!({ "title": " " }), "missing_field", "`title` is missing or empty"),
        (
            "issue_create",
            json!({ "title": "x".repeat(501) }),
            "too_long",
            "`title` has 501 characters; the limit is 500",
        ),
        (
            "issue_create",
            json!({ "title": "x", "body": "x".repeat(65_537) }),
            "too_long",
            "`body` has 65537 bytes; the limit is 65536",
        ),
        (
            "issue_create",
            json!({ "title": "x", "criteria": ["ok", " "] }),
            "missing_field",
            "`criteria[1]` is missing or empty",
        ),
        (
            "issue_create",
            json!({ "title": "x", "criteria": ["x".repeat(2_001)] }),
            "too_long",
            "`criteria[0]` has 2001 characters; the limit is 2000",
        ),
        (
            "issue_create",
            json!({ "title": "x", "criteria": vec!["x"; 101] }),
            "too_long",
            "`criteria` has 101 items; the limit is 100",
        ),
        (
            "issue_create",
            json!({ "title": "x", "forceNew": "yes" }),
            "wrong_type",
            "`forceNew` should be a boolean, not a string",
        ),
        ("issue_show", json!({}), "missing_field", "`number` is missing or empty"),
        (
            "issue_show",
            json!({ "number": "1" }),
            "wrong_type",
            "`number` should be an integer, not a string",
        ),
        ("issue_list", json!({ "status": "done" }), "bad_value", "`status` cannot be `done`"),
        ("issue_list", json!({ "limit": 0 }), "bad_value", "`limit` cannot be 0"),
        (
            "issue_transition",
            json!({ "number": 1, "status": "closed" }),
            "bad_value",
            "`status` cannot be `closed`",
        ),
    ] {
        let world = World::new(Backend::SqliteFile);
        let error = world.call(operation, input).unwrap_err();
        let found = (error.code(), error.to_string(), error.meaning().exit);
        assert_eq!(found, (code, message.to_owned(), 2));
        assert!(!world.store.file().exists());
    }
}

/// Q-K6: the tool `issue` takes the fields of the operation, so its hint can be followed.
fn the_tool_closes_an_issue_with_open_children_when_confirmed(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    for title in ["Parent", "Child"] {
        world.call("issue_create", json!({ "title": title })).unwrap();
    }
    let child = json!({ "number": 2, "kind": "child_of", "to": 1 });
    world.call_in(&operator, "issue_link", child).unwrap();
    let close = |confirm: Option<bool>| {
        let mut input = json!({ "action": "transition", "number": 1, "status": "resolved" });
        if let Some(confirm) = confirm {
            input["confirm"] = json!(confirm);
        }
        world.call_in(&operator, "issue", input)
    };
    assert_eq!(close(None).unwrap_err().code(), "open_children");
    assert_eq!(close(Some(true)).unwrap()["issue"]["status"], "resolved");
}

on_every_store!(
    the_tool_closes_an_issue_with_open_children_when_confirmed,
    a_look_alike_is_refused_and_named,
    every_transition_follows_the_table,
    a_refused_transition_says_what_to_do,
);
