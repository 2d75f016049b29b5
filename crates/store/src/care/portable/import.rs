//! Imports a store: line by line into an empty store, in one transaction, completely or not at all.
//!
//! Every line is checked before it is written. Before the commit, the result is checked as by
//! `punch doctor`: references are valid, and the log gives the tables.

use std::fmt;
use std::io::{BufRead, Read};

use punchlist_core::text::counted;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::tables::{Kind, TABLES, Table};
use super::{End, FORMAT, Header, SCHEMA_FIRST, VERSION};
use crate::care::{doctor, fold};
use crate::rows::events::SEQ_MAX;
use crate::sql::Value;
use crate::{Dialect, Error, ErrorKind, Failure, Tx, migrate};

/// The longest line: 64 MiB, many times the largest text.
const LINE_MAX: u64 = 64 << 20;
/// How many lines are sent before a server's answers are read. If one of them is refused, the error
/// names the whole range.
const UNSURE_MAX: u64 = 10;

/// The result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    pub rows: u64,
    pub events: u64,
    /// The last event's number; later events get higher ones.
    pub last_seq: Option<i64>,
}

/// Why an import failed. Nothing was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadImport {
    /// The first line is not the header of an export.
    NotOurs,
    /// Written by a newer punchlist.
    Newer { what: &'static str, found: i64, known: i64 },
    /// The store is not empty.
    NotEmpty,
    /// The store has a part of a copy that another version of punchlist began.
    OtherCopy { found: i64, known: i64 },
    /// A line is broken, or does not fit the lines before it. With a server, it is one of several
    /// lines.
    Line { first: u64, last: u64, what: String },
    /// Each line is valid, but together they are not a valid store.
    Unsound { what: String },
    /// The store failed.
    Store(Error),
}

impl fmt::Display for BadImport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOurs => f.write_str("this is not an export of a punchlist store"),
            Self::Newer { what, found, known } => {
                write!(f, "the {what} of the export is version {found}, this punch knows {known}")
            }
            Self::NotEmpty => f.write_str("the store is not empty"),
            Self::OtherCopy { found, known } => write!(
                f,
                "another version of punch began the copy into it: its schema is version {found}, \
                 this punch has {known}"
            ),
            Self::Line { first, last, what } if first == last => write!(f, "line {first}: {what}"),
            Self::Line { first, last, what } => {
                write!(f, "one of the lines {first} to {last}: {what}")
            }
            Self::Unsound { what } => write!(f, "the export contradicts itself: {what}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BadImport {}

impl From<Error> for BadImport {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl Failure for BadImport {
    fn store(&self) -> Option<&Error> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

/// An export whose header was read and is valid.
pub struct Source<'r> {
    reader: &'r mut dyn BufRead,
    /// The number of the current line.
    line: u64,
    text: Vec<u8>,
    /// An export of an older version may lack newer columns, if they may be empty.
    is_older: bool,
    /// The lines come directly from another store, with everything that an export leaves out.
    is_copy: bool,
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("line", &self.line).finish_non_exhaustive()
    }
}

/// Any line after the header.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    table: Option<String>,
    row: Option<Map<String, Json>>,
    end: Option<End>,
}

impl<'r> Source<'r> {
    /// Reads the header, before a store is opened.
    pub fn open(reader: &'r mut dyn BufRead) -> Result<Self, BadImport> {
        let mut source =
            Self { reader, line: 0, text: Vec::new(), is_older: false, is_copy: false };
        // Any error in the first line means that this is not an export.
        if !source.next().unwrap_or_default() {
            return Err(BadImport::NotOurs);
        }
        let header = serde_json::from_slice(&source.text).ok();
        let header: Header =
            header.filter(|header: &Header| header.format == FORMAT).ok_or(BadImport::NotOurs)?;
        for (what, found, first, known) in [
            ("format", header.version, VERSION, VERSION),
            ("schema", header.schema, SCHEMA_FIRST, migrate::known()),
        ] {
            if found > known {
                return Err(BadImport::Newer { what, found, known });
            }
            if found < first {
                return Err(BadImport::NotOurs);
            }
        }
        source.is_older = header.schema < migrate::known();
        Ok(source)
    }

    /// Imports all lines into an empty store. The caller's transaction makes it all or nothing.
    pub fn read_in(mut self, tx: &mut Tx<'_>) -> Result<Imported, BadImport> {
        alone_and_empty(tx)?;
        let mut imported = Imported::default();
        let Some(end) = self.rows(tx, &mut imported)? else {
            return Err(self.fault("the export ends here, without its last line: it was cut"));
        };
        if end.rows != imported.rows {
            let rows = imported.rows;
            let expected = counted(end.rows, "row was", "rows were");
            return Err(self.fault(format!("{expected} expected, but {rows} came")));
        }
        while self.next()? {
            if !self.text.trim_ascii().is_empty() {
                return Err(self.fault("it comes after the last line of the export"));
            }
        }
        if self.is_older {
            tx.fill_taken()?;
        }
        close(tx, &imported)?;
        Ok(imported)
    }

