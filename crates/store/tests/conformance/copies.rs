//! Backup and restore of a SQLite file while processes use it (P-31).

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use punchlist_core::event::StoreRestored;
use punchlist_store::care::{self, Loss, Outcome, Request, Restored, names};
use punchlist_store::{Error, ErrorKind, Options, Store, Target, Tx};
use punchlist_testkit::Backend;

use crate::fixture::Fixture;

pub(crate) fn back_up(fixture: &Fixture, to: &Path) -> Result<care::Backup, Error> {
    let go_on = &mut |_, _| ControlFlow::Continue(());
    care::backup(&fixture.place.file(), to, Options::default(), go_on)
}

fn restore(fixture: &Fixture, from: &Path, overwrite: bool) -> Result<Outcome, Error> {
    restore_to(&fixture.place.file(), fixture, from, overwrite)
}

/// Restores a backup of this fixture's store to a path, as its operator would.
pub(crate) fn restore_to(
    store: &Path,
    fixture: &Fixture,
    from: &Path,
    overwrite: bool,
) -> Result<Outcome, Error> {
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let request = Request { from, replace: true, overwrite, at: fixture.now };
    let (project, stamp) = (fixture.list.project_id, fixture.stamp());
    let record = &mut |tx: &mut Tx<'_>, lost| {
        let file = "copy".to_owned();
        tx.append(&stamp, &project.to_string(), &StoreRestored { file, lost }.into())
    };
    care::restore(store, request, Options::default(), record, go_on)
}

pub(crate) fn restored(fixture: &Fixture, from: &Path) -> Restored {
    match restore(fixture, from, true).unwrap() {
        Outcome::Done(restored) => restored,
        Outcome::WouldLose(loss) => panic!("{loss:?}"),
    }
}

pub(crate) fn beside(fixture: &Fixture, name: &str) -> PathBuf {
    fixture.place.file().with_file_name(name)
}

pub(crate) fn files(fixture: &Fixture) -> Vec<String> {
    let entries = fs::read_dir(fixture.place.file().parent().unwrap()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with("-wal") && !name.ends_with("-shm"));
    names.sort();
    names
}

pub(crate) fn titles(fixture: &Fixture) -> Vec<String> {
    fixture.todos().into_iter().map(|todo| todo.title).collect()
}

/// Writers continue while pages are copied; the copy is the store at one moment.
#[test]
fn a_backup_during_writes_is_consistent() {
    let fixture = Arc::new(Fixture::new(Backend::SqliteFile));
    fixture.create(&["before"], 2);
    let (done, writer) = (Arc::new(AtomicBool::new(false)), Arc::clone(&fixture));
    let ended = Arc::clone(&done);
    let writing = thread::spawn(move || {
        let mut seed = 3;
        while !ended.load(Ordering::Relaxed) {
            writer.create(&["during"], seed);
            seed += 1;
        }
    });
    for n in 0..5 {
        let to = beside(&fixture, &format!("copy-{n}"));
        let made = back_up(&fixture, &to).unwrap();
        let report = care::examine(&Target::File(to), Options::default());
        assert!(report.ok, "{report:?}");
        assert!(made.events >= 1, "{made:?}");
    }
    done.store(true, Ordering::Relaxed);
    writing.join().unwrap();
}

#[test]
fn a_backup_is_private_and_describes_its_contents() {
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["a", "b"], 2);
    let to = beside(&fixture, "copy");
    let made = back_up(&fixture, &to).unwrap();
    let bytes = fs::metadata(&to).unwrap().len();
    let expected = care::Backup {
        file: to.clone(),
        bytes,
        events: 2,
        last_seq: Some(2),
        last_event_at: Some(fixture.now),
    };
    assert_eq!(made, expected);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(files(&fixture), ["copy", "test.db"]);
}

#[test]
fn a_backup_that_is_stopped_or_of_a_damaged_store_leaves_nothing() {
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["a"], 2);
    let (store, to) = (fixture.place.file(), beside(&fixture, "copy"));
    let stop = &mut |_, _| ControlFlow::Break(());
    let stopped = care::backup(&store, &to, Options::default(), stop);
    assert_eq!(stopped.unwrap_err().kind, ErrorKind::Stopped);
    assert_eq!(files(&fixture), ["test.db"]);
    let nowhere = beside(&fixture, "no/such/folder/copy");
    assert_eq!(back_up(&fixture, &nowhere).unwrap_err().kind, ErrorKind::Unreachable);

    back_up(&fixture, &to).unwrap();
    let mut bytes = fs::read(&to).unwrap();
    for byte in &mut bytes[8_192..40_960] {
        *byte ^= 0x5a;
    }
    let damaged = Fixture::new(Backend::SqliteFile);
    let Fixture { store: open, place, .. } = damaged;
    drop(open);
    fs::write(place.file(), bytes).unwrap();
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let copy = place.file().with_file_name("copy");
    let error = care::backup(&place.file(), &copy, Options::default(), go_on).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(!copy.exists());
}

