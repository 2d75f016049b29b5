//! The scheduler: due work is started once, by any number of processes; paused work is not started.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use punchlist_core::mission::Standing;
use punchlist_core::{Role, Time};
use punchlist_engine::{Done, Pump, Scheduler, Worker};
use punchlist_ops::Ops;
use punchlist_store::rows::outbox::EVERYTHING;
use punchlist_store::{Options, Target};
use punchlist_testkit::{Backend, World, on_every_lasting_store, on_every_store};
use serde_json::{Value, json};

use crate::AtTheEnd;

/// A mission `m` with metrics `m-0`, `m-1`, … of one pillar, read at these times.
fn file(count: usize, cron: &str) -> Value {
    let metric = |n| json!({ "name": format!("M {n}"), "cron": cron, "collect": { "file": "x" } });
    let metrics: Vec<Value> = (0..count).map(metric).collect();
    json!({ "name": "M", "pillars": [{ "name": "P", "metrics": metrics }] })
}

fn world(backend: Backend, file: Value) -> World {
    let world = World::new(backend);
    world.mission(file, None);
    world
}

fn next(world: &World) -> Option<Time> {
    let input = json!({ "mission": "m", "metric": "m-0" });
    let shown = world.call_in(&world.envelope(Role::Operator), "metric_history", input).unwrap();
    shown["collection"]["nextAt"].as_str().and_then(Time::parse)
}

fn at(text: &str) -> Time {
    Time::parse(&format!("2026-11-{text}Z")).unwrap()
}

fn queued(world: &World) -> usize {
    let take = || world.ops.store().unwrap().write(|tx| tx.take_work(EVERYTHING, 60)).unwrap();
    std::iter::from_fn(take).count()
}

fn tick(world: &World, now: Time) -> Vec<Done> {
    Scheduler::new(&world.ops, Arc::default()).tick(now).unwrap()
}

fn due(metric: &str) -> Done {
    let [project, mission, metric] = ["test", "m", metric].map(str::to_owned);
    Done::MetricDue { project, mission, metric }
}

/// A metric is collected once at its time. Several missed times give one collection.
fn a_due_metric_is_queued_once_and_missed_times_give_one_collection(backend: Backend) {
    let world = world(backend, file(1, "* * * * *"));
    assert_eq!(next(&world), Some(at("15T08:01:00")));
    assert_eq!(tick(&world, at("15T08:00:59")), []);
    assert_eq!(tick(&world, at("15T08:01:00")), [due("m-0")]);
    assert_eq!(tick(&world, at("15T08:01:00")), []);
    assert_eq!(next(&world), Some(at("15T08:02:00")));
    assert_eq!(queued(&world), 1);
    assert_eq!(tick(&world, at("15T09:30:20")), [due("m-0")]);
    assert_eq!(next(&world), Some(at("15T09:31:00")));
    // While it is still being read, one more collection is queued, and no third.
    assert_eq!(tick(&world, at("15T09:31:00")).len(), 1);
    assert_eq!(queued(&world), 1);
}

/// Times are in the mission's time zone.
fn times_are_in_the_missions_time_zone(backend: Backend) {
    let mut berlin = file(1, "0 10 * * *");
    berlin["cadence"] = json!({ "cron": "0 9 * * 1", "timezone": "Europe/Berlin" });
    let world = world(backend, berlin.clone());
    assert_eq!(next(&world), Some(at("15T09:00:00")));
    // Importing the same file again changes nothing, another time zone does.
    let mut later = World { now: at("15T08:30:00"), ..world };
    later.mission(berlin.clone(), None);
    assert_eq!(next(&later), Some(at("15T09:00:00")));
    berlin["cadence"]["timezone"] = json!("UTC");
    later.mission(berlin, None);
    assert_eq!(next(&later), Some(at("15T10:00:00")));
    // A metric that is no longer read automatically has no next time.
    later.now = at("15T08:40:00");
    let mut by_hand = file(1, "0 10 * * *");
    by_hand["pillars"][0]["metrics"][0]["cron"] = Value::Null;
    later.mission(by_hand, None);
    assert_eq!(next(&later), None);
}

/// M-72: no metric of a paused mission or pillar is read. After it is resumed, reading starts at
/// the next scheduled time.
fn a_paused_metric_is_not_collected(backend: Backend) {
    let mut world = world(backend, file(1, "0 * * * *"));
    for pillar in [None, Some("p")] {
        assert!(next(&world).is_some());
        world.stand("m", pillar, Standing::Paused);
        assert_eq!(next(&world), None);
        world.now = world.now.plus_seconds(2 * 3_600 + 60);
        assert_eq!(tick(&world, world.now), []);
        world.stand("m", pillar, Standing::Active);
        assert_eq!(tick(&world, world.now), []);
        assert_eq!(next(&world), Some(world.now.plus_seconds(3_540)));
        world.now = world.now.plus_seconds(3_540);
        assert_eq!(tick(&world, world.now), [due("m-0")]);
    }
    assert_eq!(queued(&world), 1);
    // A metric that was removed from the file has no next time either.
    let mut without = file(1, "0 * * * *");
    without["pillars"][0]["metrics"] = json!([]);
    world.mission(without, None);
    assert_eq!(tick(&world, world.now.plus_seconds(7_200)), []);
}

