//! Consequences of events: rules that apply without a request, as pure functions.
//!
//! `decide` changes a command's own aggregate. Its consequences for others (a chat, a waiting run,
//! a held item) are computed here, as a list of [`Then`]. Ops loads what a function needs, calls
//! it, and applies the result, in the same commit as the cause.

pub mod chat;
pub mod delegation;
pub mod gate;
pub mod issue;
pub mod mission;
pub mod run;

use crate::conversation::{MessageKind, Speaker};
use crate::driver::Trigger;
use crate::{Actor, AgentPath, Command, ConversationId, IssueId, ListId, RunId, SessionId, TodoId};

/// One consequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// A message is written into a chat, in the name of the caller.
    Post { chat: ConversationId, speaker: Speaker, kind: MessageKind, text: String },
    /// The agent that a chat addresses answers in it.
    CallUpon(ConversationId),
    /// An item is changed. Nothing happens if the rules of its list refuse it.
    Change { actor: Box<Actor>, todo_id: TodoId, command: Box<Command> },
    /// A waiting run is resumed, with the news as a message.
    Wake { run: RunId, by: Trigger, news: Option<String> },
    /// Every waiting run of a session is resumed.
    WakeSession { session: SessionId, by: Trigger },
    /// A run ends.
    EndRun { actor: Box<Actor>, run: RunId, reason: &'static str },
    /// The agents that work on items of a list are stopped, because somebody settled the items.
    StopWork { list: ListId, settled: Settled, reason: &'static str, by: Box<Actor> },
    /// A task was assigned to an agent, by the principal `by`. Other agents that work on it are
    /// stopped.
    StopReplaced { todo_id: TodoId, assignee: AgentPath, by: String },
    /// Returned work goes back to the agent of ours that did it. If there is none, the feedback is
    /// posted in the chat where the item is worked on.
    HandBack { todo_id: TodoId, speaker: Speaker, feedback: String },
    /// The open questions about an item are closed.
    CloseQuestions { actor: Box<Actor>, todo_id: TodoId },
    /// The open sign-offs of an issue are closed, and the runs that wait for them are resumed.
    CloseSignOffs { actor: Box<Actor>, issue_id: IssueId },
}

/// What was settled of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// These items. Nobody works on what is below them either.
    Items(Vec<TodoId>),
    /// All of it.
    List,
}

impl Then {
    fn change(actor: Actor, todo_id: TodoId, command: impl Into<Command>) -> Self {
        Self::Change { actor: Box::new(actor), todo_id, command: Box::new(command.into()) }
    }
}
