//! Opens SQLite files: the pragmas, the check that a file is ours, and the first schema.
//!
//! A damaged, foreign or newer file is refused before anything is written to it.

use std::fs::OpenOptions;
use std::io::ErrorKind as IoErrorKind;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, FileControl, OpenFlags};

use crate::migrate::{self, Found};
use crate::{Error, ErrorKind, Options, outside};

/// Marks a file as ours: the bytes of "PCHL".
pub(crate) const APPLICATION_ID: i32 = 0x5043_484c;

/// Opens the file for writing and updates its schema. A new file is created with mode 0600.
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
    keep_wal(&connection)?;
    Ok(connection)
}

/// Another connection, for reading, to a store that is already open.
pub(super) fn reader(path: &Path, options: Options) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(|error| named(path, &error.into()))?;
    tune(&connection, options)?;
    keep_wal(&connection)?;
    connection.execute_batch(concat!("PRAGMA query_only = ON; ", wal_limit!()))?;
    Ok(connection)
}

/// A connection that cannot change the file. It does not check what the file is.
pub(crate) fn look(path: &Path, options: Options) -> Result<Connection, Error> {
    regular(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| named(path, &error.into()))?;
    tune(&connection, options)?;
    Ok(connection)
}

/// Like `look`, for a file that nobody writes: a finished copy. No side files are created for it.
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

/// Opens a private copy for writing and migrates it, without a backup.
pub(crate) fn own_copy(path: &Path, options: Options) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| named(path, &error.into()))?;
    prepare(&connection, options, None).map_err(|error| named(path, &error))?;
    Ok(connection)
}

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    application: i32,
    pub(crate) version: i64,
    /// The file contains no tables.
    pub(crate) is_empty: bool,
}

impl Header {
    pub(crate) const fn is_ours(self) -> bool {
        self.application == APPLICATION_ID
    }
}

/// Reads the header and, if it is blank, the list of tables. Both are read in one transaction, so
/// that a store that another process is creating is seen before or after, but not in between.
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

/// A number that changes when any other connection, of any process, commits.
pub(crate) fn data_version(connection: &Connection) -> Result<i64, Error> {
    let mut statement = connection.prepare_cached("PRAGMA data_version")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

pub(super) fn memory(options: Options) -> Result<Connection, Error> {
    let connection = Connection::open_in_memory()?;
    prepare(&connection, options, None)?;
    Ok(connection)
}

/// Identifies a file: its device, and its number there.
pub(crate) type File = (u64, u64);

/// The file at a path. A path can get another file while the old one is open.
#[cfg(unix)]
pub(crate) fn file_at(path: &Path) -> Option<File> {
    use std::os::unix::fs::MetadataExt;
    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// On other systems an open file cannot be replaced.
#[cfg(not(unix))]
pub(crate) fn file_at(_: &Path) -> Option<File> {
    None
}

/// Refuses a named pipe, because SQLite would wait for a writer forever. A missing file passes;
/// SQLite reports it.
fn regular(path: &Path) -> Result<(), Error> {
    match outside::check(path) {
        Err(error) if error.kind() == IoErrorKind::InvalidInput => Err(io_error(path, &error)),
        _ => Ok(()),
    }
}

fn named(path: &Path, error: &Error) -> Error {
    Error::new(error.kind, format!("{}: {}", path.display(), error.detail))
}

/// Creates the store so that only its owner can read it. SQLite gives its side files the same mode.
pub(crate) fn create_private(path: &Path) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == IoErrorKind::AlreadyExists => Ok(()),
        // Opening reports any other problem with a better message.
        Err(_) if path.exists() => Ok(()),
        Err(error) => Err(io_error(path, &error)),
    }
}

/// Creates the folder of the default store, for its owner only.
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

/// How large the WAL may stay. Also, a WAL that is kept when the last connection closes is emptied
/// because there is a limit.
macro_rules! wal_limit {
    () => {
        "PRAGMA journal_size_limit = 4194304"
    };
}
use wal_limit;

/// Keeps the WAL and its index when the last connection closes. Then a command creates and deletes
/// no files, and the file system need not write the folder each time. As before, the last connection
/// first copies everything into the store's file; the WAL that stays is empty, so a store that is
/// copied, or replaced by hand, needs no other file.
fn keep_wal(connection: &Connection) -> Result<(), Error> {
    let mut is_kept = 1;
    Ok(connection.file_control(None::<&str>, FileControl::PersistWal(&mut is_kept))?)
}

/// Settings of a connection that writes. It caches 1 MiB of the file, so that a long-lived process
/// stays small, but keeps up to 64 MiB (16,384 pages) of changes in memory, so that a large
/// transaction writes each page once.
const SETTINGS: &str = concat!(
    "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -1024; \
     PRAGMA cache_spill = 16384; ",
    wal_limit!()
);

fn prepare(connection: &Connection, options: Options, path: Option<&Path>) -> Result<(), Error> {
    tune(connection, options)?;
    let found = found(connection, options)?;
    // The order matters: nothing is written before the file is known to be ours.
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

/// Settings of every connection. The page cache is small: the system caches the file anyway, and a
/// larger cache grew with the file without making reads of ten thousand tasks faster.
fn tune(connection: &Connection, options: Options) -> Result<(), Error> {
    connection.busy_timeout(Duration::from_millis(u64::from(options.busy_ms)))?;
    // A plan must not depend on the bound values. Otherwise SQLite plans a statement again at every
    // binding that a partial index could use, which costs more than running it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

/// Compares the file's version with ours; reads only.
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

/// Switches to WAL. This needs exclusive access for a moment, and SQLite does not wait for it. When
/// many processes create the same store at once, one succeeds and the others retry.
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
