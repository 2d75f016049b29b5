//! `punch backup` and `punch restore` on the command line (P-31).

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Command;

use punchlist_testkit::Backend;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::bad_store::with_file_limit;
use crate::doctor::{clean, sick};
use crate::identity::at_terminal;
use crate::support::{NOW, Place};

/// The files next to the store, without SQLite's side files.
fn files(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.file().parent().unwrap()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with("-wal") && !name.ends_with("-shm"));
    names.sort();
    names
}

fn titles(place: &Place) -> Vec<Value> {
    let listed = place.call("list_todo", &json!({ "status": "all" })).answer();
    listed["items"].as_array().unwrap().iter().map(|item| item["title"].clone()).collect()
}

#[test]
fn a_backup_into_a_missing_folder_names_the_folder() {
    let place = Place::sqlite();
    place.create("a");
    let refused = place.punch(["backup", "missing/x", "--json"]).refusal(3);
    assert_eq!(refused["code"], "io");
    assert_eq!(refused["message"], "the folder missing does not exist");
}

#[test]
fn a_backup_is_restored_after_later_changes() {
    let place = Place::sqlite();
    place.create("a");
    let made = place.punch(["backup", "--json"]).answer();
    let copy = place.file().with_file_name("test.db.20261115T080000Z.backup");
    let expected = json!({
        "file": copy, "bytes": fs::metadata(&copy).unwrap().len(), "events": 3, "lastSeq": 3,
        "lastEventAt": NOW, "deleted": [],
    });
    assert_eq!(made, expected);
    place.create("b");
    place.create("c");

    let restore = place.punch(["restore", copy.to_str().unwrap(), "--json"]);
    let (exit, refused) = at_terminal(&restore);
    let expected = json!({
        "code": "would_lose_events",
        "message": "the backup lacks 2 events of the store, since 2026-11-15T08:00:00Z",
        "hint": "use --yes to lose them; the current store is kept next to it",
        "events": 2, "since": NOW,
    });
    assert_eq!((exit, &refused["error"]), (Some(1), &expected));
    assert_eq!(titles(&place), ["a", "b", "c"]);

    let kept = place.file().with_file_name("test.db.20261115T080000Z.replaced");
    let (_, done) = at_terminal(&restore.words(["--yes"]));
    let expected = json!({
        "store": place.file(), "from": copy, "events": 3, "lastEventAt": NOW, "lost": 2,
        "kept": kept,
    });
    assert_eq!(done, expected);
    assert_eq!(titles(&place), ["a"]);
    clean(&place);
    // The replaced store can itself be restored.
    let back = place.punch(["restore", kept.to_str().unwrap()]).on_terminal();
    assert_eq!(back.exit, Some(0), "{back:?}");
    assert!(back.stdout.contains("Restored"), "{back:?}");
    assert_eq!(titles(&place), ["a", "b", "c"]);
    clean(&place);
}

#[test]
fn backups_repeat_until_stopped_and_only_the_newest_are_kept() {
    let place = Place::sqlite();
    place.create("a");
    fs::write(place.file().with_file_name("precious"), "x").unwrap();
    for _ in 0..3 {
        assert_eq!(place.punch(["backup", "--keep", "2", "-q"]).run().exit, Some(0));
    }
    let going = place.punch(["backup", "--every", "1s", "--keep", "2", "--json"]);
    let mut child = going.spawn();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        let made: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(made["deleted"].as_array().unwrap().len(), 1, "{made}");
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(files(&place).len(), 4, "{:?}", files(&place));
    assert!(files(&place).contains(&"precious".to_owned()));
}

