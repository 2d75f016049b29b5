//! A store that is copied to another database: complete, verified, and continued after an
//! interruption.

use std::ops::ControlFlow;

use punchlist_store::care;
use punchlist_store::care::portable::{BadImport, Copied, copy, write_out};
use punchlist_store::migrate::MIGRATIONS;
use punchlist_store::{Error, ErrorKind, Options, Store, sql};
use punchlist_testkit::{Backend, TestStore};

use crate::fixture::Fixture;
use crate::migrations::mark;
use crate::portable::moved_by_an_older_version;

const LASTING: [Backend; 2] = [Backend::SqliteFile, Backend::Postgres];

/// Enough for several parts: items, events, an issue's index, a token, facts and stored answers.
fn full(backend: Backend) -> Fixture {
    let fixture = Fixture::of(backend, punchlist_core::ListKind::Plan);
    for batch in 0..2_u128 {
        let titles: Vec<String> = (0..400).map(|n| format!("Item {batch} {n}")).collect();
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        fixture.create(&titles, batch + 2);
    }
    fixture
        .store
        .write(|tx| {
            tx.put_fact("operator", "2026-11-15T08:00:00Z")?;
            for insert in [
                sql!("UPDATE projects SET place = '{\"folder\":\"/src\"}'"),
                sql!(
                    "INSERT INTO tokens (id, digest, role, created_by, created_at) \
                     VALUES ('t', 'd', 'operator', 'me', 1)"
                ),
                sql!(
                    "INSERT INTO answers (principal, key, request, answer, created_at) \
                     VALUES ('p', 'k', 'r', 'a', 1)"
                ),
            ] {
                tx.execute(insert, &[])?;
            }
            Ok::<_, Error>(())
        })
        .unwrap();
    fixture
}

fn export(store: &Store) -> Vec<u8> {
    let mut out = Vec::new();
    store.view(|tx| write_out(tx, &mut out, &mut |_| ControlFlow::Continue(()))).unwrap();
    out
}

fn to(place: &TestStore) -> Store {
    place.open_with(Options { is_copied_into: true, ..Options::default() })
}

fn whole(from: &Store, to: &Store) -> Result<Copied, BadImport> {
    copy(from, to, &mut |_| ControlFlow::Continue(()))
}

