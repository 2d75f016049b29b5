//! One cycle of a mission: who may run it, when it is due, and when it is due next.
//!
//! Its upkeep of the lists is an ordinary command (`SweepTodos`); its chat messages are in
//! `prompt`. A cycle is one transaction: of several servers one locks the mission's row, and the
//! others find the cycle done. Missed cycles are not made up: one cycle runs (M-71).

use serde::{Deserialize, Serialize};

use super::cadence::next_cycle;
use super::{Mission, Standing};
use crate::authority::{Action, Subject, may};
use crate::event::CycleRun;
use crate::{By, Decide, Decision, Refusal, Refused};

/// Run a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCycle {
    /// Run it only if it is due; otherwise run it in any case.
    pub if_due: bool,
}

impl Decide for RunCycle {
    type On<'a> = &'a Mission;
    type Out = Option<Decision>;

    /// `None` if it is not due, or the mission is paused.
    fn decide(
        &self,
        mission: Self::On<'_>,
        By { actor, now, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        if !may(actor, Subject::Mission, Action::Cycle, || mission.is_own(actor)) {
            return Err(Refusal::MayNotLead { role: actor.role }.into());
        }
        let due = mission.next_cycle_at.is_some_and(|at| at <= now);
        if mission.status != Standing::Active || (self.if_due && !due) {
            return Ok(None);
        }
        let next_cycle_at = next_cycle(mission.cadence.as_ref(), mission.status, now);
        let run = CycleRun { mission_id: mission.id, next_cycle_at };
        Ok(Some(Decision { events: vec![run.into()], ..Decision::default() }))
    }
}
