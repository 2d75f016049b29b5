//! Carries out the consequences that the core names, in the transaction of their cause.

use punchlist_core::conversation::MessageKind;
use punchlist_core::follow::{self, Then};
use punchlist_core::{ProjectId, Snapshot};
use punchlist_store::rows::lists::TodoKey;

use super::Call;
use crate::Error;

impl Call<'_, '_> {
    /// Carries out the consequences of what was just recorded, in order.
    pub(super) fn then(
        &mut self,
        project: ProjectId,
        follows: impl IntoIterator<Item = Then>,
    ) -> Result<(), Error> {
        for then in follows {
            match then {
                Then::Post { chat, speaker, kind, text } => {
                    self.post(project, chat, (speaker, kind), text)?;
                }
                Then::CallUpon(chat) => {
                    if let Some(chat) = self.tx.conversation(project, chat)? {
                        self.call_upon(&chat)?;
                    }
                }
                Then::Change { todo_id, .. } => {
                    // The plan of the item may have been purged: then there is nothing to change.
                    if self.tx.list_of(project, TodoKey::Id(todo_id))?.is_none() {
                        continue;
                    }
                    let (mut list, _) = self.todo(&todo_id.to_string())?;
                    self.change(&mut list, then)?;
                }
                Then::Wake { run, by, news } => {
                    self.wake_run(project, run, by, news.as_deref())?;
                }
                Then::WakeSession { session, by } => self.wake_session(session, by)?,
                Then::EndRun { actor, run, reason } => {
                    self.cancel_run_as(&actor, &run.to_string(), reason)?;
                }
                Then::StopWork { list, settled, reason, by } => {
                    self.stop_work_on(project, list, (&settled, reason, &by))?;
                }
                Then::StopReplaced { todo_id, assignee, by } => {
                    self.stop_replaced(project, todo_id, (&assignee, &by))?;
                }
                Then::HandBack { todo_id, speaker, feedback } => {
                    let Some(chat) = self.chat_of(todo_id)? else { continue };
                    if !self.hand_back(project, todo_id, &feedback)? {
                        let said = (speaker, MessageKind::Text);
                        self.post(project, chat, said, feedback)?;
                    }
                }
                Then::CloseSignOffs { actor, issue_id } => {
                    for gate in self.tx.open_sign_offs(issue_id)? {
                        let decision = gate.supersede(&actor);
                        let gate = self.record_gate(project, Some(gate), &decision)?;
                        self.then(project, follow::gate::answered(&gate))?;
                    }
                }
                Then::CloseQuestions { actor, todo_id } => {
                    for gate in self.tx.open_gates_about(project, todo_id)? {
                        let decision = gate.supersede(&actor);
                        self.record_gate(project, Some(gate), &decision)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Changes an item of a loaded list. A refusal by the rules of the list is ignored, and the cause is
    /// recorded without this change.
    pub(super) fn change(&mut self, list: &mut Snapshot, then: Then) -> Result<bool, Error> {
        let Then::Change { actor, command, .. } = then else { return Ok(false) };
        let decided = self.decide_as(&actor, list, &command);
        Ok(self.unless_refused(decided)?.is_some())
    }

    /// `None` for a refusal that does not refuse the call. It is not logged either: a later error of
    /// the same call must not log it and commit what was recorded so far.
    pub(super) fn unless_refused<T>(
        &mut self,
        decided: Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match decided {
            Ok(decided) => Ok(Some(decided)),
            Err(Error::Refused(_)) => {
                self.audit = None;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
