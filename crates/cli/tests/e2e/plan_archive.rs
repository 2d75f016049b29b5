//! A plan on the command line: archived, restored and purged; and a store whose trees were edited
//! by hand.

use punchlist_testkit::Backend;
use serde_json::json;

use crate::doctor::clean;
use crate::support::Place;

const FILE: &str = "docs/plans/auth.md";

/// A place with a plan file of three tasks in its folder, imported.
fn planned(backend: Backend) -> Place {
    let place = Place::new(backend);
    std::fs::create_dir_all(place.home().join("docs/plans")).unwrap();
    std::fs::write(place.home().join(FILE), "# Auth\n- [ ] a\n- [ ] b\n").unwrap();
    place.punch(["plan", "import", FILE, "--json"]).answer();
    place
}

/// Q-O1, Q-O2: archive, finish, import again, purge. The log stays, and the doctor finds nothing.
fn a_plan_is_archived_restored_and_purged(backend: Backend) {
    let place = planned(backend);
    let open = place.punch(["plan", "finish", FILE, "--json"]).refusal(1);
    assert_eq!((&open["code"], &open["open"]), (&json!("open_tasks"), &json!(3)));
    let said = place.punch(["plan", "finish", FILE, "--yes"]).said();
    let finished = "Finished docs/plans/auth.md on main: 0 tasks settled, 3 open; importing";
    assert!(said.starts_with(finished), "{said}");
    let archived = "This plan was archived at 2026-11-15T08:00:00Z; --include-archived shows it.\n";
    assert_eq!(place.punch(["plan", "tree", FILE]).said(), archived);
    let shown = place.punch(["plan", "tree", FILE, "--include-archived"]).said();
    assert!(shown.contains("archived at 2026-11-15"), "{shown}");
    let back = place.punch(["plan", "import", FILE]).said();
    assert!(back.contains("3 unchanged; it was archived and is back"), "{back}");
    place.punch(["plan", "archive", FILE]).said();
    let purge = ["plan", "purge", "--archived-older-than", "7d"];
    place.punch(purge).words(["--yes", "--json"]).refusal(4);
    let secret = place.operator();
    let later = |words: &[&str]| {
        let purge = place.punch(purge).words(words.iter().copied());
        purge.with(&secret).env("PUNCHLIST_NOW", "2026-11-23T08:00:00Z")
    };
    let unsure = later(&["--json"]).refusal(1);
    assert_eq!(unsure["code"], "unconfirmed");
    assert_eq!(unsure["plans"][0]["planFile"], FILE);
    let gone = later(&["--yes"]).said();
    let when = "archived at 2026-11-15T08:00:00.000000Z";
    assert_eq!(gone, format!("Removed docs/plans/auth.md on main: 3 tasks, {when}\n"));
    clean(&place);
    place.wait_for_log();
    let log = place.punch(["call", "event_list", r#"{"after":0,"limit":100}"#, "--json"]).answer();
    let told = log["events"].as_array().unwrap().iter().map(|event| event["type"].clone());
    let told: Vec<_> = told.filter(|kind| *kind != json!("todo_created")).collect();
    let lists =
        ["opened", "archived", "unarchived", "archived"].map(|what| json!(format!("list_{what}")));
    assert_eq!(told[1..5], lists);
}

#[test]
fn a_plan_is_archived_restored_and_purged_on_sqlite() {
    a_plan_is_archived_restored_and_purged(Backend::SqliteFile);
}

#[test]
fn a_plan_is_archived_restored_and_purged_on_postgres() {
    a_plan_is_archived_restored_and_purged(Backend::Postgres);
}
