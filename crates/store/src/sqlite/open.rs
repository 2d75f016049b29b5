//! Opening SQLite files: the pragmas, the check that a file is ours, and the first schema.
//!
//! A file that is damaged, foreign or newer is refused before anything is written to it.

use std::fs::OpenOptions;
use std::io::ErrorKind as IoErrorKind;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::migrate::{self, Found};
use crate::{Error, ErrorKind, Options, outside};

/// Marks a file as ours: the bytes of "PCHL".
pub(crate) const APPLICATION_ID: i32 = 0x5043_484c;

/// Opens the file for writing, made on first use with mode 0600, schema up to date.
pub(super) fn file(path: &Path, options: Options) -> Result<Connection, Error> {
    if options.make_folder {
        make_folder(path).map_err(|error| io_error(path, &error))?;
    }
    create_private(path)?;
    regular(path)?;
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(|error| named(path, &error.into()))?;
    prepare(&connection, options, Some(path)).map_err(|error| named(path, &error))?;
    Ok(connection)
}

/// A further connection, for reading, to a store that is open already.
pub(super) fn reader(path: &Path, options: Options) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(|error| named(path, &error.into()))?;
    tune(&connection, options)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// A connection that cannot change the file, whatever the file is: nothing is checked here.
pub(crate) fn look(path: &Path, options: Options) -> Result<Connection, Error> {
    regular(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| named(path, &error.into()))?;
    tune(&connection, options)?;
    Ok(connection)
}

/// The same for a file that nobody writes: a finished copy. No side files are made for it.
pub(crate) fn look_at_copy(path: &Path, options: Options) -> Result<Connection, Error> {
    let escaped =
        path.to_str().map(|path| path.replace('%', "%25").replace('?', "%3f").replace('#', "%23"));
    let Some(escaped) = escaped else {
        return look(path, options);
    };
    regular(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)
        .map_err(|error| named(path, &error.into()))?;
    tune(&connection, options)?;
    Ok(connection)
}

/// A copy that nobody else knows of yet, for writing: brought forward, and without a backup of it.
pub(crate) fn own_copy(path: &Path, options: Options) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| named(path, &error.into()))?;
    prepare(&connection, options, None).map_err(|error| named(path, &error))?;
    Ok(connection)
}

/// What a file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    application: i32,
    pub(crate) version: i64,
    /// Nobody has put anything into it.
    pub(crate) is_empty: bool,
}

impl Header {
    pub(crate) const fn is_ours(self) -> bool {
        self.application == APPLICATION_ID
    }
}

/// Read from the header and, where that says nothing, from the table of contents; in one view, so
/// that a store which another process makes at this moment is seen before or after, not between.
pub(crate) fn header(connection: &Connection) -> Result<Header, Error> {
    let view =
        connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version = number("PRAGMA user_version")?;
    let is_empty =
        application == 0 && version == 0 && number("SELECT count(*) FROM sqlite_master")? == 0;
    if let Some(view) = view {
        view.finish()?;
    }
    Ok(Header { application, version, is_empty })
}

/// A number that changes when another connection, of any process, has committed something.
pub(crate) fn data_version(connection: &Connection) -> Result<i64, Error> {
    let mut statement = connection.prepare_cached("PRAGMA data_version")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

pub(super) fn memory(options: Options) -> Result<Connection, Error> {
    let connection = Connection::open_in_memory()?;
    prepare(&connection, options, None)?;
    Ok(connection)
}

/// SQLite waits for a pipe without a writer for ever. What is not there, it says itself.
fn regular(path: &Path) -> Result<(), Error> {
    match outside::check(path) {
        Err(error) if error.kind() == IoErrorKind::InvalidInput => Err(io_error(path, &error)),
        _ => Ok(()),
    }
}

fn named(path: &Path, error: &Error) -> Error {
    Error::new(error.kind, format!("{}: {}", path.display(), error.detail))
}

/// Others must not read the store: create it for its owner alone. SQLite gives its side files
/// the same mode.
pub(crate) fn create_private(path: &Path) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == IoErrorKind::AlreadyExists => Ok(()),
        // Whatever else is wrong, opening says it better.
        Err(_) if path.exists() => Ok(()),
        Err(error) => Err(io_error(path, &error)),
    }
}

/// The folder of the default place, for its owner alone.
pub(crate) fn make_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    path.parent().map_or(Ok(()), |folder| builder.create(folder))
}

fn io_error(path: &Path, error: &std::io::Error) -> Error {
    named(path, &crate::error::of_io(error))
}

/// Of a connection that writes. It keeps 1 MiB of the file at hand, so that a process that lives long
/// stays small, but up to 64 MiB (16,384 pages) of what a large transaction changes: that is written
/// once then, and not some pages often.
const SETTINGS: &str = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
     PRAGMA cache_size = -1024; PRAGMA cache_spill = 16384";

fn prepare(connection: &Connection, options: Options, path: Option<&Path>) -> Result<(), Error> {
    tune(connection, options)?;
    let found = found(connection, options)?;
    // The order matters: nothing is written to a file before it is known to be ours.
    connection.execute_batch(SETTINGS)?;
    match found {
        Found::Current => {}
        Found::Newer(version) => return Err(migrate::newer(version, options.migrations)),
        Found::Unfinished if options.is_copied_into => {}
        Found::Unfinished => return Err(migrate::unfinished()),
        Found::Fresh | Found::Older(_) => {
            if path.is_some() {
                become_wal(connection)?;
            }
            migrate::sqlite(connection, options.migrations, path, APPLICATION_ID)?;
        }
    }
    Ok(())
}

/// What every connection needs, reading or writing. It keeps few pages: what is read often is in the
/// system's memory anyhow, and a larger share of our own grew with the file and made no look at ten
/// thousand tasks faster.
fn tune(connection: &Connection, options: Options) -> Result<(), Error> {
    connection.busy_timeout(Duration::from_millis(u64::from(options.busy_ms)))?;
    // A plan must not depend on what is bound: else SQLite plans a statement anew at every
    // binding that a partial index could make use of, which costs more than running it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

/// What the file is to us; reads only.
fn found(connection: &Connection, options: Options) -> Result<Found, Error> {
    let header = header(connection)?;
    if header.is_ours() {
        return Ok(migrate::compare(header.version, options.migrations));
    }
    if header.is_empty {
        return Ok(Found::Fresh);
    }
    Err(Error::new(ErrorKind::NotOurs, "its tables are not punchlist's"))
}

/// Switching to WAL needs the file alone for a moment, and SQLite does not wait for that by
/// itself: when many processes make the same store at once, one wins and the others come again.
fn become_wal(connection: &Connection) -> Result<(), Error> {
    let mut last = None;
    for _ in 0..500 {
        match connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
        {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let detail = format!("the file cannot be put into WAL mode (it is in `{mode}`)");
                return Err(Error::new(ErrorKind::Backend, detail));
            }
            Err(error) => {
                let error = Error::from(error);
                if error.kind != ErrorKind::Busy {
                    return Err(error);
                }
                last = Some(error);
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(last.unwrap_or_else(|| Error::new(ErrorKind::Busy, "WAL mode could not be set")))
}
