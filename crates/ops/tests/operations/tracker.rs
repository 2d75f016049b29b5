//! The tracker: comments, links, duplicates, deferral, and the agents' tool for them.

use punchlist_core::Role;
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

use crate::sessions::{bound, within};

fn file(world: &World, title: &str) -> i64 {
    let made = world.call("issue_create", json!({ "title": title, "forceNew": true })).unwrap();
    made["issue"]["number"].as_i64().unwrap()
}

fn links(world: &World, number: i64) -> Value {
    world.call("issue_show", json!({ "number": number })).unwrap()["links"].clone()
}

/// K-40, K-41, K-42, K-46: stored once, read from both issues, with the inverse computed. A link to
/// itself, a duplicate link and a link to another project are refused.
fn links_are_visible_from_both_issues(backend: Backend) {
    let world = World::new(backend);
    let (one, two) = (file(&world, "one"), file(&world, "two"));
    for (kind, inverse) in [
        ("child_of", "parent_of"),
        ("duplicate_of", "duplicated_by"),
        ("blocked_by", "blocks"),
        ("relates_to", "relates_to"),
    ] {
        let link = json!({ "number": two, "kind": kind, "to": one });
        world.call("issue_link", link.clone()).unwrap();
        let seen = |kind: &str, number: i64, title: &str, direction: &str| {
            let link =
                json!({ "kind": kind, "number": number, "title": title, "direction": direction });
            json!([link])
        };
        assert_eq!(links(&world, two), seen(kind, one, "one", "out"));
        assert_eq!(links(&world, one), seen(inverse, two, "two", "in"));
        assert_eq!(world.call("issue_link", link.clone()).unwrap_err().code(), "already_linked");
        let back = json!({ "number": one, "kind": kind, "to": two });
        if kind == "relates_to" {
            assert_eq!(
                world.call("issue_link", back.clone()).unwrap_err().code(),
                "already_linked"
            );
            world.call("issue_unlink", back).unwrap();
        } else {
            world.call("issue_unlink", link.clone()).unwrap();
        }
        assert_eq!((links(&world, one), links(&world, two)), (json!([]), json!([])));
        assert_eq!(world.call("issue_unlink", link).unwrap_err().code(), "not_linked");
    }
    let own = json!({ "number": one, "kind": "relates_to", "to": one });
    assert_eq!(world.call("issue_link", own).unwrap_err().code(), "self_link");
    let mut other = world.envelope(Role::Root);
    other.project = "other".to_owned();
    world.call_in(&other, "issue_create", json!({ "title": "far" })).unwrap();
    let far = json!({ "number": 1, "kind": "relates_to", "to": two });
    assert_eq!(world.call_in(&other, "issue_link", far).unwrap_err().code(), "unknown_issue");
    let bad = json!({ "number": one, "kind": "blocks", "to": two });
    assert_eq!(world.call("issue_link", bad).unwrap_err().meaning().exit, 2);
}

/// K-43, K-56, Q-K6: links block nothing: a blocked issue can be closed, a parent with open
/// children can be closed after one confirmation, and nothing rolls up.
fn links_block_nothing(backend: Backend) {
    let world = World::new(backend);
    let (parent, child) = (file(&world, "parent"), file(&world, "child"));
    for kind in ["child_of", "blocked_by"] {
        let link = json!({ "number": child, "kind": kind, "to": parent });
        world.call("issue_link", link).unwrap();
    }
    let operator = world.envelope(Role::Operator);
    let go = |input: Value| world.call_in(&operator, "issue_transition", input);
    let asked = go(json!({ "number": parent, "status": "resolved" })).unwrap_err();
    assert_eq!((asked.code(), asked.meaning().exit), ("open_children", 1));
    assert!(asked.to_string().contains(&format!("#{child}")), "{asked}");
    let closed = go(json!({ "number": parent, "status": "resolved", "confirm": true })).unwrap();
    assert_eq!(closed["openChildren"][0]["number"], child);
    let shown = world.call("issue_show", json!({ "number": child })).unwrap();
    assert_eq!(shown["issue"]["status"], "open", "nothing rolls down");
    go(json!({ "number": child, "status": "resolved" })).unwrap();
}

