//! The checklist of an issue: finds it through the session or the issue that the caller names, and
//! updates the issue when its checklist changes.
//!
//! Also `notes`, for lists of every kind.

use punchlist_core::command::Command;
use punchlist_core::issue::checklist::Notes;
use punchlist_core::issue::ledger;
use punchlist_core::{Actor, Decision, Issue, IssueId, Refusal, Scope, Snapshot};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;

use super::{Call, host_id};
use crate::Error;

/// The scope of an issue's checklist.
pub(crate) fn scope_of(issue: &Issue) -> Scope {
    Scope::Issue { issue_id: issue.id.to_string() }
}

impl Call<'_, '_> {
    /// The issue that the caller names outside the input. If the caller also names a session that
    /// works on another issue, the call is refused.
    pub(crate) fn named_issue(&mut self, lock: Lock) -> Result<Option<Issue>, Error> {
        let Some(number) = self.envelope.context.issue else { return Ok(None) };
        let issue = self.issue(number, lock)?;
        let named = host_id("session", self.envelope.context.session.as_deref())?;
        let session = named.map(|named| self.session_named(&named, Lock::No)).transpose()?;
        if let Some(other) = session.and_then(|s| s.bound_issue).filter(|id| *id != issue.id) {
            let bound = self.tx.issue_number(other)?;
            return Err(Refusal::OtherIssue { number, bound }.into());
        }
        Ok(Some(issue))
    }

    /// The issue whose checklist the caller means: the issue it names, otherwise the one its
    /// session is bound to (K-11).
    pub(crate) fn target_issue(&mut self, lock: Lock) -> Result<Issue, Error> {
        if let Some(issue) = self.named_issue(lock)? {
            return Ok(issue);
        }
        let unbound = || Error::from(Refusal::Unbound);
        let session = self.session(Lock::No)?.ok_or(Refusal::NoSession)?;
        let id = session.bound_issue.ok_or_else(unbound)?;
        let issue = self.tx.issue_by_id(id, lock)?.ok_or_else(unbound)?;
        self.reach_issue(&issue)?;
        Ok(issue)
    }

    /// The checklist of an issue, for reading; `None` if it was never started.
    pub(crate) fn checklist(&mut self, issue: &Issue) -> Result<Option<Snapshot>, Error> {
        self.look(&scope_of(issue), Load::All)
    }

    /// The checklist of an issue, for a change.
    pub(crate) fn open_checklist(&mut self, issue: &Issue) -> Result<Snapshot, Error> {
        self.open(scope_of(issue), Load::All)
    }

    /// The notes of a list; those of each item are in the order of their creation.
    pub(crate) fn notes(&mut self, snapshot: &Snapshot) -> Result<Notes, Error> {
        let mut notes = Notes::new();
        for note in self.tx.notes_of_list(snapshot.list.id)? {
            notes.entry(note.todo_id).or_default().push(note);
        }
        Ok(notes)
    }

    /// Applies a change of a checklist to its issue: the revision grows, and the ledger is written.
    pub(super) fn follow(
        &mut self,
        id: IssueId,
        actor: &Actor,
        snapshot: &Snapshot,
        command: &Command,
        decided: &Decision,
    ) -> Result<(), Error> {
        let Some(issue) = self.tx.issue_by_id(id, Lock::No)? else { return Ok(()) };
        let now = self.envelope.now;
        let lines = ledger::follow(&issue, snapshot, command, decided, actor, now, &mut self.ids);
        if lines.events.is_empty() {
            return Ok(());
        }
        self.record_issue(issue.project_id, Some(issue), &lines).map(|_| ())
    }
}
