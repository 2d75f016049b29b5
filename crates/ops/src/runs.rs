//! The work of a process between the steps of the run it executes: it reads the run and makes its
//! tool calls. Reading is not an operation of the catalogue; a tool call is two operations in one
//! transaction.

use std::sync::Arc;

use punchlist_core::conversation::{Message, Part};
use punchlist_core::run::may_execute;
use punchlist_core::{MessageId, Run, RunId};
use punchlist_store::rows::lists::Lock;
use punchlist_store::{self as store, Load, Tx};
use serde_json::Value;

pub use crate::call::Scene;

use crate::call::Call;
use crate::catalogue::{Define, Operation};
use crate::dispatch::{Given, new_ids};
use crate::operations::run_step::{self, RunStep, Step};
use crate::token::{holds, needs_token};
use crate::{Envelope, Error, Ops};

/// A run, and everything its next step depends on.
#[derive(Clone, Debug)]
pub struct Look {
    pub run: Run,
    /// The epoch of the process that executes it.
    pub epoch: i64,
    /// The newest messages of its chat, oldest first. They always include the message that began the turn,
    /// and the last reply.
    pub messages: Vec<Message>,
    /// The current lists, for the next model call (T-31).
    pub scene: Scene,
    /// Is its session bound to an issue?
    pub has_issue: bool,
    /// The number of that issue.
    pub issue: Option<i64>,
}

/// Why a call and its step were both undone.
enum Undone {
    Call(Error),
    Step(Error),
}

impl From<store::Error> for Undone {
    fn from(error: store::Error) -> Self {
        Self::Step(error.into())
    }
}

impl store::Failure for Undone {
    fn store(&self) -> Option<&store::Error> {
        match self {
            Self::Call(error) | Self::Step(error) => error.store(),
        }
    }
}

impl Ops {
    /// May the caller execute a run? Checked before the run is taken.
    pub fn may_execute(&self, envelope: &Envelope, run: RunId) -> Result<(), Error> {
        let (envelope, ids) = (envelope.clone(), new_ids(envelope)?);
        self.store()?.read(move |tx| {
            needs_token(tx, envelope.proof)?;
            let mut call = Call::new(tx, &envelope, "run", ids.clone());
            let (run, _) = call.run(&run.to_string(), Lock::No)?;
            may_execute(&run, &envelope.actor).map_err(|refused| refused.refusal.into())
        })
    }

    /// Makes a tool call of a run and records its result, in one transaction: a process that dies
    /// cannot leave one without the other. `record` returns what to record for an answer, and an
    /// extra value for the caller.
    ///
    /// The inner error is the call's own; then nothing is recorded. The outer error is the run's or
    /// the store's.
    pub fn call_in_run<T: Send + 'static>(
        &self,
        operation: &Operation,
        (agent, system): (&Envelope, &Envelope),
        (run, epoch): (RunId, i64),
        input: Value,
        record: impl Fn(&Value) -> (T, Vec<Step>) + Send + 'static,
    ) -> Result<Result<(T, run_step::Output), Error>, Error> {
        let ready = match self.admit(operation, agent, Given::Json(input)) {
            Ok(ready) => ready,
            Err(error) => return Ok(Err(error)),
        };
        let (ids, system) = (new_ids(system)?, system.clone());
        let job = move |tx: &mut Tx<'_>| {
            // Lock the run's row before any row of the call.
            let mut fence = Call::new(tx, &system, RunStep::NAME, ids.clone());
            let fenced = fence.run_held(&run.to_string(), epoch).map_err(Undone::Step)?;
            holds(tx, &fenced.reach).map_err(Undone::Step)?;
            let answer = match ready(tx).map_err(Undone::Call)? {
                Ok(answer) => answer.to_json().map_err(Undone::Call)?,
                Err(refused) => return Ok(Err(refused)),
            };
            let mut call = Call::new(tx, &system, RunStep::NAME, ids.clone());
            let held = call.run_held(&run.to_string(), epoch).map_err(Undone::Step)?;
            let (made, steps) = record(&answer);
            let step = run_step::record(&mut call, held, &steps).map_err(Undone::Step)?;
            Ok(Ok((made, step)))
        };
        match self.store()?.write(job) {
            Ok(made) => Ok(made),
            Err(Undone::Call(error)) => Ok(Err(error)),
            Err(Undone::Step(error)) => Err(error),
        }
    }

    /// Reads a run, with `limit` messages at most. A `scene` from the last step is used instead of being
    /// loaded again.
    pub fn look_at_run(
        &self,
        envelope: &Envelope,
        id: RunId,
        limit: i64,
        scene: Option<Scene>,
    ) -> Result<Look, Error> {
        let shared = Arc::new(envelope.clone());
        let ids = new_ids(envelope)?;
        self.store()?.read(move |tx| {
            let mut call = Call::new(tx, &shared, "run_show", ids.clone());
            let (run, epoch) = call.run(&id.to_string(), Lock::No)?;
            let session = match run.session_id {
                Some(id) => call.tx().session_by_id(id)?,
                None => None,
            };
            let scene = match &scene {
                Some(scene) => scene.clone(),
                None => {
                    let lists = call.lists_of(&run, session.as_ref(), Load::Open)?;
                    call.scene(&run, lists)?
                }
            };
            let bound = session.and_then(|session| session.bound_issue);
            let issue = match bound {
                Some(id) => call.tx().issue_number(id)?,
                None => None,
            };
            let mut messages = call.tx().newest_messages(run.conversation_id, limit)?;
            // The last reply must be among them, because the next step depends on it.
            let is_reply = |message: &Message| {
                message.run_id == Some(id) && matches!(message.part, Some(Part::Reply { .. }))
            };
            let mut wider = limit;
            while run.counters.calls > 0
                && !messages.iter().any(is_reply)
                && i64::try_from(messages.len()).is_ok_and(|count| count == wider)
            {
                wider = wider.saturating_mul(4);
                messages = call.tx().newest_messages(run.conversation_id, wider)?;
            }
            let first = MessageId::parse(&run.turn_id);
            if !messages.iter().any(|message| Some(message.id) == first)
                && let Some(first) = call.tx().message(run.conversation_id, &run.turn_id)?
            {
                messages.insert(0, first);
            }
            Ok(Look { run, epoch, messages, scene, has_issue: bound.is_some(), issue })
        })
    }

    /// May this process go on with the run? Not if the run was cancelled or taken over.
    pub fn is_run_wanted(&self, project: &str, id: RunId, epoch: i64) -> Result<bool, Error> {
        let project = project.to_owned();
        self.store()?.read(move |tx| {
            let Some(project) = tx.project(&project)? else { return Ok(false) };
            let run = tx.run(project, id, Lock::No)?;
            Ok(run.is_some_and(|(run, current)| current == epoch && run.cancelled.is_none()))
        })
    }
}
