//! Errors of a server and of the connection to it.

use std::io;

use tokio_postgres::error::{DbError, Severity};

use crate::{Error, ErrorKind, error};

pub(super) fn late() -> Error {
    Error::new(ErrorKind::Unreachable, "the server did not answer in time")
}

pub(super) fn closed() -> Error {
    Error::new(ErrorKind::Unreachable, "the server closed the connection")
}

/// Converts an error: the server's message, or the state of the connection.
pub(super) fn said(error: &tokio_postgres::Error) -> Error {
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

/// Converts an error that came after the login. The server closes the connection after a FATAL error
/// and after a PANIC, so a new connection may succeed.
pub(super) fn said_in_session(error: &tokio_postgres::Error) -> Error {
    let said = said(error);
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
