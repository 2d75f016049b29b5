//! The outbox: effects written with the change, done later, taken by lease.
//!
//! A lease has an epoch. Whoever comes back with an old one has lost the work to somebody else
//! and changes nothing.

use punchlist_core::effect::Effect;
use punchlist_core::{Ids, Time};

use crate::{Error, Tx, sql};

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
    /// Files an effect for the engine.
    pub fn enqueue(&mut self, effect: &Effect, at: Time, ids: &mut Ids) -> Result<(), Error> {
        let (id, payload) = (ids.ulid().to_string(), serde_json::to_string(effect)?);
        self.write(
            sql!(
                "INSERT INTO outbox (id, kind, payload, created_at, due_at) \
                 VALUES ($1, $2, $3, $4, $4)"
            ),
            &[(&id).into(), effect.kind().into(), (&payload).into(), at.micros().into()],
        )?;
        Ok(())
    }

    /// Takes the oldest due work that nobody holds, for `lease_s` seconds of the database's clock.
    pub fn take_work(&mut self, lease_s: i64) -> Result<Option<Work>, Error> {
        let now = self.clock()?;
        let until = now.plus_seconds(lease_s);
        macro_rules! take {
            ($lock:expr) => {
                concat!(
                    "UPDATE outbox SET attempts = attempts + 1, epoch = epoch + 1, \
                     lease_until = $2 WHERE id = (SELECT id FROM outbox WHERE done_at IS NULL \
                     AND due_at <= $1 AND (lease_until IS NULL OR lease_until <= $1) \
                     ORDER BY due_at, id LIMIT 1",
                    $lock,
                    ") RETURNING id, payload, attempts, epoch"
                )
            };
        }
        let statement =
            self.dialect().pick(sql!(take!("")), sql!(take!(" FOR UPDATE SKIP LOCKED")));
        self.first(statement, &[now.micros().into(), until.micros().into()], |row| {
            Ok(Work {
                id: row.text(0)?,
                effect: serde_json::from_str(&row.text(1)?)?,
                attempt: row.int(2)?,
                epoch: row.int(3)?,
            })
        })
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
