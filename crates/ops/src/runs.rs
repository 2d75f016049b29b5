//! What a process that executes a run does between its steps: it looks, and it makes the calls of the
//! run's own tools. A look writes nothing, so it is no operation; a call is two of them at once.

use std::sync::Arc;

use punchlist_core::conversation::{Message, Part};
use punchlist_core::run::ConfigureRun;
use punchlist_core::{MessageId, Run, RunId};
use punchlist_store::rows::lists::Lock;
use punchlist_store::{self as store, Load, Tx};
use serde_json::Value;

pub use crate::call::Scene;

use crate::call::Call;
use crate::catalogue::{Operation, find};
use crate::dispatch::{Given, new_ids};
use crate::token::needs_token;
use crate::{Envelope, Error, Ops};

/// A run, and all that its next step rests on.
#[derive(Clone, Debug)]
pub struct Look {
    pub run: Run,
    /// Who has it.
    pub epoch: i64,
    /// The newest messages of its chat, the oldest of them first; the one that began the turn and the
    /// last reply are always among them.
    pub messages: Vec<Message>,
    /// The lists as they stand, for before the next call of the model (T-31).
    pub scene: Scene,
    /// Is its session bound to an issue?
    pub has_issue: bool,
    /// The number of that issue.
    pub issue: Option<i64>,
}

/// What came of a call that was made in a run, and of the step that wrote it down.
#[derive(Debug)]
pub struct Stepped {
    pub answer: Value,
    pub step: Value,
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
    /// May whoever started this process go on with a run? Asked before anything of it is taken.
    pub fn may_execute(&self, envelope: &Envelope, run: RunId) -> Result<(), Error> {
        let (envelope, ids) = (envelope.clone(), new_ids(envelope)?);
        self.store()?.read(move |tx| {
            needs_token(tx, envelope.proof)?;
            let mut call = Call::new(tx, &envelope, "run", ids.clone());
            let (run, _) = call.run(&run.to_string(), Lock::No)?;
            let executor = &envelope.actor;
            ConfigureRun { executor, settings: None }.check(&run).map_err(|r| r.refusal.into())
        })
    }

    /// Makes a call of a run and writes down what came of it, in one transaction: no process that
    /// dies can leave one without the other. `step` makes the input of `run_step`
    /// from the answer.
    ///
    /// The inner error is the call's own: then nothing was written down of it. The outer one is the
    /// run's, or the store's.
    pub fn call_in_run(
        &self,
        operation: &Operation,
        (agent, system): (&Envelope, &Envelope),
        (run, epoch): (RunId, i64),
        input: Value,
        step: impl Fn(&Value) -> Value + Send + 'static,
    ) -> Result<Result<Stepped, Error>, Error> {
        let ready = match self.admit(operation, agent, Given::Json(input)) {
            Ok(ready) => ready,
            Err(error) => return Ok(Err(error)),
        };
        let (run_step, ids, system) = (find("run_step")?, new_ids(system)?, system.clone());
        let job = move |tx: &mut Tx<'_>| {
            // The run's row is locked before anything that the call is about.
            let mut fence = Call::new(tx, &system, "run_step", ids.clone());
            fence.run_held(&run.to_string(), epoch).map_err(Undone::Step)?;
            let answer = match ready(tx).map_err(Undone::Call)? {
                Ok(answer) => answer.to_json().map_err(Undone::Call)?,
                Err(refused) => return Ok(Err(refused)),
            };
            let request = (run_step.parse)(run_step, &mut step(&answer)).map_err(Undone::Step)?;
            let mut call = Call::new(tx, &system, run_step.name, ids.clone());
            let written = request.run(&mut call).and_then(|answer| answer.to_json());
            let step = written.map_err(Undone::Step)?;
            Ok(Ok(Stepped { answer, step }))
        };
        match self.store()?.write(job) {
            Ok(made) => Ok(made),
            Err(Undone::Call(error)) => Ok(Err(error)),
            Err(Undone::Step(error)) => Err(error),
        }
    }

    /// Looks at a run; `limit`: how many messages, at most. A `scene` that a step answered with a
    /// moment ago is not made again.
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
            // Its last reply is always among them: what is next follows from that.
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

    /// Has somebody asked a run to end, or taken it over?
    pub fn is_run_wanted(&self, project: &str, id: RunId, epoch: i64) -> Result<bool, Error> {
        let project = project.to_owned();
        self.store()?.read(move |tx| {
            let Some(project) = tx.project(&project)? else { return Ok(false) };
            let run = tx.run(project, id, Lock::No)?;
            Ok(run.is_some_and(|(run, current)| current == epoch && run.cancelled.is_none()))
        })
    }
}
