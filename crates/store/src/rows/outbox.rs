//! The outbox: effects that are written with the change, executed later, and taken by lease.
//!
//! A lease has an epoch. A worker with an old epoch has lost the work to another worker and changes
//! nothing.

use punchlist_core::effect::Effect;
use punchlist_core::{Ids, RunId, Time};

use super::opt_time;
use crate::sql::Row;
use crate::{Error, Tx, sql};

/// Every kind of work, each between two spaces. A worker that does only some of them names those.
pub const EVERYTHING: &str = " collect_metric drive answer_lead answer_owner answer_root ";

/// The last error of an entry whose lease expired: its holder died or lost the connection to the
/// store.
const DIED: &str = punchlist_core::run::WORKER_DIED;

/// A piece of work taken from the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    pub id: String,
    pub effect: Effect,
    /// The number of this attempt, from one.
    pub attempt: i64,
    pub epoch: i64,
}

impl Tx<'_> {
    /// Queues an effect for the engine. It is due now by the database's clock, so that a caller
    /// whose clock is ahead does not delay it.
    pub fn enqueue(&mut self, effect: &Effect, at: Time, ids: &mut Ids) -> Result<(), Error> {
        let due = at.min(self.clock()?);
        let (id, payload) = (ids.ulid().to_string(), serde_json::to_string(effect)?);
        self.write(
            sql!(
                "INSERT INTO outbox (id, kind, payload, created_at, due_at) \
                 VALUES ($1, $2, $3, $4, $5)"
            ),
            &[
                (&id).into(),
                effect.kind().into(),
                (&payload).into(),
                at.micros().into(),
                due.micros().into(),
            ],
        )?;
        Ok(())
    }

    /// Queues an effect, unless an equal one is waiting; that one becomes due now. An equal effect
    /// that is already running does not count, because it may have started before this change.
    pub fn enqueue_once(&mut self, effect: &Effect, at: Time, ids: &mut Ids) -> Result<(), Error> {
        let now = self.clock()?;
        let payload = serde_json::to_string(effect)?;
        let waiting = self.execute(
            sql!(
                "UPDATE outbox SET due_at = CASE WHEN due_at < $3 THEN due_at ELSE $3 END \
                 WHERE kind = $1 AND payload = $2 AND done_at IS NULL AND lease_until IS NULL"
            ),
            &[effect.kind().into(), (&payload).into(), now.micros().into()],
        )?;
        if waiting == 0 { self.enqueue(effect, at, ids) } else { Ok(()) }
    }

    /// Makes a waiting effect due now, because the reason to wait is gone.
    pub fn hasten(&mut self, effect: &Effect) -> Result<(), Error> {
        let now = self.clock()?;
        let payload = serde_json::to_string(effect)?;
        self.write(
            sql!(
                "UPDATE outbox SET due_at = $3 WHERE kind = $1 AND payload = $2 AND due_at > $3 \
                 AND done_at IS NULL AND lease_until IS NULL"
            ),
            &[effect.kind().into(), (&payload).into(), now.micros().into()],
        )
    }

    /// Queues an effect that the caller will take at once with [`Tx::take_drive`]. It is due for
    /// others only after `lease_s` seconds.
    pub fn enqueue_for(
        &mut self,
        effect: &Effect,
        at: Time,
        lease_s: i64,
        ids: &mut Ids,
    ) -> Result<(), Error> {
        self.enqueue(effect, at, ids)?;
        let due = self.clock()?.plus_seconds(lease_s);
        let payload = serde_json::to_string(effect)?;
        self.write(
            sql!("UPDATE outbox SET due_at = $3 WHERE kind = $1 AND payload = $2"),
            &[effect.kind().into(), (&payload).into(), due.micros().into()],
        )
    }

    /// Takes the work of driving a run, due or not, unless another process holds it.
    pub fn take_drive(&mut self, run_id: RunId, lease_s: i64) -> Result<Option<Work>, Error> {
        let now = self.clock()?;
        let until = now.plus_seconds(lease_s);
        let effect = Effect::Drive { run_id };
        let payload = serde_json::to_string(&effect)?;
        self.first(
            sql!(
                "UPDATE outbox SET attempts = attempts + 1, epoch = epoch + 1, lease_until = $3, \
                 last_error = CASE WHEN lease_until IS NULL THEN last_error ELSE $5 END \
                 WHERE id = (SELECT id FROM outbox WHERE done_at IS NULL AND kind = $1 \
                 AND payload = $2 AND (lease_until IS NULL OR lease_until <= $4) LIMIT 1) \
                 RETURNING id, payload, attempts, epoch"
            ),
            &[
                effect.kind().into(),
                (&payload).into(),
                until.micros().into(),
                now.micros().into(),
                DIED.into(),
            ],
            read,
        )
    }

    /// Is a process driving this run now?
    pub fn is_driven(&mut self, run_id: RunId) -> Result<bool, Error> {
        let now = self.clock()?;
        let effect = Effect::Drive { run_id };
        let payload = serde_json::to_string(&effect)?;
        let held = self.first(
            sql!(
                "SELECT 1 FROM outbox WHERE done_at IS NULL AND kind = $1 AND payload = $2 \
                 AND lease_until > $3 LIMIT 1"
            ),
            &[effect.kind().into(), (&payload).into(), now.micros().into()],
            |_| Ok(()),
        )?;
        Ok(held.is_some())
    }

    /// Is the work still held with this epoch? If so, returns whether the previous holder's lease
    /// had expired.
    pub fn is_work_held(&mut self, id: &str, epoch: i64) -> Result<Option<bool>, Error> {
        let last_error = self.first(
            sql!("SELECT last_error FROM outbox WHERE id = $1 AND epoch = $2 AND done_at IS NULL"),
            &[id.into(), epoch.into()],
            |row| row.opt_text(0),
        )?;
        Ok(last_error.map(|error| error.as_deref() == Some(DIED)))
    }

    /// Takes the oldest due work of these kinds that nobody holds, for `lease_s` seconds of the
    /// database's clock.
    pub fn take_work(&mut self, kinds: &str, lease_s: i64) -> Result<Option<Work>, Error> {
        let now = self.clock()?;
        let until = now.plus_seconds(lease_s);
        macro_rules! take {
            ($lock:expr) => {
                concat!(
                    "UPDATE outbox SET attempts = attempts + 1, epoch = epoch + 1, \
                     lease_until = $2, last_error = CASE WHEN lease_until IS NULL \
                     THEN last_error ELSE $4 END WHERE id = (SELECT id FROM outbox WHERE done_at IS NULL \
                     AND due_at <= $1 AND (lease_until IS NULL OR lease_until <= $1) \
                     AND $3 LIKE '% ' || kind || ' %' \
                     ORDER BY due_at, id LIMIT 1",
                    $lock,
                    ") RETURNING id, payload, attempts, epoch"
                )
            };
        }
        let statement =
            self.dialect().pick(sql!(take!("")), sql!(take!(" FOR UPDATE SKIP LOCKED")));
        self.first(
            statement,
            &[now.micros().into(), until.micros().into(), kinds.into(), DIED.into()],
            read,
        )
    }

    /// Marks the work as done. Returns false, and changes nothing, if the lease was lost.
    pub fn finish_work(&mut self, work: &Work) -> Result<bool, Error> {
        let now = self.clock()?;
        let changed = self.execute(
            sql!(
                "UPDATE outbox SET done_at = $3, lease_until = NULL, last_error = NULL \
                 WHERE id = $1 AND epoch = $2 AND done_at IS NULL"
            ),
            &[(&work.id).into(), work.epoch.into(), now.micros().into()],
        )?;
        Ok(changed == 1)
    }

    /// Extends the lease of work that takes long. Returns false if the lease was lost.
    pub fn extend_work(&mut self, work: &Work, lease_s: i64) -> Result<bool, Error> {
        let until = self.clock()?.plus_seconds(lease_s);
        let changed = self.execute(
            sql!(
                "UPDATE outbox SET lease_until = $3 \
                 WHERE id = $1 AND epoch = $2 AND done_at IS NULL"
            ),
            &[(&work.id).into(), work.epoch.into(), until.micros().into()],
        )?;
        Ok(changed == 1)
    }

    /// Releases work as if it had not been taken. Returns false if the lease was lost.
    pub fn release_work(&mut self, work: &Work) -> Result<bool, Error> {
        let changed = self.execute(
            sql!(
                "UPDATE outbox SET attempts = attempts - 1, lease_until = NULL, \
                 last_error = NULL \
                 WHERE id = $1 AND epoch = $2 AND done_at IS NULL"
            ),
            &[(&work.id).into(), work.epoch.into()],
        )?;
        Ok(changed == 1)
    }

    /// Ends work that failed permanently, and keeps its last error. Returns false if the lease was
    /// lost.
    pub fn abandon_work(&mut self, work: &Work, error: &str) -> Result<bool, Error> {
        let now = self.clock()?;
        let changed = self.execute(
            sql!(
                "UPDATE outbox SET done_at = $3, lease_until = NULL, last_error = $4 \
                 WHERE id = $1 AND epoch = $2 AND done_at IS NULL"
            ),
            &[(&work.id).into(), work.epoch.into(), now.micros().into(), error.into()],
        )?;
        Ok(changed == 1)
    }

    /// When the next work is due, by the database's clock, and the current time of that clock.
    pub fn work_due_at(&mut self, kinds: &str) -> Result<(Option<Time>, Time), Error> {
        let due = self.first(
            sql!(
                "SELECT min(CASE WHEN lease_until > due_at THEN lease_until ELSE due_at END) \
                 FROM outbox WHERE done_at IS NULL AND $1 LIKE '% ' || kind || ' %'"
            ),
            &[kinds.into()],
            |row| opt_time(row, 0),
        )?;
        Ok((due.flatten(), self.clock()?))
    }

    /// Queues the work for a later retry. Returns false if the lease was lost.
    pub fn fail_work(
        &mut self,
        work: &Work,
        error: &str,
        retry_after_s: i64,
    ) -> Result<bool, Error> {
        let due = self.clock()?.plus_seconds(retry_after_s);
        let changed = self.execute(
            sql!(
                "UPDATE outbox SET due_at = $3, lease_until = NULL, last_error = $4 \
                 WHERE id = $1 AND epoch = $2 AND done_at IS NULL"
            ),
            &[(&work.id).into(), work.epoch.into(), due.micros().into(), error.into()],
        )?;
        Ok(changed == 1)
    }
}

fn read(row: &Row<'_>) -> Result<Work, Error> {
    Ok(Work {
        id: row.text(0)?,
        effect: serde_json::from_str(row.str(1)?)?,
        attempt: row.int(2)?,
        epoch: row.int(3)?,
    })
}
