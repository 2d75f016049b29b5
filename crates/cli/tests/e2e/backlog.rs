//! The backlog in TODO.md: a plan is created from one of its lines, and that line is ticked on
//! request.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::support::{Place, Punch};

/// A realistic file: a byte order mark, both kinds of line endings, a byte that is not UTF-8, equal
/// lines, and no final line ending.
const BACKLOG: &[u8] =
    b"\xef\xbb\xbf# Next \xff\r\n\r\n- [ ] Add authentication\r\n* [x] Set up CI\n\
                      - [ ] Write docs\n- [ ] Write docs\n  - [ ] Nested, caf\xc3\xa9";

fn with_todo(place: &Place) -> PathBuf {
    let file = place.home().join("TODO.md");
    fs::write(&file, BACKLOG).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    file
}

fn from_todo(place: &Place, words: &[&str]) -> Punch {
    place.punch(["plan", "from-todo", "--json"]).words(words)
}

fn tick(place: &Place, plan: &str) -> Punch {
    place.punch(["plan", "tick", plan, "--json"])
}

/// O-1, O-2, O-3, D-15: a plan is created from a line and worked on. The file does not change until
/// the line is ticked; then one byte changes, and the permissions stay.
fn a_line_becomes_a_plan_and_is_ticked_on_request(backend: Backend) {
    let place = Place::new(backend);
    let file = with_todo(&place);
    let listed = from_todo(&place, &[]).answer();
    let lines: Vec<&Value> =
        listed["lines"].as_array().unwrap().iter().map(|l| &l["lineNumber"]).collect();
    assert_eq!(lines, [&json!(3), &json!(5), &json!(6), &json!(7)]);
    let shown = place.punch(["plan", "from-todo"]).said();
    assert_eq!(
        shown,
        "   3  Add authentication\n   5  Write docs\n   6  Write docs\n   7  Nested, café\n"
    );

    let opened = from_todo(&place, &["authentication"]).answer();
    let plan = "docs/plans/add-authentication.md";
    assert_eq!((&opened["planFile"], &opened["lineNumber"]), (&json!(plan), &json!(3)));
    assert_eq!(opened["tasks"][0]["content"], "Add authentication");
    let again = from_todo(&place, &["3"]).refusal(1);
    assert_eq!(again["code"], "plan_exists");

    // The work does not change the file (O-3).
    let root = opened["tasks"][0]["id"].as_str().unwrap();
    place.punch(["plan", "add", root, "Model", "--json"]).answer();
    let tree = place.punch(["plan", "tree", plan, "--json"]).answer();
    let model = tree["tasks"][0]["children"][0]["id"].as_str().unwrap().to_owned();
    for task in [&model, root] {
        place.punch(["plan", "complete", task, "--json"]).answer();
    }
    assert_eq!(fs::read(&file).unwrap(), BACKLOG);

    // A worker may not tick; the orchestrator may, by policy.
    let worker = tick(&place, plan).words(["--agent", "primary.subagents.x"]);
    assert_eq!(worker.refusal(4)["code"], "not_permitted");
    assert_eq!(fs::read(&file).unwrap(), BACKLOG);
    let ticked = tick(&place, plan).answer();
    assert_eq!(
        (&ticked["lineNumber"], &ticked["line"]),
        (&json!(3), &json!("- [ ] Add authentication"))
    );
    let expected = String::from_utf8_lossy(BACKLOG).replace("[ ] Add", "[x] Add");
    let after = fs::read(&file).unwrap();
    assert_eq!(String::from_utf8_lossy(&after), expected);
    let differ = BACKLOG.iter().zip(&after).filter(|(a, b)| a != b).count();
    assert_eq!((after.len(), differ), (BACKLOG.len(), 1), "one byte");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    let left: Vec<_> =
        fs::read_dir(place.home()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("punch")), "{left:?}");
    let events =
        place.punch(["wait", "--types", "todo_line_ticked", "--after", "0", "--json"]).answer();
    assert_eq!(events["events"][0]["data"]["line"], "- [ ] Add authentication");

    let again = tick(&place, plan).refusal(1);
    assert_eq!(again["code"], "bad_todo_line");
    assert!(again["message"].as_str().unwrap().ends_with("line 3 is ticked already"), "{again}");
    assert_eq!(fs::read(&file).unwrap(), after);
}

/// D-15: a line that is missing, changed or not unique is not ticked, and the error says why.
fn a_missing_changed_or_ambiguous_line_is_not_ticked(backend: Backend) {
    let place = Place::new(backend);
    let file = with_todo(&place);
    let plan = |item: &str, plan: &str| {
        from_todo(&place, &[item, "--plan-file", plan]).answer();
    };
    plan("3", "a.md");
    plan("6", "b.md");
    let refused = |plan: &str, text: &[u8], words: &str| {
        fs::write(&file, text).unwrap();
        let error = tick(&place, plan).refusal(1);
        assert_eq!(error["code"], "bad_todo_line");
        let message = error["message"].as_str().unwrap();
        assert!(message.ends_with(words), "{message}");
        assert_eq!(fs::read(&file).unwrap(), text);
    };
    refused("b.md", BACKLOG, "several lines match: 5, 6");
    refused("a.md", b"- [ ] Add authentication, and more\n", "no open line says that");
    refused("a.md", b"", "no open line says that");
    assert_eq!(from_todo(&place, &["nothing such"]).refusal(1)["code"], "bad_todo_line");
    assert_eq!(tick(&place, "never.md").refusal(1)["code"], "no_todo_line");
    fs::remove_file(&file).unwrap();
    assert_eq!(tick(&place, "a.md").refusal(3)["code"], "io");

    // Another file behind a symbolic link, which stays a link.
    let there = place.home().join("elsewhere.md");
    fs::write(&there, "- [ ] Far away").unwrap();
    symlink(&there, place.home().join("LATER.md")).unwrap();
    from_todo(&place, &["Far", "--file", "LATER.md", "--plan-file", "c.md"]).answer();
    fs::write(&file, BACKLOG).unwrap();
    let error = tick(&place, "c.md").refusal(1);
    assert!(error["message"].as_str().unwrap().ends_with("it is a line of LATER.md"), "{error}");
    tick(&place, "c.md").words(["--file", "LATER.md"]).answer();
    assert_eq!(fs::read_to_string(&there).unwrap(), "- [x] Far away");
    assert!(fs::symlink_metadata(place.home().join("LATER.md")).unwrap().is_symlink());
}

/// A person at a terminal is asked for the line.
#[test]
fn a_person_is_asked_for_the_line() {
    let place = Place::sqlite();
    with_todo(&place);
    let ran = place.punch(["plan", "from-todo"]).stdin("7\n").on_terminal();
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Open a plan from which line?"), "{ran:?}");
    assert!(ran.stdout.contains("from line 7 of TODO.md"), "{ran:?}");
}

on_every_lasting_store!(
    a_line_becomes_a_plan_and_is_ticked_on_request,
    a_missing_changed_or_ambiguous_line_is_not_ticked,
);
