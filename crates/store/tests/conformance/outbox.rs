//! The outbox: each piece of work goes to one worker at a time, and a lost lease changes nothing.

use std::sync::{Arc, Barrier};
use std::thread;

use punchlist_core::effect::Effect;
use punchlist_core::{MetricId, Time};
use punchlist_store::rows::outbox::EVERYTHING;
use punchlist_store::rows::outbox::Work;
use punchlist_store::{Error, Tx};
use punchlist_testkit::{Backend, on_every_store};

use crate::fixture::{Fixture, ids};

fn fill(fixture: &Fixture, count: u128) {
    let at = fixture.now;
    let todo_id = Some(fixture.create(&["a"], 2)[0].id);
    fixture
        .store
        .write(move |tx| {
            for n in 0..count {
                let metric_id = MetricId::from(ids(1_000 + n).ulid());
                let effect = Effect::CollectMetric { metric_id, todo_id };
                tx.enqueue(&effect, at, &mut ids(100 + n))?;
            }
            Ok::<_, punchlist_store::Error>(())
        })
        .unwrap();
}

fn takers_at_once_share_the_work_without_doubles(backend: Backend) {
    let fixture = Fixture::new(backend);
    fill(&fixture, 12);
    let start = Arc::new(Barrier::new(4));
    let takers: Vec<_> = (0..4)
        .map(|_| {
            let (store, start) = (Arc::clone(&fixture.store), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                let mut taken = Vec::new();
                while let Some(work) = store.write(|tx| tx.take_work(EVERYTHING, 60)).unwrap() {
                    taken.push(work.id);
                }
                taken
            })
        })
        .collect();
    let mut all: Vec<String> = takers.into_iter().flat_map(|t| t.join().unwrap()).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 12);
}

fn a_lost_lease_changes_nothing(backend: Backend) {
    let fixture = Fixture::new(backend);
    fill(&fixture, 1);
    let take = |lease_s| fixture.store.write(move |tx| tx.take_work(EVERYTHING, lease_s)).unwrap();
    // A lease of zero seconds is lost as soon as it is taken.
    let slow = take(0).unwrap();
    let quick = take(60).unwrap();
    assert_eq!((slow.epoch, quick.epoch, quick.attempt), (1, 2, 2));
    assert_eq!(slow.effect, quick.effect);
    assert_eq!(take(60), None);
    let late = slow.clone();
    assert!(!fixture.store.write(move |tx| tx.finish_work(&late)).unwrap());
    assert!(!fixture.store.write(move |tx| tx.fail_work(&slow, "late", 0)).unwrap());
    let done = quick.clone();
    assert!(fixture.store.write(move |tx| tx.finish_work(&done)).unwrap());
    assert!(!fixture.store.write(move |tx| tx.finish_work(&quick)).unwrap());
    assert_eq!(take(60), None);
}

fn failed_work_comes_back_when_it_is_due(backend: Backend) {
    let fixture = Fixture::new(backend);
    fill(&fixture, 1);
    let take = || fixture.store.write(|tx| tx.take_work(EVERYTHING, 60)).unwrap();
    let first = take().unwrap();
    assert!(fixture.store.write(move |tx| tx.fail_work(&first, "no route", 0)).unwrap());
    let second = take().unwrap();
    assert_eq!(second.attempt, 2);
    assert!(fixture.store.write(move |tx| tx.fail_work(&second, "no route", 3600)).unwrap());
    assert_eq!(take(), None);
}

/// A lease can be extended, released work counts as never taken, and work that failed permanently
/// is over. A worker that lost the lease changes nothing by any of these.
fn a_holder_can_extend_release_or_end_its_work(backend: Backend) {
    let fixture = Fixture::new(backend);
    fill(&fixture, 1);
    let write = |job: fn(&mut Tx<'_>, &Work) -> Result<bool, Error>, work: &Work| {
        let work = work.clone();
        fixture.store.write(move |tx| job(tx, &work)).unwrap()
    };
    let take = |lease_s| fixture.store.write(move |tx| tx.take_work(EVERYTHING, lease_s)).unwrap();
    let first = take(0).unwrap();
    assert!(write(|tx, work| tx.extend_work(work, 60), &first));
    assert_eq!(take(60), None);
    assert!(write(|tx, work| tx.release_work(work), &first));
    let second = take(60).unwrap();
    assert_eq!((second.attempt, second.epoch), (1, 2));
    for job in [
        (|tx: &mut Tx<'_>, work: &Work| tx.extend_work(work, 0)) as fn(&mut Tx<'_>, &Work) -> _,
        |tx, work| tx.release_work(work),
        |tx, work| tx.abandon_work(work, "late"),
    ] {
        assert!(!write(job, &first));
    }
    assert_eq!(take(60), None);
    assert!(write(|tx, work| tx.abandon_work(work, "no route"), &second));
    assert_eq!(take(60), None);
    assert_eq!(fixture.store.read(|tx| tx.work_due_at(EVERYTHING)).unwrap().0, None);
}

/// A caller whose clock is ahead does not delay its own work; and equal work is queued once.
fn work_is_due_by_the_databases_clock_and_queued_once(backend: Backend) {
    let fixture = Fixture::new(backend);
    let effect = Effect::CollectMetric { metric_id: MetricId::from(ids(1).ulid()), todo_id: None };
    let queue = || {
        let effect = effect.clone();
        let ahead = Time::parse("2999-01-01T00:00:00Z").unwrap();
        let job = move |tx: &mut Tx<'_>| tx.enqueue_once(&effect, ahead, &mut ids(7));
        fixture.store.write(job).unwrap();
    };
    let take = || fixture.store.write(|tx| tx.take_work(EVERYTHING, 60)).unwrap();
    queue();
    queue();
    let work = take().unwrap();
    assert_eq!(take(), None);
    // Work that waits for a retry is due now when it is requested again.
    assert!(fixture.store.write(move |tx| tx.fail_work(&work, "no route", 3600)).unwrap());
    assert_eq!(take(), None);
    queue();
    assert_eq!(take().map(|work| work.attempt), Some(2));
}

on_every_store!(
    a_holder_can_extend_release_or_end_its_work,
    work_is_due_by_the_databases_clock_and_queued_once,
    takers_at_once_share_the_work_without_doubles,
    a_lost_lease_changes_nothing,
    failed_work_comes_back_when_it_is_due,
);
