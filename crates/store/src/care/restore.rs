//! Putting a copy back: the store becomes the copy, and what it was is kept beside it.
//!
//! A store that works is overwritten through SQLite's own locks, as one transaction, so that
//! other processes go on with the new content. One that is too damaged for that is moved aside.

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_core::Time;
use rusqlite::backup::{Backup as Pages, StepResult};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde::Serialize;

use super::backup::{Log, Partial, Progress, backup, io, named, not_ours, patiently, sound};
use super::{disk, names};
use crate::migrate::{self, Found};
use crate::{Error, ErrorKind, Options, Store, Target, sqlite};

/// How often a restore is tried while others write between its look and its lock.
const ATTEMPTS_MAX: u32 = 20;

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    pub store: PathBuf,
    pub from: PathBuf,
    /// How many events the log holds now.
    pub events: i64,
    pub last_event_at: Option<Time>,
    /// How many events went that the backup does not have; none: it could not be told.
    pub lost: Option<i64>,
    /// Where the store as it was is kept; none: there was none.
    pub kept: Option<PathBuf>,
}

/// What overwriting a store would lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    Nothing,
    Events {
        count: i64,
        /// When the first of them happened.
        since: Time,
    },
    /// The store cannot be read, so nobody knows.
    Unknown {
        why: String,
    },
}

/// What became of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done(Restored),
    /// It was not asked to overwrite what the backup does not have; nothing changed.
    WouldLose(Loss),
}

/// Puts a backup back. `overwrite` says that events the backup does not have may go.
pub fn restore(
    store: &Path,
    from: &Path,
    overwrite: bool,
    at: Time,
    options: Options,
    progress: &mut Progress<'_>,
) -> Result<Outcome, Error> {
    let source = usable(from, options)?;
    let log = Log::read(&source).map_err(|error| named(from, &error))?;
    let (lost, kept) = match state(store, options)? {
        State::Absent => {
            let copy = put(&source, store, options, progress)?;
            let kept = clear(store, at)?;
            copy.keep()?;
            (Some(0), kept)
        }
        State::Damaged(_) if overwrite => {
            let copy = put(&source, store, options, progress)?;
            let kept = move_aside(store, at)?;
            copy.keep()?;
            (None, Some(kept))
        }
        State::Damaged(why) => return Ok(Outcome::WouldLose(Loss::Unknown { why })),
        State::Sound => match over(&source, store, overwrite, at, options, progress)? {
            Over::Done { lost, kept } => (Some(lost), Some(kept)),
            Over::WouldLose(loss) => return Ok(Outcome::WouldLose(loss)),
        },
    };
    // An older backup is brought forward now, and what was put back is seen to work.
    drop(Store::open(&Target::File(store.to_owned()), options)?);
    let (store, from) = (store.to_owned(), from.to_owned());
    let Log { events, last_event_at, .. } = log;
    Ok(Outcome::Done(Restored { store, from, events, last_event_at, lost, kept }))
}

/// The backup, if it is one: ours, not newer, and sound in every page.
fn usable(from: &Path, options: Options) -> Result<Connection, Error> {
    let has_wal = disk::files(from)[1].metadata().is_ok_and(|metadata| metadata.len() > 0);
    // A plain copy of a live store has a WAL beside it, which belongs to it.
    let open = if has_wal { sqlite::look } else { sqlite::look_at_copy };
    let checked = open(from, options).and_then(|connection| {
        let header = sqlite::header(&connection)?;
        if !header.is_ours() {
            return Err(not_ours(from));
        }
        if let Found::Newer(version) = migrate::compare(header.version, options.migrations) {
            return Err(migrate::newer(version, options.migrations));
        }
        sound(&connection, "PRAGMA integrity_check(1)")?;
        Ok(connection)
    });
    checked.map_err(|error| named(from, &error))
}

enum State {
    Absent,
    Sound,
    Damaged(String),
}

/// Is anything at a store's place that a restore would replace?
#[must_use]
pub fn is_there(store: &Path) -> bool {
    fs::metadata(store).is_ok_and(|metadata| !metadata.is_file() || metadata.len() > 0)
}

fn state(store: &Path, options: Options) -> Result<State, Error> {
    if !is_there(store) {
        return Ok(State::Absent);
    }
    let looked = sqlite::look(store, options).and_then(|connection| {
        let header = sqlite::header(&connection)?;
        if !header.is_ours() {
            return Err(not_ours(store));
        }
        sound(&connection, "PRAGMA quick_check(1)")?;
        Log::read(&connection)
    });
    match looked {
        Ok(_) => Ok(State::Sound),
        Err(error) if error.kind == ErrorKind::Corrupt => Ok(State::Damaged(error.detail)),
        Err(error) => Err(named(store, &error)),
    }
}

/// A checked copy of the backup that only needs its name.
fn put(
    source: &Connection,
    store: &Path,
    options: Options,
    progress: &mut Progress<'_>,
) -> Result<Partial, Error> {
    if options.make_folder {
        sqlite::make_folder(store).map_err(|error| io(store, &error))?;
    }
    let copy = Partial::copy(source, store, options, progress)?;
    copy.check(options)?;
    Ok(copy)
}

