//! Restores a backup. The replaced store is kept next to the new one.
//!
//! First a copy of the backup is prepared next to the store: it is migrated, and the restore is
//! recorded in it. A working store is then overwritten through SQLite's own locks, in one
//! transaction, so that other processes continue with the new content. A store that is too damaged
//! for that is moved aside.

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_core::Time;
use rusqlite::backup::{Backup as Pages, StepResult};
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;

use super::backup::{Log, Partial, Progress, backup, io, named, not_ours, patiently, sound};
use super::loss::Loss;
use super::{disk, names};
use crate::migrate::{self, Found};
use crate::{Error, ErrorKind, Options, Store, Target, Tx, sqlite};

/// How often a restore is retried when others write between its check and its lock.
const ATTEMPTS_MAX: u32 = 20;

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    pub store: PathBuf,
    pub from: PathBuf,
    /// The number of events in the backup.
    pub events: i64,
    pub last_event_at: Option<Time>,
    /// The number of lost events, which the backup does not have; `None` if unknown.
    pub lost: Option<i64>,
    /// The file that the replaced store is kept in; `None` if there was no store.
    pub kept: Option<PathBuf>,
}

/// The outcome of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done(Restored),
    /// Events would be lost, and overwriting was not allowed. Nothing changed.
    WouldLose(Loss),
}

/// A request to restore a backup.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub from: &'a Path,
    /// May an existing store be replaced?
    pub replace: bool,
    /// May events be lost that the backup does not have?
    pub overwrite: bool,
    pub at: Time,
}

/// Records the restore in the restored log. Gets the number of lost events.
pub type Record<'r> = dyn FnMut(&mut Tx<'_>, Option<i64>) -> Result<(), Error> + 'r;

/// Restores a backup. Its log continues above every number that the store has ever used, so that no
/// subscriber takes a new event for one it has seen (ADR 0010).
pub fn restore(
    store: &Path,
    request: Request<'_>,
    options: Options,
    record: &mut Record<'_>,
    progress: &mut Progress<'_>,
) -> Result<Outcome, Error> {
    let Request { from, replace, overwrite, at } = request;
    let source = usable(from, options)?;
    let log = Log::read(&source).map_err(|error| named(from, &error))?;
    // If the store is missing or unreadable, its last number is unknown. The clock in milliseconds
    // is used instead, because no log reaches that number by counting.
    let unknown = log.last_seq.unwrap_or_default().max(at.micros() / 1_000);
    let (lost, kept) = match state(store, options)? {
        State::Absent => {
            let copy = Copy::make(&source, store, options, progress)?;
            copy.record(unknown, Some(0), record)?;
            // The copy may have taken minutes. A store that was made meanwhile keeps its files.
            if is_there(store) {
                return Err(somebody_was_first(store));
            }
            let kept = clear(store, at)?;
            copy.keep_new().map_err(|error| match is_there(store) {
                true => somebody_was_first(store),
                false => error,
            })?;
            (Some(0), kept)
        }
        _ if !replace => return Err(somebody_was_first(store)),
        State::Damaged(_) if overwrite => {
            let copy = Copy::make(&source, store, options, progress)?;
            copy.record(unknown, None, record)?;
            let kept = move_aside(store, at)?;
            copy.keep()?;
            (None, Some(kept))
        }
        State::Damaged(why) => return Ok(Outcome::WouldLose(Loss::Unknown { why })),
        State::Sound => match over(&source, store, request, options, record, progress)? {
            Over::Done { lost, kept } => (lost, Some(kept)),
            Over::WouldLose(loss) => return Ok(Outcome::WouldLose(loss)),
        },
    };
    // Check that the restored store opens.
    drop(Store::open(&Target::File(store.to_owned()), options)?);
    let (store, from) = (store.to_owned(), from.to_owned());
    let Log { events, last_event_at, .. } = log;
    Ok(Outcome::Done(Restored { store, from, events, last_event_at, lost, kept }))
}

fn somebody_was_first(store: &Path) -> Error {
    let detail = format!("{}: somebody has made a store there", store.display());
    Error::new(ErrorKind::Conflict, detail)
}