#[test]
fn unfinished_copies_of_dead_processes_are_deleted_and_nothing_else() {
    let fixture = Fixture::new(Backend::SqliteFile);
    let mine = std::process::id();
    let names = [
        "test.db.20261115T080000Z.backup.4194305.partial".to_owned(),
        "copy.4194305.partial".to_owned(),
        format!("test.db.20261115T080000Z.backup.{mine}.partial"),
        "holiday.4194305.partial".to_owned(),
        "test.db.20261115T080000Z.backup".to_owned(),
    ];
    for name in &names {
        fs::write(beside(&fixture, name), "x").unwrap();
    }
    back_up(&fixture, &beside(&fixture, "copy")).unwrap();
    let mut left = names[2..].to_vec();
    left.extend(["copy".to_owned(), "test.db".to_owned()]);
    left.sort();
    assert_eq!(files(&fixture), left);
}

#[test]
fn retention_deletes_the_oldest_backups_of_this_store_only() {
    let fixture = Fixture::new(Backend::SqliteFile);
    let (store, folder) = (fixture.place.file(), fixture.place.file());
    let folder = folder.parent().unwrap();
    for n in 0..12 {
        let to = names::fresh(folder, &store, fixture.now.plus_seconds(n / 11), names::BACKUP);
        back_up(&fixture, &to).unwrap();
    }
    let others = ["other.db.20200101T000000Z.backup", "test.db.backup", "test.db.v1.bak"];
    for name in others {
        fs::write(beside(&fixture, name), "x").unwrap();
    }
    let gone = names::retain(folder, &store, 3).unwrap();
    assert_eq!(gone.len(), 9);
    let mut left = vec![
        "test.db.20261115T080000Z-10.backup",
        "test.db.20261115T080000Z-11.backup",
        "test.db.20261115T080001Z.backup",
        "test.db",
    ];
    left.extend(others);
    left.sort_unstable();
    assert_eq!(files(&fixture), left);
    assert_eq!(names::retain(folder, &store, 3).unwrap().len(), 0);
}

/// An open store, of this process or any other, continues with the restored data.
#[test]
fn a_restore_under_an_open_store_keeps_what_was_there() {
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["a"], 2);
    let copy = beside(&fixture, "copy");
    back_up(&fixture, &copy).unwrap();
    fixture.create(&["b", "c"], 3);

    let refused = restore(&fixture, &copy, false).unwrap();
    let since = fixture.now;
    assert_eq!(refused, Outcome::WouldLose(Loss::Events { count: 2, since }));
    assert_eq!(titles(&fixture), ["a", "b", "c"]);
    assert_eq!(files(&fixture), ["copy", "test.db"]);

    let done = restored(&fixture, &copy);
    let kept = beside(&fixture, "test.db.20261115T080000Z.replaced");
    let expected = Restored {
        store: fixture.place.file(),
        from: copy,
        events: 1,
        last_event_at: Some(fixture.now),
        lost: Some(2),
        kept: Some(kept.clone()),
    };
    assert_eq!(done, expected);
    assert_eq!(titles(&fixture), ["a"]);
    fixture.create(&["d"], 4);
    assert_eq!(titles(&fixture), ["a", "d"]);
    let report = care::examine(fixture.place.target(), Options::default());
    assert!(report.ok, "{report:?}");

    // The logs differ after the first event: each has one event that the other lacks.
    let refused = restore(&fixture, &kept, false).unwrap();
    assert_eq!(refused, Outcome::WouldLose(Loss::Events { count: 1, since }));
    assert_eq!(restored(&fixture, &kept).lost, Some(1));
    assert_eq!(titles(&fixture), ["a", "b", "c"]);
    // A backup that contains everything in the store loses nothing and needs no confirmation.
    assert!(matches!(restore(&fixture, &kept, false), Ok(Outcome::Done(_))));
}

