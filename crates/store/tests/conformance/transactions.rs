//! All or nothing, for one job and for many at once.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

use punchlist_core::Event;
use punchlist_core::event::ProjectOpened;
use punchlist_core::{Ids, ProjectId, Time};
use punchlist_store::{Error, ErrorKind, Lead, Store, Tx, sql};
use punchlist_testkit::{Backend, TestStore, on_every_lasting_store, on_every_store};

use crate::fixture::Fixture;

fn failed() -> Error {
    Error::new(ErrorKind::Backend, "on purpose")
}

fn names(store: &Store) -> Vec<String> {
    store
        .read(|tx| tx.query(sql!("SELECT name FROM projects ORDER BY name"), &[], |r| r.text(0)))
        .unwrap()
}

fn insert(tx: &mut Tx<'_>, n: u128) -> Result<(), Error> {
    let id = ProjectId::from(Ids::new(Time::from_micros(0), n << 8).ulid());
    tx.insert_project(id, &format!("p{n:03}"), Time::from_micros(0))
}

fn an_error_undoes_the_whole_job(backend: Backend) {
    let place = TestStore::new(backend);
    let store = place.open();
    let refused = store.write(|tx| {
        insert(tx, 1)?;
        Err::<(), Error>(failed())
    });
    assert_eq!(refused, Err(failed()));
    assert_eq!(names(&store), Vec::<String>::new());
    store.write(|tx| insert(tx, 2)).unwrap();
    assert_eq!(names(&store), ["p002"]);
}

fn a_read_writes_nothing(backend: Backend) {
    let place = TestStore::new(backend);
    let store = place.open();
    store.read(|tx| insert(tx, 1).or(Ok::<_, Error>(()))).ok();
    assert_eq!(names(&store), Vec::<String>::new());
}

/// Concurrent writers: failing ones do not affect the others, nothing is lost, and each gets its
/// own answer.
fn concurrent_writers_get_their_own_answers(backend: Backend) {
    let place = TestStore::new(backend);
    let store = Arc::new(place.open());
    let start = Arc::new(Barrier::new(64));
    let writers: Vec<_> = (0..64_u128)
        .map(|n| {
            let (store, start) = (Arc::clone(&store), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                store.write(move |tx| {
                    insert(tx, n)?;
                    if n % 3 == 0 { Err(failed()) } else { Ok(n) }
                })
            })
        })
        .collect();
    for (n, writer) in (0..).zip(writers) {
        let expected = if n % 3 == 0 { Err(failed()) } else { Ok(n) };
        assert_eq!(writer.join().unwrap(), expected);
    }
    let expected: Vec<String> =
        (0..64).filter(|n| n % 3 != 0).map(|n| format!("p{n:03}")).collect();
    assert_eq!(names(&store), expected);
}

/// If two insert the same unique row, the second finds the row of the first.
fn a_conflict_is_retried(backend: Backend) {
    let place = TestStore::new(backend);
    let store = Arc::new(place.open());
    let start = Arc::new(Barrier::new(8));
    let writers: Vec<_> = (0..8_u128)
        .map(|n| {
            let (store, start) = (Arc::clone(&store), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                store.write(move |tx| {
                    if let Some(id) = tx.project("shared")? {
                        return Ok::<_, Error>(id);
                    }
                    let id = ProjectId::from(Ids::new(Time::from_micros(0), n << 8).ulid());
                    tx.insert_project(id, "shared", Time::from_micros(0))?;
                    Ok(id)
                })
            })
        })
        .collect();
    let mut ids: Vec<_> = writers.into_iter().map(|w| w.join().unwrap().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

/// P-15, and readers never block: committed data is seen at once, uncommitted data is not.
fn a_reader_continues_while_a_writer_writes(backend: Backend) {
    let fixture = Fixture::new(backend);
    let store = Arc::clone(&fixture.store);
    let (inside, entered) = channel();
    let (release, released) = channel::<()>();
    let writer = thread::spawn(move || {
        store.write(move |tx| {
            insert(tx, 1)?;
            inside.send(()).unwrap();
            released.recv().unwrap();
            Ok::<_, Error>(())
        })
    });
    entered.recv().unwrap();
    assert_eq!(names(&fixture.store), ["test"]);
    release.send(()).unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!(names(&fixture.store), ["p001", "test"]);
    assert_eq!(names(&fixture.place.open()), ["p001", "test"]);
}

/// A panic affects only its own job: it is undone, the other jobs of its batch get their answers,
/// and the store still works, for readers too.
fn a_panic_fails_only_its_own_job(backend: Backend) {
    let place = TestStore::new(backend);
    let store = Arc::new(place.open());
    let start = Arc::new(Barrier::new(32));
    let writers: Vec<_> = (0..32_u128)
        .map(|n| {
            let (store, start) = (Arc::clone(&store), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                store.write(move |tx| {
                    insert(tx, n)?;
                    assert!(n % 8 != 0, "on purpose");
                    Ok::<_, Error>(())
                })
            })
        })
        .collect();
    for (n, writer) in (0..).zip(writers) {
        assert_eq!(matches!(writer.join(), Ok(Ok(()))), n % 8 != 0, "{n}");
    }
    let reader = Arc::clone(&store);
    let read = move || reader.read(|_| -> Result<(), Error> { panic!("on purpose") });
    assert!(thread::spawn(read).join().is_err());
    let expected: Vec<String> =
        (0..32).filter(|n| n % 8 != 0).map(|n| format!("p{n:03}")).collect();
    assert_eq!(names(&store), expected);
}