/// If many schedulers run at once, like separate processes, each due metric is queued by exactly
/// one of them.
fn many_schedulers_queue_each_metric_once(backend: Backend) {
    let world = world(backend, file(120, "* * * * *"));
    for minute in 1..=3 {
        let now = world.now.plus_seconds(60 * minute);
        let start = Barrier::new(6);
        let done: Vec<Done> = std::thread::scope(|scope| {
            let others = (0..6).map(|_| {
                scope.spawn(|| {
                    let ops = Ops::new(world.store.target().clone(), Options::default());
                    let scheduler = Scheduler::new(&ops, Arc::default());
                    start.wait();
                    scheduler.tick(now).unwrap()
                })
            });
            let others: Vec<_> = others.collect();
            others.into_iter().flat_map(|other| other.join().unwrap()).collect()
        });
        let mut metrics: Vec<String> = done.iter().map(|done| format!("{done:?}")).collect();
        metrics.sort();
        metrics.dedup();
        assert_eq!((done.len(), metrics.len()), (120, 120), "minute {minute}");
        assert_eq!(queued(&world), 120, "minute {minute}");
    }
}

/// F-4, M-71: a due mission plans once and sets its next time, which other schedulers see, too.
/// Several missed times give one cycle.
fn a_due_mission_plans_once(backend: Backend) {
    let mut planned = file(1, "* * * * *");
    planned["cadence"] = json!("0 * * * *");
    let world = world(backend, planned);
    let late = at("15T11:30:00");
    let done = Scheduler::new(&world.ops, Arc::default()).tick(late).unwrap();
    assert_eq!((done.len(), &done[0]), (2, &due("m-0")));
    assert!(matches!(&done[1], Done::CycleRun { mission, .. } if mission == "m"), "{done:?}");
    assert_eq!(tick(&world, late), []);
    let shown =
        world.call_in(&world.envelope(Role::Operator), "mission_status", json!({ "mission": "m" }));
    assert_eq!(shown.unwrap()["nextCycleAt"], "2026-11-15T12:00:00.000000Z");
}

/// A running worker notices due work within five seconds, without a hint.
fn a_running_worker_starts_due_work(backend: Backend) {
    let world = world(backend, file(1, "* * * * *"));
    let clock = AtomicI64::new(world.now.micros());
    let (said, heard) = channel();
    let (stop, said) = (AtomicBool::new(false), Mutex::new(said));
    let worker = Worker {
        executor: None,
        models: &(),
        outside: &(),
        jobs: 4,
        observer: &|_| {},
        ops: &world.ops,
        agents: Arc::default(),
        pump: Pump::default(),
        clock: &|| Time::from_micros(clock.load(Ordering::SeqCst)),
        is_stopped: &|| stop.load(Ordering::SeqCst),
        report: &|done| said.lock().unwrap().send(done).unwrap(),
    };
    std::thread::scope(|scope| {
        let _stop = AtTheEnd(&stop);
        let running = scope.spawn(|| worker.run());
        clock.store(at("15T08:01:00").micros(), Ordering::SeqCst);
        // It sleeps at most five seconds; the rest allows for a busy machine.
        assert_eq!(heard.recv_timeout(Duration::from_secs(30)), Ok(due("m-0")));
        // Then it tries to collect, which fails here because the folder does not exist.
        let tried = heard.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(matches!(tried, Done::MetricFailed { attempt: 1, .. }), "{tried:?}");
        stop.store(true, Ordering::SeqCst);
        running.join().unwrap().unwrap();
    });
}

/// A restore over a damaged store makes a new file. If that happens before a read, the worker says so,
/// and not that the store is damaged.
#[test]
fn a_worker_whose_store_is_replaced_before_a_read_says_so() {
    let world = World::new(Backend::SqliteFile);
    let Target::File(file) = world.store.target().clone() else { panic!("a file") };
    let ops = Ops::new(world.store.target().clone(), Options::default());
    // It asks this for the first time when it watches and has read nothing.
    let is_stopped = || {
        for side in ["", "-wal", "-shm"] {
            let mut side_of = file.clone().into_os_string();
            side_of.push(side);
            let _ = std::fs::remove_file(side_of);
        }
        std::fs::write(&file, "another file ".repeat(1_000)).unwrap();
        false
    };
    let worker = Worker {
        executor: None,
        models: &(),
        outside: &(),
        jobs: 1,
        observer: &|_| {},
        ops: &ops,
        agents: Arc::default(),
        pump: Pump::default(),
        clock: &|| world.now,
        is_stopped: &is_stopped,
        report: &|_| {},
    };
    assert_eq!(worker.run().unwrap_err().code(), "reset_required");
}

on_every_store!(
    a_due_metric_is_queued_once_and_missed_times_give_one_collection,
    times_are_in_the_missions_time_zone,
    a_paused_metric_is_not_collected,
    a_due_mission_plans_once,
);

on_every_lasting_store!(many_schedulers_queue_each_metric_once, a_running_worker_starts_due_work);
