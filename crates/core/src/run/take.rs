//! A process takes a run: to begin it, to continue it, or because the previous process died.
//!
//! A run that kills its process would be passed from worker to worker forever. So deaths are
//! counted on the run, and every committed step resets the count.

use serde::{Deserialize, Serialize};

use super::{Run, RunState};
use crate::event::RunStepped;
use crate::{By, Decide, Decision, Refusal, Refused};

/// The code of a run or delegation that ended because its workers died.
pub const WORKER_DIED: &str = "worker_died";

/// Deaths in a row, without a committed step in between, that end a run.
pub const DEATHS_MAX: u32 = 2;

/// Take a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeRun {
    /// The previous process neither finished it nor gave it back.
    pub after_death: bool,
}

/// The result for the process that takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The run continues. If a death must be counted, the decision has an event.
    GoesOn(Decision),
    /// It is not retried: the driver ends it with this detail.
    Ends { detail: String },
}

impl Decide for TakeRun {
    type On<'a> = &'a Run;
    type Out = Taken;

    fn decide(&self, run: Self::On<'_>, _: By<'_>) -> Result<Self::Out, Refused> {
        if !self.after_death || run.state != RunState::Running {
            return Ok(Taken::GoesOn(Decision::default()));
        }
        let deaths = run.counters.deaths.saturating_add(1);
        if deaths >= DEATHS_MAX {
            return Ok(Taken::Ends { detail: died(deaths) });
        }
        let mut counters = run.counters.clone();
        counters.deaths = deaths;
        let stepped = RunStepped { run_id: run.id, counters };
        Ok(Taken::GoesOn(Decision { events: vec![stepped.into()], ..Decision::default() }))
    }
}

impl Run {
    /// Only the process that holds a run may write to it. `epoch`: the one it names; `current`: the
    /// run's.
    pub const fn fence(&self, epoch: i64, current: i64) -> Result<(), Refusal> {
        match epoch == current {
            true => Ok(()),
            false => Err(Refusal::StaleRun { run: self.id, epoch, current }),
        }
    }
}

/// The message about work whose workers died.
#[must_use]
pub fn died(deaths: u32) -> String {
    format!(
        "{WORKER_DIED}: the worker process died {deaths} times in a row without finishing a step; \
         check the model and the tools it was using before you start it again"
    )
}