/// Jobs that are handed in and jobs that somebody waits for share batches. Each gets its own answer
/// after its commit; a failing or panicking one affects only itself.
fn a_queued_job_is_answered_like_one_that_is_waited_for(backend: Backend) {
    for lead in [Lead::Apart, Lead::Here] {
        answers_are_alike(backend, lead);
    }
}

fn answers_are_alike(backend: Backend, lead: Lead) {
    let place = TestStore::new(backend);
    let store = Arc::new(place.open());
    let (told, answers) = channel();
    let waiting: Vec<_> = (100..116_u128)
        .map(|n| {
            let store = Arc::clone(&store);
            thread::spawn(move || store.write(move |tx| insert(tx, n)))
        })
        .collect();
    for n in 0..64_u128 {
        let told = told.clone();
        let job = move |tx: &mut Tx<'_>| {
            insert(tx, n)?;
            assert!(n % 8 != 7 || backend == Backend::Postgres, "on purpose");
            if n % 3 == 0 { Err(failed()) } else { Ok(n) }
        };
        store.write_then(job, lead, move |answer| told.send((n, answer)).unwrap());
    }
    drop(told);
    for waited in waiting {
        waited.join().unwrap().unwrap();
    }
    let mut answers: Vec<_> = answers.iter().collect();
    answers.sort_by_key(|(n, _)| *n);
    let panics = |n: u128| n % 8 == 7 && backend != Backend::Postgres;
    for (n, answer) in &answers {
        match answer {
            Ok(kept) => assert!(kept == n && n % 3 != 0 && !panics(*n), "{n}"),
            Err(error) => assert!(panics(*n) || (n % 3 == 0 && *error == failed()), "{n}: {error}"),
        }
    }
    assert_eq!(answers.len(), 64);
    let kept = (0..64).filter(|n| n % 3 != 0 && !panics(*n)).chain(100..116);
    let expected: Vec<String> = kept.map(|n| format!("p{n:03}")).collect();
    assert_eq!(names(&store), expected);
}

/// What was handed in before the store is closed is written, and answered.
fn closing_a_store_waits_for_queued_jobs(backend: Backend) {
    let place = TestStore::new(backend);
    let store = place.open();
    let (told, answers) = channel();
    for n in 0..40 {
        let told = told.clone();
        let tell = move |answer| told.send(answer).unwrap();
        store.write_then(move |tx| insert(tx, n), Lead::Apart, tell);
    }
    drop((store, told));
    assert_eq!(answers.iter().filter(Result::is_ok).count(), 40);
    assert_eq!(names(&place.open()).len(), 40);
}

/// A caller that leads its own job has the answer at once, unless another process is writing. Then
/// it does not wait, and its jobs are written in order.
#[test]
fn a_caller_that_leads_does_not_wait_for_another_process() {
    let place = TestStore::new(Backend::SqliteFile);
    let (store, other) = (place.open(), place.open());
    let (told, answers) = channel();
    let submit = |n: u128| {
        let told = told.clone();
        let tell = move |answer: Result<(), Error>| told.send((n, answer)).unwrap();
        store.write_then(move |tx| insert(tx, n), Lead::Here, tell);
    };
    submit(0);
    assert_eq!(answers.try_recv(), Ok((0, Ok(()))));

    let locked = other.write_once(|tx| {
        insert(tx, 1)?;
        // They return although the other store is locked until this job ends.
        submit(2);
        submit(3);
        Ok::<_, Error>(answers.try_recv().is_err())
    });
    assert_eq!(locked, Ok(true), "nothing was answered before the lock was free");
    assert_eq!([answers.recv(), answers.recv()], [Ok((2, Ok(()))), Ok((3, Ok(())))]);
    assert_eq!(names(&store), ["p000", "p001", "p002", "p003"]);
    // The waiting time is the same as before: this one waits in its own thread.
    submit(4);
    assert_eq!(answers.recv(), Ok((4, Ok(()))));
}

fn an_event_without_its_change_is_impossible(backend: Backend) {
    let fixture = Fixture::new(backend);
    let stamp = fixture.stamp();
    let refused = fixture.store.write(move |tx| {
        let event =
            ProjectOpened { project_id: stamp.project, name: "x".into(), created_at: stamp.at };
        tx.append(&stamp, "x", &Event::from(event))?;
        Err::<(), Error>(failed())
    });
    assert!(refused.is_err());
    assert_eq!(fixture.log(0).len(), 0);
}

on_every_store!(
    an_error_undoes_the_whole_job,
    a_read_writes_nothing,
    concurrent_writers_get_their_own_answers,
    a_conflict_is_retried,
    a_panic_fails_only_its_own_job,
    a_queued_job_is_answered_like_one_that_is_waited_for,
    an_event_without_its_change_is_impossible,
);

on_every_lasting_store!(
    a_reader_continues_while_a_writer_writes,
    closing_a_store_waits_for_queued_jobs,
);
