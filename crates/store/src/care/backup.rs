//! A copy of a SQLite store: made online, consistent, and either complete or absent.
//!
//! One read transaction stays open while the pages are copied, so writers can go on and the copy is
//! the store at one moment. The copy is written under another name, checked, and renamed when it is
//! complete.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use punchlist_core::Time;
use rusqlite::backup::StepResult;
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;

use super::{Unfinished, names};
use crate::{Error, ErrorKind, Options, sqlite};

/// How many pages are copied before the caller is asked whether to go on: 1 MiB.
const STEP_PAGES: i32 = 256;

/// A finished backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    pub file: PathBuf,
    pub bytes: u64,
    /// The number of events in its log.
    pub events: i64,
    pub last_seq: Option<i64>,
    pub last_event_at: Option<Time>,
}

/// Gets the number of copied pages and of all pages. May stop the copy.
pub type Progress<'p> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'p;

/// Copies a store to a file that must not exist. Leaves nothing behind if it fails.
pub fn backup(
    store: &Path,
    to: &Path,
    options: Options,
    progress: &mut Progress<'_>,
) -> Result<Backup, Error> {
    let source = source(store, options)?;
    names::sweep(to, store);
    let partial = Partial::copy(&source, to, options, progress)?;
    let copy = partial.check(options)?;
    partial.keep()?;
    let bytes = fs::metadata(to).map_err(|error| io(to, &error))?.len();
    let Log { events, last_seq, last_event_at } = copy;
    Ok(Backup { file: to.to_owned(), bytes, events, last_seq, last_event_at })
}

/// Opens a store of ours, of any version.
fn source(store: &Path, options: Options) -> Result<Connection, Error> {
    if !store.exists() {
        let detail = format!("{}: there is no store", store.display());
        return Err(Error::new(ErrorKind::Unreachable, detail));
    }
    let connection = sqlite::look(store, options)?;
    let header = sqlite::header(&connection).map_err(|error| named(store, &error))?;
    if !header.is_ours() {
        return Err(not_ours(store));
    }
    Ok(connection)
}

pub(super) fn not_ours(path: &Path) -> Error {
    let detail = format!("{}: its tables are not punchlist's", path.display());
    Error::new(ErrorKind::NotOurs, detail)
}

/// A copy under its temporary name. It is deleted when dropped.
#[derive(Debug)]
pub(super) struct Partial(Unfinished);

impl Partial {
    /// Copies the source as it is at one moment.
    pub(super) fn copy(
        source: &Connection,
        target: &Path,
        options: Options,
        progress: &mut Progress<'_>,
    ) -> Result<Self, Error> {
        let (unfinished, _) = Unfinished::create(target)?;
        let partial = Self(unfinished);
        partial.fill(source, options, progress).map_err(|error| named(target, &error))?;
        Ok(partial)
    }

    fn fill(
        &self,
        source: &Connection,
        options: Options,
        progress: &mut Progress<'_>,
    ) -> Result<(), Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut copy = Connection::open_with_flags(self.path(), flags)?;
        // A failed copy is deleted, so it needs no journal.
        copy.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
        // Keep the read transaction open; otherwise every commit of another process would restart
        // the copy.
        source.execute_batch("BEGIN; SELECT count(*) FROM sqlite_master")?;
        let copied = pages(source, &mut copy, options, progress);
        drop(source.execute_batch("ROLLBACK"));
        copied
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Checks the copy. A damaged store gives a damaged copy, which must not replace a good one.
    pub(super) fn check(&self, options: Options) -> Result<Log, Error> {
        let copy = sqlite::look_at_copy(self.path(), options)?;
        let log = sound(&copy, "PRAGMA quick_check(1)").and_then(|()| Log::read(&copy));
        log.map_err(|error| named(self.0.target(), &error))
    }

    /// Renames the copy to its final name and keeps it.
    pub(super) fn keep(self) -> Result<(), Error> {
        self.0.keep()
    }

    /// Like `keep`, but fails if there is a file of that name.
    pub(super) fn keep_new(self) -> Result<(), Error> {
        self.0.keep_new()
    }
}

/// Copies all pages. Stops when the caller asks for it, or when a lock is held for too long.
fn pages(
    source: &Connection,
    copy: &mut Connection,
    options: Options,
    progress: &mut Progress<'_>,
) -> Result<(), Error> {
    let backup = rusqlite::backup::Backup::new(source, copy)?;
    loop {
        let step = patiently(options, || backup.step(STEP_PAGES))?;
        let at = backup.progress();
        let total = u64::try_from(at.pagecount).unwrap_or_default();
        let left = u64::try_from(at.remaining).unwrap_or_default();
        if progress(total.saturating_sub(left), total).is_break() {
            return Err(Error::new(ErrorKind::Stopped, "somebody asked for it"));
        }
        if step == StepResult::Done {
            return Ok(());
        }
    }
}

/// Repeats a step for a while if another process blocks it.
pub(super) fn patiently(
    options: Options,
    mut step: impl FnMut() -> rusqlite::Result<StepResult>,
) -> Result<StepResult, Error> {
    let deadline = Instant::now() + Duration::from_millis(u64::from(options.busy_ms));
    loop {
        match step()? {
            StepResult::Busy | StepResult::Locked if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            StepResult::Busy | StepResult::Locked => {
                return Err(Error::new(ErrorKind::Busy, "another process holds it"));
            }
            step => return Ok(step),
        }
    }
}

/// Runs one of SQLite's own checks. Returns an error if it finds a fault.
pub(super) fn sound(connection: &Connection, pragma: &str) -> Result<(), Error> {
    let said: String = connection.query_row(pragma, [], |row| row.get(0))?;
    if said == "ok" { Ok(()) } else { Err(Error::new(ErrorKind::Corrupt, said)) }
}

/// The extent of a file's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Log {
    pub(super) events: i64,
    pub(super) last_seq: Option<i64>,
    pub(super) last_event_at: Option<Time>,
}

impl Log {
    pub(super) fn read(connection: &Connection) -> Result<Self, Error> {
        Ok(connection.query_row(
            "SELECT count(*), max(seq), (SELECT at FROM events ORDER BY seq DESC LIMIT 1) \
             FROM events",
            [],
            |row| {
                let at: Option<i64> = row.get(2)?;
                let last_event_at = at.map(Time::from_micros);
                Ok(Self { events: row.get(0)?, last_seq: row.get(1)?, last_event_at })
            },
        )?)
    }
}

pub(super) fn named(path: &Path, error: &Error) -> Error {
    let shown = path.display().to_string();
    if error.detail.starts_with(&shown) {
        return error.clone();
    }
    Error::new(error.kind, format!("{shown}: {}", error.detail))
}

pub(super) fn io(path: &Path, error: &std::io::Error) -> Error {
    named(path, &crate::error::of_io(error))
}
