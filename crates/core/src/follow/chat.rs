//! Consequences of a message in a chat: who is woken, and who answers.

use crate::conversation::{Conversation, instructs};
use crate::effect::Effect;
use crate::run::RunState;
use crate::{Actor, Run, RunId, Session};

/// What a message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Messages between agents wake nobody; an agent sees them when it reads the chat.
    Later,
    /// The run that waits there continues. If it is ending right now, the addressed agent answers.
    By(RunId),
    /// The addressed agent answers.
    Answered,
}

/// `newest`: the newest run of the agent that the chat addresses.
#[must_use]
pub fn heard(author: &Actor, newest: Option<&Run>) -> Heard {
    match newest.filter(|run| !run.is_over()) {
        _ if !instructs(author) => Heard::Later,
        Some(run) => Heard::By(run.id),
        None => Heard::Answered,
    }
}

/// Makes the agent that a chat addresses answer, once for all waiting messages. Returns the run to
/// wake first: an agent that works in the chat may already have read it for the last time. The model
/// of a host gets the message from its host, at the next hook.
#[must_use]
pub fn called_upon(
    chat: &Conversation,
    session: Option<&Session>,
    newest: Option<&Run>,
) -> (Option<RunId>, Option<Effect>) {
    if session.is_some_and(|session| session.host.is_some()) {
        return (None, None);
    }
    let running = newest.filter(|run| run.state == RunState::Running).map(|run| run.id);
    let (conversation_id, role) = (chat.id, chat.addressee());
    (running, Some(Effect::Answer { conversation_id, role }))
}
