//! `punch project merge`: one repository in two projects, joined on the command line.

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::support::{Place, Punch};

fn at(place: &Place, folder: &Path, words: &[&str]) -> Punch {
    place.bare(words.iter().copied()).words(["--db", &place.db()]).at(folder)
}

/// The titles of the issues that the operator sees in a folder.
fn titles(list: &Value) -> Vec<Value> {
    list["issues"].as_array().unwrap().iter().map(|issue| issue["title"].clone()).collect()
}

/// Two folders of the same name, so two projects: `notes` and `b.notes`; and an operator's token.
fn two_projects(backend: Backend) -> (Place, String, PathBuf, PathBuf) {
    let place = Place::new(backend);
    let operator = place.operator();
    let (one, other) = (place.home().join("a/notes"), place.home().join("b/notes"));
    for folder in [&one, &other] {
        fs::create_dir_all(folder).unwrap();
    }
    for (folder, words) in [
        (&one, &["issue", "new", "First"][..]),
        (&other, &["issue", "new", "Second"]),
        (&other, &["issue", "new", "Third thing"]),
        (&other, &["issue", "link", "2", "blocked_by", "1"]),
    ] {
        at(&place, folder, words).with(&operator).said();
    }
    (place, operator, one, other)
}

fn a_folder_of_a_merged_project_belongs_to_the_other(backend: Backend) {
    let (place, operator, one, other) = two_projects(backend);
    let at = |folder: &Path, words: &[&str]| at(&place, folder, words).with(&operator);
    let merge = |words: &[&str]| at(&one, &[&["project", "merge"], words].concat());
    let titles = |folder: &Path| titles(&at(folder, &["issue", "list", "--json"]).answer());
    let asked = merge(&["b.notes", "notes", "--json"]).refusal(1);
    assert_eq!(asked["code"], "unconfirmed");
    assert_eq!(asked["issues"], json!([{ "from": 1, "to": 2 }, { "from": 2, "to": 3 }]));
    assert_eq!(titles(&other), ["Third thing", "Second"], "nothing changed");
    let said = merge(&["b.notes", "notes", "--yes"]).said();
    assert_eq!(
        said, "Merged b.notes into notes.\n#1 is now #2\n#2 is now #3\n",
        "the answer maps old to new"
    );
    for folder in [&one, &other] {
        assert_eq!(titles(folder), ["Third thing", "Second", "First"]);
    }
    let shown = at(&other, &["issue", "show", "3", "--json"]).answer();
    assert_eq!(shown["links"][0]["number"], 2);
    let next = at(&other, &["issue", "new", "From the other", "--json"]).answer();
    assert_eq!(next["issue"]["number"], 4);
    let projects = at(&other, &["project", "list"]).said();
    assert!(
        projects.contains("notes  (this one)\n") && !projects.contains("b.notes"),
        "{projects}"
    );
    // The old name is refused, and its log is still there.
    let old = at(&one, &["issue", "list", "--project", "b.notes", "--json"]).refusal(1);
    assert_eq!((&old["code"], &old["into"]), (&json!("project_merged"), &json!("notes")));
    if backend == Backend::SqliteFile {
        // On a server the newest events are hidden while another transaction is open.
        let log = at(&one, &["log", "--project", "b.notes"]).said();
        assert!(log.contains("b.notes into notes, 2 issues: #1 is #2, #2 is #3"), "{log}");
    }
    let checked = at(&one, &["doctor", "--json"]).answer();
    assert_eq!(checked["store"]["ok"], true, "{checked}");
}

#[test]
fn in_a_file() {
    a_folder_of_a_merged_project_belongs_to_the_other(Backend::SqliteFile);
}

#[test]
fn on_a_server() {
    a_folder_of_a_merged_project_belongs_to_the_other(Backend::Postgres);
}

#[test]
fn wrong_names_and_wrong_callers_are_refused() {
    let (place, operator, one, _) = two_projects(Backend::SqliteFile);
    for (from, into, exit, code) in [
        ("nowhere", "notes", 1, "unknown_project"),
        ("notes", "nowhere", 1, "unknown_project"),
        ("notes", "notes", 1, "merge_conflict"),
        ("notes", " ", 2, "missing_field"),
    ] {
        let words = ["project", "merge", from, into, "--yes", "--json"];
        let refused = at(&place, &one, &words).with(&operator).refusal(exit);
        assert_eq!(refused["code"], code, "{from} into {into}: {refused}");
    }
    let words = ["project", "merge", "b.notes", "notes", "--yes", "--json"];
    let agent = at(&place, &one, &words).refusal(4);
    assert_eq!(agent["code"], "not_permitted");
    let only = ["token", "new", "--role", "operator", "--only-project", "notes", "--json"];
    let narrow = at(&place, &one, &only).with(&operator).answer()["token"].clone();
    let refused = at(&place, &one, &words).with(narrow.as_str().unwrap()).refusal(4);
    assert_eq!(refused["code"], "out_of_reach");
    let missing = at(&place, &one, &["project", "merge", "notes", "--json"]).with(&operator);
    assert_eq!(missing.run().exit, Some(2));
}
