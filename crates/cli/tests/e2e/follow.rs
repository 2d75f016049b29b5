//! `punch log -f` and `punch wait` show the writes of other processes (P-23).

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::running::Running;
use crate::support::{Place, Ran};

fn the_log_is_followed(backend: Backend) {
    let place = Place::new(backend);
    place.create("before");
    assert_eq!(place.log_of(3), 3);
    let log = Running::start(&place.punch(["log", "-f", "--json"]));
    let seen: Vec<Value> = (0..3).map(|_| log.event()).collect();
    assert_eq!(seen[2]["data"]["todo"]["title"], "before");
    let mut cursor = seen[2]["seq"].as_i64().unwrap();
    for n in 0..5 {
        let title = format!("while it is followed {n}");
        place.create(&title);
        let event = log.event();
        assert_eq!(event["data"]["todo"]["title"], title.as_str());
        assert!(event["seq"].as_i64().unwrap() > cursor, "in order");
        cursor = event["seq"].as_i64().unwrap();
    }
    assert_eq!(log.interrupt(), Some(0));
}

#[test]
fn the_log_is_followed_on_sqlite() {
    the_log_is_followed(Backend::SqliteFile);
}

#[test]
fn the_log_is_followed_on_postgres() {
    the_log_is_followed(Backend::Postgres);
}

/// The longest median delay until a write is shown.
const SOON: Duration = Duration::from_millis(250);
/// How many writes are timed.
const TIMED: usize = 9;

/// P-15, P-23: a write of another process is shown soon. The delay is measured from the end of that
/// process, so that its start does not count. The median is used, because other tests on a busy
/// machine delay some writes.
fn a_write_is_shown_soon(backend: Backend) {
    let place = Place::new(backend);
    place.create("before");
    let log = Running::start(&place.punch(["log", "-f", "--json", "--after", "0"]));
    while log.event()["data"]["todo"]["title"] != "before" {}
    let mut late: Vec<Duration> = (0..TIMED)
        .map(|n| {
            let title = format!("timed {n}");
            place.create(&title);
            let written = Instant::now();
            let (seen, event) = log.seen();
            assert_eq!(event["data"]["todo"]["title"], title.as_str());
            seen.saturating_duration_since(written)
        })
        .collect();
    late.sort_unstable();
    assert!(late[TIMED / 2] <= SOON, "{late:?}");
    assert_eq!(log.interrupt(), Some(0));
}

#[test]
fn a_write_is_shown_soon_on_sqlite() {
    a_write_is_shown_soon(Backend::SqliteFile);
}

#[test]
fn a_write_is_shown_soon_on_postgres() {
    a_write_is_shown_soon(Backend::Postgres);
}

#[test]
fn following_shows_text_to_people_and_ends_with_its_reader() {
    let place = Place::sqlite();
    let mut child = place.punch(["log", "--follow", "--after", "0"]).spawn();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    place.create("seen");
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.contains("project opened"), "{line}");
    // If the reader goes away while nothing is written, that is noticed, too.
    drop(out);
    let deadline = Instant::now() + Duration::from_secs(20);
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        assert!(Instant::now() < deadline, "it goes on for nobody");
        std::thread::yield_now();
    };
    assert_eq!(code, Some(0));
}

/// The number of the last event.
fn cursor(place: &Place) -> String {
    let log = place.punch(["log", "--limit", "1", "--json"]).answer();
    log["events"][0]["seq"].to_string()
}

fn waiting_ends_with_what_happened(backend: Backend) {
    let place = Place::new(backend);
    place.create("before");
    assert_eq!(place.log_of(3), 3);
    let last = cursor(&place);
    let wait = place.punch(["wait", "--timeout", "30s", "--json", "--after", &last]);
    let waiting = wait.spawn();
    place.create("after");
    let ran = Ran::from(waiting.wait_with_output().unwrap());
    assert_eq!((ran.exit, ran.remarks().as_str()), (Some(0), ""));
    let answer = ran.json();
    assert_eq!(answer["events"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(answer["events"][0]["data"]["todo"]["title"], "after");
    assert_eq!(answer["cursor"], answer["events"][0]["seq"]);

    // An existing event needs no waiting; other types are skipped.
    assert_eq!(wait.answer()["events"][0]["data"]["todo"]["title"], "after");
    let closes = wait.words(["--types", "todo_completed,todo_cancelled"]);
    let waiting = closes.spawn();
    let id = place.create("more");
    place.call("complete_todo", &json!({ "todoId": id, "outcome": "done" })).answer();
    let answer = Ran::from(waiting.wait_with_output().unwrap()).json();
    assert_eq!(answer["events"].as_array().unwrap().len(), 1);
    assert_eq!(answer["events"][0]["type"], "todo_completed");
}

#[test]
fn waiting_ends_with_the_matching_event_on_sqlite() {
    waiting_ends_with_what_happened(Backend::SqliteFile);
}

#[test]
fn waiting_ends_with_the_matching_event_on_postgres() {
    waiting_ends_with_what_happened(Backend::Postgres);
}

#[test]
fn waiting_for_nothing_ends_with_a_timeout() {
    let place = Place::sqlite();
    place.create("before");
    for timeout in ["0s", "1s"] {
        let error = place.punch(["wait", "--timeout", timeout, "--json"]).refusal(1);
        let expected = json!({
            "code": "timeout",
            "message": format!("timed out after {timeout}: no matching event"),
            "hint": "wait again with --after 3, or longer with --timeout",
            "after": timeout, "cursor": 3,
        });
        assert_eq!(error, expected);
    }
    let error = place.punch(["wait", "--types", "todo_complete", "--json"]).refusal(2);
    assert_eq!((&error["code"], &error["path"]), (&json!("bad_value"), &json!("types")));
    assert!(error["hint"].as_str().unwrap().contains("`todo_completed`"), "{error}");
    assert_eq!(place.punch(["wait", "--timeout", "soon", "--json"]).refusal(2)["code"], "usage");
}
