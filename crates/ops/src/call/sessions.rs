//! The calls on sessions: finding them by name, binding and unbinding them, as the core decides.
//!
//! Rows are locked in one order: project, mission, issue, session, list, todo; several issues by their
//! ids. A change of a binding needs both the session and its issue. So it looks at the session first,
//! locks the issues, then the session, and starts over if the binding has changed meanwhile.

use std::collections::BTreeSet;

use punchlist_core::conversation::{Channel, Conversation, Message, MessageKind, Part, Speaker};
use punchlist_core::driver::Trigger;
use punchlist_core::issue::AssignIssue;
use punchlist_core::session::{
    BindSession, Binding, EndSession, PauseSession, PromoteSession, ReopenSession, ResumeSession,
    SessionState, StartSession, UnbindSession, ends_with,
};
use punchlist_core::text::{TextFault, Title};
use punchlist_core::{
    Actor, ConversationId, Decision, Issue, IssueId, MessageId, ProjectId, Refusal, RunId, Session,
    SessionId,
};
use punchlist_store::ErrorKind;
use punchlist_store::rows::lists::Lock;
use punchlist_store::rows::names::Named;

use super::{Call, host_id};
use crate::Error;
use crate::catalogue::{Effect, find};

/// Another transaction changed what this one has looked at. The store tries again.
pub(super) fn changed_meanwhile() -> Error {
    let detail = "the session's binding was changed meanwhile";
    punchlist_store::Error::new(ErrorKind::Conflict, detail).into()
}

/// A new session and what it works on.
#[derive(Clone, Debug)]
pub(crate) struct NewSession {
    pub title: Title,
    pub host: Option<Title>,
    pub external_id: Option<Title>,
    pub directory: Option<String>,
}

impl Call<'_, '_> {
    /// The caller's session: the one it names, otherwise the one its host runs. The folder does not
    /// count, because several agents and people may work in it.
    pub(crate) fn session(&mut self, lock: Lock) -> Result<Option<Session>, Error> {
        let context = &self.envelope.context;
        if let Some(named) = host_id("session", context.session.as_deref())? {
            return self.session_named(&named, lock).map(Some);
        }
        let found = match self.session_of_process()? {
            Some(found) => Some(found),
            None => self.session_of_variable()?,
        };
        let found = match found {
            Some(found) => Some(found),
            None => self.session_of_server()?,
        };
        match (found, lock) {
            (Some(found), Lock::Row) => {
                self.session_named(&found.id.to_string(), Lock::Row).map(Some)
            }
            // The caller did not name this session, so one out of its reach is ignored.
            (Some(found), Lock::No) => Ok(self.reach_session(&found).is_ok().then_some(found)),
            (None, _) => Ok(None),
        }
    }

    /// Like `session`, for a call that needs no session: several sessions that nothing tells apart
    /// count as none.
    pub(crate) fn session_if_clear(&mut self) -> Result<Option<Session>, Error> {
        match self.session(Lock::No) {
            Err(Error::Refused(refusal))
                if matches!(*refusal, Refusal::SessionAmbiguous { .. }) =>
            {
                Ok(None)
            }
            found => found,
        }
    }

    /// The session that the host's environment variable names. The variable may be out of date.
    fn session_of_variable(&mut self) -> Result<Option<Session>, Error> {
        let hosted = host_id("session", self.envelope.context.host_session.as_deref())?;
        match (hosted, self.project()?) {
            (Some(hosted), Some(project)) => Ok(self.tx.session(project, &hosted, Lock::No)?),
            _ => Ok(None),
        }
    }

    /// The server's own session, created by the first write that needs one.
    fn session_of_server(&mut self) -> Result<Option<Session>, Error> {
        let Some(own) = self.envelope.context.own_session.as_deref() else { return Ok(None) };
        let known = match self.project()? {
            Some(project) => self.tx.session(project, own, Lock::No)?,
            None => None,
        };
        let is_write = find(self.cause).is_ok_and(|operation| operation.effect == Effect::Write);
        // A lead or an owner has no sessions; what it asks or delegates needs none.
        let may_start = find("session_start")
            .is_ok_and(|operation| operation.access.allows(self.envelope.actor.role));
        if !is_write || !may_start {
            return Ok(known);
        }
        if let Some(known) = known {
            return self.reopen(&known).map(Some);
        }
        let internal = |fault: TextFault| Error::Internal { detail: fault.to_string() };
        let title = format!("Session of {}", self.envelope.actor.agent);
        let new = NewSession {
            title: Title::new(&title).map_err(internal)?,
            host: None,
            external_id: Some(Title::new(own).map_err(internal)?),
            directory: self.envelope.context.directory.clone(),
        };
        self.start_session(new).map(Some)
    }

