//! What can go wrong with a store, by what a caller can do about it.
//!
//! Errors are cheap to copy because one failed commit is the answer to every job of its batch.

use std::fmt;

/// A failure of the store. Nothing of the transaction was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// What the database said, or what we found.
    pub detail: String,
}

/// The kinds a caller can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Two transactions wanted the same; trying again helps, and the store has done so already.
    Conflict,
    /// Somebody else held the store for too long.
    Busy,
    /// The file is not a database, or is damaged. It was not touched.
    Corrupt,
    /// A database, but of some other program. It was not touched.
    NotOurs,
    /// Written by a newer punchlist. It was not touched.
    Newer,
    /// The file or the server takes no writes.
    ReadOnly,
    /// No room on the disk.
    Full,
    /// The file or the server cannot be reached.
    Unreachable,
    /// The caller asked to stop in the middle; nothing of it was kept.
    Stopped,
    /// Anything else.
    Backend,
}

impl Error {
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// A stored value that this build cannot read.
    pub(crate) fn unreadable(what: &str, value: &str) -> Self {
        Self::new(ErrorKind::Corrupt, format!("a stored {what} reads `{value}`"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ErrorKind::Conflict => "two writers collided too often",
            ErrorKind::Busy => "the store is busy",
            ErrorKind::Corrupt => "the store is damaged or not a database; it was left as it is",
            ErrorKind::NotOurs => "this database belongs to another program; it was left as it is",
            ErrorKind::Newer => "the store was written by a newer punchlist; it was left as it is",
            ErrorKind::ReadOnly => "the store is read-only",
            ErrorKind::Full => "the disk is full",
            ErrorKind::Unreachable => "the store cannot be opened",
            ErrorKind::Stopped => "it was stopped before it was done",
            ErrorKind::Backend => "the store failed",
        };
        write!(f, "{what} ({})", self.detail)
    }
}

impl std::error::Error for Error {}

/// An error that may hold a store error: what a job answers with.
pub trait Failure: From<Error> + Send + 'static {
    /// The store error inside, by which the store decides whether to try again.
    fn store(&self) -> Option<&Error>;
}

impl Failure for Error {
    fn store(&self) -> Option<&Error> {
        Some(self)
    }
}

/// What the file system said.
pub(crate) fn of_io(error: &std::io::Error) -> Error {
    use std::io::ErrorKind as Io;
    let kind = match error.kind() {
        Io::ReadOnlyFilesystem | Io::PermissionDenied => ErrorKind::ReadOnly,
        Io::StorageFull | Io::QuotaExceeded => ErrorKind::Full,
        _ => ErrorKind::Unreachable,
    };
    Error::new(kind, error.to_string())
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Busy,
            Some(ErrorCode::ConstraintViolation) => ErrorKind::Conflict,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => ErrorKind::ReadOnly,
            Some(ErrorCode::DiskFull) => ErrorKind::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorKind::Corrupt,
            Some(ErrorCode::CannotOpen) => ErrorKind::Unreachable,
            _ => ErrorKind::Backend,
        };
        Self::new(kind, error.to_string())
    }
}

/// What a PostgreSQL server said, by the code it gave it.
pub(crate) fn of_server(code: &str, said: String) -> Error {
    let kind = match code {
        // A unique key, a serialisation failure, a deadlock.
        "23505" | "40001" | "40P01" => ErrorKind::Conflict,
        "25006" => ErrorKind::ReadOnly,
        "53100" => ErrorKind::Full,
        // A lock that is not to be had, no room for one more connection, a statement that took too long.
        "55P03" | "53300" | "57014" => ErrorKind::Busy,
        // It shuts down, has crashed, is starting; no such password, user or database.
        "57P01" | "57P02" | "57P03" | "28P01" | "28000" | "3D000" => ErrorKind::Unreachable,
        _ => ErrorKind::Backend,
    };
    Error::new(kind, said)
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::new(ErrorKind::Corrupt, format!("stored JSON does not read: {error}"))
    }
}
