//! Putting a copy back: the store becomes the copy, and what it was is kept beside it.
//!
//! The copy is made ready beside the store first: brought forward, and told that it was restored.
//! A store that works is overwritten through SQLite's own locks, as one transaction, so that
//! other processes go on with the new content. One that is too damaged for that is moved aside.

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

/// How often a restore is tried while others write between its look and its lock.
const ATTEMPTS_MAX: u32 = 20;

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    pub store: PathBuf,
    pub from: PathBuf,
    /// How many events the backup holds.
    pub events: i64,
    pub last_event_at: Option<Time>,
    /// How many events went that the backup does not have; none: it could not be told.
    pub lost: Option<i64>,
    /// Where the store as it was is kept; none: there was none.
    pub kept: Option<PathBuf>,
}

/// What became of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done(Restored),
    /// It was not asked to overwrite what the backup does not have; nothing changed.
    WouldLose(Loss),
}

/// What is to be put back, and at what cost.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub from: &'a Path,
    /// There may be a store in its place.
    pub replace: bool,
    /// Events of it that the backup does not have may go.
    pub overwrite: bool,
    pub at: Time,
}

/// Writes down in the restored log that it was restored; told how many events went for it.
pub type Record<'r> = dyn FnMut(&mut Tx<'_>, Option<i64>) -> Result<(), Error> + 'r;

/// Puts a backup back. Its log goes on above every number that the store has ever given out, so
/// that no subscriber takes a new event for one it has seen (ADR 0010).
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
    // What a store that is gone or cannot be read has counted to nobody knows. No log that counts
    // by ones reaches the milliseconds of the clock.
    let unknown = log.last_seq.unwrap_or_default().max(at.micros() / 1_000);
    let (lost, kept) = match state(store, options)? {
        State::Absent => {
            let copy = Copy::make(&source, store, options, progress)?;
            copy.record(unknown, Some(0), record)?;
            let kept = clear(store, at)?;
            copy.keep()?;
            (Some(0), kept)
        }
        _ if !replace => {
            let detail = format!("{}: somebody has made a store there", store.display());
            return Err(Error::new(ErrorKind::Conflict, detail));
        }
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
    // What was put back is seen to work.
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

/// A copy of the backup beside the store: checked, brought forward, and told of its restore before
/// anybody else sees it. Dropped, it goes away.
struct Copy {
    /// Before the file: it must be closed when the file goes.
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

    /// Writes the restore down, above every number that was given out before.
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

    /// Gives the copy the name of the store, with all that was written to it.
    fn keep(self) -> Result<(), Error> {
        let Self { connection, partial } = self;
        connection.close().map_err(|(_, error)| error)?;
        partial.keep()
    }
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
    Done { lost: Option<i64>, kept: PathBuf },
    WouldLose(Loss),
}

/// Overwrites a store that works. What others write between the look and the lock must neither
/// be lost unseen nor be missing from what is kept: then it begins again.
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

/// One transaction over the whole file. It begins with the write lock and not a page: only then is
/// it certain what the store is, and the copy made ready for it. False: it is not as it was seen,
/// and nothing was done.
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