/// A WAL without its store would be taken for the new store's own, and spoil it.
fn clear(store: &Path, at: Time) -> Result<Option<PathBuf>, Error> {
    let [_, wal, shm] = disk::files(store);
    if wal.metadata().is_ok_and(|metadata| metadata.len() > 0) {
        return move_aside(store, at).map(Some);
    }
    for file in [wal, shm] {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io(&file, &error));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// Moves a damaged store and what lies beside it out of the way.
fn move_aside(store: &Path, at: Time) -> Result<PathBuf, Error> {
    let kept = names::fresh(names::folder_of(store), store, at, names::REPLACED);
    for (from, to) in disk::files(store).into_iter().zip(disk::files(&kept)) {
        match fs::rename(&from, &to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io(&from, &error));
            }
            _ => {}
        }
    }
    Ok(kept)
}

enum Over {
    Done { lost: i64, kept: PathBuf },
    WouldLose(Loss),
}

/// Overwrites a store that works. What others write between the look and the lock must neither
/// be lost unseen nor be missing from what is kept: then it begins again.
fn over(
    source: &Connection,
    store: &Path,
    overwrite: bool,
    at: Time,
    options: Options,
    progress: &mut Progress<'_>,
) -> Result<Over, Error> {
    let reader = sqlite::look(store, options)?;
    for _ in 0..ATTEMPTS_MAX {
        let seen = sqlite::data_version(&reader)?;
        let loss = loss(&reader, source)?;
        if loss != Loss::Nothing && !overwrite {
            return Ok(Over::WouldLose(loss));
        }
        let kept = names::fresh(names::folder_of(store), store, at, names::REPLACED);
        backup(store, &kept, options, &mut |_, _| std::ops::ControlFlow::Continue(()))?;
        let done = overwritten(source, store, options, progress, || {
            Ok(sqlite::data_version(&reader)? == seen)
        });
        match done {
            Ok(true) => {
                let lost = if let Loss::Events { count, .. } = loss { count } else { 0 };
                return Ok(Over::Done { lost, kept });
            }
            Ok(false) => fs::remove_file(&kept).map_err(|error| io(&kept, &error))?,
            Err(error) => {
                drop(fs::remove_file(&kept));
                return Err(named(store, &error));
            }
        }
    }
    Err(named(store, &Error::new(ErrorKind::Busy, "others keep writing to it")))
}

/// One transaction over the whole file. The first step takes the write lock; if the store is
/// not as it was seen by then, all is undone. False: that is what happened.
fn overwritten(
    source: &Connection,
    store: &Path,
    options: Options,
    progress: &mut Progress<'_>,
    as_seen: impl FnOnce() -> Result<bool, Error>,
) -> Result<bool, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut target = Connection::open_with_flags(store, flags)?;
    target.busy_timeout(std::time::Duration::from_millis(u64::from(options.busy_ms)))?;
    let pages = Pages::new(source, &mut target)?;
    let mut step = patiently(options, || pages.step(1))?;
    if !as_seen()? {
        return Ok(false);
    }
    while step != StepResult::Done {
        let at = pages.progress();
        let total = u64::try_from(at.pagecount).unwrap_or_default();
        let left = u64::try_from(at.remaining).unwrap_or_default();
        if progress(total.saturating_sub(left), total).is_break() {
            return Err(Error::new(ErrorKind::Stopped, "somebody asked for it"));
        }
        step = patiently(options, || pages.step(256))?;
    }
    Ok(true)
}

/// What the store's log has and the backup's has not. Logs share their beginning; where they
/// part is found by halving.
fn loss(store: &Connection, backup: &Connection) -> Result<Loss, Error> {
    let last = Log::read(backup)?.last_seq.unwrap_or_default();
    let (mut shared, mut end) = (0, last + 1);
    if last > 0 && same(store, backup, last)? {
        shared = last;
    } else {
        while end - shared > 1 {
            let middle = shared + (end - shared) / 2;
            if same(store, backup, middle)? { shared = middle } else { end = middle }
        }
    }
    let (count, since): (i64, Option<i64>) = store.query_row(
        "SELECT count(*), (SELECT at FROM events WHERE seq > ?1 ORDER BY seq LIMIT 1) \
         FROM events WHERE seq > ?1",
        [shared],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(match since {
        Some(since) => Loss::Events { count, since: Time::from_micros(since) },
        None => Loss::Nothing,
    })
}

fn same(store: &Connection, backup: &Connection, seq: i64) -> Result<bool, Error> {
    let event = |connection: &Connection| {
        let mut statement = connection
            .prepare_cached("SELECT type, aggregate, actor, at, data FROM events WHERE seq = ?1")?;
        let read =
            |row: &rusqlite::Row<'_>| -> rusqlite::Result<(String, String, String, i64, String)> {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            };
        statement.query_row([seq], read).optional()
    };
    Ok(event(store)? == event(backup)?)
}
