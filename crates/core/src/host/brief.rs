//! The text that tells a host's model about its work. It contains only facts, and is empty if there
//! are none (P-5, P-7).

use super::{Host, Source};
use crate::conversation::{Message, MessageKind, Speaker};
use crate::issue::context::{BUDGET, render};
use crate::plan::{self, Form};
use crate::{Agents, Gate, Issue, SessionId, Snapshot, Time, driver};

const HOW: &str =
    "Keep the checklist with the punchlist tool `todo`, or `punch todo` in the shell.";

/// The length limit of a plan's line, in characters.
const PLAN_LINE_MAX: usize = 200;

/// What the text is made of.
#[derive(Clone, Debug)]
pub struct Brief<'a> {
    /// The operator's message from when the issue was sent to this host.
    pub first_message: Option<&'a str>,
    pub news: Option<String>,
    /// The plans of this branch, one line each.
    pub plans: Vec<String>,
    pub work: Work<'a>,
}

/// What the session works on.
#[derive(Clone, Copy, Debug)]
pub enum Work<'a> {
    Issue {
        issue: &'a Issue,
        checklist: Option<&'a Snapshot>,
        /// The open ones.
        gates: &'a [Gate],
        /// The session that the issue stays bound to, if this one is a fork of it.
        parent: Option<SessionId>,
    },
    /// Its own list, if it has one.
    List(Option<&'a Snapshot>),
}

impl Brief<'_> {
    /// The text at the start of a session, after a break, after compaction and in a fork. The issue
    /// comes first, and gets the room that the rest leaves, at least half of it. `None` if there is
    /// nothing to say.
    #[must_use]
    pub fn text(&self, host: Host, now: Time) -> Option<String> {
        let budget = BUDGET.min(host.text_max());
        let mut parts: Vec<String> = Vec::new();
        if let Work::Issue { issue, parent: Some(parent), .. } = &self.work {
            parts.push(forked(issue, *parent));
        }
        parts.extend(self.first_message.map(str::to_owned));
        parts.extend(self.news.clone());
        parts.extend(self.plans.iter().cloned());
        match self.work {
            Work::Issue { issue, checklist, gates, .. } => {
                let taken: usize = parts.iter().map(|part| part.chars().count() + 1).sum();
                let room = budget.saturating_sub(taken + HOW.len() + 1).max(budget / 2);
                parts.insert(0, render(issue, checklist, gates, room));
                parts.push(HOW.to_owned());
            }
            Work::List(list) => {
                let lists = list.map(std::slice::from_ref).unwrap_or_default();
                parts.extend(driver::context(lists, &driver::Counters::default(), now));
            }
        }
        let text: String = parts.join("\n").chars().take(budget).collect();
        (!text.trim().is_empty()).then_some(text)
    }
}

fn forked(issue: &Issue, parent: SessionId) -> String {
    format!(
        "This session is a fork. Issue #{} stays bound to session {parent}, which it was forked from.",
        issue.number
    )
}

/// Is a session without an issue told about the issue of the session that it came from?
#[must_use]
pub fn follows_parent(source: Option<Source>) -> bool {
    source == Some(Source::Fork)
}

/// The first message of a person. `messages`: the chat, oldest first.
#[must_use]
pub fn first_message(messages: &[Message]) -> Option<&str> {
    messages.iter().find(|message| message.role == Speaker::User).map(|m| m.text.as_str())
}

/// The line of a plan; `None` if all its tasks are settled.
#[must_use]
pub fn plan_line(plan: &Snapshot, agents: &Agents, now: Time) -> Option<String> {
    if plan.todos.values().all(|todo| todo.status.is_settled()) {
        return None;
    }
    let line = plan::render(plan, agents, Form::Line, Some(PLAN_LINE_MAX), now).text;
    Some(line.trim().to_owned())
}

/// Decisions and messages since the model was last informed. `None` if there are none.
#[must_use]
pub fn news(gates: &[Gate], messages: &[Message], since: Time) -> Option<String> {
    let is_new = |gate: &&Gate| gate.answered_at.is_some_and(|at| at >= since);
    let mut lines: Vec<String> = gates.iter().filter(is_new).filter_map(Gate::news).collect();
    let said = messages.iter().filter(|message| {
        message.created_at >= since
            && message.run_id.is_none()
            && (message.role, message.kind) == (Speaker::User, MessageKind::Text)
    });
    lines.extend(said.map(|message| format!("{} says: {}", message.author, message.text)));
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The text for a subagent. A subagent keeps no list, so the text says what its parent works on.
#[must_use]
pub fn for_subagent(issue: &Issue) -> String {
    let (number, title) = (issue.number, &issue.title);
    format!(
        "This work is part of issue #{number}: {title}. The agent that started you keeps its \
         checklist; report what you did and what should be added to it."
    )
}
