//! The pump on every store: work is done once, failures are retried, a lost lease is noticed.

use std::cell::RefCell;
use std::sync::Arc;

use punchlist_core::effect::Effect;
use punchlist_core::{Ids, MetricId, Time};
use punchlist_engine::{Handler, Pump, Report, Setback};
use punchlist_store::rows::outbox::EVERYTHING;
use punchlist_store::rows::outbox::Work;
use punchlist_store::{Error, Store};
use punchlist_testkit::{Backend, TestStore, on_every_store};

/// An id that ends with the metric's one-letter name.
fn named(metric: &str) -> MetricId {
    MetricId::parse(&format!("01JCQ00000000000000000000{}", metric.to_uppercase())).unwrap()
}

fn filled(place: &TestStore, metrics: &[&str]) -> Arc<Store> {
    let store = Arc::new(place.open());
    let metrics: Vec<String> = metrics.iter().map(|m| (*m).to_owned()).collect();
    store
        .write(move |tx| {
            let mut ids = Ids::new(Time::from_micros(0), 1);
            for metric in metrics.clone() {
                let effect = Effect::CollectMetric { metric_id: named(&metric), todo_id: None };
                tx.enqueue(&effect, Time::from_micros(0), &mut ids)?;
            }
            Ok::<_, Error>(())
        })
        .unwrap();
    store
}

/// Records the work it gets, and fails the work it was asked to fail.
struct Recorder<'a> {
    seen: RefCell<Vec<String>>,
    fails: &'a str,
}

impl Handler for Recorder<'_> {
    fn kinds(&self) -> &str {
        EVERYTHING
    }

    fn handle(&self, work: &Work) -> Result<(), Setback> {
        let Effect::CollectMetric { metric_id, .. } = work.effect else {
            panic!("{:?} was not filed here", work.effect)
        };
        let metric = metric_id.to_string().split_off(25).to_lowercase();
        self.seen.borrow_mut().push(metric.clone());
        if metric == self.fails { Err(Setback::Retry("no route".to_owned())) } else { Ok(()) }
    }
}

fn recorder(fails: &str) -> Recorder<'_> {
    Recorder { seen: RefCell::new(Vec::new()), fails }
}

fn due_work_is_done_once(backend: Backend) {
    let place = TestStore::new(backend);
    let store = filled(&place, &["a", "b"]);
    let handler = recorder("");
    let report = Pump::default().drain(&store, &handler).unwrap();
    assert_eq!(report, Report { done: 2, failed: 0, lost: 0, stopped: false });
    assert_eq!(Pump::default().drain(&store, &handler).unwrap(), Report::default());
    assert_eq!(*handler.seen.borrow(), ["a", "b"]);
}

fn a_failed_effect_is_retried_without_delaying_others(backend: Backend) {
    let place = TestStore::new(backend);
    let store = filled(&place, &["b", "g"]);
    let report = Pump::default().drain(&store, &recorder("b")).unwrap();
    assert_eq!(report, Report { done: 1, failed: 1, lost: 0, stopped: false });
    // The pause is not over yet, so there is nothing to do.
    assert_eq!(Pump::default().drain(&store, &recorder("")).unwrap(), Report::default());

    let store = filled(&TestStore::new(Backend::SqliteMemory), &["b"]);
    let patient = Pump { retry_after_s: 0, ..Pump::default() };
    let handler = FailsOnce { tried: RefCell::new(false) };
    let report = patient.drain(&store, &handler).unwrap();
    assert_eq!(report, Report { done: 1, failed: 1, lost: 0, stopped: false });
}

struct FailsOnce {
    tried: RefCell<bool>,
}

impl Handler for FailsOnce {
    fn kinds(&self) -> &str {
        EVERYTHING
    }

    fn handle(&self, _: &Work) -> Result<(), Setback> {
        if self.tried.replace(true) { Ok(()) } else { Err(Setback::Retry("not yet".to_owned())) }
    }
}

/// While this worker is busy, its lease expires and another worker does the work.
struct Overtaken {
    store: Arc<Store>,
}

impl Handler for Overtaken {
    fn kinds(&self) -> &str {
        EVERYTHING
    }

    fn handle(&self, _: &Work) -> Result<(), Setback> {
        let work = self.store.write(|tx| tx.take_work(EVERYTHING, 60)).unwrap().unwrap();
        assert!(self.store.write(move |tx| tx.finish_work(&work)).unwrap());
        Ok(())
    }
}

fn a_late_worker_is_reported_as_lost(backend: Backend) {
    let place = TestStore::new(backend);
    let store = filled(&place, &["a"]);
    let hasty = Pump { lease_s: 0, ..Pump::default() };
    let handler = Overtaken { store: Arc::clone(&store) };
    let report = hasty.drain(&store, &handler).unwrap();
    assert_eq!(report, Report { done: 1, failed: 0, lost: 1, stopped: false });
}

on_every_store!(
    due_work_is_done_once,
    a_failed_effect_is_retried_without_delaying_others,
    a_late_worker_is_reported_as_lost,
);
