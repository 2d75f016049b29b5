//! Killed processes, cut connections, and two processes that create a store at once: acknowledged
//! writes are there afterwards, and the doctor finds nothing.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_testkit::{Backend, stores::postgres_url};
use serde_json::{Value, json};

use crate::crowd::{create, items};
use crate::doctor::clean;
use crate::support::{Place, Punch, Ran};

/// How many children are killed.
const KILLED: u32 = 100;

fn stored(place: &Place) -> BTreeSet<String> {
    items(place).iter().map(|item| item["id"].to_string()).collect()
}

/// Children are killed after increasing times: some before they open the store, some in the middle,
/// some after they are done.
fn acknowledged_writes_stay(backend: Backend) {
    let started = Instant::now();
    Place::new(backend).create("how long it takes to make a store and an item");
    let step = started.elapsed() * 3 / 2 / KILLED;
    let place = Place::new(backend);
    let mut acknowledged = BTreeSet::new();
    for n in 0..KILLED {
        let started = Instant::now();
        let mut child = create(&place, &format!("item {n}"));
        while started.elapsed() < n * step && child.try_wait().unwrap().is_none() {
            thread::yield_now();
        }
        // Killing a process that has already ended is not an error.
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        // Any answer we received was sent after the commit, even if the process died right after
        // it.
        if let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) {
            acknowledged.insert(answer["created"][0]["id"].to_string());
        } else {
            assert!(!output.status.success(), "a success without an answer");
        }
    }
    // The last run is not killed, and finds a usable store.
    acknowledged.insert(json!(place.create("the last")).to_string());
    let stored = stored(&place);
    let lost: Vec<_> = acknowledged.difference(&stored).collect();
    assert_eq!(lost, [""; 0]);
    // All or nothing: every item in the list has one event in the log.
    assert_eq!(place.log_of(stored.len() + 2), stored.len() + 2);
    clean(&place);
}

#[test]
fn acknowledged_writes_survive_a_kill_on_sqlite() {
    acknowledged_writes_stay(Backend::SqliteFile);
}

#[test]
fn acknowledged_writes_survive_a_kill_on_postgres() {
    acknowledged_writes_stay(Backend::Postgres);
}

/// P-17: if two processes find no store, one creates it and the other uses it.
fn two_make_a_store_at_once(backend: Backend) {
    for round in 0..10 {
        let place = Place::new(backend);
        let both = [create(&place, "one"), create(&place, "two")];
        for child in both {
            let ran = Ran::from(child.wait_with_output().unwrap());
            assert_eq!((ran.exit, ran.remarks().as_str()), (Some(0), ""), "round {round}: {ran:?}");
        }
        assert_eq!(items(&place).len(), 2, "round {round}");
        clean(&place);
    }
}

#[test]
fn two_make_a_store_at_once_on_sqlite() {
    two_make_a_store_at_once(Backend::SqliteFile);
}

#[test]
fn two_make_a_store_at_once_on_postgres() {
    two_make_a_store_at_once(Backend::Postgres);
}

/// A killed backup leaves no file under its name, and the next one cleans up after it.
#[test]
fn a_killed_backup_is_no_backup() {
    let place = Place::sqlite();
    let items: Vec<Value> = (0..40)
        .map(|n| json!({ "title": format!("{n}"), "context": "x".repeat(60_000) }))
        .collect();
    let large = json!({ "items": items }).to_string();
    place.call_in("c1", "t1", "create_todo", "-").stdin(large).answer();
    let folder = place.home().join("backups");
    std::fs::create_dir(&folder).unwrap();
    let backup = place.punch(["backup", folder.to_str().unwrap(), "--json"]);
    let started = Instant::now();
    backup.answer();
    let step = started.elapsed() / 20;
    for n in 0..20 {
        let started = Instant::now();
        let mut child = backup.spawn();
        while started.elapsed() < n * step && child.try_wait().unwrap().is_none() {
            thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    backup.answer();
    let made: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    for path in made {
        assert!(path.to_str().unwrap().ends_with(".backup"), "{}", path.display());
        let report = place.bare(["doctor", "--json", "--db", path.to_str().unwrap()]);
        let is_sound = report.answer()["store"]["ok"] == true;
        assert!(is_sound, "{}", path.display());
    }
}

/// Like a restart of the server: every connection is cut, repeatedly and under load. A writer that
/// got an answer finds its item; one that did not gets an error that it may retry; a follower of
/// the log misses nothing.
#[test]
fn connections_cut_under_load_lose_nothing() {
    let place = Place::new(Backend::Postgres);
    place.create("before");
    let db = place.db();
    let name = format!("cut_{}", std::process::id());
    let db = format!("{db}&application_name={name}");
    let on = |punch: Punch| punch.words(["--db", &db, "--project", "test"]);
    let mut follower = on(place.bare(["log", "-f", "--json", "--after", "0"])).spawn();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut followed = BTreeSet::new();
    // Once it follows the log it continues. If it starts on a cut connection, it fails with an
    // error.
    while followed.is_empty() {
        let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if event["type"] == "todo_created" {
            followed.insert(event["data"]["todo"]["id"].to_string());
        }
    }

    let (working, acknowledged) = (AtomicUsize::new(3), std::sync::Mutex::new(BTreeSet::new()));
    let (cuts, refused) = thread::scope(|scope| {
        let (working, acknowledged, on, place) = (&working, &acknowledged, &on, &place);
        let workers: Vec<_> = (0..3)
            .map(|worker| {
                scope.spawn(move || {
                    let mut refused = 0;
                    for n in 0..20 {
                        let input = json!({ "items": [{ "title": format!("{worker}/{n}") }] });
                        let words = ["call", "create_todo", &input.to_string(), "--json"];
                        let turn = ["--conversation", "c1", "--turn", "t1"];
                        let ran = on(place.bare(words)).words(turn).run();
                        if ran.exit == Some(0) {
                            let id = ran.json()["created"][0]["id"].to_string();
                            acknowledged.lock().unwrap().insert(id);
                        } else {
                            assert_eq!(ran.exit, Some(3), "{ran:?}");
                            assert_eq!(ran.json()["error"]["code"], "store_unreachable");
                            refused += 1;
                        }
                    }
                    working.fetch_sub(1, Ordering::Relaxed);
                    refused
                })
            })
            .collect();
        let mut cuts = 0;
        let mut client = postgres::Client::connect(&postgres_url(), postgres::NoTls).unwrap();
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE application_name = $1 AND pid <> pg_backend_pid()";
        while working.load(Ordering::Relaxed) > 0 {
            cuts += client.query(cut, &[&name]).unwrap().len();
            // Between two cuts, some writers succeed.
            let next = Instant::now() + Duration::from_millis(40);
            while Instant::now() < next {
                thread::yield_now();
            }
        }
        let refused: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        (cuts, refused)
    });
    assert!(cuts > 0, "nothing was cut");
    let last = json!(place.create("the last")).to_string();
    let stored = stored(&place);
    let lost: Vec<_> = acknowledged.lock().unwrap().difference(&stored).cloned().collect();
    assert_eq!(lost, [""; 0], "{cuts} cuts, {refused} refused");
    clean(&place);

    for line in lines {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["type"] == "todo_created" {
            let id = event["data"]["todo"]["id"].to_string();
            let is_last = id == last;
            assert!(followed.insert(id), "seen twice");
            if is_last {
                break;
            }
        }
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert_eq!(followed, stored);
}
