//! What a new run is: its agent, role and reach, the messages it answers, and what an earlier run in
//! the same chat means for it.

use super::{Run, RunState, SettingsOf};
use crate::authority::{Action, Subject, may_any, owns_agent, reaches_run};
use crate::conversation::{About, Message};
use crate::{Actor, AgentPath, Delegation, MessageId, Reach, Refusal, Role, RunId, SessionId};

/// The agent that runs if the caller names none: a token names its agent, any other caller is
/// primary.
#[must_use]
pub fn default_agent(actor: &Actor) -> &str {
    if actor.fixed { actor.agent.as_str() } else { "primary" }
}

/// The agent of this name in punchlist.toml.
pub fn agent_named(name: &str) -> Result<AgentPath, Refusal> {
    AgentPath::parse(name).ok_or_else(|| Refusal::BadAgentType { name: name.to_owned() })
}

/// The role of an agent that has none configured.
#[must_use]
pub fn role_of(agent: &AgentPath, configured: Option<Role>) -> Role {
    configured.unwrap_or(if agent.is_subagent() { Role::Worker } else { Role::Root })
}

/// Whose settings apply? A caller that may not choose the model uses those of the process that
/// executes the run, which is its own if the run is held for it.
#[must_use]
pub fn settings_of(actor: &Actor, held: bool) -> SettingsOf {
    let free = !actor.fixed || may_any(actor.role, Subject::Run, Action::ChooseModel);
    match (free, held) {
        (true, _) => SettingsOf::Run,
        (false, true) => SettingsOf::Starter,
        (false, false) => SettingsOf::Executor,
    }
}

/// What a message to an agent does in its chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// A new run answers it.
    Begin,
    /// The run that waits there gets it; an open gate stays open.
    Resume(RunId),
}

/// `newest`: the newest run of the chat. One that is running may have lost its process; the process
/// that takes it over continues it, so it is refused like any other.
pub fn course(actor: &Actor, newest: Option<&Run>) -> Result<Course, Refusal> {
    let Some(run) = newest.filter(|run| !run.is_over()) else { return Ok(Course::Begin) };
    let agent = run.agent.clone();
    if run.state == RunState::Running {
        let (conversation, run) = (run.conversation_id, Some(run.id));
        return Err(Refusal::AgentAtWork { conversation, agent, run });
    }
    if !owns_agent(actor, &run.agent) {
        return Err(Refusal::NotYourself { agent });
    }
    if !reaches_run(actor, run) {
        return Err(Refusal::OutOfReach { missing: format!("as far as run {}", run.id) });
    }
    Ok(Course::Resume(run.id))
}

/// The reach of a run in a session: its starter's, and that session, because its starter reaches it.
#[must_use]
pub fn reach_in(actor: &Actor, session: SessionId) -> Reach {
    let mut reach = actor.reach.clone();
    if reach.is_narrowed() && reach.session.is_none() {
        reach.session = Some(session.to_string());
    }
    reach
}

/// Is the agent active in its chat? `newest`: its newest run there. An agent of another role may be
/// active too: the owner works while the lead reviews (M-63).
#[must_use]
pub fn is_at_work(newest: Option<&Run>) -> bool {
    newest.is_some_and(|run| run.state == RunState::Running)
}

/// What a run answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The newest message.
    pub turn: MessageId,
    /// The narrowest reach of all authors whom it answers.
    pub reach: Reach,
}

/// The messages that an agent has not answered yet; `None` if there are none. `messages`: the chat,
/// oldest first. It has seen all messages before its last one, unless its run ended without an
/// answer.
#[must_use]
pub fn unanswered(newest: Option<&Run>, messages: &[Message], principal: &str) -> Option<Answered> {
    let is_own = |message: &Message| {
        newest.is_some_and(|run| {
            message.run_id == Some(run.id) || message.id.to_string() == run.turn_id
        })
    };
    let is_news = |message: &&Message| {
        message.run_id.is_none() && message.author != principal && !is_own(message)
    };
    let owes = newest.is_some_and(Run::owes_an_answer);
    let since = messages.iter().rev().take_while(|message| owes || !is_own(message));
    let news: Vec<&Message> = since.filter(is_news).collect();
    let last = news.first()?;
    let reach = news
        .iter()
        .fold(&last.reach, |narrow, message| narrow.narrower(&message.reach).unwrap_or(narrow));
    Some(Answered { turn: last.id, reach: reach.clone() })
}

/// The pillar of a run that answers in this chat. A lead sees every pillar.
#[must_use]
pub fn pillar_of(role: Role, about: Option<&About>) -> Option<&str> {
    let pillar = about.filter(|_| role == Role::Owner)?.pillar.as_ref();
    pillar.map(|(_, slug)| slug.as_str())
}

/// Does a run with this role work in the session of its chat?
#[must_use]
pub const fn is_in_session(role: Role) -> bool {
    matches!(role, Role::Root)
}

/// Is this run of a delegation still the one to execute? A run that drained but was not reported is
/// reported, not repeated.
#[must_use]
pub fn is_kept(run: &Run) -> bool {
    run.stop_reason.is_none_or(|reason| reason.is_drained())
}

/// The message that delegated the work. `messages`: the chat, oldest first.
#[must_use]
pub fn order<'m>(delegation: &Delegation, messages: &'m [Message]) -> Option<&'m Message> {
    messages.iter().rev().find(|message| {
        message.author == delegation.delegated_by && message.text == delegation.mission
    })
}

/// The role of a run that does delegated work. It is a worker, which sees no list. In the chat of a
/// pillar, an agent whose configuration says `owner` is the owner; a project's file cannot say so. The
/// type of the delegation gives no role, because the delegating agent chooses it. `root` is the default
/// in the configuration, so it gives the same role as no entry.
pub fn role_for_work(about: Option<&About>, configured: Option<Role>) -> Result<Role, Refusal> {
    match (about, configured) {
        (Some(_), Some(Role::Owner)) => Ok(Role::Owner),
        (_, Some(Role::Owner | Role::Root | Role::Worker) | None) => Ok(Role::Worker),
        (_, Some(role)) => Err(Refusal::MayNotRun { role }),
    }
}

/// The agent of such a run: an owner has its own name, a worker that of the delegation.
pub fn agent_for_work(
    role: Role,
    name: &str,
    delegation: &Delegation,
) -> Result<AgentPath, Refusal> {
    match role {
        Role::Owner => agent_named(name),
        _ => Ok(delegation.agent.clone()),
    }
}
