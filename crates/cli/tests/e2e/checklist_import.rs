//! `punch import checklist`: a list that was kept elsewhere, from a file or standard input (P-22).

use std::fs;

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::doctor::clean;
use crate::identity::at_terminal;
use crate::support::{Place, Punch};

const ELSEWHERE: &str = "\
- [x] Read the code
  - note: the parser first
- [/] Patch it
- [-] Rewrite it all

# Criteria
- [x] It is fast
";

fn import(place: &Place, text: &str, issue: &str) -> Punch {
    place.punch(["import", "checklist", "-", "--issue", issue]).stdin(text)
}

fn with_issue(backend: Backend) -> Place {
    let place = Place::new(backend);
    place.punch(["issue", "new", "Log in fails", "--json"]).answer();
    place
}

/// P-22: a line ticked elsewhere becomes a claim of the importer, and nothing is completed.
fn a_ticked_line_becomes_a_claim(backend: Backend) {
    let place = with_issue(backend);
    let answer = import(&place, ELSEWHERE, "1").words(["--json"]).answer();
    let checklist = "\
# Criteria
- [x] It is fast <!-- claimed by root:primary -->

# Steps
- [x] Read the code <!-- claimed by root:primary -->
  - note: the parser first
- [/] Patch it
- [-] Rewrite it all
";
    let expected = json!({
        "number": 1, "created": 4, "claimed": 2, "cancelled": 1, "skipped": [],
        "checklist": checklist,
    });
    assert_eq!(answer, expected);
    let shown = place.punch(["issue", "show", "1", "--json"]).answer();
    assert_eq!(shown["checklist"], checklist);
    let told: Vec<&Value> =
        shown["updates"].as_array().unwrap().iter().map(|u| &u["text"]).collect();
    let claimed = "Criterion claimed by root:primary: It is fast (no evidence)";
    assert_eq!(told, [claimed]);
    let log = place.punch(["log", "--after", "0", "--json"]).answer();
    let types = log["events"].as_array().unwrap().iter().map(|event| &event["type"]);
    assert!(types.clone().all(|name| name != "todo_completed"), "{log}");

    // The second time there is nothing new, and the output says so.
    let file = place.home().join("todo.md");
    fs::write(&file, ELSEWHERE.to_owned() + "\n# Steps\n- [ ] Ship it\n").unwrap();
    let again = place.punch(["import", "checklist", file.to_str().unwrap(), "--issue", "1"]).run();
    let expected = "Imported 1 item into issue #1 (0 claimed, 0 cancelled).\n\
                    on the list already: Read the code\n\
                    on the list already: Patch it\n\
                    on the list already: Rewrite it all\n\
                    on the list already: It is fast\n";
    assert_eq!((again.exit, again.stdout.as_str()), (Some(0), expected));
    clean(&place);
}

#[test]
fn the_operators_ticks_are_claims_too() {
    let place = with_issue(Backend::SqliteFile);
    let file = place.home().join("todo.md");
    fs::write(&file, "- [x] a\n").unwrap();
    let words = ["import", "checklist", file.to_str().unwrap(), "--issue", "1", "--json"];
    let (exit, answer) = at_terminal(&place.punch(words));
    assert_eq!((exit, &answer["claimed"]), (Some(0), &json!(1)));
    let shown = place.punch(["issue", "show", "1", "--json"]).answer();
    assert_eq!(shown["steps"][0]["status"], "pending", "{shown}");
}

#[test]
fn an_invalid_import_is_explained_and_changes_nothing() {
    let place = with_issue(Backend::SqliteFile);
    let before = place.log_length();
    let worker = ["--agent", "primary.subagents.w"];
    for (attempt, exit, code) in [
        (import(&place, "- [x] a\nhello\n", "1"), 2, "bad_checklist"),
        (import(&place, "- [x] a\n", "7"), 1, "unknown_issue"),
        (import(&place, &"- [ ] a\n".repeat(200_000), "1"), 2, "too_long"),
        (import(&place, "- [x] a\n", "1").words(worker), 4, "not_permitted"),
        (place.punch(["import", "checklist", "-"]).stdin("- [ ] a\n"), 2, "usage"),
        (place.punch(["import", "checklist", "nowhere", "--issue", "1"]), 3, "io"),
        (place.punch(["import", "markdown", "-", "--issue", "1"]), 2, "usage"),
    ] {
        assert_eq!(attempt.words(["--json"]).refusal(exit)["code"], code);
    }
    let bytes = place.punch(["import", "checklist", "-", "--issue", "1", "--json"]).stdin([0xff]);
    assert_eq!(bytes.refusal(2)["code"], "invalid_utf8");
    assert_eq!(place.log_length(), before);
}

on_every_lasting_store!(a_ticked_line_becomes_a_claim);
