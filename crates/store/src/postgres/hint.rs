//! Hints: a `NOTIFY` after each commit, so that followers of the log read at once.
//!
//! Inside a transaction, a notification would serialise commits, so it is sent afterwards. The
//! writers of one process share hints: while one is being sent, a writer that commits leaves its
//! hint to the next writer to finish, which sends it together with its own COMMIT. Without another
//! writer, it is sent at once. A lost hint costs latency, never data.

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

/// A writer counts on another one only if that one began this recently: an older one may be waiting
/// for a lock.
const RECENT: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
pub(super) struct Hints {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    on_its_way: bool,
    /// A writer has committed, and no hint was sent since.
    is_pending: bool,
    /// The writers that have not ended, and when each began.
    writers: Vec<(u64, Instant)>,
    last: u64,
}

impl Hints {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A writer that begins.
    pub(super) fn writer(&self) -> Writer<'_> {
        let mut state = self.state();
        state.last += 1;
        let id = state.last;
        state.writers.push((id, Instant::now()));
        Writer { hints: self, id }
    }
}

/// A writer, from its BEGIN to its end.
#[derive(Debug)]
pub(super) struct Writer<'h> {
    hints: &'h Hints,
    id: u64,
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.hints.state().writers.retain(|(id, _)| *id != self.id);
    }
}

impl Writer<'_> {
    /// Commits a job that has written events, and sends a hint or leaves it to another writer. The
    /// hint is sent with the COMMIT if no other is being sent. Returns false if the hint failed: the
    /// commit is valid, but the connection must not be used again.
    pub(super) fn commit(&self, connection: &mut PgConnection) -> Result<bool, Error> {
        let is_mine = self.takes_its_turn();
        let committed = connection.commit_and(is_mine.then_some(NOTIFY));
        {
            let mut state = self.hints.state();
            state.on_its_way &= !is_mine;
            // A hint that failed was for the other writers, too.
            state.is_pending |= !is_mine || committed.is_err();
        }
        let is_sent = self.send_pending(connection);
        Ok(committed? && is_sent)
    }

    /// Does this writer send the hint with its COMMIT? It is then for all that have committed.
    fn takes_its_turn(&self) -> bool {
        let mut state = self.hints.state();
        let is_first = !std::mem::replace(&mut state.on_its_way, true);
        state.is_pending &= !is_first;
        is_first
    }

    /// Sends the pending hint, unless another writer will. Every writer does this when it ends, so
    /// the last one sends it. Returns false if the hint failed.
    pub(super) fn send_pending(&self, connection: &mut PgConnection) -> bool {
        for _ in 0..ROUNDS_MAX {
            if connection.is_broken() || !self.takes_the_pending_hint() {
                return true;
            }
            let is_sent = connection.query(NOTIFY, &[]).is_ok();
            self.hints.state().on_its_way = false;
            if !is_sent {
                return false;
            }
            // Others may have committed meanwhile.
        }
        true
    }

    /// Does this writer send the pending hint? If not, the others no longer count on it.
    fn takes_the_pending_hint(&self) -> bool {
        let mut state = self.hints.state();
        let ends_soon = |(id, began): &(u64, Instant)| *id != self.id && began.elapsed() < RECENT;
        if !state.is_pending || state.on_its_way || state.writers.iter().any(ends_soon) {
            state.writers.retain(|(id, _)| *id != self.id);
            return false;
        }
        (state.on_its_way, state.is_pending) = (true, false);
        true
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer commits while another one's hint is on its way.
    fn leaves_a_hint(hints: &Hints) {
        hints.state().is_pending = true;
    }

    fn arrived(hints: &Hints) {
        hints.state().on_its_way = false;
    }

    /// Makes all writers old, so that nobody counts on them, or young, however slow the test is.
    fn set_age(hints: &Hints, is_old: bool) {
        let hour = Duration::from_secs(3_600);
        for (_, began) in &mut hints.state().writers {
            *began = match is_old {
                true => began.checked_sub(RECENT).expect("the machine has run for 20 ms"),
                false => Instant::now() + hour,
            };
        }
    }

    #[test]
    fn the_last_of_several_writers_sends_the_pending_hint() {
        let hints = Hints::default();
        let (first, second, third) = (hints.writer(), hints.writer(), hints.writer());
        set_age(&hints, false);
        assert!(first.takes_its_turn());
        assert!(!second.takes_its_turn(), "one is on its way");
        leaves_a_hint(&hints);
        assert!(!second.takes_the_pending_hint(), "one is on its way");
        arrived(&hints);
        assert!(!first.takes_the_pending_hint(), "the third one will");
        assert!(
            third.takes_the_pending_hint(),
            "the others have ended, although they are not dropped yet"
        );
        leaves_a_hint(&hints);
        arrived(&hints);
        assert!(third.takes_the_pending_hint(), "somebody committed meanwhile");
        arrived(&hints);
        assert!(!third.takes_the_pending_hint(), "it was sent");
    }

    #[test]
    fn a_commit_sends_the_hint_that_others_left() {
        let hints = Hints::default();
        let (first, second) = (hints.writer(), hints.writer());
        set_age(&hints, false);
        leaves_a_hint(&hints);
        assert!(!first.takes_the_pending_hint());
        assert!(second.takes_its_turn());
        arrived(&hints);
        assert!(!second.takes_the_pending_hint());
    }

    #[test]
    fn nobody_counts_on_a_writer_that_began_long_ago() {
        let hints = Hints::default();
        let _waits_for_a_lock = hints.writer();
        set_age(&hints, true);
        let writer = hints.writer();
        leaves_a_hint(&hints);
        assert!(writer.takes_the_pending_hint());
    }
}