    /// Finds a session by our id or its host's id. Refuses an unknown one.
    pub(crate) fn session_named(&mut self, named: &str, lock: Lock) -> Result<Session, Error> {
        let unknown = || Error::from(Refusal::UnknownSession { session: named.to_owned() });
        let project = self.project()?.ok_or_else(unknown)?;
        let session = match self.tx.session(project, named, lock)? {
            Some(session) => session,
            None => {
                let meant = self.whole_id(named, &[Named::Session])?;
                self.tx.session(project, &meant, lock)?.ok_or_else(unknown)?
            }
        };
        super::or_unknown(self.reach_session(&session), unknown)?;
        Ok(session)
    }

    /// The session that an input names, otherwise the caller's.
    pub(crate) fn session_or_own(
        &mut self,
        named: Option<&str>,
        lock: Lock,
    ) -> Result<Session, Error> {
        match named {
            Some(named) => self.session_named(named, lock),
            None => self
                .session(lock)?
                .ok_or_else(|| Error::MissingContext { missing: vec!["session"] }),
        }
    }

    /// The caller's session, for a read. `None` if it is the server's own, which the first write
    /// starts.
    pub(crate) fn session_to_read(&mut self) -> Result<Option<Session>, Error> {
        match self.session(Lock::No)? {
            None if self.envelope.context.own_session.is_none() => {
                Err(Error::MissingContext { missing: vec!["session"] })
            }
            found => Ok(found),
        }
    }

    /// The session that an input names, otherwise the caller's, for a change of its binding: locked,
    /// after the issue it is bound to and this one.
    pub(crate) fn session_to_bind(
        &mut self,
        named: Option<&str>,
        issue: Option<IssueId>,
    ) -> Result<Session, Error> {
        let looked = self.session_or_own(named, Lock::No)?;
        self.lock_with_issues(&looked, issue)
    }

    /// Locks these issues and the one that a session is bound to, then the session.
    pub(super) fn lock_with_issues(
        &mut self,
        looked: &Session,
        issues: impl IntoIterator<Item = IssueId>,
    ) -> Result<Session, Error> {
        let issues: BTreeSet<IssueId> = issues.into_iter().chain(looked.bound_issue).collect();
        for issue in issues {
            self.tx.issue_by_id(issue, Lock::Row)?;
        }
        let session = self.session_named(&looked.id.to_string(), Lock::Row)?;
        match (session.bound_issue, session.state) == (looked.bound_issue, looked.state) {
            true => Ok(session),
            false => Err(changed_meanwhile()),
        }
    }

    /// Continues a session that had ended, without its issue.
    pub(crate) fn reopen(&mut self, looked: &Session) -> Result<Session, Error> {
        if looked.state != SessionState::Ended {
            return Ok(looked.clone());
        }
        let (project, id) = (looked.project_id, looked.id);
        let session = self.session_named(&id.to_string(), Lock::Row)?;
        let decision = self.decided(&ReopenSession, &session, (project, &id))?;
        self.record_session(project, Some(session), &decision)
    }

    /// Creates a session with its own chat.
    pub(crate) fn start_session(&mut self, new: NewSession) -> Result<Session, Error> {
        let project_id = self.ensure_project()?;
        let now = self.envelope.now;
        let conversation = Conversation {
            id: ConversationId::from(self.ids.ulid()),
            project_id,
            channel: Channel::Session,
            title: new.title.as_str().to_owned(),
            about: None,
            created_at: now,
        };
        let NewSession { title, host, external_id, directory } = new;
        let conversation_id = conversation.id;
        let command = StartSession { title, conversation_id, host, external_id, directory };
        let decision = self.decided(&command, project_id, (project_id, &project_id))?;
        let stamp = self.stamp(project_id);
        self.tx.open_conversation(&conversation, &stamp)?;
        self.record_session(project_id, None, &decision)
    }

    /// Binds a session to an issue, both locked (`session_to_bind`): sets the pointer and the assignment, nothing else.
    pub(crate) fn bind_session(
        &mut self,
        session: Session,
        issue: Issue,
        take_over: bool,
    ) -> Result<(Session, Issue), Error> {
        let project = issue.project_id;
        let before = match session.bound_issue {
            Some(id) if id != issue.id => self.tx.issue_by_id(id, Lock::Row)?,
            _ => None,
        };
        let holder = self.tx.session_on(issue.id)?.filter(|holder| holder.id != session.id);
        let (before_of, holder_of) = (before.as_ref(), holder.as_ref());
        let on = Binding { session: &session, issue: &issue, before: before_of, holder: holder_of };
        let bound = self.decided(&BindSession { take_over }, on, (project, &session.id))?;
        if let Some(holder) = holder {
            self.record_session(project, Some(holder), &bound.holder)?;
        }
        if let Some(before) = before {
            self.leave_issue(&session, before)?;
        }
        let id = session.id;
        let session = self.record_session(project, Some(session), &bound.session)?;
        let assigned = self.decided(&AssignIssue::to(id), &issue, (project, &issue.id))?;
        let issue = self.record_issue(project, Some(issue), &assigned)?;
        Ok((session, issue))
    }

