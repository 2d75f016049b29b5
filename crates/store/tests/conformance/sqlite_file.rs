//! Faults that only a SQLite file can have: durability, foreign files, damage, a full disk.

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_store::{Error, ErrorKind, Lead, Options, Store, Target, sql};
use punchlist_testkit::{Backend, TestStore};

use crate::fixture::Fixture;

fn open(path: &Path) -> Result<Store, Error> {
    Store::open(&Target::File(path.to_owned()), Options::default())
}

fn refused(path: &Path) -> ErrorKind {
    let before = fs::read(path).unwrap();
    let kind = open(path).map(|_| ()).unwrap_err().kind;
    assert_eq!(fs::read(path).unwrap(), before, "it was not touched");
    kind
}

#[test]
fn commits_are_durable_and_keys_are_checked() {
    let place = TestStore::new(Backend::SqliteFile);
    let store = place.open();
    let pragma = |statement| {
        store.write(move |tx| tx.first(statement, &[], |row| row.int(0))).unwrap().unwrap()
    };
    assert_eq!(pragma(sql!("SELECT synchronous FROM pragma_synchronous")), 2, "FULL");
    assert_eq!(pragma(sql!("SELECT foreign_keys FROM pragma_foreign_keys")), 1);
    let mode = sql!("SELECT journal_mode FROM pragma_journal_mode");
    let mode = store.write(move |tx| tx.first(mode, &[], |row| row.text(0))).unwrap();
    assert_eq!(mode.as_deref(), Some("wal"));
}

/// The WAL is kept between commands. It is empty, so that a copy of the file alone is complete, and a
/// file that somebody puts in its place is not mixed with old pages.
#[test]
fn a_closed_store_is_complete_without_its_wal() {
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["first"], 2);
    let before = fixture.place.file().with_file_name("before.db");
    let Fixture { store, place, .. } = fixture;
    // A reader of its own may be the last connection that closes.
    assert_eq!(titles(&store), ["first"]);
    drop(store);
    let wal = place.file().with_file_name("test.db-wal");
    assert_eq!(fs::metadata(&wal).unwrap().len(), 0);
    fs::copy(place.file(), &before).unwrap();
    assert_eq!(titles(&open(&before).unwrap()), ["first"]);

    let store = place.open();
    let rename = sql!("UPDATE todos SET title = 'second'");
    store.write(move |tx| tx.execute(rename, &[])).unwrap();
    assert!(fs::metadata(&wal).unwrap().len() > 0, "written to the WAL first");
    drop(store);
    assert_eq!(fs::metadata(&wal).unwrap().len(), 0);
    assert_eq!(titles(&place.open()), ["second"]);
    fs::copy(&before, place.file()).unwrap();
    assert_eq!(titles(&place.open()), ["first"]);
}

fn titles(store: &Store) -> Vec<String> {
    let all = sql!("SELECT title FROM todos");
    store.read(move |tx| tx.query(all, &[], |row| row.text(0))).unwrap()
}

#[cfg(unix)]
#[test]
fn the_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new(Backend::SqliteFile);
    let folder = fixture.place.file().parent().unwrap().to_owned();
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
        files += 1;
    }
    assert!(files >= 1);
}

#[test]
fn a_foreign_file_is_refused_and_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "dear diary, ".repeat(500)).unwrap();
    assert_eq!(refused(&text), ErrorKind::Corrupt);

    let other = folder.path().join("other.db");
    let connection = rusqlite::Connection::open(&other).unwrap();
    connection.execute_batch("CREATE TABLE songs (id TEXT)").unwrap();
    drop(connection);
    assert_eq!(refused(&other), ErrorKind::NotOurs);

    let newer = folder.path().join("newer.db");
    drop(open(&newer).unwrap());
    let connection = rusqlite::Connection::open(&newer).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    drop(connection);
    assert_eq!(refused(&newer), ErrorKind::Newer);

    assert_eq!(open(folder.path()).unwrap_err().kind, ErrorKind::Unreachable);
    let nowhere = folder.path().join("no/such/folder/x.db");
    assert_eq!(open(&nowhere).unwrap_err().kind, ErrorKind::Unreachable);
}

