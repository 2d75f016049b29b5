//! Errors of a server and of the connection to it.

use std::io;

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

/// Removes the password from an error: a server or pooler may repeat it.
pub(super) fn masked(error: Error, secret: Option<&str>) -> Error {
    match secret {
        Some(secret) => Error::new(error.kind, error.detail.replace(secret, "[password]")),
        None => error,
    }
}
