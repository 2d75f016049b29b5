//! The text that tells a host's model about its work. It contains only facts, and is empty if there
//! are none (P-5, P-7).

use punchlist_core::command::{ClaimTodo, HoldTodo, ListedTodo, ReplaceTodos};
use punchlist_core::conversation::{MessageKind, Speaker};
use punchlist_core::driver;
use punchlist_core::gate::{Gate, GateState};
use punchlist_core::host::{Source, Why};
use punchlist_core::issue::context::{BUDGET, render};
use punchlist_core::plan::{self, Form};
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::{HoldKind, Priority};
use punchlist_core::{Issue, Run, Scope, Session, Snapshot, Status, Time, TodoId};
use punchlist_store::rows::gates::WantedGates;
use punchlist_store::rows::lists::Lock;

use super::hosts::Said;
use super::{Call, scope_of_session};
use crate::Error;
use crate::operations::session_hook::{Input, NativeTodo};
use crate::operations::todo_write::WrittenStatus;

/// How many open gates, plans and messages it names.
const GATES_MAX: i64 = 20;
const PLANS_MAX: usize = 3;
const MESSAGES_MAX: i64 = 10;

/// How many of the newest lists are searched for plans.
const LISTS_MAX: i64 = 50;

const HOW: &str =
    "Keep the checklist with the punchlist tool `todo`, or `punch todo` in the shell.";

impl Call<'_, '_> {
    /// The text at the start of a session, after a break, after compaction and in a fork.
    pub(super) fn brief(
        &mut self,
        hook: &Input,
        session: &Session,
        is_adopted: bool,
        told_at: Option<Time>,
    ) -> Result<Option<String>, Error> {
        let budget = BUDGET.min(hook.host.text_max());
        let mut parts = Vec::new();
        if is_adopted {
            parts.extend(self.first_message(session)?);
        }
        parts.extend(self.news(session, told_at)?);
        parts.extend(self.plan_lines()?);
        let issue = match self.bound_issue(session, Lock::No)? {
            Some(issue) => Some(issue),
            None if hook.source == Some(Source::Fork) => {
                let parent = self.forked_from(hook, session)?;
                if let Some((issue, parent)) = &parent {
                    parts.insert(0, forked(issue, parent));
                }
                parent.map(|(issue, _)| issue)
            }
            None => None,
        };
        match issue {
            Some(issue) => {
                let taken: usize = parts.iter().map(|part| part.chars().count() + 1).sum();
                let room = budget.saturating_sub(taken + HOW.len() + 1).max(budget / 2);
                let text = self.issue_text(&issue, room)?;
                parts.insert(0, text);
                parts.push(HOW.to_owned());
            }
            None => {
                let list = self.look(&scope_of_session(session), punchlist_store::Load::Open)?;
                if let Some(list) = list {
                    let run = Default::default();
                    parts.extend(driver::context(&[list], &run, self.envelope.now));
                }
            }
        }
        let text = parts.join("\n");
        let text: String = text.chars().take(budget).collect();
        Ok((!text.trim().is_empty()).then_some(text))
    }

