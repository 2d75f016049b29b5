//! Delegations: taken from the queue by lease, done by a run of the right agent, and reported.
//!
//! When a worker dies, its lease ends and another worker continues the same run. A result is reported
//! once: a late report is refused.

use std::time::{Duration, Instant};

use punchlist_core::delegation::{DelegationState, LEASE_S};
use punchlist_core::driver::StopReason;
use punchlist_core::run::RunState;
use punchlist_core::text::Body;
use punchlist_core::{Actor, AgentPath, DelegationId, Refusal, Role, Run, RunId};
use punchlist_ops::input::{Maybe, text};
use punchlist_ops::operations::delegate;
use punchlist_ops::operations::delegation_heartbeat::{self, DelegationHeartbeat};
use punchlist_ops::operations::delegation_report::{self, DelegationReport};
use punchlist_ops::operations::delegation_show::{self, DelegationShow};
use punchlist_ops::operations::delegation_take::{self, DelegationTake, Output as Taken};
use punchlist_ops::operations::run_begin::{self, RunBegin};
use punchlist_ops::operations::run_show::{self, RunShow};
use punchlist_ops::views::DelegationView;
use punchlist_ops::{Envelope, Error};

use super::Runtime;
use super::calls::CallOutcome;
use super::runner::Outcome;
use super::tools::ToolOutput;
use crate::keep_alive::keep_alive;
use crate::model::Cancel;
use crate::system::is_temporary;

/// How often a lease is renewed.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How long a run waits in its process for a delegation that no worker takes.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it looks at a delegation even if nothing was written, because a lease may have
/// expired.
const LOOK: Duration = Duration::from_secs(1);

/// How often a wait checks whether the run was cancelled.
const TICK: Duration = Duration::from_millis(200);

/// The end of a report that was too long.
const CUT: &str = "\n[cut here: a report has at most 64 KiB]";

/// The actor that takes delegations from the queue.
fn worker() -> Actor {
    let path = AgentPath::parse("worker").unwrap_or_else(AgentPath::primary);
    Actor::new(Role::Worker, path)
}

/// A delegation that this process holds.
struct Held {
    id: DelegationId,
    epoch: i64,
}

