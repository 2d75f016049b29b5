//! Work that was handed on: taken from the queue by lease, done by the agent it is for, reported.
//!
//! A worker that dies loses its lease and somebody else goes on with the same run. A result is
//! reported once: who comes too late is refused and ends.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use punchlist_core::delegation::LEASE_S;
use punchlist_core::driver::StopReason;
use punchlist_core::run::RunState;
use punchlist_core::{Actor, AgentPath, DelegationId, Role, Run, RunId};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Envelope, Error};
use serde_json::{Value, json};

use super::Crew;
use super::calls::Made;
use super::runner::Outcome;
use super::tools::Said;
use crate::model::Cancel;

/// How often a lease is renewed.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How long whoever waits for work that nobody takes goes on waiting in its process.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it looks whether the work is done.
const LOOK: Duration = Duration::from_millis(100);

/// The principal of those who take work from the queue here.
fn worker() -> Actor {
    let path = AgentPath::parse("worker").unwrap_or_else(AgentPath::primary);
    Actor::new(Role::Worker, path)
}

impl Crew<'_> {
    fn as_worker(&self, project: &str) -> Envelope {
        Envelope { actor: worker(), ..self.system(project) }
    }

    fn call_as_worker(&self, project: &str, name: &str, input: Value) -> Result<Value, Error> {
        self.ops.call(find(name)?, &self.as_worker(project), input)
    }

    /// Who does work of a type here: the agent of that name, or whoever plays owner where the work
    /// is a pillar's.
    #[must_use]
    pub fn doer(&self, kind: &str, in_chat: bool) -> Option<String> {
        if self.agents.has_model(kind) {
            return Some(kind.to_owned());
        }
        in_chat.then(|| self.player(Role::Owner)).flatten()
    }

    /// The types of work that are done here, each between two spaces, and whether that of pillars
    /// is, whatever its type.
    #[must_use]
    pub fn plays(&self) -> (String, bool) {
        let types: Vec<&str> = self.agents.with_model().collect();
        (format!(" {} ", types.join(" ")), self.player(Role::Owner).is_some())
    }

    /// Takes one piece of work of a project and does it; false: there was none for us.
    pub fn errand(&self, project: &str) -> Result<bool, Error> {
        let types: Vec<&str> = self.agents.with_model().collect();
        if types.is_empty() {
            return Ok(false);
        }
        let owns = self.player(Role::Owner).is_some();
        let input = json!({ "types": types, "inChats": owns, "leaseS": LEASE_S });
        let taken = self.call_as_worker(project, "delegation_take", input)?;
        self.do_taken(project, &taken)
    }

    fn do_taken(&self, project: &str, taken: &Value) -> Result<bool, Error> {
        let delegation = &taken["delegation"];
        let (Some(id), Some(epoch)) = (delegation["id"].as_str(), taken["epoch"].as_i64()) else {
            return Ok(false);
        };
        let kind = delegation["type"].as_str().unwrap_or_default();
        let in_chat = delegation["conversationId"].is_string();
        let Some(agent) = self.doer(kind, in_chat) else {
            self.let_go(project, id, epoch);
            return Ok(false);
        };
        let input = json!({ "agent": agent, "delegationId": id });
        let begun = self.ops.call(find("run_begin")?, &self.system(project), input);
        let run = match begun {
            Ok(begun) => begun["run"]["id"].as_str().and_then(RunId::parse),
            Err(error) if error.meaning().retryable || error.meaning().exit == 3 => {
                return Err(error);
            }
            // It cannot be done as it is: that is a result, too.
            Err(error) => {
                let said = json!({ "error": error.to_string() });
                self.report(project, id, epoch, &said)?;
                return Ok(true);
            }
        };
        let Some(run) = run else { return Ok(false) };
        let cancel = Cancel::default();
        let outcome =
            self.held(project, (id, epoch), &cancel, || self.drive_with(project, run, &cancel))?;
        match outcome {
            Outcome::Ended(reason) => {
                let said = self.said(project, run, reason)?;
                self.report(project, id, epoch, &said)?;
            }
            // Whoever comes next may go on at once.
            Outcome::Waiting | Outcome::Stopped => self.let_go(project, id, epoch),
            Outcome::Lost => {}
        }
        Ok(true)
    }

    /// What is reported of a run that ended.
    fn said(&self, project: &str, run: RunId, reason: StopReason) -> Result<Value, Error> {
        let input = json!({ "run": run.to_string() });
        let shown = self.ops.call(find("run_show")?, &self.system(project), input)?;
        let text = shown["text"].as_str().unwrap_or_default().trim();
        if reason.is_drained() && !text.is_empty() {
            return Ok(json!({ "result": text }));
        }
        let detail = shown["run"]["stopDetail"].as_str().unwrap_or_default();
        let error = if reason.is_drained() {
            "it said nothing".to_owned()
        } else if detail.is_empty() {
            format!("{}: {}", reason.code(), reason.words())
        } else {
            format!("{}: {detail}", reason.code())
        };
        Ok(json!({ "error": error }))
    }

    /// Reports; who has lost the work meanwhile, or comes too late, says nothing.
    fn report(&self, project: &str, id: &str, epoch: i64, said: &Value) -> Result<(), Error> {
        let mut input = json!({ "delegationId": id, "epoch": epoch });
        if let (Some(input), Some(said)) = (input.as_object_mut(), said.as_object()) {
            input.extend(said.clone());
        }
        match self.call_as_worker(project, "delegation_report", input) {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Gives work back. If that fails the lease ends by itself, and looks like a death.
    fn let_go(&self, project: &str, id: &str, epoch: i64) {
        let input = json!({ "delegationId": id, "epoch": epoch, "leaseS": 0 });
        drop(self.call_as_worker(project, "delegation_heartbeat", input));
    }

    /// Holds on to the work while it is done. A lease that is lost, or work that was called off,
    /// ends the run.
    fn held<T>(
        &self,
        project: &str,
        (id, epoch): (&str, i64),
        cancel: &Cancel,
        job: impl FnOnce() -> T,
    ) -> T {
        std::thread::scope(|scope| {
            let (done, is_done) = channel::<()>();
            scope.spawn(move || {
                while is_done.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
                    let input = json!({ "delegationId": id, "epoch": epoch, "leaseS": LEASE_S });
                    let kept = self.call_as_worker(project, "delegation_heartbeat", input);
                    if let Err(Error::Refused(_)) = kept {
                        cancel.cancel();
                    }
                }
            });
            let made = job();
            drop(done);
            made
        })
    }

    /// Waits for work that was handed on and is needed before the run can go on. Where this process
    /// can do it, it does it itself, so that nobody waits for a hand that waits.
    pub(super) fn await_delegation(
        &self,
        project: &str,
        run: &Run,
        id: &str,
        cancel: &Cancel,
    ) -> Result<Made, Error> {
        let envelope = Envelope { actor: run.actor(), ..self.system(project) };
        let show = || {
            let input = json!({ "delegationId": id });
            let shown = self.ops.call(find("delegation_show")?, &envelope, input)?;
            Ok::<Value, Error>(shown["delegation"].clone())
        };
        let since = Instant::now();
        loop {
            let delegation = show()?;
            let state = delegation["state"].as_str().unwrap_or_default();
            if matches!(state, "returned" | "failed" | "cancelled") {
                return Ok(Made::Done(came_back(&delegation)));
            }
            if cancel.is_cancelled() {
                return Ok(Made::Done(Said::error("it was not waited for: the run was stopped")));
            }
            let kind = delegation["type"].as_str().unwrap_or_default();
            if self.doer(kind, delegation["conversationId"].is_string()).is_some() {
                let input = json!({ "delegationId": id, "leaseS": LEASE_S });
                let taken = self.call_as_worker(project, "delegation_take", input)?;
                if self.do_taken(project, &taken)? {
                    continue;
                }
            }
            // Who does it waits for a person, perhaps for days: then so do we, and not here.
            let waits = DelegationId::parse(id).map_or(Ok(None), |id| {
                self.ops.store()?.read(move |tx| Ok::<_, Error>(tx.run_of_delegation(id)?))
            })?;
            if waits.is_some_and(|run| run.state == RunState::Waiting) {
                return Ok(Made::Handed);
            }
            if state == "queued" && since.elapsed() >= PATIENCE {
                return Ok(Made::Handed);
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// The result of a call of `delegate` that was waited for.
fn came_back(delegation: &Value) -> Said {
    let state = delegation["state"].as_str().unwrap_or_default();
    let mut told = json!({ "delegationId": delegation["id"], "mode": "sync", "state": state });
    for field in ["result", "error", "proposal"] {
        if !delegation[field].is_null() {
            told[field] = delegation[field].clone();
        }
    }
    let is_error = state != "returned";
    Said {
        text: told.to_string(),
        is_error,
        changed: !is_error,
        touched_list: false,
        outside: true,
    }
}