    fn issue_text(&mut self, issue: &Issue, budget: usize) -> Result<String, Error> {
        let checklist = self.checklist(issue)?;
        let wanted = WantedGates {
            state: Some(GateState::Open),
            issue: Some(issue.id),
            ..WantedGates::default()
        };
        let gates = self.tx.gates(issue.project_id, &wanted, GATES_MAX)?;
        Ok(render(issue, checklist.as_ref(), &gates, budget))
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

    /// The operator's message from when the issue was sent to this host.
    fn first_message(&mut self, session: &Session) -> Result<Option<String>, Error> {
        let messages = self.tx.newest_messages(session.conversation_id, MESSAGES_MAX)?;
        Ok(messages.into_iter().find(|m| m.role == Speaker::User).map(|m| m.text))
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
            let Some(snapshot) = self.look(&scope, punchlist_store::Load::All)? else { continue };
            if snapshot.todos.values().all(|todo| todo.status.is_settled()) {
                continue;
            }
            let agents = self.known_agents()?;
            let now = self.envelope.now;
            let line = plan::render(&snapshot, &agents, Form::Line, Some(200), now).text;
            lines.push(line.trim().to_owned());
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
        let is_new = |gate: &&Gate| gate.answered_at.is_some_and(|at| at >= since);
        let mut lines: Vec<String> = gates.iter().filter(is_new).filter_map(Gate::news).collect();
        let messages = self.tx.newest_messages(session.conversation_id, MESSAGES_MAX)?;
        let said = messages.into_iter().filter(|message| {
            message.created_at >= since
                && message.run_id.is_none()
                && (message.role, message.kind) == (Speaker::User, MessageKind::Text)
        });
        lines.extend(said.map(|message| format!("{} says: {}", message.author, message.text)));
        Ok((!lines.is_empty()).then(|| lines.join("\n")))
    }

    /// The text for a subagent. A subagent keeps no list, so the text says what its parent works
    /// on.
    pub(super) fn brief_subagent(&mut self, session: &Session) -> Result<Option<String>, Error> {
        let Some(issue) = self.bound_issue(session, Lock::No)? else { return Ok(None) };
        let (number, title) = (issue.number, &issue.title);
        Ok(Some(format!(
            "This work is part of issue #{number}: {title}. The agent that started you keeps its \
             checklist; report what you did and what should be added to it."
        )))
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
        match self.decide_as(&run.actor(), &mut list, &command) {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Copies the host's own list into the session's list. Items that the host marks as done become
    /// claims (P-22). A session that works on an issue uses the issue's checklist, and the host's
    /// list is not copied.
    pub(super) fn mirror(&mut self, hook: &Input, session: &Session) -> Result<Said, Error> {
        let is_off = !self.envelope.agents.keeps_session_lists();
        if is_off || session.bound_issue.is_some() {
            return Ok(Said::allow(Why::NothingToSay));
        }
        let Some(todos) = &hook.todos else { return Ok(Said::allow(Why::NothingToSay)) };
        let locked = self.session_named(&session.id.to_string(), Lock::Row)?;
        let mut list = self.open_session_list(&locked)?;
        let items = mirrored(todos, &list);
        self.decide(&mut list, ReplaceTodos { items })?;
        let done = todos.iter().filter(|todo| todo.status == Some(WrittenStatus::Completed));
        for external_id in done.filter_map(called) {
            let todo = list.todos.values().find(|todo| {
                todo.external_id.as_deref() == Some(external_id.as_str())
                    && !todo.status.is_settled()
                    && todo.claim.is_none()
            });
            let Some(todo_id) = todo.map(|todo| todo.id) else { continue };
            let claim = ClaimTodo { todo_id, outcome: None, evidence: Vec::new(), clock: None };
            self.decide(&mut list, claim)?;
        }
        Ok(Said::allow(Why::Mirrored))
    }
}

fn forked(issue: &Issue, parent: &Session) -> String {
    format!(
        "This session is a fork. Issue #{} stays bound to session {}, which it was forked from.",
        issue.number, parent.id
    )
}

/// The name of an item in a host's list.
fn called(todo: &NativeTodo) -> Option<String> {
    let text = || todo.content.0.as_ref().map(|content| content.as_str().to_owned());
    let named = todo.id.0.clone().map(Title::into_string).or_else(text)?;
    Some(named.chars().take(200).collect())
}

/// The session's list after the host's. A host forgets what is done, so claims stay. It may work on
/// several items at once; of those the first is in progress here.
fn mirrored(todos: &[NativeTodo], list: &Snapshot) -> Vec<ListedTodo> {
    let mut items: Vec<ListedTodo> = todos.iter().map(listed).collect();
    let begun = items.iter_mut().filter(|item| item.status == Some(Status::InProgress));
    for other in begun.skip(1) {
        other.status = Some(Status::Pending);
    }
    let is_named = |name: &str| items.iter().any(|item| item.external_id.as_deref() == Some(name));
    let claims =
        list.todos.values().filter(|todo| todo.claim.is_some() && !todo.status.is_settled());
    let names = claims.filter_map(|todo| todo.external_id.clone());
    let forgotten: Vec<String> = names.filter(|name| !is_named(name)).collect();
    let kept = |name| ListedTodo { external_id: Some(name), ..ListedTodo::default() };
    items.extend(forgotten.into_iter().map(kept));
    items
}

fn listed(todo: &NativeTodo) -> ListedTodo {
    ListedTodo {
        external_id: called(todo),
        title: todo.content.0.clone(),
        phase: None,
        // A completed item is claimed afterwards.
        status: todo.status.map(Status::from).filter(|status| *status != Status::Completed),
        priority: todo.priority.map(Priority::from),
        conflicts_with: None,
    }
}
