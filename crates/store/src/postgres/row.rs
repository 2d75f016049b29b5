//! The values of a row: 64-bit integers, floats, and text.

use tokio_postgres::types::FromSql;

use crate::{Error, ErrorKind};

/// One row of an answer.
#[derive(Debug)]
pub struct PgRow(pub(super) tokio_postgres::Row);

impl PgRow {
    pub(crate) fn int(&self, column: usize) -> Result<Option<i64>, Error> {
        self.value(column)
    }

    pub(crate) fn real(&self, column: usize) -> Result<Option<f64>, Error> {
        self.value(column)
    }

    pub(crate) fn text(&self, column: usize) -> Result<Option<&str>, Error> {
        self.value(column)
    }

    /// Reads a column. A column of another type is an error, never a wrong value.
    fn value<'r, T: FromSql<'r>>(&'r self, column: usize) -> Result<Option<T>, Error> {
        self.0.try_get(column).map_err(|error| {
            let why = std::error::Error::source(&error).map(|why| format!(": {why}"));
            let detail = format!("{error}{}", why.unwrap_or_default());
            Error::new(ErrorKind::Backend, detail)
        })
    }
}
