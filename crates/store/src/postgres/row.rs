//! What a server answers: a row of values, or an error.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use fallible_iterator::FallibleIterator;
use postgres_protocol::Oid;
use postgres_protocol::message::backend::{DataRowBody, ErrorResponseBody, RowDescriptionBody};

use crate::{Error, ErrorKind, error};

const BIGINT: Oid = 20;
const DOUBLE: Oid = 701;
/// Text of a table, of the server's own names, of a length, and as a constant.
const TEXTS: [Oid; 4] = [25, 19, 1043, 705];

/// The types of a row's columns.
pub(super) type Columns = Arc<[Oid]>;

pub(super) fn columns(described: &RowDescriptionBody) -> Result<Columns, Error> {
    let types = described.fields().map(|field| Ok(field.type_oid())).collect::<Vec<_>>();
    Ok(types.map_err(|_| unreadable())?.into())
}

/// One row of an answer. Numbers are whole and of 64 bits, or real; the rest is text.
#[derive(Debug)]
pub struct PgRow {
    bytes: Bytes,
    values: Vec<Option<Range<usize>>>,
    columns: Columns,
}

impl PgRow {
    pub(super) fn new(body: &DataRowBody, columns: Columns) -> Result<Self, Error> {
        let values = body.ranges().collect().map_err(|_| unreadable())?;
        Ok(Self { bytes: body.buffer_bytes().clone(), values, columns })
    }

    pub(crate) fn int(&self, column: usize) -> Result<Option<i64>, Error> {
        let bytes = self.value(column, &[BIGINT])?;
        bytes
            .map(|bytes| bytes.try_into().map(i64::from_be_bytes).map_err(|_| unreadable()))
            .transpose()
    }

    pub(crate) fn real(&self, column: usize) -> Result<Option<f64>, Error> {
        let bytes = self.value(column, &[DOUBLE])?;
        bytes
            .map(|bytes| bytes.try_into().map(f64::from_be_bytes).map_err(|_| unreadable()))
            .transpose()
    }

    pub(crate) fn text(&self, column: usize) -> Result<Option<String>, Error> {
        let bytes = self.value(column, &TEXTS)?;
        bytes.map(|bytes| String::from_utf8(bytes.to_vec()).map_err(|_| unreadable())).transpose()
    }

    fn value(&self, column: usize, types: &[Oid]) -> Result<Option<&[u8]>, Error> {
        match (self.values.get(column), self.columns.get(column)) {
            (Some(None), _) => Ok(None),
            (Some(Some(range)), Some(oid)) if types.contains(oid) => {
                Ok(self.bytes.get(range.clone()))
            }
            (_, oid) => {
                let found = oid.map_or_else(|| "nothing".to_owned(), |oid| format!("type {oid}"));
                let detail = format!("column {column} is {found}, and {types:?} was asked for");
                Err(Error::new(ErrorKind::Backend, detail))
            }
        }
    }
}

/// The first value of a row that came as text.
pub(super) fn first_text(body: &DataRowBody) -> Result<Option<String>, Error> {
    let first = body.ranges().next().map_err(|_| unreadable())?.flatten();
    let bytes = first.and_then(|range| body.buffer().get(range));
    bytes.map(|bytes| String::from_utf8(bytes.to_vec()).map_err(|_| unreadable())).transpose()
}

fn unreadable() -> Error {
    Error::new(ErrorKind::Backend, "the server's answer does not read")
}

/// What the server said went wrong.
pub(super) fn said(body: &ErrorResponseBody) -> Error {
    let (mut code, mut severity, mut message) = (String::new(), String::new(), String::new());
    let mut more = String::new();
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        let text = String::from_utf8_lossy(field.value_bytes());
        match field.type_() {
            b'C' => code = text.into_owned(),
            b'S' => severity = text.into_owned(),
            b'M' => message = text.into_owned(),
            b'D' => more.push_str(&format!("\nDETAIL: {text}")),
            b'H' => more.push_str(&format!("\nHINT: {text}")),
            _ => {}
        }
    }
    error::of_server(&code, format!("{severity}: {message}{more}"))
}
