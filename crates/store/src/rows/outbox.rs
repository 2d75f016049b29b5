//! The outbox: effects written with the change, done later, taken by lease.
//!
//! A lease has an epoch. Whoever comes back with an old one has lost the work to somebody else
//! and changes nothing.

use punchlist_core::effect::Effect;
use punchlist_core::{Ids, RunId, Time};

use super::opt_time;
use crate::sql::Row;
use crate::{Error, Tx, sql};

/// Every kind of work, each between two spaces: who does not do them all names those it does.
pub const EVERYTHING: &str = " collect_metric drive answer_lead answer_owner answer_root ";

/// The last error of an entry whose holder let its lease run out: it died, or lost the store.
const DIED: &str = punchlist_core::run::WORKER_DIED;

/// A piece of work taken from the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    pub id: String,
    pub effect: Effect,
    /// Which try this is, from one.
    pub attempt: i64,
    pub epoch: i64,
}

impl Tx<'_> {
    /// Files an effect for the engine. It is due at once, by the clock that leases go by: a caller
    /// whose clock is ahead must not hide its work.
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

    /// Files an effect unless the same waits already, which is then due at once. One that is being
    /// done may have begun too early to see what this one is for, so it does not count.
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

    /// Makes an effect that waits for another try due at once: what was in its way is over.
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

    /// Files an effect that somebody takes at once by [`Tx::take_drive`]; others leave it alone for
    /// so long.
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

    /// Takes the work of going on with a run, due or not, unless somebody holds it.
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

    /// Does a process go on with this run at this moment?
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

    /// Is a piece of work still held by whoever took it with this epoch? If so: was it taken because
    /// its holder before had let the lease run out?
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

    /// Says that the work is done. False: the lease was lost meanwhile, and nothing changed.
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

    /// Holds on to work that takes long. False: the lease was lost meanwhile.
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

    /// Gives work back as if it had not been taken. False: the lease was lost meanwhile.
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

    /// Ends work that failed for good; its last error stays. False: the lease was lost meanwhile.
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

    /// When the next piece of work is to be done, by the database's clock, and that clock's time.
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

    /// Puts the work back for a later try. False: the lease was lost meanwhile.
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
        effect: serde_json::from_str(&row.text(1)?)?,
        attempt: row.int(2)?,
        epoch: row.int(3)?,
    })
}
