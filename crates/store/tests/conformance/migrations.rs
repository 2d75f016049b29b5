//! Migrations go forward only, back up first, lose nothing, and happen once (P-17).

use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use punchlist_core::IssueStatus;
use punchlist_store::care;
use punchlist_store::migrate::{MIGRATIONS, Migration};
use punchlist_store::rows::lists::Lock;
use punchlist_store::{ErrorKind, Options, Store, Target, Tx, sql};
use punchlist_testkit::stores::postgres_url;
use punchlist_testkit::{Backend, TestStore, on_every_lasting_store};

use crate::fixture::Fixture;
use crate::issues::{file, transition};

/// All real migrations and one more.
const fn and_then(sql: &'static str) -> [Migration; MIGRATIONS.len() + 1] {
    let further = Migration { version: 1_000, sqlite: sql, postgres: sql };
    let mut all = [further; MIGRATIONS.len() + 1];
    let mut n = 0;
    while n < MIGRATIONS.len() {
        all[n] = MIGRATIONS[n];
        n += 1;
    }
    all
}

const GROWN: &[Migration] = &and_then("ALTER TABLE projects ADD COLUMN colour TEXT");
const LOSSY: &[Migration] = &and_then("DELETE FROM todos");
const BROKEN: &[Migration] = &and_then("CREATE TABLE half (id TEXT); SELECT * FROM nowhere");

fn options(migrations: &'static [Migration]) -> Options {
    Options { migrations, ..Options::default() }
}

fn a_store_is_brought_forward_and_keeps_its_rows(backend: Backend) {
    let fixture = Fixture::new(backend);
    let before = fixture.create(&["a", "b"], 2);
    let grown = fixture.place.open_with(options(GROWN));
    let list = fixture.list.id;
    assert_eq!(grown.read(move |tx| tx.todos(list)).unwrap(), before);
    grown.write(|tx| tx.execute(sql!("UPDATE projects SET colour = 'red'"), &[])).unwrap();
    // After the migration, the older program is refused.
    let refused = Store::open(fixture.place.target(), Options::default()).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Newer);
    assert!(refused.to_string().contains("update punch"), "{refused}");
}

/// Without a schema the lock of a migration is NULL, which looked like another process's migration.
#[test]
fn a_search_path_without_a_usable_schema_is_an_error_at_once() {
    let mut operator = Client::connect(&postgres_url(), NoTls).unwrap();
    operator
        .batch_execute(
            "DROP SCHEMA IF EXISTS closed; DROP ROLE IF EXISTS punchlist_outside; \
             CREATE SCHEMA closed; CREATE ROLE punchlist_outside LOGIN",
        )
        .unwrap();
    let refused = ["nowhere", "closed"].map(|schema| {
        let url = postgres_url().replacen("punchlist@", "punchlist_outside@", 1);
        let joint = if url.contains('?') { '&' } else { '?' };
        let url = format!("{url}{joint}options=-csearch_path%3D{schema}");
        let start = Instant::now();
        let refused = Store::open(&Target::Postgres(url), Options::default()).map(|_| ());
        (schema, refused, start.elapsed())
    });
    operator.batch_execute("DROP SCHEMA closed; DROP ROLE punchlist_outside").unwrap();
    for (schema, refused, took) in refused {
        let error = refused.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");
        let said = format!(
            "search_path ({schema}) names no schema that exists and that this role may use; \
             CREATE SCHEMA, or GRANT USAGE ON SCHEMA to the role"
        );
        assert_eq!(error.detail, said);
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}

/// A store of every older version is migrated by the real migrations.
fn every_older_version_is_migrated(backend: Backend) {
    for steps in 1..MIGRATIONS.len() {
        let place = TestStore::new(backend);
        let project = punchlist_core::ProjectId::from(crate::fixture::ids(1).ulid());
        let at = punchlist_core::Time::from_micros(1);
        let old = place.open_with(options(&MIGRATIONS[..steps]));
        old.write(move |tx| tx.insert_project(project, "kept", at)).unwrap();
        drop(old);
        let new = place.open();
        assert_eq!(new.read(|tx| tx.project("kept")).unwrap(), Some(project));
    }
}

/// Migration 36 takes from the log why each issue was last moved.
fn reasons_of_an_older_store_come_from_its_log(backend: Backend) {
    let fixture = Fixture::new(backend);
    let stamp = fixture.stamp();
    fixture.create(&["a"], 2);
    file(&fixture.store, &stamp, "one", "", 8).unwrap();
    file(&fixture.store, &stamp, "two", "", 9).unwrap();
    let project = stamp.project;
    let go = move |tx: &mut Tx<'_>| {
        transition(tx, &stamp, 1, IssueStatus::Triaged, Some("seen twice"))?;
        transition(tx, &stamp, 1, IssueStatus::Rejected, Some("not ours"))?;
        transition(tx, &stamp, 2, IssueStatus::Triaged, Some("seen twice"))?;
        transition(tx, &stamp, 2, IssueStatus::InProgress, None)
    };
    fixture.store.write(go).unwrap();
    let older = sql!("ALTER TABLE issues DROP COLUMN status_reason");
    fixture.store.write(move |tx| tx.execute(older, &[])).unwrap();
    let Fixture { store, place, .. } = fixture;
    drop(store);
    mark(&place, 35);

    let new = place.open();
    let reason = move |number| {
        new.read(move |tx| tx.issue(project, number, Lock::No)).unwrap().unwrap().status_reason
    };
    assert_eq!([1, 2].map(reason), [Some("not ours".to_owned()), None]);
    let report = care::examine(place.target(), Options::default());
    assert!(report.ok, "{report:?}");
}