/// Copies up to the second part.
fn cut_off(from: &Store, to: &Store) {
    let mut parts = 0;
    let stopped = copy(from, to, &mut |_| {
        parts += 1;
        if parts == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let Err(BadImport::Store(error)) = stopped else { panic!("{stopped:?}") };
    assert_eq!(error.kind, ErrorKind::Stopped);
}

#[test]
fn a_store_is_the_same_in_another_database_with_its_tokens_answers_and_places() {
    for from in LASTING {
        for into in LASTING {
            let fixture = full(from);
            let place = TestStore::new(into);
            let copied = whole(&fixture.store, &to(&place)).unwrap();
            assert!(copied.rows > 1_600 && copied.resumed_after == 0, "{copied:?}");
            let store = place.open();
            assert!(export(&store) == export(&fixture.store), "{from:?} to {into:?}");
            let of = |store: &Store| {
                store.read(|tx| {
                    let token = tx.first(sql!("SELECT digest FROM tokens"), &[], |r| r.text(0))?;
                    let answer =
                        tx.first(sql!("SELECT answer FROM answers"), &[], |r| r.text(0))?;
                    let place = tx.first(sql!("SELECT place FROM projects"), &[], |r| r.text(0))?;
                    Ok::<_, Error>((token, answer, place, tx.fact("operator")?, tx.fact("copy")?))
                })
            };
            assert_eq!(of(&store), of(&fixture.store));
            let report = care::examine(place.target(), Options::default());
            assert!(report.ok, "{:?}", report.checks);
        }
    }
}

#[test]
fn an_interrupted_copy_continues_and_its_target_cannot_be_opened_before() {
    for (from, into) in [LASTING, [Backend::Postgres, Backend::SqliteFile]].map(|[a, b]| (a, b)) {
        let fixture = full(from);
        let place = TestStore::new(into);
        cut_off(&fixture.store, &to(&place));
        let refused = Store::open(place.target(), Options::default()).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Unfinished);
        assert!(refused.detail.contains("a copy into it is not finished"), "{refused:?}");
        let report = care::examine(place.target(), Options::default());
        assert!(!report.ok, "{report:?}");

        let copied = whole(&fixture.store, &to(&place)).unwrap();
        assert_eq!(copied.resumed_after, 1_000);
        assert!(export(&place.open()) == export(&fixture.store), "{from:?} to {into:?}");
    }
}

/// Such a target has the other version's columns, and no migration brings it forward.
#[test]
fn a_copy_that_another_version_began_is_not_continued() {
    let known = MIGRATIONS.last().unwrap().version;
    let fixture = full(Backend::SqliteFile);
    for into in LASTING {
        for found in [known - 1, known + 1] {
            let place = TestStore::new(into);
            let target = to(&place);
            cut_off(&fixture.store, &target);
            mark(&place, -found);
            assert_eq!(
                whole(&fixture.store, &target),
                Err(BadImport::OtherCopy { found, known }),
                "{into:?}"
            );
            mark(&place, -known);
            assert_eq!(whole(&fixture.store, &target).unwrap().resumed_after, 1_000, "{into:?}");
        }
    }
}

/// A process of an older version writes a new status without the reason for it, which is then only
/// in the log.
#[test]
fn a_copy_takes_the_reasons_of_issues_from_the_log() {
    for (from, into) in [LASTING, [Backend::Postgres, Backend::SqliteFile]].map(|[a, b]| (a, b)) {
        let fixture = Fixture::new(from);
        moved_by_an_older_version(&fixture);
        let place = TestStore::new(into);
        whole(&fixture.store, &to(&place)).unwrap();
        let report = care::examine(place.target(), Options::default());
        assert!(report.ok, "{from:?} to {into:?}: {report:?}");
    }
}

#[test]
fn an_interrupted_copy_starts_again_if_the_source_has_changed() {
    let fixture = full(Backend::SqliteFile);
    let place = TestStore::new(Backend::Postgres);
    cut_off(&fixture.store, &to(&place));
    let rename = sql!("UPDATE projects SET name = 'another'");
    fixture.store.write(move |tx| tx.execute(rename, &[])).unwrap();
    let copied = whole(&fixture.store, &to(&place)).unwrap();
    assert_eq!(copied.resumed_after, 0);
    assert!(export(&place.open()) == export(&fixture.store));
}

/// Its last line comes before the end of what the target has.
#[test]
fn an_interrupted_copy_starts_again_if_the_source_has_become_shorter() {
    for (from, into) in [LASTING, [Backend::Postgres, Backend::SqliteFile]].map(|[a, b]| (a, b)) {
        let place = TestStore::new(into);
        cut_off(&full(from).store, &to(&place));
        let older = Fixture::new(from);
        older.create(&["a", "b"], 2);
        let copied = whole(&older.store, &to(&place)).unwrap();
        assert_eq!(copied.resumed_after, 0);
        assert!(export(&place.open()) == export(&older.store), "{from:?} to {into:?}");
    }
}

#[test]
fn a_target_that_is_not_empty_is_not_changed() {
    for into in LASTING {
        let (fixture, other) = (full(Backend::SqliteFile), Fixture::new(into));
        let before = export(&other.store);
        assert_eq!(whole(&fixture.store, &to(&other.place)), Err(BadImport::NotEmpty));
        assert!(export(&other.place.open()) == before);
        // A store that has only tokens is not empty either.
        let place = TestStore::new(into);
        let token = sql!(
            "INSERT INTO tokens (id, digest, role, created_by, created_at) \
             VALUES ('t', 'd', 'operator', 'me', 1)"
        );
        place.open().write(move |tx| tx.execute(token, &[])).unwrap();
        assert_eq!(whole(&fixture.store, &to(&place)), Err(BadImport::NotEmpty));
    }
}

/// Each would write its parts between those of the other.
#[test]
fn a_second_copy_into_the_same_server_is_refused_while_the_first_one_runs() {
    let (fixture, place) = (full(Backend::SqliteFile), TestStore::new(Backend::Postgres));
    let (first, second) = (to(&place), to(&place));
    let mut refused = None;
    let copied = copy(&fixture.store, &first, &mut |_| {
        refused.get_or_insert_with(|| whole(&fixture.store, &second));
        ControlFlow::Continue(())
    });
    copied.unwrap();
    let Some(Err(BadImport::Store(error))) = refused else { panic!("{refused:?}") };
    assert_eq!(error, Error::new(ErrorKind::Busy, "another copy into it is running"));
    // The first one no longer holds the lock.
    assert!(matches!(whole(&fixture.store, &second), Err(BadImport::NotEmpty)));
}
