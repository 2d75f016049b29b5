//! The log of a restored store: it continues above every number that was ever used, so that a
//! number always means one event (P-29, ADR 0010).

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use punchlist_store::care::{self, Loss, Outcome, Request};
use punchlist_store::migrate::MIGRATIONS;
use punchlist_store::{ErrorKind, Options, Recorded, Target, sql};
use punchlist_testkit::{Backend, TestStore};

use crate::copies::{back_up, beside, files, restore_to, restored, titles};
use crate::fixture::Fixture;

/// How often the store is restored while others write.
const RESTORES: usize = 5;
/// The number of writes during each restore.
const BURST: usize = 40;

/// Number and type of every event.
fn numbers(fixture: &Fixture) -> Vec<(i64, String)> {
    fixture.log(0).into_iter().map(|event| (event.seq, event.type_name)).collect()
}

fn has(fixture: &Fixture, seq: i64) -> bool {
    fixture.read(move |tx| tx.has_event(seq))
}

/// P-29: the numbers of the replaced log are gone, and are never used again.
#[test]
fn numbers_continue_above_all_that_were_used() {
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["a"], 2);
    let copy = beside(&fixture, "copy");
    back_up(&fixture, &copy).unwrap();
    fixture.create(&["b", "c", "d"], 3);

    restored(&fixture, &copy);
    fixture.create(&["e"], 4);
    let word = |word: &str| word.to_owned();
    let created = |seq| (seq, word("todo_created"));
    assert_eq!(numbers(&fixture), [created(1), (5, word("store_restored")), created(6)]);
    assert_eq!(
        [1, 2, 3, 4, 5, 6].map(|seq| has(&fixture, seq)),
        [true, false, false, false, true, true]
    );

    // A copy that is ahead of the store counts as well.
    let ahead = beside(&fixture, "ahead");
    back_up(&fixture, &ahead).unwrap();
    restored(&fixture, &copy);
    assert_eq!(numbers(&fixture), [created(1), (7, word("store_restored"))]);
    restored(&fixture, &ahead);
    fixture.create(&["f"], 5);
    let all = [created(1), (5, word("store_restored")), created(6)];
    assert_eq!(numbers(&fixture), [&all[..], &[(8, word("store_restored")), created(9)]].concat());
    let report = care::examine(fixture.place.target(), Options::default());
    assert!(report.ok, "{report:?}");
}

/// P-29: the last number of a missing or unreadable store is unknown.
#[test]
fn the_clock_is_used_if_the_last_number_is_unknown() {
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["a"], 2);
    let copy = beside(&fixture, "copy");
    back_up(&fixture, &copy).unwrap();
    fixture.create(&["b", "c", "d"], 3);
    let milliseconds = fixture.now.micros() / 1_000;
    let Fixture { store, place, .. } = Fixture::new(Backend::SqliteFile);
    drop(store);
    for damage in [None, Some("Dear diary, ".repeat(1_000))] {
        fs::remove_file(place.file()).unwrap();
        if let Some(noise) = damage {
            fs::write(place.file(), noise).unwrap();
        }
        let done = restore_to(&place.file(), &fixture, &copy, true);
        assert!(matches!(done, Ok(Outcome::Done(_))), "{done:?}");
        let project = fixture.list.project_id;
        let log = place.open().read(move |tx| tx.events_after(project, None, 0, 9)).unwrap();
        let log: Vec<i64> = log.iter().map(|event: &Recorded| event.seq).collect();
        assert_eq!(log, [1, milliseconds + 1]);
    }
}

/// P-29: no number is reused, even if others write between the read and the lock.
#[test]
fn no_number_is_reused_while_others_write() {
    let fixture = Arc::new(Fixture::new(Backend::SqliteFile));
    fixture.create(&["before"], 2);
    let copy = beside(&fixture, "copy");
    back_up(&fixture, &copy).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    // Enough writes per restore to delay its lock now and then, and no more: endless writes could
    // block it forever, which is an error of the restore and not tested here.
    let (more, bursts) = mpsc::channel::<()>();
    let writing = {
        let fixture = Arc::clone(&fixture);
        thread::spawn(move || {
            let mut seeds = 3..;
            for () in bursts {
                for seed in seeds.by_ref().take(BURST) {
                    fixture.create(&["during"], seed);
                }
            }
        })
    };
    let reading = {
        let (fixture, over) = (Arc::clone(&fixture), Arc::clone(&over));
        thread::spawn(move || {
            let mut seen = BTreeMap::new();
            while !over.load(Ordering::Relaxed) {
                for event in fixture.log(0) {
                    let known = seen.entry(event.seq).or_insert_with(|| event.data.clone());
                    assert_eq!(*known, event.data, "event {} has become another", event.seq);
                }
            }
            seen.len()
        })
    };
    for _ in 0..RESTORES {
        more.send(()).unwrap();
        loop {
            match restore_to(&fixture.place.file(), &fixture, &copy, true) {
                Ok(Outcome::Done(_)) => break,
                Err(error) if error.kind == ErrorKind::Busy => {}
                other => panic!("{other:?}"),
            }
        }
    }
    drop(more);
    writing.join().unwrap();
    over.store(true, Ordering::Relaxed);
    assert!(reading.join().unwrap() > 0);
    let report = care::examine(fixture.place.target(), Options::default());
    assert!(report.ok, "{report:?}");
}

