//! Checks that a long-running command is still permitted: its token may be revoked meanwhile.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use punchlist_ops::{Error, Ops, Proof};

/// How old an answer of the store may be. Many threads of a worker ask whether to continue; work
/// that begins after a revocation must have been checked after it.
const ROUND: Duration = Duration::from_millis(10);

/// Asks the store in each round, and keeps the error that ends the command.
pub(crate) struct Vigil<'o> {
    ops: &'o Ops,
    proof: Proof,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    asked: Option<Instant>,
    ended: Option<Error>,
}

impl<'o> Vigil<'o> {
    pub(crate) fn new(ops: &'o Ops, proof: Proof) -> Self {
        Self { ops, proof, seen: Mutex::default() }
    }

    /// Is the proof no longer valid? A store that fails does not count.
    pub(crate) fn is_over(&self) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if seen.ended.is_none() && seen.asked.is_none_or(|asked| asked.elapsed() >= ROUND) {
            let found = self.ops.still_admits(self.proof).err();
            seen.ended = found.filter(|error| error.meaning().exit == 4);
            seen.asked = Some(Instant::now());
        }
        seen.ended.is_some()
    }

    /// The error that ended the command, if one did.
    pub(crate) fn end(self) -> Result<(), Error> {
        let seen = self.seen.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        seen.ended.map_or(Ok(()), Err)
    }
}