impl Runtime<'_> {
    fn as_worker(&self, project: &str) -> Envelope {
        Envelope { actor: worker(), ..self.system(project) }
    }

    fn take(&self, project: &str, wanted: delegation_take::Input) -> Result<Taken, Error> {
        self.ops.run::<DelegationTake>(&self.as_worker(project), wanted)
    }

    /// Renews the lease of a delegation, in seconds from now; 0 gives the delegation back.
    fn renew(&self, project: &str, held: &Held, lease_s: i64) -> Result<(), Error> {
        let input = delegation_heartbeat::Input {
            delegation_id: held.id.into(),
            epoch: held.epoch,
            lease_s: Some(lease_s),
        };
        self.ops.run::<DelegationHeartbeat>(&self.as_worker(project), input).map(drop)
    }

    /// The agent for work of a type: the one with that name, or, for a pillar's work, the one that
    /// plays the owner.
    #[must_use]
    pub fn agent_for(&self, project: &str, kind: &str, in_chat: bool) -> Option<String> {
        let agents = self.agents.in_project(project);
        if agents.has_model(kind) {
            return Some(kind.to_owned());
        }
        in_chat.then(|| agents.player(Role::Owner)).flatten()
    }

    /// The types of delegations that this process does, each between two spaces; and whether it
    /// does work of pillars, which may have any type.
    #[must_use]
    pub fn types_done_here(&self) -> (String, bool) {
        let types: Vec<&str> = self.agents.with_model().collect();
        (format!(" {} ", types.join(" ")), self.player(Role::Owner).is_some())
    }

    /// Takes one delegation of a project and does it. Returns false if there is none.
    pub fn work_on_delegation(&self, project: &str) -> Result<bool, Error> {
        let agents = self.agents.in_project(project);
        let types: Vec<&str> = agents.with_model().collect();
        if types.is_empty() {
            return Ok(false);
        }
        let types = types.into_iter().map(|name| text("types", name)).collect::<Result<_, _>>()?;
        let wanted = delegation_take::Input {
            types: Some(types),
            in_chats: Some(agents.player(Role::Owner).is_some()),
            lease_s: Some(LEASE_S),
            ..delegation_take::Input::default()
        };
        let taken = self.take(project, wanted)?;
        self.do_taken(project, taken)
    }

    fn do_taken(&self, project: &str, taken: Taken) -> Result<bool, Error> {
        let (Some(delegation), Some(epoch)) = (taken.delegation, taken.epoch) else {
            return Ok(false);
        };
        let agent = self.agent_for(project, &delegation.kind, delegation.conversation_id.is_some());
        let held = Held { id: delegation.id, epoch };
        let Some(agent) = agent else {
            self.give_back(project, &held);
            return Ok(false);
        };
        let begin = run_begin::Input {
            agent: text("agent", &agent)?,
            conversation_id: Maybe(None),
            delegation_id: Maybe(Some(text("delegationId", &held.id.to_string())?)),
        };
        let run = match self.ops.run::<RunBegin>(&self.system(project), begin) {
            Ok(begun) => begun.run.map(|run| run.id),
            Err(error) if is_temporary(&error) => return Err(error),
            // It cannot be done: report that.
            Err(error) => {
                self.report(project, &held, Err(error.to_string()))?;
                return Ok(true);
            }
        };
        let Some(run) = run else { return Ok(false) };
        let cancel = Cancel::default();
        let outcome = self.held(project, &held, &cancel, || self.drive(project, run, &cancel))?;
        match outcome {
            Outcome::Ended(reason) => {
                let said = self.said(project, run, reason)?;
                self.report(project, &held, said)?;
            }
            // Another worker may continue at once.
            Outcome::Waiting | Outcome::Stopped => self.give_back(project, &held),
            Outcome::Lost => {}
        }
        Ok(true)
    }

    /// The report of an ended run: its result, or its error.
    fn said(
        &self,
        project: &str,
        run: RunId,
        reason: StopReason,
    ) -> Result<Result<String, String>, Error> {
        let input = run_show::Input { run: text("run", &run.to_string())? };
        let shown = self.ops.run::<RunShow>(&self.system(project), input)?;
        let said = shown.text.trim();
        if reason.is_drained() {
            return Ok(match said {
                "" => Err("it said nothing".to_owned()),
                said => Ok(said.to_owned()),
            });
        }
        Ok(Err(match shown.run.stop_detail.as_deref().unwrap_or_default() {
            "" => format!("{}: {}", reason.code(), reason.words()),
            detail => format!("{}: {detail}", reason.code()),
        }))
    }

    /// Reports. If the lease was lost or the delegation is over, nothing is left to report.
    fn report(
        &self,
        project: &str,
        held: &Held,
        said: Result<String, String>,
    ) -> Result<(), Error> {
        let (result, error) = match said {
            Ok(result) => (Some(body(&result)?), None),
            Err(error) => (None, Some(body(&error)?)),
        };
        let input = delegation_report::Input {
            delegation_id: held.id.into(),
            epoch: held.epoch,
            result: Maybe(result),
            error: Maybe(error),
            proposal: None,
        };
        match self.ops.run::<DelegationReport>(&self.as_worker(project), input) {
            Ok(_) => Ok(()),
            Err(Error::Refused(refusal)) if is_lost(&refusal) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Gives a delegation back. If that fails, its lease ends by itself.
    fn give_back(&self, project: &str, held: &Held) {
        drop(self.renew(project, held, 0));
    }

    /// Renews the lease while the job runs. Cancels the run if the lease is lost or the delegation was
    /// cancelled.
    fn held<T>(&self, project: &str, held: &Held, cancel: &Cancel, job: impl FnOnce() -> T) -> T {
        let renew = || {
            if let Err(Error::Refused(_)) = self.renew(project, held, LEASE_S) {
                cancel.cancel();
            }
        };
        keep_alive(HEARTBEAT, renew, job)
    }

    /// Waits for a synchronous delegation. If this process can do the work, it does: this avoids a
    /// deadlock when every worker is waiting.
    pub(super) fn await_delegation(
        &self,
        project: &str,
        run: &Run,
        made: &delegate::Output,
        cancel: &Cancel,
    ) -> Result<CallOutcome, Error> {
        let id = made.delegation_id;
        let envelope = Envelope { actor: run.actor(), ..self.system(project) };
        let since = Instant::now();
        let mut watch = None;
        loop {
            let input = delegation_show::Input { delegation_id: id.to_string().into() };
            let delegation = self.ops.run::<DelegationShow>(&envelope, input)?.delegation;
            let state = delegation.state;
            if state.is_over() {
                return Ok(CallOutcome::Done(returned(delegation, made)?));
            }
            if cancel.is_cancelled() {
                return Ok(CallOutcome::Done(ToolOutput::error(
                    "the run was stopped before the delegation returned",
                )));
            }
            let in_chat = delegation.conversation_id.is_some();
            if self.agent_for(project, &delegation.kind, in_chat).is_some() {
                let wanted = delegation_take::Input {
                    delegation_id: Maybe(Some(text("delegationId", &id.to_string())?)),
                    lease_s: Some(LEASE_S),
                    ..delegation_take::Input::default()
                };
                let taken = self.take(project, wanted)?;
                if self.do_taken(project, taken)? {
                    continue;
                }
            }
            // The worker is blocked on a person, perhaps for days, so this run is suspended.
            let waits = self.ops.store()?.read(move |tx| tx.run_of_delegation(id))?;
            if waits.is_some_and(|run| run.state == RunState::Waiting) {
                return Ok(CallOutcome::Handed);
            }
            if state == DelegationState::Queued && since.elapsed() >= PATIENCE {
                return Ok(CallOutcome::Handed);
            }
            let watch = match &mut watch {
                Some(watch) => watch,
                // Look once more after the watch begins, so that no change is missed.
                none => {
                    *none = Some(self.ops.store()?.watch()?);
                    continue;
                }
            };
            let until = Instant::now() + LOOK;
            while !cancel.is_cancelled() && Instant::now() < until && !watch.wait(TICK)? {}
        }
    }
}

/// Does somebody else hold the delegation, or is it over?
const fn is_lost(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::StaleDelegation { .. }
            | Refusal::DelegationOver { .. }
            | Refusal::UnknownDelegation { .. }
    )
}

/// The text of a report, cut if it is too long.
fn body(said: &str) -> Result<Body, Error> {
    let mut said = said.replace('\0', "\u{fffd}");
    if said.len() > Body::LIMIT {
        said.truncate(said.floor_char_boundary(Body::LIMIT - CUT.len()));
        said.push_str(CUT);
    }
    text("report", &said)
}

/// The tool output of a synchronous `delegate` call.
fn returned(delegation: DelegationView, made: &delegate::Output) -> Result<ToolOutput, Error> {
    let warning = made.warning_in(&delegation.kind, delegation.state);
    let DelegationView { id: delegation_id, mode, state, result, error, proposal, .. } = delegation;
    let answer = delegate::Output { delegation_id, mode, state, result, error, proposal, warning };
    let is_error = state != DelegationState::Returned;
    let text = serde_json::to_string(&answer).map_err(punchlist_store::Error::from)?;
    Ok(ToolOutput { text, is_error, changed: !is_error, touched_list: false, outside: true })
}