/// A number that is in neither log says nothing about shared events.
#[test]
fn the_loss_is_reported_even_if_numbers_have_gaps() {
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["a"], 2);
    let copy = beside(&fixture, "copy");
    back_up(&fixture, &copy).unwrap();
    fixture.create(&["b", "c", "d", "e", "f"], 3);
    let long = beside(&fixture, "long");
    back_up(&fixture, &long).unwrap();
    // Event 1, a restore far above it, and later events.
    restored(&fixture, &copy);
    fixture.create(&["g", "h"], 4);
    let late = beside(&fixture, "late");
    back_up(&fixture, &late).unwrap();
    let would_lose = |from, count| {
        let since = fixture.now;
        let refused = restore_to(&fixture.place.file(), &fixture, from, false).unwrap();
        assert_eq!(refused, Outcome::WouldLose(Loss::Events { count, since }));
    };
    would_lose(&long, 2);
    restored(&fixture, &long);
    assert_eq!(titles(&fixture), ["a", "b", "c", "d", "e", "f"]);
    would_lose(&late, 5);
    would_lose(&copy, 5);
}

#[test]
fn a_restore_that_cannot_be_logged_does_not_happen() {
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["a"], 2);
    let copy = beside(&fixture, "copy");
    back_up(&fixture, &copy).unwrap();
    fixture.create(&["b"], 3);
    let go = |replace| {
        let request = Request { from: &copy, replace, overwrite: true, at: fixture.now };
        let go_on = &mut |_, _| ControlFlow::Continue(());
        let options = Options::default();
        care::restore(&fixture.place.file(), request, options, &mut |_, _| Ok(()), go_on)
    };
    assert_eq!(go(true).unwrap_err().kind, ErrorKind::Backend);
    // Nor does a restore happen that expects no store.
    assert_eq!(go(false).unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(titles(&fixture), ["a", "b"]);
    assert_eq!(files(&fixture), ["copy", "test.db"]);
    fixture.create(&["c"], 4);
    assert_eq!(titles(&fixture), ["a", "b", "c"]);
}

#[test]
fn an_older_backup_is_migrated_before_anybody_sees_it() {
    let older = Options { migrations: &MIGRATIONS[..1], ..Options::default() };
    let old = TestStore::new(Backend::SqliteFile);
    drop(old.open_with(older));
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["a"], 2);
    let copy = beside(&fixture, "old");
    let go_on = &mut |_, _| ControlFlow::Continue(());
    care::backup(&old.file(), &copy, older, go_on).unwrap();

    let (list, now) = (fixture.list.clone(), fixture.now);
    let stamp = fixture.stamp();
    let record = &mut |tx: &mut punchlist_store::Tx<'_>, lost| {
        tx.insert_project(list.project_id, "test", now)?;
        let restored = punchlist_core::event::StoreRestored { file: "old".to_owned(), lost };
        tx.append(&stamp, &list.project_id.to_string(), &restored.into())
    };
    let request = Request { from: &copy, replace: true, overwrite: true, at: now };
    let store = fixture.place.file();
    care::restore(&store, request, Options::default(), record, go_on).unwrap();
    assert_eq!(numbers(&fixture), [(2, "store_restored".to_owned())]);
    let issues = sql!("SELECT count(*) FROM issues");
    assert_eq!(fixture.read(move |tx| tx.first(issues, &[], |row| row.int(0))), Some(0));
    let left = files(&fixture);
    assert_eq!(left, ["old", "test.db", "test.db.20261115T080000Z.replaced"]);
    assert!(care::examine(&Target::File(store), Options::default()).ok);
}