/// K-44: linked, rejected and noted in one step; operator only.
fn closing_as_a_duplicate_is_one_step(backend: Backend) {
    let world = World::new(backend);
    let (one, two) = (file(&world, "one"), file(&world, "two"));
    let close = json!({ "number": two, "of": one, "note": "the same page" });
    assert_eq!(
        world.call("issue_close_as_duplicate", close.clone()).unwrap_err().meaning().exit,
        4
    );
    let operator = world.envelope(Role::Operator);
    let closed = world.call_in(&operator, "issue_close_as_duplicate", close.clone()).unwrap();
    assert_eq!(closed["issue"]["status"], "rejected");
    let shown = world.call("issue_show", json!({ "number": two })).unwrap();
    assert_eq!(shown["links"][0]["kind"], "duplicate_of");
    let note = (&shown["updates"][0]["kind"], &shown["updates"][0]["text"]);
    assert_eq!(note, (&json!("system_note"), &json!("Closed as a duplicate of #1: the same page")));
    let again = world.call_in(&operator, "issue_close_as_duplicate", close).unwrap_err();
    assert_eq!(again.code(), "wrong_issue_status");
    let own = json!({ "number": one, "of": one });
    let error = world.call_in(&operator, "issue_close_as_duplicate", own).unwrap_err();
    assert_eq!(error.code(), "self_link");
    let circle = json!({ "number": one, "of": two });
    let error = world.call_in(&operator, "issue_close_as_duplicate", circle.clone()).unwrap_err();
    assert_eq!((error.code(), error.meaning().exit), ("duplicate_circle", 1));
    assert_eq!(error.to_string(), format!("issue #{two} is closed as a duplicate of #{one}"));
    let shown = world.call("issue_show", json!({ "number": one })).unwrap();
    assert_eq!(shown["issue"]["status"], "open", "nothing of it happened");
    // The other one is the one to keep after all.
    let reopen = json!({ "number": two, "status": "open" });
    world.call_in(&operator, "issue_transition", reopen).unwrap();
    let closed = world.call_in(&operator, "issue_close_as_duplicate", circle).unwrap();
    assert_eq!(closed["issue"]["status"], "rejected");
}

/// Closed duplicates must not lead in a circle, however long: no issue would be left.
fn closing_as_a_duplicate_never_closes_a_whole_circle(backend: Backend) {
    let world = World::new(backend);
    let operator = world.envelope(Role::Operator);
    let numbers: Vec<i64> = ["one", "two", "three"].iter().map(|t| file(&world, t)).collect();
    let close = |number: usize, of: usize| {
        let input = json!({ "number": numbers[number], "of": numbers[of] });
        world.call_in(&operator, "issue_close_as_duplicate", input)
    };
    close(1, 0).unwrap();
    close(2, 1).unwrap();
    let error = close(0, 2).unwrap_err();
    assert_eq!(error.code(), "duplicate_circle");
    assert_eq!(error.to_string(), "issue #3 is closed as a duplicate of #2, and #2 of #1");
    // One that lies on the way is reopened, so one issue is left.
    let reopen = json!({ "number": numbers[1], "status": "open" });
    world.call_in(&operator, "issue_transition", reopen).unwrap();
    close(0, 2).unwrap();
    assert_eq!(close(1, 0).unwrap_err().code(), "duplicate_circle");
}

/// K-45: an issue created inside a bound session becomes a child of its issue, by tool or by
/// operation; outside a session it does not.
fn an_issue_created_in_a_bound_session_becomes_a_child(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &[]);
    let me = within(&world, Role::Root, "s");
    let by_tool = json!({ "action": "create", "title": "A flaky test" });
    let made = world.call_in(&me, "issue", by_tool).unwrap();
    let person = within(&world, Role::Operator, "s");
    world.call_in(&person, "issue_create", json!({ "title": "Docs are old" })).unwrap();
    let outside = file(&world, "Unrelated");
    let child = made["issue"]["number"].as_i64().unwrap();
    assert_eq!(links(&world, child)[0]["kind"], "child_of");
    let shown = world.call("issue_show", json!({ "number": number })).unwrap();
    let open: Vec<&Value> =
        shown["openChildren"].as_array().unwrap().iter().map(|c| &c["title"]).collect();
    assert_eq!(open, [&json!("A flaky test"), &json!("Docs are old")]);
    assert_eq!(links(&world, outside), json!([]));
}

