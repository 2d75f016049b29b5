//! Hints: `NOTIFY` after a commit, so that who waits for events looks at once.
//!
//! Inside a transaction a notification would serialise commits, so it goes out after it. Writers
//! of one process share hints: while one is on its way, those who commit meanwhile only say that
//! another is wanted. A lost hint costs latency, never data.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::line::Line;
use super::{Address, PgConnection};
use crate::Error;

/// One channel for a database; the payload names the schema, for several stores may share it.
/// Losing a hint in a crash does no harm, so it does not wait for the disk.
const NOTIFY: &str = "SELECT set_config('synchronous_commit', 'off', true), \
    pg_notify('punchlist_events', current_schema()::text)";

/// How many hints one writer sends for others before it goes home. Under load the next writer
/// goes on.
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

    /// Commits a job that has written events, and says so. The hint goes out right behind the
    /// COMMIT where none is on its way; false: the connection failed at it and should not be used
    /// again, although the commit was kept.
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

    /// Sends for those who committed meanwhile, but not for ever.
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

    /// Sends at least one.
    fn send_on(&self, connection: &mut PgConnection) -> bool {
        self.state().wanted = true;
        self.send_on_if_wanted(connection)
    }
}

/// A connection that only listens.
pub(crate) struct Listener {
    line: Line,
    schema: String,
}

impl Listener {
    /// None behind a pooler: notifications do not come through.
    pub(crate) fn new(url: &str) -> Result<Option<Self>, Error> {
        let address = Address::parse(url)?;
        if address.is_pooler {
            return Ok(None);
        }
        let mut connection = PgConnection::connect(&address)?;
        let rows = connection.query("SELECT current_schema()::text", &[])?;
        let schema = rows.first().map_or(Ok(None), |row| row.text(0))?.unwrap_or_default();
        connection.batch("LISTEN punchlist_events")?;
        Ok(Some(Self { line: connection.into_line(), schema }))
    }

    /// Waits for a hint about this store. Several that came at once are one.
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
