//! Errors of the store, classified by what a caller can do about them.
//!
//! Errors are cheap to copy because one failed commit is the answer to every job of its batch.

use std::fmt;

/// A failure of the store. The transaction was rolled back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// The database's message, or our own.
    pub detail: String,
}

/// The kinds that a caller can distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Two transactions collided. A retry helps, and the store has already retried.
    Conflict,
    /// Another process held the store for too long.
    Busy,
    /// The file is not a database, or is damaged. It was not touched.
    Corrupt,
    /// A database of another program. It was not touched.
    NotOurs,
    /// Written by a newer punchlist. It was not touched.
    Newer,
    /// A copy into it has begun and is not finished.
    Unfinished,
    /// The file or the server does not accept writes.
    ReadOnly,
    /// The disk is full.
    Full,
    /// The file or the server cannot be reached.
    Unreachable,
    /// The caller asked to stop; nothing was stored.
    Stopped,
    /// Anything else.
    Backend,
}

impl Error {
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// The error for a stored value that this build cannot parse.
    pub(crate) fn unreadable(what: &str, value: &str) -> Self {
        Self::new(ErrorKind::Corrupt, format!("a stored {what} reads `{value}`"))
    }

    /// The error for the result of a query that was never begun.
    pub(crate) fn not_asked() -> Self {
        Self::new(ErrorKind::Backend, "a result was expected that was not asked for")
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
            ErrorKind::Unfinished => "the store is not whole yet",
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

/// The error type of a job: it may contain a store error.
pub trait Failure: From<Error> + Send + 'static {
    /// The store error inside, which decides whether the store retries.
    fn store(&self) -> Option<&Error>;
}

impl Failure for Error {
    fn store(&self) -> Option<&Error> {
        Some(self)
    }
}

/// Converts an error of the file system.
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
            Some(ErrorCode::OperationInterrupted) => ErrorKind::Stopped,
            _ => ErrorKind::Backend,
        };
        Self::new(kind, error.to_string())
    }
}

/// Converts an error of a PostgreSQL server by its SQLSTATE.
pub(crate) fn of_server(code: &str, said: String) -> Error {
    let kind = match code {
        // A unique key, a serialisation failure, a deadlock; a division by zero is how a statement
        // says that it comes too late for the log (`rows::in_log_order`).
        "23505" | "40001" | "40P01" | "22012" => ErrorKind::Conflict,
        "25006" => ErrorKind::ReadOnly,
        "53100" => ErrorKind::Full,
        // A lock that is not available, too many connections, or a statement that took too long.
        "55P03" | "53300" | "57014" => ErrorKind::Busy,
        // The server is shutting down, has crashed or is starting, or has closed an idle connection;
        // or a wrong password, user or database.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "28P01" | "28000" | "3D000" => {
            ErrorKind::Unreachable
        }
        // The connection failed: a pooler says so (08P01) while it cannot reach its server.
        _ if code.starts_with("08") => ErrorKind::Unreachable,
        // Only a migration makes tables: another program has one with this name.
        "42P07" => ErrorKind::NotOurs,
        _ => ErrorKind::Backend,
    };
    Error::new(kind, said)
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::new(ErrorKind::Corrupt, format!("stored JSON cannot be decoded: {error}"))
    }
}
