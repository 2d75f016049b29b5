//! Collection from the queue to the reading, on every store: done once; failures are kept, retried,
//! given up, and cleared.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use punchlist_core::Role;
use punchlist_engine::{Done, Pump, Worker};
use punchlist_ops::Ops;
use punchlist_store::rows::outbox::EVERYTHING;
use punchlist_testkit::{
    Backend, World, developer_experience, on_every_lasting_store, on_every_store,
};
use serde_json::{Value, json};

use crate::AtTheEnd;

const MISSION: &str = "developer-experience";
const METRIC: &str = "local-build-time";

/// The usual mission, with this collector.
fn world(backend: Backend, collect: Value) -> World {
    let world = World::new(backend);
    remake(&world, collect);
    world
}

fn remake(world: &World, collect: Value) {
    let mut file = developer_experience();
    file["pillars"][0]["metrics"][0]["collect"] = collect;
    world.mission(file, None);
}

fn queue(world: &World) {
    let input = json!({ "mission": MISSION, "metric": METRIC });
    world.call_in(&world.envelope(Role::Lead), "metric_collect", input).unwrap();
}

fn history(world: &World) -> Value {
    let input = json!({ "mission": MISSION, "metric": METRIC });
    world.call_in(&world.envelope(Role::Lead), "metric_history", input).unwrap()
}

/// Runs a worker once, without pauses. Returns what it did.
fn work(world: &World) -> Vec<Done> {
    let done = Mutex::new(Vec::new());
    let now = world.now;
    let worker = Worker {
        executor: None,
        models: &(),
        outside: &(),
        jobs: 4,
        observer: &|_| {},
        ops: &world.ops,
        agents: std::sync::Arc::default(),
        pump: Pump { retry_after_s: 0, ..Pump::default() },
        clock: &|| now,
        is_stopped: &|| false,
        report: &|one| done.lock().unwrap().push(one),
    };
    worker.once().unwrap();
    done.into_inner().unwrap()
}

fn collected(value: &str) -> Done {
    let [project, mission, metric, value] = ["test", MISSION, METRIC, value].map(str::to_owned);
    Done::MetricCollected { project, mission, metric, value }
}

/// M-45: a queued collection is read once, outside any transaction, and recorded with the collector
/// as its source.
fn a_queued_collection_is_read_and_recorded(backend: Backend) {
    let world = world(backend, json!({ "command": ["echo", "72s"] }));
    queue(&world);
    assert_eq!(history(&world)["readings"], json!([]));
    assert_eq!(work(&world), [collected("72s")]);
    assert_eq!(work(&world), []);
    let shown = history(&world);
    let at = world.now.to_string();
    assert_eq!(shown["readings"], json!([{ "value": 72, "at": at, "source": "collector" }]));
    assert_eq!(
        (&shown["status"], &shown["collection"]["failures"]),
        (&json!("warning"), &json!(0))
    );
    let log = world.log();
    let last = log.last().unwrap();
    assert_eq!(
        (&last["type"], &last["actor"]),
        (&json!("reading_recorded"), &json!("system:collector"))
    );
}

