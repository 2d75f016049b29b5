//! The messages of a chat, as the model sees them.

use std::collections::HashSet;

use punchlist_core::conversation::{Message, MessageKind, Part, Speaker, ToolCall};
use punchlist_core::run::{Kept, trim};
use punchlist_core::{Actor, MessageId, Run};
use serde_json::Value;

use crate::model::{self, CallResult, Input};

/// The next step of a run, read from its stored messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The model has not replied yet.
    Begin,
    /// These calls have no result.
    Execute(Vec<ToolCall>),
    /// All calls have their results.
    ToolsDone,
    /// A message came after the model's last reply.
    Heard,
    /// The model's reply is the last message.
    Stopped(punchlist_core::driver::Finish),
}

/// The next step. `messages`: the newest of the chat, oldest first.
pub(super) fn next(run: &Run, messages: &[Message]) -> Next {
    let own = |message: &&Message| message.run_id == Some(run.id);
    let is_reply = |message: &Message| matches!(message.part, Some(Part::Reply { .. }));
    let Some(at) = messages.iter().rposition(|m| own(&m) && is_reply(m)) else {
        return Next::Begin;
    };
    let Some(Part::Reply { calls, finish, .. }) = &messages[at].part else { return Next::Begin };
    let later = &messages[at + 1..];
    if !calls.is_empty() {
        let done: HashSet<&str> = later.iter().filter(own).filter_map(result_of).collect();
        let open: Vec<ToolCall> =
            calls.iter().filter(|call| !done.contains(call.id.as_str())).cloned().collect();
        return if open.is_empty() { Next::ToolsDone } else { Next::Execute(open) };
    }
    if *finish == punchlist_core::driver::Finish::ToolUse {
        return Next::ToolsDone;
    }
    let news = |message: &Message| {
        message.kind != MessageKind::Summary && !matches!(message.part, Some(Part::Result { .. }))
    };
    if later.iter().any(news) { Next::Heard } else { Next::Stopped(*finish) }
}

fn result_of(message: &Message) -> Option<&str> {
    match &message.part {
        Some(Part::Result { call_id, .. }) => Some(call_id),
        _ => None,
    }
}

/// The history for the next model call: trimmed, each call with its result, all other authors as the
/// user.
pub(super) fn history(run: &Run, messages: Vec<Message>) -> Vec<model::Message> {
    let (actor, first) = (run.actor(), MessageId::parse(&run.turn_id));
    let mut shown = shown(&actor, first, messages);
    // Keep the last exchange before a summary, because the work continues from there.
    if let Some(at) = shown.iter().rposition(|message| message.summary)
        && let Some(last) = shown[..at].iter().rposition(|m| m.own && m.result.is_none())
    {
        let summary = shown.remove(at);
        shown.insert(last, summary);
    }
    let kept: Vec<Kept> = shown
        .iter()
        .map(|message| Kept {
            begins_turn: Some(message.id) == first,
            earlier: message.earlier,
            calls: message.calls.len(),
            result: message.result.is_some(),
            summary: message.summary,
        })
        .collect();
    let limit = usize::try_from(run.settings.history).unwrap_or(usize::MAX);
    let mut history: Vec<model::Message> = Vec::new();
    let mut shown: Vec<Option<Shown>> = shown.into_iter().map(Some).collect();
    for message in trim(&kept, limit).into_iter().filter_map(|index| shown[index].take()) {
        push(&mut history, message);
    }
    from_a_user(history)
}

/// Providers require a history to begin with the user, so everything before the first user message
/// is left out.
fn from_a_user(mut history: Vec<model::Message>) -> Vec<model::Message> {
    let is_user = |message: &model::Message| matches!(message, model::Message::User { .. });
    if let Some(first) = history.iter().position(is_user) {
        history.drain(..first);
    }
    history
}

/// A message as this agent sees it.
struct Shown {
    id: MessageId,
    text: String,
    /// Is it the agent's own reply or call?
    own: bool,
    calls: Vec<ToolCall>,
    raw: Option<Value>,
    result: Option<CallResult>,
    earlier: bool,
    summary: bool,
}

