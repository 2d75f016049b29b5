//! PostgreSQL restarts while many write: acknowledged writes are there, none is there twice, and a
//! follower of the log misses nothing.
//!
//! The test has its own server with durable commits; otherwise a crash would prove nothing.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_core::Role;
use punchlist_ops::{Context, Envelope};
use punchlist_testkit::{OwnServer, Restart, World};
use serde_json::{Value, json};

use crate::doctor::clean;
use crate::running::Running;
use crate::support::Place;

/// Threads that share the connections of one process, like those of a server.
const THREADS: usize = 4;
/// Writers that start a new process for each write.
const PROCESSES: usize = 2;
/// How many writes are acknowledged between two restarts.
const BETWEEN: usize = 30;
/// The test fails if it takes longer. Each of the two restarts may take forty seconds.
const TIME_MAX: Duration = Duration::from_secs(180);

/// The progress of the writers.
#[derive(Default)]
struct Progress {
    /// The id of the item in the answer to each key.
    acknowledged: Mutex<BTreeMap<String, Value>>,
    refused: AtomicUsize,
    is_over: AtomicBool,
}

impl Progress {
    fn count(&self) -> usize {
        self.acknowledged.lock().unwrap().len()
    }

    /// Waits for this many more writes; fails after the deadline.
    fn wait_for(&self, more: usize, deadline: Instant) {
        let wanted = self.count() + more;
        while self.count() < wanted {
            assert!(Instant::now() < deadline, "{} of {wanted} acknowledged", self.count());
            thread::yield_now();
        }
    }

    /// Writes one item after another, each with its own key and as many attempts as it takes.
    /// `write` returns the answer, or an error that may be retried.
    fn write_on(
        &self,
        writer: usize,
        deadline: Instant,
        write: impl Fn(&str, &str) -> Result<Value, String>,
    ) {
        let turn = format!("t{writer}");
        for n in 0.. {
            let key = format!("{writer}/{n}");
            let mut last = String::new();
            let answer = loop {
                // The deadline also ends writers of a failed test.
                assert!(Instant::now() < deadline, "{key} came too late: {last}");
                match write(&turn, &key) {
                    Ok(answer) => break answer,
                    Err(error) => last = error,
                }
                self.refused.fetch_add(1, Ordering::Relaxed);
            };
            let id = answer["created"][0]["id"].clone();
            self.acknowledged.lock().unwrap().insert(key, id);
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

fn input(key: &str) -> Value {
    json!({ "items": [{ "title": key }] })
}

/// A write by a thread of this process.
fn by_thread(world: &World, turn: &str, key: &str) -> Result<Value, String> {
    let root = world.envelope(Role::Root);
    let context = Context { turn: Some(turn.to_owned()), ..root.context };
    let envelope = Envelope { context, idempotency_key: Some(key.to_owned()), ..root };
    world.call_in(&envelope, "create_todo", input(key)).map_err(|error| {
        assert!(error.meaning().retryable, "{key}: {error}");
        error.to_string()
    })
}

/// A write by a separate process.
fn by_process(place: &Place, turn: &str, key: &str) -> Result<Value, String> {
    let call = place.call_in("c1", turn, "create_todo", &input(key).to_string());
    let ran = call.words(["--idempotency-key", key]).run();
    if ran.exit == Some(0) {
        return Ok(ran.json());
    }
    let mut error = ran.json()["error"].take();
    assert_eq!((ran.exit, &error["code"]), (Some(3), &json!("store_unreachable")), "{ran:?}");
    Err(error["message"].take().to_string())
}

/// Every item: its title, which is its key, and its id.
fn stored(world: &World) -> Vec<(String, Value)> {
    let turns = (0..THREADS + PROCESSES).map(|writer| format!("t{writer}"));
    turns
        .flat_map(|turn| {
            let root = world.envelope(Role::Root);
            let context = Context { turn: Some(turn), ..root.context };
            let envelope = Envelope { context, ..root };
            let listed = world.call_in(&envelope, "list_todo", json!({ "status": "all" })).unwrap();
            listed["items"].as_array().unwrap().clone()
        })
        .map(|item| (item["title"].as_str().unwrap().to_owned(), item["id"].clone()))
        .collect()
}

/// P-23: the follower continues through both restarts. P-25: a key has one effect, even if the
/// answer to its first use was lost with the server.
#[test]
fn a_server_restarted_under_load_loses_nothing_and_repeats_nothing() {
    let mut server = OwnServer::start();
    let deadline = Instant::now() + TIME_MAX;
    let (world, place) = (World::on(server.store()), Place::on(server.store()));
    place.call("list_todo", &json!({})).answer();
    let follower = Running::start(&place.punch(["log", "-f", "--json", "--after", "0"]));
    let progress = Progress::default();
    thread::scope(|scope| {
        let (world, place, progress) = (&world, &place, &progress);
        for writer in 0..THREADS {
            scope.spawn(move || {
                progress.write_on(writer, deadline, |turn, key| by_thread(world, turn, key));
            });
        }
        for writer in THREADS..THREADS + PROCESSES {
            scope.spawn(move || {
                progress.write_on(writer, deadline, |turn, key| by_process(place, turn, key));
            });
        }
        // Once it follows the log it continues. If it starts while the server is down, it fails
        // with an error.
        assert_eq!(follower.event()["type"], "project_opened");
        for restart in [Restart::Fast, Restart::Immediate] {
            progress.wait_for(BETWEEN, deadline);
            let refused = progress.refused.load(Ordering::Relaxed);
            server.restart(restart);
            let refused = progress.refused.load(Ordering::Relaxed) - refused;
            assert!(refused > 0, "nobody noticed the {restart:?} restart");
        }
        progress.wait_for(BETWEEN, deadline);
        progress.is_over.store(true, Ordering::Relaxed);
    });

    let acknowledged = progress.acknowledged.into_inner().unwrap();
    let mut stored = stored(&world);
    stored.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(stored, acknowledged.clone().into_iter().collect::<Vec<_>>());
    for (key, id) in &acknowledged {
        let (writer, _) = key.split_once('/').unwrap();
        let again = by_thread(&world, &format!("t{writer}"), key).unwrap();
        assert_eq!(again["created"][0]["id"], *id, "{key}");
    }
    let mut followed = BTreeMap::new();
    while followed.len() < acknowledged.len() {
        let mut event = follower.event();
        assert_eq!(event["error"], Value::Null, "it must go on");
        let todo = event["data"]["todo"].take();
        if let Some(title) = todo["title"].as_str() {
            let seen = followed.insert(title.to_owned(), todo["id"].clone());
            assert_eq!(seen, None, "{title} was shown twice");
        }
    }
    assert_eq!(followed, acknowledged);
    assert_eq!(follower.interrupt(), Some(0));
    clean(&place);
}