/// A name proves nothing: a file that is not one of our stores is neither counted nor deleted.
#[test]
fn keep_deletes_only_what_this_command_wrote() {
    let place = Place::sqlite();
    place.create("a");
    let beside = |name: &str| place.file().with_file_name(format!("test.db.{name}"));
    let other = Connection::open(beside("20200101T000000Z.backup")).unwrap();
    other.execute_batch("CREATE TABLE t (a); PRAGMA application_id = 7").unwrap();
    drop(other);
    fs::write(beside("20200102T000000Z.backup"), "a letter").unwrap();
    fs::write(beside("20200103T000000Z.backup"), "").unwrap();
    fs::copy(place.file(), beside("mine.backup")).unwrap();
    std::os::unix::fs::symlink(place.file(), beside("20200104T000000Z.backup")).unwrap();
    let pipe = beside("20200105T000000Z.backup");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let before = files(&place);
    let first = place.punch(["backup", "--keep", "1", "--json"]).answer();
    assert_eq!(first["deleted"], json!([]));
    let second = place.punch(["backup", "--keep", "1", "--json"]).answer();
    assert_eq!(second["deleted"], json!([first["file"]]), "{second}");
    let after = files(&place);
    assert!(before.iter().all(|name| after.contains(name)), "{before:?} {after:?}");
    assert_eq!(after.len(), before.len() + 1);
}

#[test]
fn a_backup_without_room_leaves_no_half_file() {
    let place = Place::sqlite();
    place.create(&"long ".repeat(30));
    let backup = place.punch(["backup", "--json"]);
    for blocks in [0, 1, 16, 64, 150] {
        let ran = with_file_limit(&backup, blocks);
        assert_eq!(ran.exit, Some(3), "{blocks} blocks: {ran:?}");
        let error = ran.json()["error"].take();
        assert_eq!(error["code"], "store_failed", "{blocks} blocks: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("test.db") && message.contains("disk I/O error"), "{message}");
        assert_eq!(files(&place), ["test.db"], "{blocks} blocks");
    }
    backup.answer();
}

#[test]
fn impossible_requests_are_explained() {
    let place = Place::sqlite();
    let error = place.punch(["backup", "--json"]).refusal(3);
    assert_eq!(error["code"], "store_unreachable");
    assert_eq!(files(&place), [""; 0], "a backup makes no store");
    place.create("a");
    let taken = place.file().with_file_name("taken");
    fs::write(&taken, "mine").unwrap();
    let taken = taken.to_str().unwrap();
    let refusal = |words: &[&str], exit: i32| {
        let error = place.punch(words.iter().copied()).words(["--json"]).refusal(exit);
        error["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(refusal(&["backup", taken], 1), "file_exists");
    assert_eq!(fs::read_to_string(taken).unwrap(), "mine");
    assert_eq!(refusal(&["backup", taken, "--every", "1h"], 2), "usage");
    assert_eq!(refusal(&["backup", "new", "--keep", "2"], 2), "bad_value");
    for bad in [["--every", "0s"], ["--every", "soon"], ["--keep", "0"]] {
        assert_eq!(refusal(&["backup", bad[0], bad[1]], 2), "usage");
    }
    for (from, exit, code) in [
        (place.file().to_str().unwrap(), 2, "bad_value"),
        (taken, 3, "store_corrupt"),
        ("nowhere", 3, "io"),
    ] {
        let (ended, answer) = at_terminal(&place.punch(["restore", from, "--yes", "--json"]));
        assert_eq!((ended, &answer["error"]["code"]), (Some(exit), &json!(code)), "{from}");
    }
    assert_eq!(files(&place), ["taken", "test.db"]);
}

#[test]
fn a_damaged_store_gets_its_backup_back() {
    let place = Place::sqlite();
    place.create("a");
    let copy = place.home().join("copy");
    place.punch(["backup", copy.to_str().unwrap()]).run().exit.unwrap();
    let mut bytes = fs::read(place.file()).unwrap();
    bytes[4_096..].fill(0x5a);
    fs::write(place.file(), bytes).unwrap();
    sick(&place);
    let restore = place.punch(["restore", copy.to_str().unwrap(), "--json"]);
    assert_eq!(at_terminal(&restore).1["error"]["code"], "would_lose_events");
    assert_eq!(at_terminal(&restore.words(["--yes"])).1["lost"], Value::Null);
    clean(&place);
    assert_eq!(titles(&place), ["a"]);
}

#[test]
fn a_server_has_tools_of_its_own() {
    let place = Place::new(Backend::Postgres);
    for words in [&["backup"][..], &["restore", "x", "--yes"][..]] {
        let error = place.punch(words.iter().copied()).words(["--json"]).refusal(1);
        assert_eq!(error["code"], "not_for_postgres");
        assert!(error["hint"].as_str().unwrap().contains("pg_"), "{error}");
    }
}
