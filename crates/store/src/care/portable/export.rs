//! Exports a store row by row, never loading all of it into memory.

use std::io::Write;
use std::ops::ControlFlow;

use serde::Serialize;

use super::tables::{Kind, TABLES, Table};
use super::{End, FORMAT, Header, VERSION};
use crate::migrate;
use crate::sql::Row;
use crate::{Error, ErrorKind, Tx};

/// How many rows are written before the caller is asked whether to go on.
const STEP_ROWS: u64 = 256;

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exported {
    pub rows: u64,
    pub events: u64,
    /// The number of the last event.
    pub last_seq: Option<i64>,
}

/// Gets the number of rows written so far. May stop the export.
pub type GoOn<'g> = dyn FnMut(u64) -> ControlFlow<()> + 'g;

/// Writes everything that belongs to an export, as this transaction sees it.
pub fn write_out(
    tx: &mut Tx<'_>,
    out: &mut dyn Write,
    go_on: &mut GoOn<'_>,
) -> Result<Exported, Error> {
    write_tables(tx, TABLES.iter(), out, go_on)
}

/// Like `write_out`, for these tables only.
pub(super) fn write_tables(
    tx: &mut Tx<'_>,
    tables: impl Iterator<Item = &'static Table>,
    out: &mut dyn Write,
    go_on: &mut GoOn<'_>,
) -> Result<Exported, Error> {
    let (format, schema) = (FORMAT.to_owned(), migrate::known());
    let mut writer = Writer { out, go_on, line: Vec::new(), exported: Exported::default() };
    writer.line.extend(serde_json::to_vec(&Header { format, version: VERSION, schema })?);
    writer.end_line()?;
    for table in tables {
        tx.each_row(table, &mut |row| writer.row(table, row))?;
    }
    let end = serde_json::json!({ "end": End { rows: writer.exported.rows } });
    writer.line.extend(end.to_string().into_bytes());
    writer.end_line()?;
    writer.out.flush().map_err(|error| unwritten(&error))?;
    Ok(writer.exported)
}

struct Writer<'w, 'g> {
    out: &'w mut dyn Write,
    go_on: &'w mut GoOn<'g>,
    line: Vec<u8>,
    exported: Exported,
}

impl Writer<'_, '_> {
    /// The columns are written in the order of the table's list, so that the bytes are
    /// reproducible.
    fn row(&mut self, table: &Table, row: &Row<'_>) -> Result<(), Error> {
        self.line.extend(b"{\"table\":\"");
        self.line.extend(table.name.as_bytes());
        self.line.extend(b"\",\"row\":{");
        for (n, column) in table.columns.iter().enumerate() {
            self.line.extend(if n == 0 { &b"\""[..] } else { &b",\""[..] });
            self.line.extend(column.key().as_bytes());
            self.line.extend(b"\":");
            match column.kind {
                Kind::Text => serde_json::to_writer(&mut self.line, &row.opt_text(n)?)?,
                Kind::Int => serde_json::to_writer(&mut self.line, &row.opt_int(n)?)?,
                Kind::Real => serde_json::to_writer(&mut self.line, &row.real(n)?)?,
            }
        }
        self.line.extend(b"}}");
        self.exported.rows += 1;
        if table.name == "events" {
            self.exported.events += 1;
            self.exported.last_seq = Some(row.int(0)?);
        }
        let rows = self.exported.rows;
        if rows.is_multiple_of(STEP_ROWS) && (self.go_on)(rows).is_break() {
            return Err(Error::new(ErrorKind::Stopped, "somebody asked for it"));
        }
        self.end_line()
    }

    fn end_line(&mut self) -> Result<(), Error> {
        self.line.push(b'\n');
        let written = self.out.write_all(&self.line);
        self.line.clear();
        written.map_err(|error| unwritten(&error))
    }
}

/// Converts an error of the output. The output is not the store, so only a full disk keeps its
/// kind.
fn unwritten(error: &std::io::Error) -> Error {
    let kind = match crate::error::of_io(error).kind {
        ErrorKind::Full => ErrorKind::Full,
        _ => ErrorKind::Backend,
    };
    Error::new(kind, format!("the export cannot be written: {error}"))
}

/// A function that is called for each row.
type Visit<'v> = dyn FnMut(&Row<'_>) -> Result<(), Error> + 'v;

impl Tx<'_> {
    /// Visits every row of a table in order, in parts.
    fn each_row(&mut self, table: &'static Table, visit: &mut Visit<'_>) -> Result<(), Error> {
        if let Some(connection) = self.sqlite_connection() {
            let mut statement = connection.prepare(table.read.sqlite)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                visit(&Row::Sqlite(row))?;
            }
            return Ok(());
        }
        self.batch(table.declare)?;
        loop {
            let page = self.query(table.fetch, &[], &mut *visit)?;
            if page.is_empty() {
                return self.batch(table.close);
            }
        }
    }
}
