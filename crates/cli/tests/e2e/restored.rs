//! Followers of the log of a store that is restored: they get an error, and never miss events
//! silently (P-29).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::doctor::clean;
use crate::identity::at_terminal;
use crate::running::Running;
use crate::support::Place;

/// A store with three events, and a backup of it.
fn backed_up() -> (Place, PathBuf) {
    let place = Place::sqlite();
    place.create("a");
    let copy = place.home().join("copy");
    place.punch(["backup", copy.to_str().unwrap(), "--json"]).answer();
    (place, copy)
}

fn restore(place: &Place, from: &Path) -> Value {
    let (exit, done) =
        at_terminal(&place.punch(["restore", from.to_str().unwrap(), "--yes", "--json"]));
    assert_eq!(exit, Some(0), "{done}");
    done
}

/// Number and type of every event of the log.
fn log(place: &Place) -> Vec<(i64, String)> {
    let log = place.punch(["log", "--after", "0", "--json"]).answer();
    let events = log["events"].as_array().unwrap().iter();
    events
        .map(|event| (event["seq"].as_i64().unwrap(), event["type"].as_str().unwrap().to_owned()))
        .collect()
}

fn told(after: i64, last: i64) -> Value {
    json!({
        "code": "reset_required",
        "message": format!(
            "the log does not continue from event {after}: the store was restored, or its log cut, \
             since then"
        ),
        "hint": format!("read the state again, then the log with --after {last}"),
        "after": after, "lastSeq": last,
    })
}

/// P-29: one follower has seen lost events, the other has not.
#[test]
fn a_follower_of_lost_events_gets_an_error_and_any_other_continues() {
    let (place, copy) = backed_up();
    let kept = Running::start(&place.punch(["log", "-f", "--json", "--after", "2"]));
    assert_eq!(kept.event()["seq"], 3);
    place.create("b");
    assert_eq!(kept.event()["seq"], 4);
    let waiting = place.punch(["wait", "--after", "4", "--timeout", "60s", "--json"]);
    let waiting = Running::start(&waiting);
    restore(&place, &copy);

    for ended in [kept, waiting] {
        assert_eq!(ended.event()["error"], told(4, 5));
        assert_eq!(ended.end(), Some(1));
    }
    let calm = Running::start(&place.punch(["log", "-f", "--json", "--after", "3"]));
    let event = calm.event();
    let said = json!({ "file": "copy", "lost": 1 });
    assert_eq!((&event["seq"], &event["data"]), (&json!(5), &said));
    assert_eq!((&event["type"], &event["cause"]), (&json!("store_restored"), &json!("restore")));
    assert!(event["actor"].as_str().unwrap().starts_with("operator"), "{event}");
    place.create("c");
    assert_eq!(calm.event()["data"]["todo"]["title"], "c");

    // The second restore removes events that this follower has seen.
    restore(&place, &copy);
    assert_eq!(calm.event()["error"], told(6, 7));
    assert_eq!(calm.end(), Some(1));
    clean(&place);
}

/// P-29: the numbers of lost events are never used again, however much is written later.
#[test]
fn a_cursor_from_before_a_restore_is_refused_for_ever() {
    let (place, copy) = backed_up();
    place.create("b");
    place.create("c");
    restore(&place, &copy);
    for n in 0..6 {
        place.create(&format!("after the restore {n}"));
    }
    let created = (0..6).map(|n| (7 + n, "todo_created".to_owned()));
    assert_eq!(
        log(&place)[3..],
        [vec![(6, "store_restored".to_owned())], created.collect()].concat()
    );
    for lost in [4, 5] {
        let after = lost.to_string();
        for words in [&["log", "--json"][..], &["wait", "--json"], &["log", "-f", "--json"]] {
            let error = place.punch(words.iter().copied()).words(["--after", &after]).refusal(1);
            assert_eq!(error, told(lost, 12), "{words:?}");
        }
        let input = json!({ "after": lost });
        let shown = place.punch(["call", "event_list", &input.to_string()]).run();
        let said = format!("error [reset_required]: the log does not continue from event {lost}:");
        assert!(shown.exit == Some(1) && shown.remarks().starts_with(&said), "{shown:?}");
    }
    assert_eq!(place.punch(["wait", "--after", "6", "--json"]).answer()["cursor"], 12);
    clean(&place);
}

/// P-29: the store and its last number were lost. Its followers get an error, and new events have
/// other numbers.
#[test]
fn a_missing_or_damaged_store_continues_above_its_possible_last_number() {
    for damage in [None, Some("Dear diary,\n".repeat(1_000))] {
        let (place, copy) = backed_up();
        place.create("b");
        let log_on = Running::start(&place.punch(["log", "-f", "--json", "--after", "3"]));
        assert_eq!(log_on.event()["seq"], 4);
        // Another file, as after a disk failure: writing into the followed file would be noise.
        fs::remove_file(place.file()).unwrap();
        if let Some(noise) = damage {
            fs::write(place.file(), noise).unwrap();
        }
        let error = log_on.event()["error"].take();
        assert_eq!((&error["code"], &error["after"]), (&json!("reset_required"), &json!(4)));
        assert_eq!(log_on.end(), Some(1));
        restore(&place, &copy);
        place.create("c");
        let numbers: Vec<i64> = log(&place).into_iter().map(|(seq, _)| seq).collect();
        assert_eq!(numbers[..3], [1, 2, 3]);
        assert!(numbers[3] > 1_700_000_000_000, "{numbers:?}");
        let refused = place.punch(["log", "--after", "4", "--json"]).refusal(1);
        assert_eq!(refused["code"], "reset_required");
        clean(&place);
    }
}

/// P-29: a restored backup without events still records its restore.
#[test]
fn an_empty_backup_goes_on_above_what_it_replaces() {
    let place = Place::sqlite();
    place.punch(["status", "--json"]).answer();
    let copy = place.home().join("copy");
    place.punch(["backup", copy.to_str().unwrap(), "--json"]).answer();
    place.create("a");
    restore(&place, &copy);
    let word = |word: &str| word.to_owned();
    assert_eq!(log(&place), [(4, word("project_opened")), (5, word("store_restored"))]);
    assert_eq!(place.punch(["log", "--after", "3", "--json"]).refusal(1), told(3, 5));
    // The person who restored it at a terminal is its operator: the bootstrap does not open again.
    let token = place.punch(["token", "new", "--role", "operator", "--json"]);
    assert_eq!(token.refusal(4)["code"], "not_permitted");
    clean(&place);
}
