//! `punch doctor` on the command line: its JSON, its text, its exit codes.

use punchlist_testkit::Backend;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Place, Ran};

/// The last line where no host is set up.
const NO_HOSTS: &str = "absent    claude, codex, opencode, gemini, cursor, copilot, goose\n";

/// The report of a sound store.
pub(crate) fn clean(place: &Place) -> Value {
    let answer = place.punch(["doctor", "--json"]).answer();
    assert_eq!(answer["store"]["ok"], true, "{answer:#}");
    answer
}

/// The report of a damaged store, and the names of the failed checks.
pub(crate) fn sick(place: &Place) -> (Value, Vec<String>) {
    let ran = place.punch(["doctor", "--json"]).run();
    assert_eq!((ran.exit, ran.remarks().as_str()), (Some(1), ""), "{ran:?}");
    let answer = ran.json();
    let checks = answer["store"]["checks"].as_array().unwrap();
    let bad = checks.iter().filter(|check| check["ok"] == false);
    let names = bad.map(|check| check["name"].as_str().unwrap().to_owned()).collect();
    (answer, names)
}

fn a_sound_store_is_clean(backend: Backend) {
    let place = Place::new(backend);
    let id = place.create("a");
    place.create("b");
    place.call("complete_todo", &json!({ "todoId": id, "outcome": "done" })).answer();
    let mut answer = clean(&place);
    assert_eq!(answer["hosts"].as_array().unwrap().len(), 7, "one entry for each host");
    let store = answer["store"].take();
    let fields: Vec<&String> = store.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["target", "dialect", "schemaVersion", "ok", "checks"]);
    let fold = store["checks"].as_array().unwrap().iter().find(|c| c["name"] == "fold").unwrap();
    assert_eq!(
        fold["detail"],
        "the log gives the tables: 0 issues, 0 missions, 1 list, 2 todos, 5 events"
    );
    let shown = place.punch(["doctor"]).run();
    assert_eq!(shown.exit, Some(0));
    let end = format!("Nothing is wrong with the store.\n{NO_HOSTS}");
    assert!(shown.stdout.ends_with(&end), "{shown:?}");
    let quiet = place.punch(["doctor", "--quiet"]).run();
    assert_eq!((quiet.exit, quiet.stdout.as_str()), (Some(0), ""));
}

#[test]
fn a_sound_store_is_clean_on_sqlite() {
    a_sound_store_is_clean(Backend::SqliteFile);
}

#[test]
fn a_sound_store_is_clean_on_postgres() {
    a_sound_store_is_clean(Backend::Postgres);
}

#[test]
fn a_row_changed_by_hand_is_found_and_reported() {
    let place = Place::sqlite();
    let id = place.create("mine");
    let store = Connection::open(place.file()).unwrap();
    store.execute("UPDATE todos SET title = 'forged' WHERE id = ?1", [&id]).unwrap();
    drop(store);
    let (answer, bad) = sick(&place);
    assert_eq!(bad, ["fold"], "{answer:#}");
    let shown: Ran = place.punch(["doctor", "--quiet"]).run();
    assert_eq!((shown.exit, shown.remarks().as_str()), (Some(1), ""));
    let said = format!("todo {id}: title is \"forged\", the log says \"mine\"");
    assert!(shown.stdout.contains(&said), "{shown:?}");
    let end = format!("1 check failed; nothing was changed.\n{NO_HOSTS}");
    assert!(shown.stdout.ends_with(&end), "{shown:?}");
}

/// Issues are folded, too. Data outside the fold (tokens, leases) is not a difference.
#[test]
fn an_issue_changed_by_hand_is_found() {
    let place = Place::sqlite();
    let filed =
        place.punch(["issue", "new", "Slow build", "--criteria", "Fast", "--json"]).answer();
    assert_eq!(filed["issue"]["number"], 1);
    place.punch(["issue", "transition", "1", "triaged", "--json"]).answer();
    place.punch(["token", "new", "--role", "operator", "--json"]).answer();
    clean(&place);
    let store = Connection::open(place.file()).unwrap();
    store.execute("UPDATE issues SET status = 'resolved'", []).unwrap();
    drop(store);
    let (answer, bad) = sick(&place);
    assert_eq!(bad, ["fold"], "{answer:#}");
    assert!(answer.to_string().contains("issue #1 is not as the log says"), "{answer:#}");
}

#[test]
fn a_row_changed_by_hand_is_found_on_postgres() {
    let place = Place::new(Backend::Postgres);
    place.create("mine");
    let mut client = postgres::Client::connect(&place.db(), postgres::NoTls).unwrap();
    client.batch_execute("UPDATE todos SET position = 7").unwrap();
    assert_eq!(sick(&place).1, ["fold"]);
}

#[test]
fn a_store_that_cannot_be_read_is_reported() {
    let place = Place::sqlite();
    std::fs::write(place.file(), "Dear diary,\n".repeat(1_000)).unwrap();
    assert_eq!(sick(&place).1, ["present", "permissions"]);
    let nowhere = place.bare(["doctor", "--json", "--db", "postgres://a:s3cret@127.0.0.1:1/x"]);
    let ran = nowhere.run();
    assert_eq!(ran.exit, Some(1));
    assert!(ran.stdout.contains("refused") && !ran.stdout.contains("s3cret"), "{ran:?}");
    // If there is no store yet, nothing is wrong, and nothing is created.
    let fresh = Place::sqlite();
    clean(&fresh);
    assert!(!fresh.file().exists());
}