/// K-55, K-59: one tool that only adds: create, view, list, comment, transition, link. It cannot
/// rewrite or delete, and closing needs the operator.
fn the_tool_of_the_tracker_only_adds(backend: Backend) {
    let world = World::new(backend);
    let issue = |input: Value| world.call("issue", input);
    let new = json!({ "action": "create", "title": "Log in fails", "criteria": ["It works"] });
    let made = issue(new).unwrap();
    assert_eq!(made["issue"]["number"], 1);
    issue(json!({ "action": "comment", "number": 1, "text": "It is the cookie." })).unwrap();
    issue(json!({ "action": "transition", "number": 1, "status": "in_progress" })).unwrap();
    issue(json!({ "action": "create", "title": "The cookie banner" })).unwrap();
    issue(json!({ "action": "link", "number": 2, "kind": "relates_to", "to": 1 })).unwrap();
    let view = issue(json!({ "action": "view", "number": 1 })).unwrap();
    assert_eq!(view["issue"]["status"], "in_progress");
    assert_eq!(view["checklist"], "# Criteria\n- [ ] It works\n");
    assert_eq!(view["updates"][0]["text"], "It is the cookie.");
    assert_eq!(view["links"][0]["number"], 2);
    let list = issue(json!({ "action": "list", "text": "cookie", "limit": 1 })).unwrap();
    assert_eq!(list["issues"].as_array().unwrap().len(), 1);
    for (input, code, word) in [
        (json!({ "action": "create" }), "missing_field", "title"),
        (json!({ "action": "view" }), "missing_field", "number"),
        (json!({ "action": "comment", "number": 1 }), "missing_field", "text"),
        (json!({ "action": "transition", "number": 1 }), "missing_field", "status"),
        (json!({ "action": "link", "number": 1, "to": 2 }), "missing_field", "kind"),
        (json!({ "action": "delete", "number": 1 }), "bad_value", "create"),
        (json!({ "action": "update", "number": 1 }), "bad_value", "create"),
        (json!({ "action": "view", "number": 99 }), "unknown_issue", "#99"),
        (json!({ "action": "list", "limit": 0 }), "bad_value", "limit"),
    ] {
        let error = issue(input.clone()).unwrap_err();
        assert_eq!(error.code(), code, "{input}: {error}");
        let said = format!("{error} {}", error.hint().unwrap_or_default());
        assert!(said.contains(word), "{input}: {said}");
    }
    let close = json!({ "action": "transition", "number": 1, "status": "resolved" });
    assert_eq!(issue(close).unwrap_err().code(), "not_permitted");
}

/// P-27: an issue is deferred until a date and says so; null ends the deferral.
fn an_issue_is_deferred_until_a_date(backend: Backend) {
    let world = World::new(backend);
    let number = file(&world, "later");
    let until = "2030-01-01T00:00:00.000000Z";
    let deferred = world.call("issue_defer", json!({ "number": number, "until": until })).unwrap();
    assert_eq!(deferred["issue"]["deferUntil"], until);
    let back = world.call("issue_defer", json!({ "number": number, "until": null })).unwrap();
    assert_eq!(back["issue"]["deferUntil"], Value::Null);
    let bad = world.call("issue_defer", json!({ "number": number, "until": "soon" })).unwrap_err();
    assert_eq!(bad.meaning().exit, 2);
}

/// F-17, K-57: the revision grows with every change to the issue or its checklist, and with nothing
/// else; unlike an agent's memory, the checklist is visible to the operator.
fn the_revision_follows_every_change(backend: Backend) {
    let world = World::new(backend);
    let number = bound(&world, "s", &["ok"]);
    let me = within(&world, Role::Root, "s");
    let operator = world.envelope(Role::Operator);
    let revision = || {
        let shown = world.call("issue_show", json!({ "number": number })).unwrap();
        shown["issue"]["revision"].as_i64().unwrap()
    };
    let mut last = revision();
    let mut grew = |what: &str, by: i64| {
        let now = revision();
        assert_eq!(now - last, by, "{what}");
        last = now;
    };
    world.call_in(&me, "todo", json!({ "items": ["a"] })).unwrap();
    grew("add", 1);
    world.call_in(&me, "todo", json!({ "action": "note", "content": "a", "text": "n" })).unwrap();
    grew("note", 1);
    world.call_in(&me, "todo", json!({ "action": "view" })).unwrap();
    grew("view", 0);
    world.call_in(&me, "todo", json!({ "action": "done", "content": "zzz" })).unwrap_err();
    grew("refused", 0);
    let ratify = json!({ "number": number, "content": "ok" });
    world.call_in(&operator, "criterion_drop", ratify).unwrap();
    grew("drop", 1);
    let go = json!({ "number": number, "status": "triaged" });
    world.call_in(&me, "issue_transition", go).unwrap();
    grew("transition", 1);
    world.call_in(&me, "issue_comment", json!({ "number": number, "text": "x" })).unwrap();
    grew("comment", 0);
    world.call("session_unbind", json!({ "session": "s" })).unwrap();
    grew("unbind", 1);
}

on_every_store!(
    links_are_visible_from_both_issues,
    links_block_nothing,
    closing_as_a_duplicate_is_one_step,
    closing_as_a_duplicate_never_closes_a_whole_circle,
    an_issue_created_in_a_bound_session_becomes_a_child,
    the_tool_of_the_tracker_only_adds,
    an_issue_is_deferred_until_a_date,
    the_revision_follows_every_change,
);