/// Copying takes minutes for a large backup. Another process may make a store meanwhile.
#[test]
fn a_restore_does_not_replace_a_store_that_was_made_meanwhile() {
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["a"], 2);
    let copy = beside(&fixture, "copy");
    back_up(&fixture, &copy).unwrap();
    let file = beside(&fixture, "new.db");
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let request = Request { from: &copy, replace: true, overwrite: true, at: fixture.now };
    let (project, stamp, now) = (fixture.list.project_id, fixture.stamp(), fixture.now);
    let mut others = None;
    let record = &mut |tx: &mut Tx<'_>, lost| {
        let other = Store::open(&Target::File(file.clone()), Options::default())?;
        other.write(move |tx| tx.insert_project(project, "made meanwhile", now))?;
        others = Some(other);
        let restored = StoreRestored { file: "copy".to_owned(), lost };
        tx.append(&stamp, &project.to_string(), &restored.into())
    };
    let refused = care::restore(&file, request, Options::default(), record, go_on).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict, "{refused}");
    let names = others.unwrap().read(|tx| tx.project_names()).unwrap();
    assert_eq!(names.into_iter().map(|(_, name)| name).collect::<Vec<_>>(), ["made meanwhile"]);
    assert_eq!(files(&fixture), ["copy", "new.db", "test.db"]);
}

#[test]
fn a_restore_creates_a_missing_store_and_replaces_a_damaged_one() {
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["a"], 2);
    let copy = beside(&fixture, "copy");
    back_up(&fixture, &copy).unwrap();
    let other = Fixture::new(Backend::SqliteFile);
    let Fixture { store, place, .. } = other;
    drop(store);
    let file = place.file();
    let go = |overwrite| restore_to(&file, &fixture, &copy, overwrite);
    fs::remove_file(&file).unwrap();
    let Ok(Outcome::Done(done)) = go(false) else { panic!("nothing is in its way") };
    assert_eq!((done.lost, done.kept), (Some(0), None));
    assert!(care::examine(place.target(), Options::default()).ok);

    // The WAL of a deleted store must not become part of the restored one.
    fs::remove_file(&file).unwrap();
    fixture.create(&["in the WAL alone"], 9);
    fs::copy(beside(&fixture, "test.db-wal"), file.with_file_name("test.db-wal")).unwrap();
    let Ok(Outcome::Done(done)) = go(false) else { panic!("nothing is in its way") };
    assert!(done.kept.is_some());
    let report = care::examine(place.target(), Options::default());
    assert!(report.ok, "{report:?}");
    let list = fixture.list.id;
    let back = place.open().read(move |tx| tx.todos(list)).unwrap();
    assert_eq!(back.len(), 1);

    let noise = "not a database at all ".repeat(1_000);
    for side in [file.clone(), file.with_file_name("test.db-wal")] {
        fs::write(side, &noise).unwrap();
    }
    assert!(matches!(go(false), Ok(Outcome::WouldLose(Loss::Unknown { .. }))));
    assert_eq!(fs::read_to_string(&file).unwrap(), noise);
    let Ok(Outcome::Done(done)) = go(true) else { panic!("it was told to") };
    let kept = done.kept.unwrap();
    assert_eq!((done.lost, fs::read_to_string(&kept).unwrap()), (None, noise));
    let report = care::examine(place.target(), Options::default());
    let bad: Vec<_> = report.checks.iter().filter(|check| !check.ok).collect();
    assert!(bad.is_empty(), "{bad:?}");
}

#[test]
fn an_invalid_backup_is_refused_and_nothing_changes() {
    let fixture = Fixture::new(Backend::SqliteFile);
    fixture.create(&["a"], 2);
    let sound = beside(&fixture, "sound");
    back_up(&fixture, &sound).unwrap();
    let bytes = fs::read(&sound).unwrap();
    let bad = beside(&fixture, "bad");
    let kind = || restore(&fixture, &bad, true).unwrap_err().kind;

    assert_eq!(kind(), ErrorKind::Unreachable);
    fs::write(&bad, "Dear diary, ".repeat(500)).unwrap();
    assert_eq!(kind(), ErrorKind::Corrupt);
    fs::write(&bad, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(kind(), ErrorKind::Corrupt);
    let mut noise = bytes.clone();
    for byte in &mut noise[8_192..40_960] {
        *byte ^= 0x5a;
    }
    fs::write(&bad, noise).unwrap();
    assert_eq!(kind(), ErrorKind::Corrupt);
    fs::write(&bad, "").unwrap();
    assert_eq!(kind(), ErrorKind::NotOurs);
    fs::remove_file(&bad).unwrap();
    let other = rusqlite::Connection::open(&bad).unwrap();
    other.execute_batch("CREATE TABLE songs (id TEXT)").unwrap();
    drop(other);
    assert_eq!(kind(), ErrorKind::NotOurs);
    fs::write(&bad, &bytes).unwrap();
    let newer = rusqlite::Connection::open(&bad).unwrap();
    newer.pragma_update(None, "user_version", 999).unwrap();
    drop(newer);
    assert_eq!(kind(), ErrorKind::Newer);

    assert_eq!(titles(&fixture), ["a"]);
    assert_eq!(files(&fixture), ["bad", "sound", "test.db"]);
}