    /// A part of a copy: lines that are rows, starting at this line number.
    pub(super) fn part(reader: &'r mut dyn BufRead, line: u64) -> Self {
        Self { reader, line, text: Vec::new(), is_older: false, is_copy: true }
    }

    /// Imports rows up to the last line, or up to the end of a text without one.
    pub(super) fn rows(
        &mut self,
        tx: &mut Tx<'_>,
        imported: &mut Imported,
    ) -> Result<Option<End>, BadImport> {
        let mut unsure = self.line + 1;
        while self.next()? {
            let line: Line = serde_json::from_slice(&self.text)
                .map_err(|error| self.fault(format!("it cannot be decoded: {error}")))?;
            let (table, row) = match line {
                Line { table: Some(table), row: Some(row), end: None } => (table, row),
                Line { table: None, row: None, end: Some(end) } => {
                    tx.flush().map_err(|error| self.does_not_fit(unsure, error))?;
                    return Ok(Some(end));
                }
                _ => return Err(self.fault("it is neither a row nor the end")),
            };
            let Some(table) = Table::named(&table, self.is_copy) else {
                return Err(self.fault(format!("there is no table `{table}`")));
            };
            self.row(tx, table, &row, unsure, imported)?;
            // The lines of a copy come from a store, so an error need not name the exact line.
            let unsure_max = if self.is_copy { u64::MAX } else { UNSURE_MAX };
            if tx.dialect() == Dialect::Sqlite || self.line + 1 - unsure >= unsure_max {
                tx.flush().map_err(|error| self.does_not_fit(unsure, error))?;
                unsure = self.line + 1;
            }
        }
        tx.flush().map_err(|error| self.does_not_fit(unsure, error))?;
        Ok(None)
    }