/// A failure is retried up to five times, then left until the next scheduled time. Each is logged.
/// A success clears the failures.
fn a_failure_is_kept_retried_and_given_up(backend: Backend) {
    let world = world(backend, json!({ "command": ["sh", "-c", "echo no route >&2; exit 1"] }));
    queue(&world);
    let tries: Vec<(i64, bool)> = work(&world)
        .into_iter()
        .map(|done| match done {
            Done::MetricFailed { attempt, gives_up, error, .. } => {
                assert_eq!(error, "ended with exit code 1: no route");
                (attempt, gives_up)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(tries, [(1, false), (2, false), (3, false), (4, false), (5, true)]);
    assert_eq!(work(&world), [], "it rests until it is asked for again");
    let shown = history(&world);
    let collection = &shown["collection"];
    let expected = (&json!(5), &json!("ended with exit code 1: no route"));
    assert_eq!((&collection["failures"], &collection["lastError"]), expected);
    assert_eq!((&shown["current"], &shown["status"]), (&Value::Null, &json!("unknown")));
    let failed = |event: &&Value| event["type"] == "collection_failed";
    assert_eq!(world.log().iter().filter(failed).count(), 5);

    remake(&world, json!({ "command": ["echo", "50"] }));
    queue(&world);
    assert_eq!(work(&world), [collected("50s")]);
    let collection = history(&world)["collection"].clone();
    assert_eq!((&collection["failures"], &collection["lastError"]), (&json!(0), &Value::Null));
}

/// A text instead of a number never becomes a reading.
fn a_text_is_not_a_reading(backend: Backend) {
    let world = world(backend, json!({ "command": ["echo", "build ok"] }));
    queue(&world);
    assert_eq!(work(&world).len(), 5);
    let shown = history(&world);
    assert_eq!(shown["readings"], json!([]));
    let error = shown["collection"]["lastError"].as_str().unwrap();
    assert!(error.starts_with("gave `build ok` instead of seconds or a duration"), "{error}");
}

/// A metric that was removed from the mission's file while it waited is not collected.
fn a_metric_that_was_removed_is_not_collected(backend: Backend) {
    let world = world(backend, json!({ "command": ["echo", "72"] }));
    queue(&world);
    let mut file = developer_experience();
    file["pillars"][0]["metrics"] = json!([]);
    world.mission(file, None);
    assert_eq!(work(&world), []);
}

/// A worker wakes when another process queues work. It ends when it is stopped, even during a
/// collection, which is then released.
fn a_worker_wakes_for_queued_work_and_stops_in_the_middle(backend: Backend) {
    let world = world(backend, json!({ "command": ["echo", "72"] }));
    let elsewhere = Ops::new(world.store.target().clone(), punchlist_store::Options::default());
    let (said, heard) = channel();
    let (stop, said) = (AtomicBool::new(false), Mutex::new(said));
    let worker = Worker {
        executor: None,
        models: &(),
        outside: &(),
        jobs: 4,
        observer: &|_| {},
        ops: &elsewhere,
        agents: std::sync::Arc::default(),
        pump: Pump::default(),
        clock: &punchlist_ops::clock::now,
        is_stopped: &|| stop.load(Ordering::SeqCst),
        report: &|done| said.lock().unwrap().send(done).unwrap(),
    };
    std::thread::scope(|scope| {
        let _stop = AtTheEnd(&stop);
        let running = scope.spawn(|| worker.run());
        queue(&world);
        assert_eq!(heard.recv_timeout(Duration::from_secs(30)), Ok(collected("72s")));

        let folder = tempfile::tempdir().unwrap();
        let begun = folder.path().join("begun");
        let script = format!("touch {}; sleep 600", begun.display());
        remake(&world, json!({ "command": ["sh", "-c", script] }));
        queue(&world);
        let until = std::time::Instant::now() + Duration::from_secs(30);
        while !begun.exists() {
            assert!(std::time::Instant::now() < until, "the collection never began");
            std::thread::yield_now();
        }
        stop.store(true, Ordering::SeqCst);
        running.join().unwrap().unwrap();
    });
    assert_eq!(history(&world)["collection"]["failures"], 0);
    let waiting =
        world.ops.store().unwrap().write(|tx| tx.take_work(EVERYTHING, 60)).unwrap().unwrap();
    assert_eq!(waiting.attempt, 1);
}

on_every_store!(
    a_queued_collection_is_read_and_recorded,
    a_failure_is_kept_retried_and_given_up,
    a_text_is_not_a_reading,
    a_metric_that_was_removed_is_not_collected,
);

on_every_lasting_store!(a_worker_wakes_for_queued_work_and_stops_in_the_middle);
