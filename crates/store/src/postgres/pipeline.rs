//! Prepared statements that go out together and are answered together.
//!
//! Every answer of a server is a waking on either side, so a batch has one end: the server carries
//! it out in its order, stops at the first statement that fails, and then answers for all. A
//! statement is prepared in the batch that first needs it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend::{self, BindError};

use super::row::{self, Columns, PgRow};
use super::wire::{Wire, unsendable};
use crate::Error;
use crate::sql::Value;

/// How many statements and bytes wait to be sent before they should go out by themselves. What a
/// server answers to so many writes has room on the way, so that nobody waits for the other to read.
const QUEUED_MAX: usize = 200;
const QUEUED_BYTES_MAX: usize = 256 * 1024;

/// Values go and come in the server's own form, not as text.
const BINARY: [i16; 1] = [1];

/// A line, the statements the server knows, and those that wait. Statements are constants, so their
/// text is a key.
pub(super) struct Pipeline {
    wire: Wire,
    statements: HashMap<&'static str, Prepared>,
    /// How many names of statements were given out.
    named: u64,
    queued: Vec<Queued>,
    /// The server says that a transaction is open, be it a failed one.
    is_open: bool,
}

/// A statement the server knows by a name, or will when what is queued has arrived.
struct Prepared {
    name: String,
    /// Known once the server has described it.
    columns: Option<Columns>,
}

/// A statement that waits to be sent, or to be answered.
struct Queued {
    sql: &'static str,
    wanted: Wanted,
}

/// What becomes of the rows of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Nothing,
    Rows,
    /// They tell the clock.
    Clock,
}

/// The answer to a batch.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) rows: Vec<PgRow>,
    pub(super) clock: Option<i64>,
    /// How many of its statements were carried out.
    pub(super) done: usize,
    /// What the server says of each: its kind, and how many rows it changed.
    pub(super) tags: Vec<String>,
    /// What the server said of the one that failed.
    pub(super) failed: Option<Error>,
}

impl Answer {
    pub(super) fn or_error(self) -> Result<Self, Error> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// How many rows the last statement changed.
    pub(super) fn changed(&self) -> u64 {
        let tag = self.tags.last().and_then(|tag| tag.rsplit(' ').next());
        tag.and_then(|count| count.parse().ok()).unwrap_or_default()
    }
}

impl Pipeline {
    pub(super) fn new(wire: Wire) -> Self {
        let (statements, queued) = (HashMap::new(), Vec::new());
        Self { wire, statements, named: 0, queued, is_open: false }
    }

    /// The line beneath, for somebody who only listens.
    pub(super) fn into_wire(self) -> Wire {
        self.wire
    }

