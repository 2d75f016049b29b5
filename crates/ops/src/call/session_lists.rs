//! The list of a session: found, kept, and handed on to the issue that is made of the session.

use punchlist_core::command::{CreateTodos, HandOnTodos};
use punchlist_core::session::{may_keep_list, steps};
use punchlist_core::text::Title;
use punchlist_core::{Issue, Scope, Session, Snapshot, TodoId};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;

use super::Call;
use crate::Error;

/// The scope of a session's list.
pub(crate) fn scope_of(session: &Session) -> Scope {
    Scope::Session { session_id: session.id.to_string() }
}

impl Call<'_, '_> {
    /// The list of a session to look at; one nobody has begun is none.
    pub(crate) fn session_list(&mut self, session: &Session) -> Result<Option<Snapshot>, Error> {
        self.look(&scope_of(session), Load::InView)
    }

    /// The list of a session, which is locked, to change.
    pub(crate) fn open_session_list(&mut self, session: &Session) -> Result<Snapshot, Error> {
        let issue = self.bound_issue(session, Lock::No)?;
        may_keep_list(session, issue.as_ref())
            .map_err(|refused| self.refuse(session.project_id, &session.id, refused))?;
        self.open(scope_of(session), Load::InView)
    }

    /// An item to change: an open one of the caller's own session by the id it was written with, else
    /// as everybody names it.
    pub(crate) fn todo_or_own(&mut self, named: &str) -> Result<(Snapshot, TodoId), Error> {
        let own = match self.own_todo(named) {
            // Whoever is in no session, or may not look at its list, has nothing of its own there.
            Err(Error::Refused(_)) => None,
            own => own?,
        };
        self.todo(&own.map_or_else(|| named.to_owned(), |id| id.to_string()))
    }

    fn own_todo(&mut self, named: &str) -> Result<Option<TodoId>, Error> {
        if TodoId::parse(named.trim()).is_some() {
            return Ok(None);
        }
        let Some(session) = self.session(Lock::No)? else { return Ok(None) };
        let list = self.look(&scope_of(&session), Load::Open)?;
        let mut open = list.iter().flat_map(|list| list.todos.values());
        Ok(open.find(|todo| todo.called() == named.trim()).map(|todo| todo.id))
    }

    /// Makes steps of an issue of what is open on the list of a session. Gives the issue as it
    /// is then.
    pub(crate) fn hand_list_on(&mut self, session: &Session, issue: Issue) -> Result<Issue, Error> {
        let Some(mut list) = self.lock(&scope_of(session), Load::InView)? else {
            return Ok(issue);
        };
        if !list.todos.values().any(|todo| !todo.status.is_settled()) {
            return Ok(issue);
        }
        let mut checklist = self.open_checklist(&issue)?;
        let steps = steps(&list, &checklist);
        let items = steps.iter().map(|step| step.item.clone()).collect();
        self.decide(&mut checklist, CreateTodos { items })?;
        for step in steps {
            if let Some(command) = step.command(&checklist) {
                self.decide(&mut checklist, command)?;
            }
        }
        let internal = |fault| Error::Internal { detail: format!("an issue has no name: {fault}") };
        let to = Title::new(&format!("issue #{}", issue.number)).map_err(internal)?;
        self.decide(&mut list, HandOnTodos { to })?;
        self.issue(issue.number, Lock::No)
    }
}
