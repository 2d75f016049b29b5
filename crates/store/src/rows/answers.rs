//! Answers stored for their idempotency key, so that a repeated request has one effect.

use punchlist_core::Time;

use crate::{Error, Tx, sql};

/// How long an answer is kept: seven days.
const KEPT_S: i64 = 7 * 24 * 3600;

/// A stored answer and its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// A digest of the operation, its context and its input.
    pub request: String,
    pub answer: String,
}

impl Tx<'_> {
    /// The answer that this owner got for this key, unless it has expired.
    pub fn answer(&mut self, owner: &str, key: &str, now: Time) -> Result<Option<Answer>, Error> {
        self.first(
            sql!(
                "SELECT request, answer FROM answers \
                 WHERE principal = $1 AND key = $2 AND created_at > $3"
            ),
            &[owner.into(), key.into(), now.plus_seconds(-KEPT_S).micros().into()],
            |row| Ok(Answer { request: row.text(0)?, answer: row.text(1)? }),
        )
    }

    /// Stores an answer, and deletes the expired ones.
    pub fn keep_answer(
        &mut self,
        owner: &str,
        key: &str,
        answer: &Answer,
        now: Time,
    ) -> Result<(), Error> {
        self.write(
            sql!("DELETE FROM answers WHERE created_at <= $1"),
            &[now.plus_seconds(-KEPT_S).micros().into()],
        )?;
        self.write(
            sql!(
                "INSERT INTO answers (principal, key, request, answer, created_at) \
                 VALUES ($1, $2, $3, $4, $5)"
            ),
            &[
                owner.into(),
                key.into(),
                (&answer.request).into(),
                (&answer.answer).into(),
                now.micros().into(),
            ],
        )?;
        Ok(())
    }
}