    pub(super) const fn is_broken(&self) -> bool {
        self.wire.is_broken()
    }

    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) const fn queued(&self) -> usize {
        self.queued.len()
    }

    /// So much waits that it should go out.
    pub(super) fn is_full(&self) -> bool {
        self.queued.len() >= QUEUED_MAX || self.wire.out.len() >= QUEUED_BYTES_MAX
    }

    /// Queues a statement, or leaves everything as it was.
    pub(super) fn queue(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        wanted: Wanted,
    ) -> Result<(), Error> {
        let before = self.wire.out.len();
        let written = self.write(sql, params);
        match written {
            Ok(()) => self.queued.push(Queued { sql, wanted }),
            Err(_) => {
                self.wire.out.truncate(before);
                self.forget_undescribed();
            }
        }
        written.map_err(|error| unsendable(&error))
    }

    fn write(&mut self, sql: &'static str, params: &[Value<'_>]) -> io::Result<()> {
        let out = &mut self.wire.out;
        let prepared = match self.statements.entry(sql) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                self.named += 1;
                let name = format!("p{}", self.named);
                frontend::parse(&name, sql, [], out)?;
                frontend::describe(b'S', &name, out)?;
                new.insert(Prepared { name, columns: None })
            }
        };
        let name = prepared.name.as_str();
        frontend::bind("", name, BINARY, params, |value, out| Ok(put(value, out)), BINARY, out)
            .map_err(|error| match error {
                BindError::Conversion(error) => io::Error::other(error),
                BindError::Serialization(error) => error,
            })?;
        frontend::execute("", 0, out)
    }

    /// Forgets what is queued; nothing of it was sent.
    pub(super) fn clear(&mut self) {
        if !self.queued.is_empty() {
            self.queued.clear();
            self.wire.out.clear();
            self.forget_undescribed();
        }
    }

    /// A statement that never reached the server, or that it could not read, has no name there.
    fn forget_undescribed(&mut self) {
        self.statements.retain(|_, prepared| prepared.columns.is_some());
    }

    /// Sends what is queued, and hears the answer to all of it.
    pub(super) fn run(&mut self) -> Result<Answer, Error> {
        frontend::sync(&mut self.wire.out);
        let queued = std::mem::take(&mut self.queued);
        let answer = self.wire.send().and_then(|()| self.hear_all(&queued));
        if !matches!(&answer, Ok(Answer { failed: None, .. })) {
            self.forget_undescribed();
        }
        answer
    }

    /// Runs statements that are no constants and take no parameters, one after the other.
    pub(super) fn run_text(&mut self, sql: &str) -> Result<Answer, Error> {
        frontend::query(sql, &mut self.wire.out).map_err(|error| unsendable(&error))?;
        self.wire.send()?;
        self.hear_all(&[])
    }

    /// Hears a whole answer. One that was heard in part leaves the line of no use: what comes next
    /// would be taken for the answer to something else.
    fn hear_all(&mut self, queued: &[Queued]) -> Result<Answer, Error> {
        let answer = self.hear(queued);
        if answer.is_err() {
            self.wire.give_up();
        }
        answer
    }

    /// Hears what the server says of a batch, up to the end of it.
    fn hear(&mut self, queued: &[Queued]) -> Result<Answer, Error> {
        let mut answer = Answer::default();
        loop {
            let asked = queued.get(answer.done);
            match self.next_of(&answer)? {
                Message::ParseComplete
                | Message::ParameterDescription(_)
                | Message::BindComplete
                | Message::NotificationResponse(_) => {}
                Message::NoData => self.describe(asked, Columns::from([])),
                Message::RowDescription(body) => self.describe(asked, row::columns(&body)?),
                Message::DataRow(body) => match asked {
                    Some(Queued { sql, wanted: Wanted::Rows }) => {
                        answer.rows.push(PgRow::new(&body, self.columns(sql))?);
                    }
                    Some(Queued { sql, wanted: Wanted::Clock }) => {
                        answer.clock = PgRow::new(&body, self.columns(sql))?.int(0)?;
                    }
                    Some(Queued { wanted: Wanted::Nothing, .. }) | None => {}
                },
                Message::CommandComplete(body) => {
                    answer.done += 1;
                    answer.tags.push(body.tag().unwrap_or_default().to_owned());
                }
                Message::EmptyQueryResponse => answer.done += 1,
                Message::ErrorResponse(body) => {
                    let wire = &self.wire;
                    answer.failed.get_or_insert_with(|| wire.said(&body));
                }
                Message::ReadyForQuery(body) => {
                    self.is_open = body.status() != b'I';
                    return Ok(answer);
                }
                _ => return Err(self.wire.unexpected()),
            }
        }
    }

    /// The next message. A server that goes says why before it does; that is what counts then.
    fn next_of(&mut self, answer: &Answer) -> Result<Message, Error> {
        self.wire.message().map_err(|lost| answer.failed.clone().unwrap_or(lost))
    }

    fn describe(&mut self, asked: Option<&Queued>, columns: Columns) {
        if let Some(prepared) = asked.and_then(|asked| self.statements.get_mut(asked.sql)) {
            prepared.columns = Some(columns);
        }
    }

    fn columns(&self, sql: &str) -> Columns {
        let described = self.statements.get(sql).and_then(|prepared| prepared.columns.clone());
        described.unwrap_or_else(|| Columns::from([]))
    }
}

fn put(value: &Value<'_>, out: &mut BytesMut) -> IsNull {
    match value {
        Value::Null => return IsNull::Yes,
        Value::Int(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Real(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
    }
    IsNull::No
}
