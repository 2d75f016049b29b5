//! Hints: `NOTIFY` after a commit, so that who waits for events looks at once.
//!
//! Inside a transaction a notification would serialise commits, so it goes out after it. Writers
//! of one process share hints: while one is on its way, those who commit meanwhile only say that
//! another is wanted. A lost hint costs latency, never data.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::postgres::fallible_iterator::FallibleIterator;
use ::postgres::{Client, NoTls};

use super::{Address, PgConnection};
use crate::Error;

/// One channel for a database; the payload names the schema, for several stores may share it.
/// A hint that a crash loses is no loss, so nobody waits for the disk.
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

    /// Says that events were written; the commit is done, and nothing here can undo it. False:
    /// the connection failed and should not be used again.
    pub(super) fn send(&self, connection: &mut PgConnection) -> bool {
        {
            let mut state = self.state();
            state.wanted = true;
            if state.on_its_way {
                return true;
            }
            state.on_its_way = true;
        }
        let mut works = true;
        for _ in 0..ROUNDS_MAX {
            self.state().wanted = false;
            works = connection.query(NOTIFY, &[]).is_ok();
            if !works || !self.state().wanted {
                break;
            }
        }
        self.state().on_its_way = false;
        works
    }
}

/// A connection that only listens.
pub(crate) struct Listener {
    client: Client,
    schema: String,
}

impl Listener {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        let connected = ::postgres::Config::from(address.config.clone()).connect(NoTls);
        let mut client = connected.map_err(|error| address.unreached(error))?;
        client.batch_execute("LISTEN punchlist_events")?;
        let schema = client.query_one("SELECT current_schema()::text", &[])?.get(0);
        Ok(Self { client, schema })
    }

    /// Waits for a hint about this store. Several that came at once are one.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Result<bool, Error> {
        let mut notifications = self.client.notifications();
        let mut ours = false;
        {
            let mut waiting = notifications.timeout_iter(timeout);
            while let Some(hint) = waiting.next()? {
                if hint.payload() == self.schema {
                    ours = true;
                    break;
                }
            }
        }
        if ours {
            let mut pending = notifications.iter();
            while pending.next()?.is_some() {}
        }
        Ok(ours)
    }
}
