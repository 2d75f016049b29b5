//! Wakes and cancels runs, in the transaction of the cause.

use punchlist_core::conversation::Conversation;
use punchlist_core::driver::Trigger;
use punchlist_core::follow::chat::{self as follow, Heard};
use punchlist_core::run::{CancelRun, WakeRun};
use punchlist_core::{Actor, ProjectId, Run, RunId};
use punchlist_store::rows::lists::Lock;

use super::Call;
use crate::Error;

impl Call<'_, '_> {
    /// Wakes a waiting run, with a message if there is one. Returns false if the run has ended.
    pub(crate) fn wake_run(
        &mut self,
        project: ProjectId,
        id: RunId,
        by: Trigger,
        news: Option<&str>,
    ) -> Result<bool, Error> {
        let Some((run, _)) = self.tx.run(project, id, Lock::Row)? else { return Ok(false) };
        if run.is_over() {
            return Ok(false);
        }
        if let Some(news) = news {
            self.say(&run, news)?;
        }
        let wake = WakeRun::with(by, news);
        if let Some(decision) = self.decided(&wake, &run, (project, &run.id))? {
            self.record_run(project, Some(run), &decision)?;
        }
        Ok(true)
    }

    /// Cancels a run, with everything it delegated.
    pub(crate) fn cancel_run(&mut self, named: &str, reason: &str) -> Result<Run, Error> {
        let actor = self.envelope.actor.clone();
        self.cancel_run_as(&actor, named, reason)
    }

    pub(super) fn cancel_run_as(
        &mut self,
        actor: &Actor,
        named: &str,
        reason: &str,
    ) -> Result<Run, Error> {
        let (run, _) = self.run(named, Lock::Row)?;
        let project = run.project_id;
        let executed = self.is_executed(&run)?;
        let cancel = CancelRun { reason: reason.to_owned(), executed };
        let decision = self.decided_by(actor, &cancel, &run, (project, &run.id))?;
        let run = self.record_run(project, Some(run), &decision)?;
        for id in self.tx.in_flight(run.id)? {
            self.call_off(project, id, "the run that handed it on was stopped")?;
        }
        Ok(run)
    }

    /// Is a process executing this run right now?
    pub(crate) fn is_executed(&mut self, run: &Run) -> Result<bool, Error> {
        let Some(id) = run.delegation_id else { return Ok(self.tx.is_driven(run.id)?) };
        let clock = self.tx.clock()?;
        let held = self.tx.delegation(run.project_id, id, Lock::No)?;
        let lease = held.and_then(|(_, lease)| lease);
        Ok(lease.is_some_and(|lease| lease.held_by(clock).is_some()))
    }

    /// Handles a message in a chat: wakes the run that waits there, or lets the addressed agent
    /// answer.
    pub(crate) fn hear(&mut self, conversation: &Conversation) -> Result<(), Error> {
        let (project, role) = (conversation.project_id, conversation.addressee());
        let newest = self.tx.newest_run_as(conversation.id, role)?;
        let is_heard = match follow::heard(&self.envelope.actor, newest.as_ref()) {
            Heard::Later => true,
            Heard::By(run) => self.wake_run(project, run, Trigger::UserMessage, None)?,
            Heard::Answered => false,
        };
        if is_heard { Ok(()) } else { self.call_upon(conversation) }
    }

    /// Makes the agent that a chat addresses answer, once for all waiting messages.
    pub(crate) fn call_upon(&mut self, conversation: &Conversation) -> Result<(), Error> {
        let session = self.tx.session_of_conversation(conversation.id)?;
        let newest = self.tx.newest_run_as(conversation.id, conversation.addressee())?;
        let (running, effect) =
            follow::called_upon(conversation, session.as_ref(), newest.as_ref());
        if let Some(run) = running {
            self.wake_run(conversation.project_id, run, Trigger::Tick, None)?;
        }
        if let Some(effect) = effect {
            self.tx.enqueue_once(&effect, self.envelope.now, &mut self.ids)?;
        }
        Ok(())
    }
}
