//! The calls that tell a host's model about its work and copy its list: they load, and ask
//! `core/host`.

use punchlist_core::command::{HoldTodo, ReplaceTodos};
use punchlist_core::gate::{Gate, GateState};
use punchlist_core::host::Why;
use punchlist_core::host::brief::{self, Brief, Work};
use punchlist_core::host::mirror::{self, NativeItem};
use punchlist_core::text::Body;
use punchlist_core::todo::{HoldKind, Priority};
use punchlist_core::{Issue, Run, Scope, Session, Status, Time, TodoId};
use punchlist_store::Load;
use punchlist_store::rows::gates::WantedGates;
use punchlist_store::rows::lists::Lock;

use super::hosts::Said;
use super::{Call, scope_of_session};
use crate::Error;
use crate::operations::session_hook::{Input, NativeTodo};

/// How many open gates, plans and messages it names.
const GATES_MAX: i64 = 20;
const PLANS_MAX: usize = 3;
const MESSAGES_MAX: i64 = 10;

/// How many of the newest lists are searched for plans.
const LISTS_MAX: i64 = 50;

impl Call<'_, '_> {
    /// The text at the start of a session, after a break, after compaction and in a fork.
    pub(super) fn brief(
        &mut self,
        hook: &Input,
        session: &Session,
        is_adopted: bool,
        told_at: Option<Time>,
    ) -> Result<Option<String>, Error> {
        let messages = match is_adopted {
            true => self.tx.newest_messages(session.conversation_id, MESSAGES_MAX)?,
            false => Vec::new(),
        };
        let news = self.news(session, told_at)?;
        let plans = self.plan_lines()?;
        let (issue, parent) = match self.bound_issue(session, Lock::No)? {
            Some(issue) => (Some(issue), None),
            None if brief::follows_parent(hook.source) => {
                self.forked_from(hook, session)?.map(|(issue, parent)| (issue, parent.id)).unzip()
            }
            None => (None, None),
        };
        let (mut checklist, mut gates, mut list) = (None, Vec::new(), None);
        match &issue {
            Some(issue) => (checklist, gates) = (self.checklist(issue)?, self.open_gates(issue)?),
            None => list = self.look(&scope_of_session(session), Load::Open)?,
        }
        let work = match &issue {
            Some(issue) => {
                Work::Issue { issue, checklist: checklist.as_ref(), gates: &gates, parent }
            }
            None => Work::List(list.as_ref()),
        };
        let first_message = brief::first_message(&messages);
        let brief = Brief { first_message, news, plans, work };
        Ok(brief.text(hook.host, self.envelope.now))
    }

    fn open_gates(&mut self, issue: &Issue) -> Result<Vec<Gate>, Error> {
        let wanted = WantedGates {
            state: Some(GateState::Open),
            issue: Some(issue.id),
            ..WantedGates::default()
        };
        Ok(self.tx.gates(issue.project_id, &wanted, GATES_MAX)?)
    }

    /// The session this one was forked from, if the host's process shows it, with its issue.
    fn forked_from(
        &mut self,
        hook: &Input,
        session: &Session,
    ) -> Result<Option<(Issue, Session)>, Error> {
        for process in &hook.processes {
            let found = self.tx.sessions_of_process(session.project_id, process.as_str())?;
            for id in found.into_iter().filter(|id| *id != session.id) {
                let Some(parent) = self.tx.session_by_id(id)? else { continue };
                if self.reach_session(&parent).is_err() {
                    continue;
                }
                if let Some(issue) = self.bound_issue(&parent, Lock::No)? {
                    return Ok(Some((issue, parent)));
                }
            }
        }
        Ok(None)
    }

    /// The status of the plans of this branch, one line each.
    fn plan_lines(&mut self) -> Result<Vec<String>, Error> {
        let Some(project) = self.project()? else { return Ok(Vec::new()) };
        let branch = self.envelope.context.branch.clone().unwrap_or_else(|| "main".to_owned());
        let lists = self.tx.recent_lists(project, LISTS_MAX)?;
        let scopes = lists
            .into_iter()
            .map(|list| list.scope)
            .filter(|scope| matches!(scope, Scope::Plan { branch: own, .. } if *own == branch));
        let scopes: Vec<Scope> = scopes.take(PLANS_MAX).collect();
        let mut lines = Vec::new();
        for scope in scopes {
            if self.reach_scope(&scope).is_err() {
                continue;
            }
            // The line counts tasks, so it needs all of them.
            let Some(snapshot) = self.look(&scope, Load::All)? else { continue };
            let agents = self.known_agents()?;
            lines.extend(brief::plan_line(&snapshot, &agents, self.envelope.now));
        }
        Ok(lines)
    }

    /// Decisions and messages since the model was last informed. `None` if there are none.
    pub(super) fn news(
        &mut self,
        session: &Session,
        since: Option<Time>,
    ) -> Result<Option<String>, Error> {
        let Some(since) = since else { return Ok(None) };
        let wanted = WantedGates { session: Some(session.id), ..WantedGates::default() };
        let gates = self.tx.gates(session.project_id, &wanted, GATES_MAX)?;
        let messages = self.tx.newest_messages(session.conversation_id, MESSAGES_MAX)?;
        Ok(brief::news(&gates, &messages, since))
    }

    pub(super) fn brief_subagent(&mut self, session: &Session) -> Result<Option<String>, Error> {
        let issue = self.bound_issue(session, Lock::No)?;
        Ok(issue.as_ref().map(brief::for_subagent))
    }

    /// Holds the current item until the time at which it is tried again.
    pub(super) fn hold_until(
        &mut self,
        run: &Run,
        todo_id: TodoId,
        why: &str,
        until: Time,
    ) -> Result<(), Error> {
        let Ok(reason) = Body::new(why) else { return Ok(()) };
        let (mut list, todo_id) = self.todo(&todo_id.to_string())?;
        let (kind, until) = (HoldKind::Failed, Some(until));
        let command = HoldTodo { todo_id, kind, reason, until }.into();
        let held = self.decide_as(&run.actor(), &mut list, &command);
        self.unless_refused(held).map(drop)
    }

    /// Copies the host's own list into the session's list.
    pub(super) fn mirror(&mut self, hook: &Input, session: &Session) -> Result<Said, Error> {
        let copied = mirror::is_copied(self.envelope.agents().keeps_session_lists(), session);
        let Some(todos) = hook.todos.as_ref().filter(|_| copied) else {
            return Ok(Said::allow(Why::NothingToSay));
        };
        let locked = self.session_named(&session.id.to_string(), Lock::Row)?;
        let mut list = self.open_session_list(&locked)?;
        let todos: Vec<NativeItem> = todos.iter().map(NativeItem::from).collect();
        let items = mirror::mirrored(&todos, &list);
        self.decide(&mut list, ReplaceTodos { items })?;
        for claim in mirror::claims(&todos, &list) {
            self.decide(&mut list, claim)?;
        }
        Ok(Said::allow(Why::Mirrored))
    }
}

impl From<&NativeTodo> for NativeItem {
    fn from(todo: &NativeTodo) -> Self {
        Self {
            id: todo.id.0.clone(),
            content: todo.content.0.clone(),
            status: todo.status.map(Status::from),
            priority: todo.priority.map(Priority::from),
        }
    }
}
