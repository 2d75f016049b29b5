//! Statements, parameters and rows with the same meaning on both databases.
//!
//! A statement is written once with `$n` through [`sql!`](crate::sql!). SQLite would treat `$1` as
//! a *name*, numbered by first appearance, so the macro also builds a form with `?n` at compile
//! time (ADR 0003).

use crate::postgres::PgRow;
use crate::{Error, ErrorKind};

/// One statement in both forms.
#[derive(Clone, Copy, Debug)]
pub struct Sql {
    pub postgres: &'static str,
    pub sqlite: &'static str,
}

/// Replaces `$` before a digit by `?`. The length stays the same, so this works in a constant.
#[must_use]
pub const fn numbered<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    let mut at = 0;
    while at < N {
        let digit_follows = at + 1 < N && text[at + 1].is_ascii_digit();
        out[at] = if text[at] == b'$' && digit_follows { b'?' } else { text[at] };
        at += 1;
    }
    out
}

/// Converts the bytes back to text; [`numbered`] keeps them valid UTF-8.
#[must_use]
pub const fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a dollar sign and a question mark are one byte each"),
    }
}

/// Builds a [`Sql`] from a constant text.
#[macro_export]
macro_rules! sql {
    ($($part:expr),+ $(,)?) => {{
        const POSTGRES: &str = concat!($($part),+);
        const SQLITE: [u8; POSTGRES.len()] = $crate::sql::numbered(POSTGRES.as_bytes());
        const BOTH: &$crate::sql::Sql =
            &$crate::sql::Sql { postgres: POSTGRES, sqlite: $crate::sql::text(&SQLITE) };
        BOTH
    }};
}

/// A parameter: text, a number, or NULL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'a str),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl ::rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> ::rusqlite::Result<::rusqlite::types::ToSqlOutput<'_>> {
        use ::rusqlite::types::{ToSqlOutput, ValueRef};
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Real(value) => ValueRef::Real(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
        }))
    }
}

/// One row of a result.
#[derive(Debug)]
pub enum Row<'a> {
    Sqlite(&'a ::rusqlite::Row<'a>),
    Postgres(&'a PgRow),
}

impl Row<'_> {
    pub fn int(&self, column: usize) -> Result<i64, Error> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => row.int(column)?.ok_or_else(|| is_null(column)),
        }
    }

    pub fn real(&self, column: usize) -> Result<f64, Error> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => row.real(column)?.ok_or_else(|| is_null(column)),
        }
    }

    pub fn opt_int(&self, column: usize) -> Result<Option<i64>, Error> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => row.int(column),
        }
    }

    /// A text that is parsed and not kept, without a copy.
    pub fn str(&self, column: usize) -> Result<&str, Error> {
        self.opt_str(column)?.ok_or_else(|| is_null(column))
    }

    pub fn opt_str(&self, column: usize) -> Result<Option<&str>, Error> {
        match self {
            Self::Sqlite(row) => row.get_ref(column)?.as_str_or_null().map_err(|error| {
                Error::new(ErrorKind::Backend, format!("column {column}: {error}"))
            }),
            Self::Postgres(row) => row.text(column),
        }
    }

    pub fn text(&self, column: usize) -> Result<String, Error> {
        self.str(column).map(str::to_owned)
    }

    pub fn opt_text(&self, column: usize) -> Result<Option<String>, Error> {
        Ok(self.opt_str(column)?.map(str::to_owned))
    }
}

fn is_null(column: usize) -> Error {
    Error::new(ErrorKind::Backend, format!("column {column} is empty"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn dollars_before_digits_become_question_marks_and_nothing_else_changes() {
        let sql = crate::sql!("SELECT $2, '$.a', $", "11 WHERE a = $1");
        assert_eq!(sql.postgres, "SELECT $2, '$.a', $11 WHERE a = $1");
        assert_eq!(sql.sqlite, "SELECT ?2, '$.a', ?11 WHERE a = ?1");
    }

    #[test]
    fn parameters_are_bound_by_number_and_not_by_first_appearance() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let sql = crate::sql!("SELECT $2 || '-' || $1");
        let params: [super::Value<'_>; 2] = ["one".into(), "two".into()];
        let refs: Vec<&dyn rusqlite::ToSql> = params.iter().map(|p| p as _).collect();
        let joined: String = connection.query_row(sql.sqlite, &refs[..], |row| row.get(0)).unwrap();
        assert_eq!(joined, "two-one");
    }
}
