//! The outbox: each piece of work goes to one taker at a time, and a lost lease changes nothing.

use std::sync::{Arc, Barrier};
use std::thread;

use punchlist_core::MetricId;
use punchlist_core::effect::Effect;
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
                while let Some(work) = store.write(|tx| tx.take_work(60)).unwrap() {
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
    let take = |lease_s| fixture.store.write(move |tx| tx.take_work(lease_s)).unwrap();
    // A lease of no time is lost as soon as it is taken.
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
    let take = || fixture.store.write(|tx| tx.take_work(60)).unwrap();
    let first = take().unwrap();
    assert!(fixture.store.write(move |tx| tx.fail_work(&first, "no route", 0)).unwrap());
    let second = take().unwrap();
    assert_eq!(second.attempt, 2);
    assert!(fixture.store.write(move |tx| tx.fail_work(&second, "no route", 3600)).unwrap());
    assert_eq!(take(), None);
}

on_every_store!(
    takers_at_once_share_the_work_without_doubles,
    a_lost_lease_changes_nothing,
    failed_work_comes_back_when_it_is_due,
);
