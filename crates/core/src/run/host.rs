//! A run that a host executes: what its hooks report, between a prompt and a stop.

use serde::{Deserialize, Serialize};

use super::Run;
use crate::driver::StopReason;
use crate::event::RunStepped;
use crate::{By, Decide, Decision, Refusal, Refused};

/// A host reports what its model did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordHosted {
    /// A tool that changes something succeeded.
    pub changed: bool,
    /// The model has seen all messages to the session.
    pub caught_up: bool,
}

impl Decide for RecordHosted {
    type On<'a> = &'a Run;
    type Out = Decision;

    fn decide(&self, run: Self::On<'_>, _: By<'_>) -> Result<Self::Out, Refused> {
        if let Some(reason) = run.stop_reason {
            return Err(Refusal::RunOver { run: run.id, reason }.into());
        }
        let mut counters = run.counters.clone();
        if self.changed {
            counters.changed(false);
        }
        if self.caught_up {
            counters.answered = counters.heard;
        }
        let mut decision = Decision::default();
        if counters != run.counters {
            decision.events.push(RunStepped { run_id: run.id, counters }.into());
        }
        Ok(decision)
    }
}

impl Run {
    /// Did it end for a reason that only a person's next message lifts? A host that stops again
    /// without one is not asked to continue.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        matches!(
            self.stop_reason,
            Some(
                StopReason::ContinuationCap
                    | StopReason::IterationCap
                    | StopReason::NoProgress
                    | StopReason::TokenGuard
                    | StopReason::Cancelled
                    | StopReason::Error
            )
        )
    }
}
