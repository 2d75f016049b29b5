//! The doctor: a sound store passes, each kind of damage is found and named, and the examination
//! changes nothing.

use std::fs;

use punchlist_core::ListKind;
use punchlist_store::care::{Check, Report, examine};
use punchlist_store::rows::outbox::EVERYTHING;
use punchlist_store::sql::Sql;
use punchlist_store::{Options, Target, sql};
use punchlist_testkit::{Backend, TestStore, on_every_lasting_store};

use crate::fixture::Fixture;
use crate::fold::play;

fn look(fixture: &Fixture) -> Report {
    examine(fixture.place.target(), Options::default())
}

fn check<'a>(report: &'a Report, name: &str) -> &'a Check {
    report.checks.iter().find(|check| check.name == name).unwrap()
}

/// The names of the checks that failed.
fn failed(report: &Report) -> Vec<&'static str> {
    report.checks.iter().filter(|check| !check.ok).map(|check| check.name).collect()
}

fn tamper(fixture: &Fixture, statement: &'static Sql) {
    let changed = fixture.store.write(move |tx| tx.execute(statement, &[])).unwrap();
    assert!(changed > 0, "{}", statement.postgres);
}

fn played(backend: Backend) -> Fixture {
    played_of(backend, ListKind::Plan)
}

fn played_of(backend: Backend, kind: ListKind) -> Fixture {
    let fixture = Fixture::of(backend, kind);
    play(&fixture);
    // Set the due time: it comes from the database's own clock, which tests cannot set.
    let later = sql!("UPDATE outbox SET due_at = 9000000000000000");
    fixture.store.write(move |tx| tx.execute(later, &[])).unwrap();
    fixture
}

fn a_sound_store_passes_every_check(backend: Backend) {
    for kind in ListKind::ALL {
        let fixture = played_of(backend, kind);
        let report = look(&fixture);
        assert_eq!(failed(&report), [""; 0], "{report:?}");
        assert!(report.ok);
        assert_eq!(report.schema_version, MIGRATIONS_LAST);
        let fold = &check(&report, "fold").detail;
        assert!(fold.contains("1 list, 5 todos"), "{fold}");
    }
}

const MIGRATIONS_LAST: Option<i64> = {
    let migrations = punchlist_store::migrate::MIGRATIONS;
    Some(migrations[migrations.len() - 1].version)
};

/// Each row is changed by hand, which no operation does: the item and the field are named.
fn a_row_that_differs_from_the_log_is_named(backend: Backend) {
    for (statement, words) in [
        (
            sql!(
                "UPDATE todos SET status = 'pending', title = 'forged' WHERE status = 'completed'"
            ),
            &["status is \"pending\", the log says \"completed\"", "title is \"forged\""][..],
        ),
        (sql!("DELETE FROM todos WHERE status = 'completed'"), &["in the log, but not in"][..]),
        (sql!("DELETE FROM events WHERE type = 'todo_completed'"), &["status is \"completed\""]),
        (
            sql!("DELETE FROM events WHERE type = 'todo_created'"),
            &["is in the tables, but not in the log"],
        ),
        (sql!("DELETE FROM events"), &["list ", "is in the tables, but not in the log"]),
        (
            sql!("INSERT INTO todo_notes SELECT id, 1, 'x', 'forged', 0 FROM todos LIMIT 1"),
            &["1 notes that are not the 0 of the log"],
        ),
        (
            sql!("UPDATE events SET data = '{}' WHERE type = 'todo_completed'"),
            &["(todo_completed) cannot be decoded"],
        ),
        (sql!("UPDATE todos SET evidence = '{' WHERE status = 'completed'"), &["do not read"]),
        (sql!("UPDATE lists SET scope_inner = 'elsewhere'"), &["list "]),
    ] {
        // Opened through the log, so that the list's opening is logged as well.
        let fixture = played(backend);
        let opened = punchlist_core::Event::from(punchlist_core::event::ListOpened {
            list: fixture.list.clone(),
        });
        let (stamp, list) = (fixture.stamp(), fixture.list.id.to_string());
        fixture.store.write(move |tx| tx.append(&stamp, &list, &opened)).unwrap();
        assert!(look(&fixture).ok);
        tamper(&fixture, statement);
        let report = look(&fixture);
        assert_eq!(failed(&report), ["fold"], "{}: {report:?}", statement.postgres);
        let fold = check(&report, "fold");
        for word in words {
            assert!(fold.detail.contains(word), "{word}: {}", fold.detail);
        }
        assert!(fold.hint.is_some());
    }
}

fn many_differences_are_counted_and_few_are_named(backend: Backend) {
    let fixture = Fixture::new(backend);
    fixture.create(&["a", "b", "c", "d", "e", "f", "g", "h"], 2);
    tamper(&fixture, sql!("UPDATE todos SET position = position + 100"));
    let report = look(&fixture);
    let detail = &check(&report, "fold").detail;
    assert_eq!(detail.matches("position is ").count(), 5, "{detail}");
    assert!(detail.ends_with("; and 3 more"), "{detail}");
}

