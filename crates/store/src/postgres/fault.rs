//! Errors of a server and of the connection to it.

use std::io;

use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::{Error, ErrorKind, error, server_schema};

pub(super) fn late() -> Error {
    Error::new(ErrorKind::Unreachable, "the server did not answer in time")
}

pub(super) fn closed() -> Error {
    Error::new(ErrorKind::Unreachable, "the server closed the connection")
}

/// Converts an error: the server's message, or the state of the connection.
fn said(error: &tokio_postgres::Error) -> Error {
    if let Some(said) = error.as_db_error() {
        let mut words = format!("{}: {}", said.severity(), said.message());
        for (name, more) in [("DETAIL", said.detail()), ("HINT", said.hint())] {
            words.extend(more.map(|more| format!("\n{name}: {more}")));
        }
        return error::of_server(said.code().code(), words);
    }
    if error.is_closed() {
        return closed();
    }
    let source = std::error::Error::source(error);
    match source.and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(source) if source.kind() == io::ErrorKind::TimedOut => late(),
        // The message of the socket.
        Some(source) if source.get_ref().is_some() => {
            Error::new(ErrorKind::Unreachable, source.to_string())
        }
        Some(source) => {
            let detail = format!("the connection to the server was lost: {source}");
            Error::new(ErrorKind::Unreachable, detail)
        }
        None => {
            let why = source.map(|source| format!(" ({source})")).unwrap_or_default();
            Error::new(ErrorKind::Unreachable, format!("{error}{why}"))
        }
    }
}

/// A login that failed.
pub(super) struct Refused {
    pub(super) error: Error,
    /// Would another host refuse it, too? As in libpq, it is not asked after a wrong password, user
    /// or database.
    pub(super) is_final: bool,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self { error, is_final: false }
    }
}

impl Refused {
    pub(super) fn said(error: &tokio_postgres::Error, secret: Option<&str>) -> Self {
        let code = error.code().map(SqlState::code);
        let is_final = matches!(code, Some("28P01" | "28000" | "3D000"));
        Self { error: masked(said(error), secret), is_final }
    }
}

/// Converts an error that came after the login. The server closes the connection after a FATAL error
/// and after a PANIC, so a new connection may succeed.
pub(super) fn said_in_session(error: &tokio_postgres::Error) -> Error {
    let mut said = said(error);
    if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        said.detail.push_str(&format!("\nHINT: {}", server_schema::denied()));
    }
    match said.kind {
        ErrorKind::Backend if is_fatal(error) => Error::new(ErrorKind::Unreachable, said.detail),
        _ => said,
    }
}

/// Has the server closed the connection after this error?
pub(super) fn is_fatal(error: &tokio_postgres::Error) -> bool {
    let severity = error.as_db_error().and_then(DbError::parsed_severity);
    matches!(severity, Some(Severity::Fatal | Severity::Panic))
}

/// Removes the password from an error: a server or pooler may repeat it.
pub(super) fn masked(error: Error, secret: Option<&str>) -> Error {
    match secret {
        Some(secret) => Error::new(error.kind, error.detail.replace(secret, "[password]")),
        None => error,
    }
}
