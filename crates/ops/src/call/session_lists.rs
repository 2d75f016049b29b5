//! The list of a session: finding it, keeping it, and moving it to the issue that the session is
//! promoted to.

use punchlist_core::command::{CreateTodos, HandOnTodos};
use punchlist_core::policy::{Wip, policy};
use punchlist_core::session::{may_keep_list, steps};
use punchlist_core::text::Title;
use punchlist_core::{Issue, Refusal, Scope, Session, Snapshot, TodoId};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;

use super::Call;
use crate::Error;

/// The scope of a session's list.
pub(crate) fn scope_of(session: &Session) -> Scope {
    Scope::Session { session_id: session.id.to_string() }
}

impl Call<'_, '_> {
    /// The list of a session, for reading; `None` if it was never started.
    pub(crate) fn session_list(&mut self, session: &Session) -> Result<Option<Snapshot>, Error> {
        self.look(&scope_of(session), Load::InView)
    }

    /// The list of a locked session, for a change.
    pub(crate) fn open_session_list(&mut self, session: &Session) -> Result<Snapshot, Error> {
        let issue = self.bound_issue(session, Lock::No)?;
        may_keep_list(session, issue.as_ref())
            .map_err(|refused| self.refuse(session.project_id, &session.id, refused))?;
        self.open(scope_of(session), Load::InView)
    }

    /// An item for a change. An open item of the caller's own session is found by the id it was
    /// written with; all others by their usual names.
    pub(crate) fn todo_or_own(&mut self, named: &str) -> Result<(Snapshot, TodoId), Error> {
        let meant = self.own_name(named)?;
        self.todo(&meant)
    }

    /// The id of an item, found like `todo_or_own`.
    pub(crate) fn own_or_named(&mut self, named: &str) -> Result<TodoId, Error> {
        let meant = self.own_name(named)?;
        self.todo_named(&meant)
    }

    /// An item for a change. If the kind of list can be reordered by hand, all visible items are
    /// loaded too.
    pub(crate) fn todo_among_others(&mut self, named: &str) -> Result<(Snapshot, TodoId), Error> {
        let meant = self.own_name(named)?;
        let (list, id) = self.find_todo(&meant)?;
        if policy(list.kind()).wip == Wip::Many {
            return self.todo(&meant);
        }
        let unknown = || Refusal::UnknownTodo { todo_id: named.to_owned(), list: None };
        let snapshot = self.lock(&list.scope, Load::InView)?.ok_or_else(unknown)?;
        Ok((snapshot, id))
    }

    /// The whole id of an item of the caller's own session. Any other name is returned unchanged.
    fn own_name(&mut self, named: &str) -> Result<String, Error> {
        let own = self.own_todo(named);
        // A caller without a session, or one that may not read its list, has no own items.
        let own = self.unless_refused(own)?.flatten();
        Ok(own.map_or_else(|| named.to_owned(), |id| id.to_string()))
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

    /// Adds the open items of a session's list to an issue as steps. Returns the changed
    /// issue.
    pub(crate) fn hand_list_on(&mut self, session: &Session, issue: Issue) -> Result<Issue, Error> {
        let Some(mut list) = self.lock(&scope_of(session), Load::InView)? else {
            return Ok(issue);
        };
        if !list.todos.values().any(|todo| !todo.status.is_settled()) {
            return Ok(issue);
        }
        let mut checklist = self.open_checklist(&issue)?;
        let steps = steps(&list, &checklist)?;
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
