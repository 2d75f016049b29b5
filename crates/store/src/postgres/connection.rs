//! One connection with its prepared statements.

use std::collections::HashMap;
use std::fmt;

use ::postgres::types::ToSql;
use ::postgres::{Client, Row, Statement};

use crate::Error;
use crate::sql::Value;

/// A connection. Statements are prepared once each; they are constants, so their text is a key.
pub(crate) struct PgConnection {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    /// It has come back from a job before.
    is_used: bool,
}

impl fmt::Debug for PgConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PgConnection {{ statements: {} }}", self.statements.len())
    }
}

impl PgConnection {
    pub(super) fn new(client: Client) -> Self {
        Self { client, statements: HashMap::new(), is_used: false }
    }

    pub(super) const fn is_used(&self) -> bool {
        self.is_used
    }

    pub(super) const fn mark_used(&mut self) {
        self.is_used = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    fn statement(&mut self, sql: &'static str) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    pub(crate) fn query(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Result<Vec<Row>, Error> {
        let statement = self.statement(sql)?;
        Ok(self.client.query(&statement, &as_params(params))?)
    }

    pub(crate) fn execute(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Result<u64, Error> {
        let statement = self.statement(sql)?;
        Ok(self.client.execute(&statement, &as_params(params))?)
    }

    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), Error> {
        Ok(self.client.batch_execute(sql)?)
    }
}

fn as_params<'a>(params: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}
