//! Requests to a server and their results. Each request is a future of the library.

use bytes::BytesMut;
use futures_core::Stream as _;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Row, RowStream, SimpleQueryMessage, Statement};

use crate::sql::Value;

/// A parameter in the type that the server expects.
#[derive(Debug)]
pub(super) enum Param {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

impl From<&Value<'_>> for Param {
    fn from(value: &Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(number) => Self::Int(*number),
            Value::Real(number) => Self::Real(*number),
            Value::Text(text) => Self::Text((*text).to_owned()),
        }
    }
}

impl ToSql for Param {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => return Ok(IsNull::Yes),
            Self::Int(number) => out.extend_from_slice(&number.to_be_bytes()),
            Self::Real(number) => out.extend_from_slice(&number.to_be_bytes()),
            Self::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A request, with its own response.
#[derive(Debug)]
pub(super) enum Request {
    /// Statements without parameters, one after the other. The last value of the last returned row
    /// is the server's clock.
    Text(String),
    Statement {
        sql: &'static str,
        params: Vec<Param>,
    },
}

impl Request {
    pub(super) fn statement(sql: &'static str, params: &[Value<'_>]) -> Self {
        Self::Statement { sql, params: params.iter().map(Param::from).collect() }
    }
}

/// The result of a request.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) rows: Vec<Row>,
    pub(super) changed: u64,
    /// Values that were returned as text.
    pub(super) texts: Vec<String>,
    pub(super) prepared: Option<(Key, Statement)>,
}

/// Statements are constants, so their address in memory identifies them.
pub(super) type Key = (usize, usize);

pub(super) fn key(sql: &'static str) -> Key {
    (sql.as_ptr().addr(), sql.len())
}

/// Runs statements as text. All returned values are kept.
pub(super) async fn text(client: &Client, sql: &str) -> Result<Done, tokio_postgres::Error> {
    let mut done = Done::default();
    for message in client.simple_query(sql).await? {
        if let SimpleQueryMessage::Row(row) = message {
            let values = (0..row.len()).filter_map(|column| row.get(column));
            done.texts.extend(values.map(str::to_owned));
        }
    }
    Ok(done)
}

/// Runs a statement that the server has prepared.
pub(super) async fn prepared(
    client: &Client,
    statement: Statement,
    params: &[Param],
) -> Result<Done, tokio_postgres::Error> {
    collect(client.query_raw(&statement, params).await?).await
}

/// Runs a statement by its text. The server infers the types of its parameters.
pub(super) async fn typed(
    client: &Client,
    sql: &str,
    params: &[Param],
) -> Result<Done, tokio_postgres::Error> {
    let params = params.iter().map(|param| (param, Type::UNKNOWN));
    collect(client.query_typed_raw(sql, params).await?).await
}

pub(super) async fn prepare(
    client: &Client,
    sql: &'static str,
) -> Result<Done, tokio_postgres::Error> {
    let statement = client.prepare(sql).await?;
    Ok(Done { prepared: Some((key(sql), statement)), ..Done::default() })
}

async fn collect(rows: RowStream) -> Result<Done, tokio_postgres::Error> {
    let mut rows = std::pin::pin!(rows);
    let mut done = Done::default();
    while let Some(row) = std::future::poll_fn(|context| rows.as_mut().poll_next(context)).await {
        done.rows.push(row?);
    }
    done.changed = rows.rows_affected().unwrap_or_default();
    Ok(done)
}
