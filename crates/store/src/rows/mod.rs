//! The SQL, one file per aggregate, next to its row mapping.
//!
//! Every function is a method of [`crate::Tx`]; none of them makes a decision.

/// A statement that changes a row whose events are folded. Its text must end with a condition.
///
/// On PostgreSQL an event gets the number of its transaction, and a transaction gets its number with
/// its first lock. If a transaction with a higher number has changed the row since, the event would
/// come too early in the log. So the statement fails then, with a division by zero, which counts as a
/// conflict: the transaction runs again with a new number (ADR 0004). Very old rows have wrapped
/// numbers that look new, so the comparison reaches only a million transactions ahead.
macro_rules! in_log_order {
    ($tx:expr, $table:literal, $($text:expr),+ $(,)?) => {
        $tx.dialect().pick(
            sql!($($text),+),
            sql!(
                $($text),+,
                " AND 1 / CASE WHEN age(", $table, ".xmin) BETWEEN -1000000 AND -1 \
                 THEN 0 ELSE 1 END = 1"
            ),
        )
    };
}

pub mod agents;
pub mod answers;
pub mod conversations;
pub mod delegations;
pub mod events;
pub mod figures;
pub mod gates;
pub mod hosts;
pub mod issue_lists;
pub mod issues;
pub mod leases;
pub mod ledger;
pub mod links;
pub mod lists;
pub mod load;
pub mod mcp_entries;
pub mod merge;
pub mod metrics;
pub mod mission_todos;
pub mod missions;
pub mod names;
pub mod notes;
pub mod outbox;
pub(crate) mod places;
pub mod projects;
pub mod runs;
pub mod sessions;
pub mod sign_ins;
pub mod take;
pub mod todos;
pub mod tokens;
pub mod waiting;

use crate::Error;
use crate::sql::Row;
use punchlist_core::{Reach, Time};

/// Parses a stored word with the core's own parser.
pub(crate) fn word<T>(
    what: &str,
    text: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, Error> {
    parse(text).ok_or_else(|| Error::unreadable(what, text))
}

fn time(row: &Row<'_>, column: usize) -> Result<Time, Error> {
    row.int(column).map(Time::from_micros)
}

/// A reach in its stored form: `None` if there is nothing to say.
fn reach_text(reach: &Reach) -> Result<Option<String>, Error> {
    Ok((!reach.is_default()).then(|| serde_json::to_string(reach)).transpose()?)
}

fn reach(row: &Row<'_>, column: usize) -> Result<Reach, Error> {
    let stored = row.opt_text(column)?.map(|text| serde_json::from_str(&text)).transpose()?;
    Ok(stored.unwrap_or_default())
}

fn opt_time(row: &Row<'_>, column: usize) -> Result<Option<Time>, Error> {
    Ok(row.opt_int(column)?.map(Time::from_micros))
}