/// Gives a store another version.
pub(crate) fn mark(place: &TestStore, version: i64) {
    match place.target() {
        Target::Postgres(url) => {
            let mut client = Client::connect(url, NoTls).unwrap();
            client
                .batch_execute(&format!("UPDATE schema_version SET version = {version}"))
                .unwrap();
        }
        Target::File(file) => {
            let connection = rusqlite::Connection::open(file).unwrap();
            connection.pragma_update(None, "user_version", version).unwrap();
        }
        Target::Memory => panic!("a store in memory has no other version"),
    }
}

fn a_migration_that_fails_or_loses_rows_leaves_all_as_it_was(backend: Backend) {
    let fixture = Fixture::new(backend);
    let before = fixture.create(&["a", "b"], 2);
    for migrations in [LOSSY, BROKEN] {
        assert!(Store::open(fixture.place.target(), options(migrations)).is_err());
        assert_eq!(fixture.todos(), before);
        let again = fixture.place.open();
        let half = sql!("SELECT count(*) FROM half");
        assert!(again.read(move |tx| tx.first(half, &[], |row| row.int(0))).is_err());
    }
}

fn of_many_that_migrate_at_once_one_does(backend: Backend) {
    let place = Arc::new(TestStore::new(backend));
    for migrations in [MIGRATIONS, GROWN] {
        let start = Arc::new(Barrier::new(8));
        let openers: Vec<_> = (0..8)
            .map(|_| {
                let (place, start) = (Arc::clone(&place), Arc::clone(&start));
                thread::spawn(move || {
                    start.wait();
                    Store::open(place.target(), options(migrations)).map(|_| ())
                })
            })
            .collect();
        for opener in openers {
            assert_eq!(opener.join().unwrap(), Ok(()));
        }
    }
}

#[test]
fn a_sqlite_file_is_backed_up_before_it_changes() {
    // P-17
    let fixture = Fixture::new(Backend::SqliteFile);
    let before = fixture.create(&["a"], 2);
    drop(fixture.place.open_with(options(GROWN)));
    let file = fixture.place.file();
    let version = MIGRATIONS.last().unwrap().version;
    let backup = file.with_file_name(format!("test.db.v{version}.bak"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&backup).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "as private as the store");
    }
    let (list, target) = (fixture.list.id, punchlist_store::Target::File(backup));
    let old = Store::open(&target, Options::default()).unwrap();
    assert_eq!(old.read(move |tx| tx.todos(list)).unwrap(), before);
    let fresh = TestStore::new(Backend::SqliteFile);
    drop(fresh.open_with(options(GROWN)));
    assert_eq!(
        std::fs::read_dir(fresh.file().parent().unwrap())
            .unwrap()
            .filter(|e| { e.as_ref().unwrap().file_name().to_string_lossy().ends_with(".bak") })
            .count(),
        0,
        "a new store has nothing to back up"
    );
}

/// The notice that a waiting process gave.
static SAID: Mutex<Option<String>> = Mutex::new(None);

/// While one process migrates a store on a server, another one reports that it waits, and gives up
/// in time.
#[test]
fn a_process_that_waits_for_a_migration_reports_it_and_gives_up_in_time() {
    let place = TestStore::new(Backend::Postgres);
    let mut other = postgres::Client::connect(&place.url(), postgres::NoTls).unwrap();
    let lock = "SET application_name = 'another punch'; \
                SELECT pg_advisory_lock(1346586700, hashtext(current_schema()))";
    other.batch_execute(lock).unwrap();

    let hasty = Options { busy_ms: 300, ..Options::default() };
    let refused = Store::open(place.target(), hasty).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Busy);
    assert!(refused.detail.contains("is bringing the store's schema forward"), "{refused:?}");

    let notice: Option<fn(&str)> = Some(|text| *SAID.lock().unwrap() = Some(text.to_owned()));
    let patient = Options { notice, ..Options::default() };
    let target = place.target().clone();
    let opening = thread::spawn(move || Store::open(&target, patient).map(|_| ()));
    while SAID.lock().unwrap().is_none() {
        assert!(!opening.is_finished(), "it did not wait");
        thread::yield_now();
    }
    drop(other);
    assert_eq!(opening.join().unwrap(), Ok(()));
    let said = SAID.lock().unwrap().clone().unwrap();
    assert!(said.starts_with("waiting: process "), "{said}");
}

on_every_lasting_store!(
    a_store_is_brought_forward_and_keeps_its_rows,
    every_older_version_is_migrated,
    reasons_of_an_older_store_come_from_its_log,
    a_migration_that_fails_or_loses_rows_leaves_all_as_it_was,
    of_many_that_migrate_at_once_one_does,
);