fn work_that_nobody_does_is_found(backend: Backend) {
    let fixture = played_of(backend, ListKind::Pillar);
    tamper(&fixture, sql!("UPDATE outbox SET due_at = 1"));
    let report = look(&fixture);
    assert_eq!(failed(&report), ["outbox"]);
    assert!(check(&report, "outbox").detail.contains("1 due for more than an hour"), "{report:?}");
    let work = fixture.store.write(|tx| tx.take_work(EVERYTHING, 600)).unwrap().unwrap();
    assert!(look(&fixture).ok, "what somebody holds is in good hands");
    tamper(&fixture, sql!("UPDATE outbox SET attempts = 10, last_error = 'no route'"));
    let report = look(&fixture);
    let detail = &check(&report, "outbox").detail;
    assert!(detail.contains("tried 10 times and more (last: no route)"), "{detail}");
    assert!(fixture.store.write(move |tx| tx.finish_work(&work)).unwrap());
    assert!(look(&fixture).ok);
}

fn a_store_that_is_not_there_yet_is_not_made(backend: Backend) {
    let place = TestStore::new(backend);
    let report = examine(place.target(), Options::default());
    assert!(report.ok);
    assert_eq!((report.schema_version, report.checks.len()), (None, 1));
    assert!(report.checks[0].detail.contains("no store here yet"), "{report:?}");
    let again = examine(place.target(), Options::default());
    assert_eq!(again, report);
}

/// A list whose project is gone. Foreign keys would prevent this, so they are off.
#[test]
fn dangling_references_are_found_on_sqlite() {
    let fixture = played(Backend::SqliteFile);
    let other = rusqlite::Connection::open(fixture.place.file()).unwrap();
    other.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM projects").unwrap();
    let report = look(&fixture);
    assert_eq!(failed(&report), ["references"]);
    let detail = &check(&report, "references").detail;
    assert!(detail.contains("lists refers to a missing row of projects"), "{detail}");
    assert!(detail.contains("1 list without its project"), "{detail}");
}

#[test]
fn dangling_references_are_found_on_postgres() {
    let fixture = played(Backend::Postgres);
    fixture
        .store
        .write(|tx| {
            tx.execute(sql!("ALTER TABLE lists DROP CONSTRAINT lists_project_id_fkey"), &[])?;
            tx.execute(sql!("DELETE FROM projects"), &[])
        })
        .unwrap();
    let report = look(&fixture);
    assert_eq!(failed(&report), ["references"]);
}

/// Happens when a dump is restored into a younger cluster: subscribers would skip events.
#[test]
fn events_that_are_numbered_ahead_of_the_cluster_are_found() {
    let fixture = played(Backend::Postgres);
    tamper(&fixture, sql!("UPDATE events SET seq = seq + 1000000000000000000"));
    let report = look(&fixture);
    assert_eq!(failed(&report), ["horizon"], "{report:?}");
    assert!(check(&report, "horizon").detail.contains("numbered above"), "{report:?}");
}

#[test]
fn an_examination_changes_no_byte_of_a_file() {
    let fixture = played(Backend::SqliteFile);
    let file = fixture.place.file();
    let before = fs::read(&file).unwrap();
    let report = look(&fixture);
    assert!(report.ok, "{report:?}");
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn damaged_foreign_and_newer_files_are_reported_and_not_touched() {
    let fixture = played(Backend::SqliteFile);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let copy = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        #[cfg(unix)]
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let report = examine(&Target::File(path.clone()), Options::default());
        assert!(fs::read(&path).unwrap() == bytes, "it was touched");
        report
    };
    fixture.store.write(|tx| tx.first(sql!("PRAGMA user_version"), &[], |r| r.int(0))).unwrap();
    let file = fixture.place.file();
    let Fixture { store, place: _kept, .. } = fixture;
    drop(store);
    let sound = fs::read(&file).unwrap();
    assert!(copy(&sound).ok);

    assert_eq!(failed(&copy("Dear diary, ".repeat(800).as_bytes())), ["present"]);
    assert!(copy(b"").ok, "an empty file is a store in the making");
    // Random bytes in the middle, and a truncated end.
    let mut noise = sound.clone();
    for byte in &mut noise[8_192..20_480] {
        *byte ^= 0x5a;
    }
    let report = copy(&noise);
    assert!(failed(&report).contains(&"integrity"), "{report:?}");
    let report = copy(&sound[..sound.len() / 2]);
    assert!(!report.ok, "{report:?}");

    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    drop(connection);
    let report = copy(&fs::read(&file).unwrap());
    assert_eq!((failed(&report), report.schema_version), (vec!["schema"], Some(999)));
    assert!(check(&report, "integrity").ok);
    assert_eq!(check(&report, "schema").hint.as_deref(), Some("update punch"));

    let other = folder.path().join("other.db");
    let connection = rusqlite::Connection::open(&other).unwrap();
    connection.execute_batch("CREATE TABLE songs (id TEXT)").unwrap();
    drop(connection);
    let report = examine(&Target::File(other), Options::default());
    assert!(failed(&report).contains(&"present"), "{report:?}");
}

#[cfg(unix)]
#[test]
fn a_file_that_others_may_read_is_found() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = played(Backend::SqliteFile);
    fs::set_permissions(fixture.place.file(), fs::Permissions::from_mode(0o644)).unwrap();
    let report = look(&fixture);
    assert_eq!(failed(&report), ["permissions"]);
    let check = check(&report, "permissions");
    assert!(check.detail.contains("mode 0644"), "{check:?}");
    assert!(check.hint.as_ref().unwrap().starts_with("chmod 600 "), "{check:?}");
}

on_every_lasting_store!(
    a_sound_store_passes_every_check,
    a_row_that_differs_from_the_log_is_named,
    many_differences_are_counted_and_few_are_named,
    work_that_nobody_does_is_found,
    a_store_that_is_not_there_yet_is_not_made,
);
