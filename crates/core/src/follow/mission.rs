//! Consequences of changes to a pillar's items: for questions about their deadlines and for the
//! chats. Also the consequences of a cycle's sweep. Work on settled items of any list is stopped in
//! `delegation`.

use super::Then;
use crate::conversation::{MessageKind, Speaker, instructs, synthetic};
use crate::mission::{Pillar, called_off, warning};
use crate::{Actor, ConversationId, Decision, Event, ListKind, Snapshot, Status, Todo, TodoId};

/// A new deadline, or the end of the item, closes the question about its deadline. Feedback on
/// returned work is posted in the chat where the agents work (M-51). `list`: after the change.
#[must_use]
pub fn changed(list: &Snapshot, decided: &Decision, actor: &Actor) -> Vec<Then> {
    if list.list.kind() != ListKind::Pillar {
        return Vec::new();
    }
    let mut then = Vec::new();
    for event in &decided.events {
        let todo_id = match event {
            Event::ClaimReturned(e) => {
                let speaker = if instructs(actor) { Speaker::User } else { Speaker::Assistant };
                let (todo_id, feedback) = (e.todo_id, e.feedback.clone());
                then.push(Then::HandBack { todo_id, speaker, feedback });
                continue;
            }
            Event::TodoRevised(e) => e.todo_id,
            Event::TodoCompleted(e) => e.todo_id,
            Event::TodoCancelled(e) => e.todo_id,
            _ => continue,
        };
        if !list.todo(todo_id).is_some_and(is_asked_about) {
            let actor = Box::new(actor.clone());
            then.push(Then::CloseQuestions { actor, todo_id });
        }
    }
    then
}

/// Is the deadline still the one that a person was asked about? Then the question stays open.
fn is_asked_about(todo: &Todo) -> bool {
    todo.status.is_active()
        && todo.overdue_notified_for.is_some()
        && todo.overdue_notified_for == todo.deadline
}

/// What a sweep did to a pillar's list, for the cycle's answer and for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Titles of the items that a person was asked or notices about.
    pub escalated: Vec<String>,
    pub demoted: Vec<String>,
    pub cancelled: Vec<String>,
    pub archived: i64,
    /// The messages to people, in order.
    pub notices: Vec<Notice>,
}

/// The message to people about a late item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// They are asked what to do with it.
    Asked(TodoId),
    Said(Then),
}

/// Consequences of a sweep. `before` and `after`: the list before and after it. An escalation names
/// the item's status before it was put back. `chat`: the mission's.
#[must_use]
pub fn swept(
    before: &Snapshot,
    after: &Snapshot,
    decided: &Decision,
    chat: ConversationId,
) -> Swept {
    let mut swept = Swept::default();
    let titled = |id: TodoId| before.todo(id).map(|todo| todo.title.clone()).unwrap_or_default();
    for event in &decided.events {
        match event {
            Event::TodoEscalated(e) => {
                let is_settled = after.todo(e.todo_id).is_some_and(|t| t.status.is_settled());
                match before.todo(e.todo_id).filter(|_| is_settled) {
                    // There is nothing left to ask.
                    Some(todo) => swept.notices.push(Notice::Said(said(chat, &called_off(todo)))),
                    None => swept.notices.push(Notice::Asked(e.todo_id)),
                }
                swept.escalated.push(titled(e.todo_id));
            }
            Event::TodoDemoted(e) => swept.demoted.push(titled(e.todo_id)),
            Event::TodoCancelled(e) => swept.cancelled.push(titled(e.todo_id)),
            Event::TodoArchived(_) => swept.archived += 1,
            _ => {}
        }
    }
    swept
}

/// A person was asked about a late item: the question is posted in the mission's chat, and an agent
/// that works on the item is warned in the pillar's.
#[must_use]
pub fn escalated(todo: &Todo, question: &str, chat: ConversationId, pillar: &Pillar) -> Vec<Then> {
    let mut then = vec![said(chat, question)];
    if todo.status == Status::InProgress && todo.claim.is_none() {
        then.push(said(pillar.todos_conversation_id, &warning(todo)));
    }
    then
}

/// The planning prompt of a cycle is posted in the chat of a pillar (M-65), and its owner answers.
#[must_use]
pub fn asked_to_plan(pillar: &Pillar, prompt: &str) -> [Then; 2] {
    [said(pillar.conversation_id, prompt), Then::CallUpon(pillar.conversation_id)]
}

/// The owner of a pillar has planned: the report is posted in the chat of the mission, and the lead
/// answers (M-84).
#[must_use]
pub fn planned(chat: ConversationId, report: &str) -> [Then; 2] {
    [said(chat, report), Then::CallUpon(chat)]
}

fn said(chat: ConversationId, text: &str) -> Then {
    let (speaker, kind) = (Speaker::User, MessageKind::Synthetic);
    Then::Post { chat, speaker, kind, text: synthetic(text) }
}