/// The messages as this agent sees them. `first`: the message that began the turn.
fn shown(actor: &Actor, first: Option<MessageId>, messages: Vec<Message>) -> Vec<Shown> {
    let begins = messages.iter().position(|m| Some(m.id) == first).unwrap_or(0);
    let mut shown: Vec<Shown> = Vec::new();
    // Messages of others between a call and its results are moved behind the results.
    let mut aside: Vec<Shown> = Vec::new();
    let mut open = 0;
    for (index, message) in messages.into_iter().enumerate() {
        let by_us = message.author == actor.principal;
        // Only replies of the agent's model are its own, because the author of a question may have
        // the same name.
        let own = by_us && message.part.is_some() && message.kind != MessageKind::Summary;
        let by_tool = by_us && message.part.is_none() && message.role == Speaker::Assistant;
        // A message it posted through a tool is already in that tool's call.
        if by_tool && open > 0 {
            continue;
        }
        let mut one = Shown {
            id: message.id,
            own,
            calls: Vec::new(),
            raw: None,
            result: None,
            earlier: index < begins,
            summary: message.kind == MessageKind::Summary,
            text: message.text,
        };
        match message.part {
            Some(Part::Reply { calls, raw, seen, .. }) if own => {
                open = calls.len();
                (one.calls, one.raw) = (calls, raw);
                // Messages that came while the model replied go behind the reply.
                let seen = seen.as_deref().and_then(MessageId::parse);
                let at = seen.and_then(|id| shown.iter().rposition(|earlier| earlier.id == id));
                let at = at.map_or(shown.len(), |at| at + 1);
                if at < shown.len() && shown[at..].iter().all(|later| !later.own) {
                    aside.extend(shown.drain(at..));
                }
                if open == 0 {
                    // An empty reply is left out.
                    shown.extend(Some(one).filter(|one| !one.text.trim().is_empty()));
                    shown.append(&mut aside);
                    continue;
                }
            }
            Some(Part::Result { call_id, name, is_error }) if own => {
                let text = std::mem::take(&mut one.text);
                one.result = Some(CallResult { id: call_id, name, text, is_error });
                open = usize::saturating_sub(open, 1);
                shown.push(one);
                if open == 0 {
                    shown.append(&mut aside);
                }
                continue;
            }
            // Results of other agents' tools are left out.
            Some(Part::Result { .. }) => continue,
            _ => {}
        }
        if !own && message.kind == MessageKind::Text && message.run_id.is_some() {
            one.text = format!("[{}] {}", message.author, one.text);
        } else if by_tool {
            // It posted this in another chat or an earlier turn.
            one.text = format!("[you] {}", one.text);
        }
        if one.text.trim().is_empty() && one.calls.is_empty() {
            continue;
        }
        if open > 0 && one.calls.is_empty() {
            aside.push(one);
        } else {
            shown.push(one);
        }
    }
    shown.append(&mut aside);
    shown
}

fn push(history: &mut Vec<model::Message>, message: Shown) {
    if let Some(result) = message.result {
        match history.last_mut() {
            Some(model::Message::Results(results)) => results.push(result),
            _ => history.push(model::Message::Results(vec![result])),
        }
        return;
    }
    if message.own {
        let calls = message.calls.into_iter().map(|call| {
            let input = read(&call.input);
            model::Call { id: call.id, name: call.name, input }
        });
        let (text, calls, raw) = (message.text, calls.collect(), message.raw);
        history.push(model::Message::Assistant { text, calls, raw });
        return;
    }
    match history.last_mut() {
        Some(model::Message::User { text }) => {
            text.push_str("\n\n");
            text.push_str(&message.text);
        }
        _ => history.push(model::Message::User { text: message.text }),
    }
}

/// Parses the stored input of a call.
pub(super) fn read(input: &str) -> Input {
    match serde_json::from_str::<Value>(input) {
        Ok(value) if value.is_object() => Input::Json(value),
        _ => Input::Broken(input.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_begins_with_a_user_message() {
        let user = |text: &str| model::Message::User { text: text.to_owned() };
        let assistant = || model::Message::Assistant {
            text: "I looked.".to_owned(),
            calls: Vec::new(),
            raw: None,
        };
        let results = || model::Message::Results(Vec::new());
        let trimmed = vec![assistant(), results(), assistant(), user("Do it."), assistant()];
        let shown = from_a_user(trimmed);
        assert!(matches!(
            &shown[..],
            [model::Message::User { .. }, model::Message::Assistant { .. }]
        ));
        assert_eq!(from_a_user(vec![user("a"), assistant()]).len(), 2, "nothing else is left out");
    }
}