/// Opens the backup, if it is valid: ours, not newer, and with every page intact.
fn usable(from: &Path, options: Options) -> Result<Connection, Error> {
    let has_wal = disk::files(from)[1].metadata().is_ok_and(|metadata| metadata.len() > 0);
    // A plain copy of a live store has a WAL next to it, which is part of the copy.
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

/// Is there a file at the store's path that a restore would replace?
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

/// A copy of the backup next to the store: checked, migrated, and with the restore recorded in it,
/// before any other process sees it. It is deleted when dropped.
struct Copy {
    /// Declared before `partial`, so that it is closed before the file is deleted.
    connection: Connection,
    partial: Partial,
}

impl Copy {
    fn make(
        source: &Connection,
        store: &Path,
        options: Options,
        progress: &mut Progress<'_>,
    ) -> Result<Self, Error> {
        if options.make_folder {
            sqlite::make_folder(store).map_err(|error| io(store, &error))?;
        }
        names::sweep(store, store);
        let partial = Partial::copy(source, store, options, progress)?;
        partial.check(options)?;
        let connection = sqlite::own_copy(partial.path(), options)?;
        Ok(Self { connection, partial })
    }

    /// Records the restore with a number above all earlier ones.
    fn record(&self, above: i64, lost: Option<i64>, record: &mut Record<'_>) -> Result<(), Error> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let mut tx = Tx::sqlite(&self.connection);
        tx.above = Some(above);
        let recorded = record(&mut tx, lost).and_then(|()| match Log::read(&self.connection)? {
            Log { last_seq: Some(last), .. } if last > above => Ok(()),
            _ => Err(Error::new(ErrorKind::Backend, "the restore was not written down")),
        });
        let end = if recorded.is_ok() { "COMMIT" } else { "ROLLBACK" };
        self.connection.execute_batch(end)?;
        recorded
    }

    /// Renames the copy to the name of the store, with everything that was written to it.
    fn keep(self) -> Result<(), Error> {
        self.closed()?.keep()
    }

    /// Like `keep`, but fails if there is a store of that name.
    fn keep_new(self) -> Result<(), Error> {
        self.closed()?.keep_new()
    }

    fn closed(self) -> Result<Partial, Error> {
        let Self { connection, partial } = self;
        connection.close().map_err(|(_, error)| error)?;
        Ok(partial)
    }
}

/// Deletes leftover side files, or moves them aside if the WAL has content. The new store would
/// treat an old WAL as its own and be damaged.
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

/// Moves a damaged store and its side files aside.
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
    Done { lost: Option<i64>, kept: PathBuf },
    WouldLose(Loss),
}

/// Overwrites a working store. If other processes write between the check and the lock, their
/// writes must neither be lost unnoticed nor be missing from the kept store, so the restore starts
/// again.
fn over(
    source: &Connection,
    store: &Path,
    request: Request<'_>,
    options: Options,
    record: &mut Record<'_>,
    progress: &mut Progress<'_>,
) -> Result<Over, Error> {
    let reader = sqlite::look(store, options)?;
    let mut made = None;
    for _ in 0..ATTEMPTS_MAX {
        let seen = sqlite::data_version(&reader)?;
        let loss = Loss::of(&reader, source)?;
        if loss != Loss::Nothing && !request.overwrite {
            return Ok(Over::WouldLose(loss));
        }
        let copy = match &made {
            Some(copy) => copy,
            None => made.insert(Copy::make(source, store, options, progress)?),
        };
        let kept = names::fresh(names::folder_of(store), store, request.at, names::REPLACED);
        backup(store, &kept, options, &mut |_, _| std::ops::ControlFlow::Continue(()))?;
        let done = overwritten(&copy.connection, store, options, progress, || {
            if sqlite::data_version(&reader)? != seen {
                return Ok(false);
            }
            let counted = Log::read(&reader)?.last_seq.max(Log::read(source)?.last_seq);
            copy.record(counted.unwrap_or_default(), loss.count(), record)?;
            Ok(true)
        });
        match done {
            Ok(true) => return Ok(Over::Done { lost: loss.count(), kept }),
            Ok(false) => fs::remove_file(&kept).map_err(|error| io(&kept, &error))?,
            Err(error) => {
                drop(fs::remove_file(&kept));
                return Err(named(store, &error));
            }
        }
    }
    Err(named(store, &Error::new(ErrorKind::Busy, "others keep writing to it")))
}

/// Overwrites the whole file in one transaction. The transaction takes the write lock before it
/// writes any page: only then is the store's state certain, and the prepared copy right for it.
/// Returns false, and changes nothing, if the state is not the expected one.
fn overwritten(
    copy: &Connection,
    store: &Path,
    options: Options,
    progress: &mut Progress<'_>,
    ready: impl FnOnce() -> Result<bool, Error>,
) -> Result<bool, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut target = Connection::open_with_flags(store, flags)?;
    target.busy_timeout(std::time::Duration::from_millis(u64::from(options.busy_ms)))?;
    let pages = Pages::new(copy, &mut target)?;
    patiently(options, || pages.step(0))?;
    if !ready()? {
        return Ok(false);
    }
    while patiently(options, || pages.step(256))? != StepResult::Done {
        let at = pages.progress();
        let total = u64::try_from(at.pagecount).unwrap_or_default();
        let left = u64::try_from(at.remaining).unwrap_or_default();
        if progress(total.saturating_sub(left), total).is_break() {
            return Err(Error::new(ErrorKind::Stopped, "somebody asked for it"));
        }
    }
    Ok(true)
}
