//! Hints: a `NOTIFY` after each commit, so that followers of the log read at once.
//!
//! Inside a transaction, a notification would serialise commits, so it is sent afterwards. The
//! writers of one process share hints: while one is being sent, a writer that commits only requests
//! another. A lost hint costs latency, never data.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::line::Line;
use super::{Address, PgConnection};
use crate::{Error, Options};

/// One channel per database. The payload names the schema, because several stores may share a
/// database. A hint that is lost in a crash does no harm, so it does not wait for the disk.
const NOTIFY: &str = "SELECT set_config('synchronous_commit', 'off', true), \
    pg_notify('punchlist_events', current_schema()::text)";

/// How many hints one writer sends for others before it stops. Under load, the next writer
/// continues.
const ROUNDS_MAX: u32 = 8;

#[derive(Debug, Default)]
pub(super) struct Hints {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    on_its_way: bool,
    wanted: bool,
}

impl Hints {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits a job that has written events, and sends a hint. The hint is sent with the COMMIT if
    /// no other is being sent. Returns false if the hint failed: the commit is valid, but the
    /// connection must not be used again.
    pub(super) fn commit(&self, connection: &mut PgConnection) -> Result<bool, Error> {
        if !self.takes_its_turn() {
            connection.commit()?;
            // The writer that is sending a hint checks again before it finishes.
            return Ok(!self.takes_its_turn() || self.send_on(connection));
        }
        match connection.commit_and(Some(NOTIFY)) {
            Ok(works) => Ok(works && self.send_on_if_wanted(connection)),
            Err(error) => {
                self.state().on_its_way = false;
                Err(error)
            }
        }
    }

    /// Does this writer send the hint? If not, the writer that is sending is asked for one more.
    fn takes_its_turn(&self) -> bool {
        let mut state = self.state();
        let first = !state.on_its_way;
        (state.on_its_way, state.wanted) = (true, !first);
        first
    }

    /// Sends hints for writers that committed meanwhile, up to a limit.
    fn send_on_if_wanted(&self, connection: &mut PgConnection) -> bool {
        for _ in 0..ROUNDS_MAX {
            {
                let mut state = self.state();
                if !state.wanted {
                    state.on_its_way = false;
                    return true;
                }
                state.wanted = false;
            }
            if connection.query(NOTIFY, &[]).is_err() {
                self.state().on_its_way = false;
                return false;
            }
        }
        self.state().on_its_way = false;
        true
    }

    /// Sends at least one hint.
    fn send_on(&self, connection: &mut PgConnection) -> bool {
        self.state().wanted = true;
        self.send_on_if_wanted(connection)
    }
}

/// A connection that only listens for hints.
pub(crate) struct Listener {
    line: Line,
    schema: String,
}

impl Listener {
    /// `None` behind a pooler, because notifications do not pass through it, and on a standby,
    /// which accepts no LISTEN.
    pub(crate) fn new(url: &str) -> Result<Option<Self>, Error> {
        let address = Address::parse(url, Options::default())?;
        if address.is_pooler {
            return Ok(None);
        }
        let mut connection = PgConnection::connect(&address)?;
        let asked = "SELECT current_schema()::text, pg_is_in_recovery()::text";
        let rows = connection.query(asked, &[])?;
        let column = |n| rows.first().map_or(Ok(None), |row| row.text(n));
        if column(1)? == Some("true") {
            return Ok(None);
        }
        let schema = column(0)?.unwrap_or_default().to_owned();
        connection.batch("LISTEN punchlist_events")?;
        Ok(Some(Self { line: connection.into_line(), schema }))
    }

    /// Waits for a hint about this store. Several hints at once count as one.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Result<bool, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            let notified = self.line.listen(deadline)?;
            if notified.contains(&self.schema) {
                return Ok(true);
            }
            if notified.is_empty() {
                return Ok(false);
            }
        }
    }
}