    fn row(
        &self,
        tx: &mut Tx<'_>,
        table: &Table,
        row: &Map<String, Json>,
        unsure: u64,
        imported: &mut Imported,
    ) -> Result<(), BadImport> {
        let values = values(table, row, self.is_older).map_err(|what| self.fault(what))?;
        tx.write(table.insert, &values).map_err(|error| self.does_not_fit(unsure, error))?;
        imported.rows += 1;
        match (table.name, values.as_slice()) {
            ("events", [Value::Int(seq), ..]) => {
                if *seq <= imported.last_seq.unwrap_or_default() || *seq > SEQ_MAX {
                    return Err(self.fault(format!("event {seq} is out of order or too large")));
                }
                imported.events += 1;
                imported.last_seq = Some(*seq);
            }
            ("issues", [Value::Text(id), _, _, Value::Text(title), Value::Text(body), ..]) => {
                let indexed = tx.index_issue(id, title, body);
                indexed.map_err(|error| self.does_not_fit(unsure, error))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the next line. Returns false at the end.
    fn next(&mut self) -> Result<bool, BadImport> {
        self.line += 1;
        self.text.clear();
        let read = (&mut *self.reader).take(LINE_MAX).read_until(b'\n', &mut self.text);
        match read {
            Ok(0) => Ok(false),
            Ok(length) if length as u64 == LINE_MAX => Err(self.fault("it is too long")),
            Ok(_) => Ok(true),
            Err(error) => Err(self.fault(format!("it cannot be read: {error}"))),
        }
    }

    fn fault(&self, what: impl Into<String>) -> BadImport {
        BadImport::Line { first: self.line, last: self.line, what: what.into() }
    }

    /// The error for a row that a constraint of the database refuses. With a server, it covers all
    /// lines since its last answer.
    fn does_not_fit(&self, unsure: u64, error: Error) -> BadImport {
        match error.kind {
            ErrorKind::Conflict | ErrorKind::Backend => {
                let what = format!("it does not fit: {}", error.detail);
                BadImport::Line { first: unsure, last: self.line, what }
            }
            _ => error.into(),
        }
    }
}

/// Rebuilds the derived tables, and checks everything.
///
/// The reasons of issues are taken from the log, which is the truth: exports of older versions have
/// none, and a process of an older version that is still running changes a status without its reason.
pub(super) fn close(tx: &mut Tx<'_>, imported: &Imported) -> Result<(), BadImport> {
    if let Some(last) = imported.last_seq {
        tx.number_above(last)?;
    }
    tx.fill_keys()?;
    tx.fill_status_reasons()?;
    for check in [doctor::references(tx)?, fold::check(tx)?] {
        if !check.ok {
            return Err(BadImport::Unsound { what: check.detail });
        }
    }
    Ok(())
}

/// Locks out other writers and checks that the store is empty. On PostgreSQL, a writer that waits
/// for this lock numbers its events afterwards, above the imported ones.
pub(super) fn alone_and_empty(tx: &mut Tx<'_>) -> Result<(), BadImport> {
    if tx.dialect() == Dialect::Postgres {
        tx.batch("LOCK TABLE projects, events IN EXCLUSIVE MODE")?;
    }
    for table in TABLES {
        if tx.first(table.any, &[], |_| Ok(()))?.is_some() {
            return Err(BadImport::NotEmpty);
        }
    }
    Ok(())
}

/// The values of a row, in the order of the table's columns.
fn values<'v>(
    table: &Table,
    row: &'v Map<String, Json>,
    is_older: bool,
) -> Result<Vec<Value<'v>>, String> {
    let is_known = |name: &String| table.columns.iter().any(|column| column.key() == name);
    if let Some(name) = row.keys().find(|name| !is_known(name)) {
        return Err(format!("`{}` has no column `{name}`", table.name));
    }
    let value = |column: &super::tables::Column| {
        let name = column.key();
        match (column.kind, row.get(name)) {
            (Kind::Text, Some(Json::String(text))) if text.contains('\0') => {
                Err(format!("`{name}` holds a NUL character"))
            }
            (Kind::Text, Some(Json::String(text))) => Ok(Value::from(text)),
            (_, Some(Json::Null)) if column.may_be_null => Ok(Value::Null),
            (Kind::Int, Some(Json::Number(number))) if number.is_i64() => {
                Ok(Value::from(number.as_i64()))
            }
            (Kind::Real, Some(Json::Number(number))) => Ok(Value::from(number.as_f64())),
            (_, None) if is_older && column.may_be_null => Ok(Value::Null),
            (_, None) => Err(format!("`{name}` is missing")),
            (Kind::Text, _) => Err(format!("`{name}` must be a text")),
            (Kind::Int, _) => Err(format!("`{name}` must be an integer")),
            (Kind::Real, _) => Err(format!("`{name}` must be a number")),
        }
    };
    table.columns.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Map<String, Json> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_row_has_exactly_the_columns_of_its_table_with_their_types() {
        let table = Table::named("leases", false).unwrap();
        let read = |text: &str, is_older| {
            let row = row(text);
            values(table, &row, is_older).map(|values| format!("{values:?}"))
        };
        let whole = r#"{"lease_until":9,"todo_id":"a","holder":null,"epoch":-1}"#;
        let expected = "[Text(\"a\"), Null, Int(-1), Int(9)]";
        assert_eq!(read(whole, false).as_deref(), Ok(expected));
        let without = whole.replace(r#""holder":null,"#, "");
        assert_eq!(read(&without, true).as_deref(), Ok(expected), "a column of later");
        for (text, said) in [
            (without, "`holder` is missing"),
            (whole.replace("null", "1"), "`holder` must be a text"),
            (whole.replace("-1", "\"1\""), "`epoch` must be an integer"),
            (whole.replace("-1", "1.5"), "`epoch` must be an integer"),
            (whole.replace("-1", "null"), "`epoch` must be an integer"),
            (whole.replace("-1", "9223372036854775808"), "`epoch` must be an integer"),
            (whole.replace("epoch", "epoc"), "`leases` has no column `epoc`"),
            (whole.replace("\"a\"", r#""a\u0000b""#), "`todo_id` holds a NUL character"),
        ] {
            assert_eq!(read(&text, false), Err(said.to_owned()), "{text}");
        }
        assert!(read(&whole.replace(r#""epoch":-1"#, r#""epoch":null"#), true).is_err());
    }

    #[test]
    fn the_first_line_must_be_a_header_that_is_not_newer() {
        let open = |text: &str| {
            let mut bytes = text.as_bytes();
            Source::open(&mut bytes).map(|source| source.line)
        };
        let known = migrate::known();
        let header = |version: i64, schema: i64| {
            format!(r#"{{"format":"punchlist-store","version":{version},"schema":{schema}}}"#)
        };
        assert_eq!(open(&header(1, known)), Ok(1));
        let newer = |what, found, known| Err(BadImport::Newer { what, found, known });
        assert_eq!(open(&header(2, known)), newer("format", 2, 1));
        assert_eq!(open(&header(1, known + 1)), newer("schema", known + 1, known));
        for other in [
            "",
            "\n",
            "SQLite format 3\0",
            "{}",
            "[]",
            &header(0, known),
            &header(1, SCHEMA_FIRST - 1),
            &header(1, known).replace("-store", "-project"),
            &"x".repeat(100_000),
        ] {
            assert_eq!(open(other), Err(BadImport::NotOurs), "{other:.40}");
        }
    }
}