#[test]
fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.db");
    fs::write(&path, "").unwrap();
    assert!(open(&path).is_ok());
}

/// A full disk, simulated by the database's own limit: the write fails as a whole, and the store
/// works again when there is room.
#[test]
fn a_full_disk_loses_nothing_and_keeps_no_partial_write() {
    let fixture = Fixture::new(Backend::SqliteFile);
    let before = fixture.create(&["a"], 2);
    let pages = sql!("SELECT page_count FROM pragma_page_count");
    let pages = fixture.store.write(move |tx| tx.first(pages, &[], |r| r.int(0))).unwrap().unwrap();
    assert!(pages > 1);
    let limit = sql!("PRAGMA max_page_count = 1");
    fixture.store.write(move |tx| tx.first(limit, &[], |r| r.int(0))).unwrap();
    let list = fixture.list.id;
    let (template, id) = (before[0].clone(), before[0].id);
    let full = fixture.store.write(move |tx| {
        let mut ids = crate::fixture::ids(50);
        for _ in 0..100 {
            let mut todo = template.clone();
            todo.id = punchlist_core::TodoId::from(ids.ulid());
            todo.description = "x".repeat(60_000);
            tx.insert_todo(&todo, false)?;
        }
        Ok::<_, Error>(())
    });
    assert_eq!(full.unwrap_err().kind, ErrorKind::Full);
    assert_eq!(fixture.todos(), before);
    let room = sql!("PRAGMA max_page_count = 1000000");
    fixture.store.write(move |tx| tx.first(room, &[], |r| r.int(0))).unwrap();
    fixture.create(&["b"], 3);
    assert_eq!(fixture.read(move |tx| tx.todo(list, id)), Some(before[0].clone()));
    assert_eq!(fixture.todos().len(), 2);
}

/// Moves a store away with its side files.
#[cfg(unix)]
fn move_away(file: &Path) {
    for end in ["", "-wal", "-shm"] {
        let name = |file: &Path| PathBuf::from(format!("{}{end}", file.display()));
        fs::rename(name(file), name(&file.with_extension("old"))).unwrap();
    }
}

/// P-15, P-29: a process that has the store open must not go on with a file that nobody finds any
/// more.
#[cfg(unix)]
#[test]
fn a_store_whose_file_was_replaced_is_opened_again() {
    let fact = |store: &Store, name: &str| {
        let name = name.to_owned();
        store.write(move |tx| tx.put_fact(&name, "x"))
    };
    let has = |store: &Store, name: &str| {
        let name = name.to_owned();
        store.read(move |tx| tx.fact(&name)).map(|found| found.is_some())
    };
    let place = TestStore::new(Backend::SqliteFile);
    let store = place.open();
    fact(&store, "first").unwrap();
    move_away(&place.file());
    let gone = [fact(&store, "lost").unwrap_err(), has(&store, "first").unwrap_err()];
    for error in gone {
        assert_eq!(error.kind, ErrorKind::Unreachable);
        assert!(error.detail.ends_with("the file is gone"), "{error:?}");
    }
    assert!(!place.file().exists(), "nothing was created");

    let other = place.open();
    fact(&other, "second").unwrap();
    assert_eq!(has(&store, "first"), Ok(false));
    assert_eq!(has(&store, "second"), Ok(true));
    fact(&store, "third").unwrap();
    let (told, answers) = std::sync::mpsc::channel();
    let tell = move |answer| told.send(answer).unwrap();
    store.write_then(|tx| tx.put_fact("fourth", "x"), Lead::Here, tell);
    assert_eq!(answers.recv().unwrap(), Ok(()));
    assert_eq!((has(&other, "third"), has(&other, "fourth")), (Ok(true), Ok(true)));
}
