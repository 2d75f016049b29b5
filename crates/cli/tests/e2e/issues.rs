//! `punch issue`: the commands generated from the catalogue, as an agent uses them.
//!
//! The operator needs a terminal or a token; the rights of the operator are tested in `ops`.

use punchlist_testkit::Backend;
use serde_json::json;

use crate::support::{NOW, Names, Place};

fn words(place: &Place, line: &[&str]) -> String {
    let ran = place.punch(line.iter().copied()).run();
    assert_eq!((ran.exit, ran.remarks().as_str()), (Some(0), ""), "{line:?}");
    ran.stdout
}

/// Each step is a separate process, so that every answer comes only from the store.
fn an_issue_lives_over_its_commands(backend: Backend) {
    let place = Place::new(backend);
    let new = ["issue", "new", "Log in fails", "--body=- white page", "--json"];
    let criteria = ["--criteria", "It works", "--criteria=-- and is tested"];
    let made = place.punch(new).words(criteria).answer();
    let issue = json!({
        "id": "<id 1>", "number": 1, "title": "Log in fails", "body": "- white page",
        "status": "open", "assignment": null, "revision": 2, "createdBy": "root:primary",
        "createdAt": NOW, "updatedAt": NOW, "deferUntil": null,
        "labels": [], "priority": null, "assignee": null,
    });
    let mut names = Names::default();
    assert_eq!(names.hide(&made), json!({ "issue": issue }));
    let later = "2026-11-15T08:05:00Z";
    let go = ["issue", "transition", "1", "in_progress", "--reason", "begun", "--json"];
    let moved = place.punch(go).env("PUNCHLIST_NOW", later).answer();
    assert_eq!(moved["issue"]["status"], "in_progress");
    assert_eq!(moved["issue"]["revision"], 3);
    assert_eq!(moved["issue"]["statusReason"], "begun");
    let shown = place.punch(["issue", "show", "1", "--json"]).answer();
    assert_eq!(shown["issue"], moved["issue"]);
    let checklist = "# Criteria\n- [ ] It works\n- [ ] -- and is tested\n";
    assert_eq!(shown["checklist"], checklist);
    let found = place.punch(["issue", "list", "--text", "WHITE log", "--json"]).answer();
    let mut listed = moved["issue"].clone();
    listed["progress"] =
        json!({ "criteria": 2, "met": 0, "claimed": 0, "steps": 0, "stepsClosed": 0, "held": 0 });
    assert_eq!(found, json!({ "issues": [listed] }));
    let none = ["issue", "list", "--status", "open", "--json"];
    assert_eq!(place.punch(none).answer(), json!({ "issues": [] }));
}

#[test]
fn an_issue_lives_over_its_commands_on_sqlite() {
    an_issue_lives_over_its_commands(Backend::SqliteFile);
}

#[test]
fn an_issue_lives_over_its_commands_on_postgres() {
    an_issue_lives_over_its_commands(Backend::Postgres);
}

#[test]
fn the_text_for_people_is_short_and_contains_the_number() {
    let place = Place::sqlite();
    assert_eq!(
        words(&place, &["issue", "list"]),
        "No issues to show. `punch issue new TITLE` files one.\n"
    );
    assert_eq!(words(&place, &["issue", "new", "First one"]), "Created issue #1: First one\n");
    words(&place, &["issue", "new", "Second", "--body", "why", "--criteria", "ok"]);
    assert_eq!(
        words(&place, &["issue", "transition", "1", "triaged"]),
        "Issue #1 is triaged now: First one\n"
    );
    assert_eq!(
        words(&place, &["issue", "list"]),
        "#2  open     now  0 of 1 met  Second\n#1  triaged  now              First one\n"
    );
    assert_eq!(
        words(&place, &["issue", "list", "--limit", "1"]),
        "#2  open  now  0 of 1 met  Second\n… more: the same with --cursor 2\n"
    );
    words(&place, &["issue", "transition", "1", "open", "--reason", "Not seen\nsince"]);
    assert_eq!(
        place.punch(["issue", "show", "1"]).said_without_ids(),
        "#1 First one\nopen, filed just now by root:primary, changed just now, revision 3\n\
         reason: Not seen since\n"
    );
    assert_eq!(
        place.punch(["issue", "show", "2"]).said_without_ids(),
        "#2 Second\nopen, filed just now by root:primary, changed just now, revision 2\n\
         0 of 1 closed, 0 of 1 criteria met\n\n│ why\n\n\
         Criteria\n  [ ] ok\n      proposed by an agent, not ratified\n"
    );
    place.wait_for_log();
    let log = words(&place, &["log"]);
    assert!(log.contains("issue created       #1 First one\n"), "{log}");
    assert!(log.contains("issue transitioned  #1 triaged\n"), "{log}");
}

#[test]
fn refusals_have_their_codes_and_exits() {
    let place = Place::sqlite();
    let said = |line: &[&str], exit: i32| {
        let error = place.punch(line.iter().copied()).words(["--json"]).refusal(exit);
        (error["code"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
    };
    let told = |code: &str, message: &str| (code.to_owned(), message.to_owned());
    words(&place, &["issue", "new", "Log in fails"]);
    // P-26
    let twin = "issue #1 looks the same and is open: `Log in fails`";
    assert_eq!(said(&["issue", "new", "log in FAILS!"], 1), told("look_alike", twin));
    words(&place, &["issue", "new", "log in FAILS!", "--force-new"]);
    let denied = "the role root may not move issue #1 from open to resolved";
    assert_eq!(said(&["issue", "transition", "1", "resolved"], 4), told("not_permitted", denied));
    let unknown = "there is no issue #9 here";
    assert_eq!(said(&["issue", "show", "9"], 1), told("unknown_issue", unknown));
    let none = "there is no open issue `one`";
    assert_eq!(said(&["issue", "show", "one"], 1), told("unknown_issue", none));
    let value = "`status` cannot be `done`";
    assert_eq!(said(&["issue", "transition", "1", "done"], 2), told("bad_value", value));
    let (code, _) = said(&["issue", "new"], 2);
    assert_eq!(code, "usage");
    let (code, _) = said(&["issue", "finish", "1"], 2);
    assert_eq!(code, "usage");
    let (code, _) = said(&["issue", "set", "1"], 2);
    assert_eq!(code, "usage", "nothing to change was given");
    let worker = ["issue", "list", "--agent", "primary.subagents.w"];
    let hidden = "the role worker may not call `issue_list`";
    assert_eq!(said(&worker, 4), told("not_permitted", hidden));
}
