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
    match secret.filter(|secret| !secret.is_empty()) {
        Some(secret) => Error::new(error.kind, without(&error.detail, secret)),
        None => error,
    }
}

/// A secret with fewer characters may be a part of ordinary words.
const SHORT: usize = 8;

/// Replaces a secret everywhere; a short one only where it stands by itself, because gaps in ordinary
/// words would make the text unreadable and show what is missing.
fn without(text: &str, secret: &str) -> String {
    if secret.chars().count() >= SHORT {
        return text.replace(secret, "[password]");
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(secret) {
        let (before, found) = rest.split_at(at);
        let after = &found[secret.len()..];
        let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_part = joins(before.chars().next_back().or_else(|| shown.chars().next_back()))
            || joins(after.chars().next());
        shown.push_str(before);
        shown.push_str(if is_part { secret } else { "[password]" });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_removed_where_it_stands_by_itself() {
        for (secret, text, shown) in [
            ("ro", "permission denied for table projects", "permission denied for table projects"),
            ("ro", "user=ro password=ro", "user=[password] password=[password]"),
            ("s3cret!", "login with 's3cret!' failed", "login with '[password]' failed"),
            ("aa", "aaa aa", "aaa [password]"),
            ("s3cret-long", "xs3cret-longx", "x[password]x"),
            ("ö", "öö ö", "öö [password]"),
        ] {
            assert_eq!(without(text, secret), shown, "{secret}");
        }
        let error = || Error::new(ErrorKind::Backend, "said ro");
        assert_eq!(masked(error(), Some("ro")).detail, "said [password]");
        assert_eq!(masked(error(), Some("")).detail, "said ro");
        assert_eq!(masked(error(), None).detail, "said ro");
    }
}
