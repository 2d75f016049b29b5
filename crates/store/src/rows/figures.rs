//! Figures about the whole store, for monitoring.

use punchlist_core::Time;

use super::opt_time;
use crate::{Error, Tx, sql};

/// The figures of the store in `/metrics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Work in the outbox that waits or is being done, and delegations that nobody has taken.
    pub queued: i64,
    pub open_gates: i64,
    pub oldest_open_gate: Option<Time>,
    /// The number of runs in each state.
    pub runs: Vec<(String, i64)>,
    /// The tokens that all runs of each model have used: input, output.
    pub spent: Vec<(String, i64, i64)>,
}

impl Tx<'_> {
    pub fn figures(&mut self) -> Result<Figures, Error> {
        let outbox = sql!("SELECT count(*) FROM outbox WHERE done_at IS NULL");
        // A delegation that was taken has its work in the outbox.
        let delegations = sql!("SELECT count(*) FROM delegations WHERE state = 'queued'");
        let mut queued = 0;
        for count in [outbox, delegations] {
            queued += self.first(count, &[], |row| row.int(0))?.unwrap_or(0);
        }
        let gates = self.first(
            sql!("SELECT count(*), min(created_at) FROM gates WHERE state = 'open'"),
            &[],
            |row| Ok((row.int(0)?, opt_time(row, 1)?)),
        )?;
        let (open_gates, oldest_open_gate) = gates.unwrap_or_default();
        let by_state = sql!("SELECT state, count(*) FROM runs GROUP BY state ORDER BY state");
        let runs = self.query(by_state, &[], |row| Ok((row.text(0)?, row.int(1)?)))?;
        let by_model = self.dialect().pick(
            sql!(
                "SELECT data ->> '$.settings.model' AS model, \
                 sum(data ->> '$.counters.inputTokens'), \
                 sum(data ->> '$.counters.outputTokens') FROM runs GROUP BY model ORDER BY model"
            ),
            sql!(
                "SELECT model, CAST(sum(input) AS BIGINT), CAST(sum(output) AS BIGINT) FROM \
                 (SELECT CAST(data AS json) #>> '{settings,model}' AS model, \
                 CAST(CAST(data AS json) #>> '{counters,inputTokens}' AS BIGINT) AS input, \
                 CAST(CAST(data AS json) #>> '{counters,outputTokens}' AS BIGINT) AS output \
                 FROM runs) AS spent GROUP BY model ORDER BY model"
            ),
        );
        let spent =
            self.query(by_model, &[], |row| Ok((row.text(0)?, row.int(1)?, row.int(2)?)))?;
        Ok(Figures { queued, open_gates, oldest_open_gate, runs, spent })
    }
}
