//! What follows from what happened: rules that no caller asked for, as pure functions.
//!
//! `decide` says what a command does to its own aggregate. What that means for others (a chat, a run
//! that waits, an item that is held) is said here, as a list of [`Then`]. Ops loads what a function
//! needs, asks it, and does what it says, in the same commit as the cause.

pub mod delegation;
pub mod gate;
pub mod mission;
pub mod run;

use crate::conversation::{MessageKind, Speaker};
use crate::driver::Trigger;
use crate::{Actor, Command, ConversationId, RunId, SessionId, TodoId};

/// One thing that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// A message is written into a chat, in the name of the caller.
    Post { chat: ConversationId, speaker: Speaker, kind: MessageKind, text: String },
    /// The agent that a chat addresses answers in it.
    CallUpon(ConversationId),
    /// An item is changed. What the rules of its list refuse does not happen.
    Change { actor: Box<Actor>, todo_id: TodoId, command: Box<Command> },
    /// A waiting run is resumed, with the news as a message.
    Wake { run: RunId, by: Trigger, news: Option<String> },
    /// Every waiting run of a session is resumed.
    WakeSession { session: SessionId, by: Trigger },
    /// A run ends.
    EndRun { actor: Box<Actor>, run: RunId, reason: &'static str },
    /// The agents that work on an item are stopped.
    StopWork { todo_id: TodoId, reason: &'static str },
    /// Work that was returned goes back to the agent of ours that did it; where there is none, the
    /// words are said in the chat the item is worked in.
    HandBack { todo_id: TodoId, speaker: Speaker, feedback: String },
    /// Nobody has to answer any more what is asked about an item.
    CloseQuestions { actor: Box<Actor>, todo_id: TodoId },
}

impl Then {
    fn change(actor: Actor, todo_id: TodoId, command: impl Into<Command>) -> Self {
        Self::Change { actor: Box::new(actor), todo_id, command: Box::new(command.into()) }
    }
}