    /// May this session be promoted to an issue?
    pub(crate) fn may_promote(&mut self, session: &Session) -> Result<(), Error> {
        let issue = self.bound_issue(session, Lock::No)?;
        let of = (session.project_id, &session.id as _);
        self.decided(&PromoteSession, (session, issue.as_ref()), of)
    }

    /// Unbinds a session from its issue, both locked.
    pub(crate) fn unbind_session(&mut self, session: Session) -> Result<Session, Error> {
        let issue = self.bound_issue(&session, Lock::Row)?;
        let of = (session.project_id, &session.id as _);
        let decision = self.decided(&UnbindSession, (&session, issue.as_ref()), of)?;
        self.let_go(session, issue, &decision)
    }

    /// Ends a session, which is locked with its issue.
    pub(crate) fn end_session(&mut self, session: Session) -> Result<Session, Error> {
        let issue = self.bound_issue(&session, Lock::Row)?;
        let of = (session.project_id, &session.id as _);
        let decision = self.decided(&EndSession, (&session, issue.as_ref()), of)?;
        let session = self.let_go(session, issue, &decision)?;
        let open = self.tx.open_runs_of_session(session.id)?;
        for run in ends_with(open, self.envelope.context.run) {
            self.cancel_run_as(&Actor::system(), &run.id.to_string(), "its session ended")?;
        }
        Ok(session)
    }

    fn let_go(
        &mut self,
        session: Session,
        issue: Option<Issue>,
        decision: &Decision,
    ) -> Result<Session, Error> {
        if let Some(issue) = issue {
            self.leave_issue(&session, issue)?;
        }
        self.record_session(session.project_id, Some(session), decision)
    }

    /// Removes the assignment of an issue, if it is still assigned to this session (Q-K5).
    fn leave_issue(&mut self, session: &Session, issue: Issue) -> Result<(), Error> {
        let Some(command) = AssignIssue::away_from(session.id, &issue) else { return Ok(()) };
        let project = issue.project_id;
        let decision = self.decided(&command, &issue, (project, &issue.id))?;
        self.record_issue(project, Some(issue), &decision).map(|_| ())
    }

    /// The issue that a session is bound to.
    pub(crate) fn bound_issue(
        &mut self,
        session: &Session,
        lock: Lock,
    ) -> Result<Option<Issue>, Error> {
        match session.bound_issue {
            Some(id) => Ok(self.tx.issue_by_id(id, lock)?),
            None => Ok(None),
        }
    }

    /// Posts a message in a chat, as the caller.
    pub(crate) fn post(
        &mut self,
        project: ProjectId,
        conversation_id: ConversationId,
        (role, kind): (Speaker, MessageKind),
        text: String,
    ) -> Result<Message, Error> {
        let author = self.envelope.actor.principal.clone();
        self.post_as(author, project, conversation_id, (role, kind), text, None)
    }

    /// Like `post`, for another author; the message may be part of a run.
    pub(crate) fn post_as(
        &mut self,
        author: String,
        project: ProjectId,
        conversation_id: ConversationId,
        (role, kind): (Speaker, MessageKind),
        text: String,
        part: Option<(RunId, Option<Part>)>,
    ) -> Result<Message, Error> {
        let (run_id, part) = match part {
            Some((run_id, part)) => (Some(run_id), part),
            None => (None, None),
        };
        // PostgreSQL cannot store this character, and a model may send any text.
        let text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
        let message = Message {
            id: MessageId::from(self.ids.ulid()),
            conversation_id,
            role,
            kind,
            author,
            text,
            run_id,
            part,
            reach: self.envelope.actor.reach.clone(),
            created_at: self.envelope.now,
        };
        let stamp = self.stamp(project);
        self.tx.post(&message, &stamp)?;
        Ok(message)
    }

    /// Pauses a session: its runs do not continue by themselves.
    pub(crate) fn pause_session(
        &mut self,
        session: Session,
        command: &PauseSession,
    ) -> Result<Session, Error> {
        let project = session.project_id;
        let decision = self.decided(command, &session, (project, &session.id))?;
        self.record_session(project, Some(session), &decision)
    }

    /// Resumes a session and the runs that wait in it.
    pub(crate) fn resume_session(&mut self, session: Session) -> Result<Session, Error> {
        let project = session.project_id;
        let decision = self.decided(&ResumeSession, &session, (project, &session.id))?;
        let session = self.record_session(project, Some(session), &decision)?;
        self.wake_session(session.id, Trigger::Resumed)?;
        Ok(session)
    }

    pub(super) fn wake_session(&mut self, session: SessionId, by: Trigger) -> Result<(), Error> {
        for run in self.tx.open_runs_of_session(session)? {
            self.wake_run(run.project_id, run.id, by, None)?;
        }
        Ok(())
    }

    pub(super) fn record_session(
        &mut self,
        project: ProjectId,
        mut state: Option<Session>,
        decision: &Decision,
    ) -> Result<Session, Error> {
        let stamp = self.stamp(project);
        self.tx.record_session(&mut state, decision, &stamp)?;
        state.ok_or_else(|| Error::Internal { detail: "a decision left no session".into() })
    }
}
