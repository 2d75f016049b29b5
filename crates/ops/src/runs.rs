//! What a process that executes a run looks at before each step. A look writes nothing, so it is no
//! operation.

use std::sync::Arc;

use punchlist_core::conversation::{Message, Part};
use punchlist_core::driver::{self, Work};
use punchlist_core::{Run, RunId};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;

use crate::call::Call;
use crate::{Envelope, Error, Ops, clock};

/// How many items that are done are shown.
const RECENT: i64 = 5;

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
    pub context: Option<String>,
    /// Is anything on its lists to be worked on?
    pub has_open: bool,
    /// Is its session bound to an issue?
    pub has_issue: bool,
}

impl Ops {
    /// Looks at a run; `limit`: how many messages, at most.
    pub fn look_at_run(&self, envelope: &Envelope, id: RunId, limit: i64) -> Result<Look, Error> {
        let shared = Arc::new(envelope.clone());
        let ids = clock::ids(envelope.now)
            .map_err(|error| Error::Internal { detail: error.to_string() })?;
        self.store()?.read(move |tx| {
            let mut call = Call::new(tx, &shared, "run_show", ids.clone());
            let (run, epoch) = call.run(&id.to_string(), Lock::No)?;
            let session = match run.session_id {
                Some(id) => call.tx().session_by_id(id)?,
                None => None,
            };
            let mut lists = call.lists_of(&run, session.as_ref(), Load::Open)?;
            for list in &mut lists {
                // What was done lately is said too, so that it is not done again (P-7).
                let done = call.tx().recently_settled(list.list.id, RECENT)?;
                list.todos.extend(done.into_iter().map(|todo| (todo.id, todo)));
            }
            let has_open = Work::of(&lists, shared.now).actionable > 0;
            let context = driver::context(&lists, &run.counters, shared.now);
            let has_issue = session.is_some_and(|session| session.bound_issue.is_some());
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
            if !messages.iter().any(|message| message.id.to_string() == run.turn_id)
                && let Some(first) = call.tx().message(run.conversation_id, &run.turn_id)?
            {
                messages.insert(0, first);
            }
            Ok(Look { run, epoch, messages, context, has_open, has_issue })
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
