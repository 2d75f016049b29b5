//! A chat: who said what, and when.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_core::conversation::{MessageKind, ToolCall};
use punchlist_core::{Time, TodoId};
use punchlist_ops::operations::{conversation_list, conversation_post, conversation_show};
use punchlist_ops::views::MessageView;
use serde_json::Value;

use super::columns::{aligned, cut, hanging};
use super::gates::words;
use super::times::elapsed;
use super::{ago, short, short_among};
use crate::output::{BOLD, CYAN, DIM, RED, clean, line, width};

pub(super) fn shown(output: &conversation_show::Output, now: Time) -> String {
    told(output, false, now)
}

/// A conversation; each call of a tool is one line, unless everything is wanted in full.
pub(crate) fn told(output: &conversation_show::Output, full: bool, now: Time) -> String {
    let title = line(&output.conversation.title);
    let mut shown = format!("{BOLD}{title}{BOLD:#}\n");
    let results: BTreeMap<&str, &MessageView> = output
        .messages
        .iter()
        .filter_map(|message| Some((message.result_of.as_ref()?.call_id.as_str(), message)))
        .collect();
    let called: BTreeSet<&str> =
        output.messages.iter().flat_map(|m| &m.calls).map(|call| call.id.as_str()).collect();
    let mut speaker = None;
    for message in &output.messages {
        if message.kind == MessageKind::Result {
            // A result is shown with its call, unless that is on another page.
            if message.result_of.as_ref().is_none_or(|of| !called.contains(of.call_id.as_str())) {
                shown.push_str(&answer("", message, full));
            }
            continue;
        }
        let kind = match message.kind {
            MessageKind::Synthetic => ", written by punchlist",
            MessageKind::Report => ", a report",
            _ => "",
        };
        // An agent that only calls tools, reply after reply, is named once.
        let is_silent = message.text.trim().is_empty() && !message.calls.is_empty();
        if !is_silent || speaker != Some(message.author.as_str()) {
            let (author, at) = (line(&message.author), ago(message.created_at, now));
            shown.push_str(&format!("\n{DIM}{author}, {at}{kind}{DIM:#}\n"));
        }
        speaker = Some(message.author.as_str());
        if !message.text.trim().is_empty() {
            shown.push_str(&hanging("  ", "  ", &clean(&message.text), width()));
        }
        for call in &message.calls {
            shown.push_str(&one_call(call, message, results.get(call.id.as_str()).copied(), full));
        }
    }
    if output.messages.is_empty() {
        shown.push_str("No messages.\n");
    }
    shown
}

/// A call: the tool, its main argument, what came of it, and how long that took.
fn one_call(
    call: &ToolCall,
    reply: &MessageView,
    result: Option<&MessageView>,
    full: bool,
) -> String {
    let name = line(&call.name);
    if full {
        let lead = format!("  • {name} ");
        let shown = format!("  • {CYAN}{name}{CYAN:#} ");
        let mut text = hanging(&lead, &shown, &clean(&call.input), width());
        if let Some(result) = result {
            text.push_str(&answer("  ", result, full));
        }
        return text;
    }
    let took = result.map(|result| {
        let millis = (result.created_at.micros() - reply.created_at.micros()).max(0) / 1_000;
        if millis < 1_000 {
            format!("{millis} ms")
        } else {
            elapsed(reply.created_at, result.created_at)
        }
    });
    let took = took.unwrap_or_else(|| "no answer yet".to_owned());
    let is_error = result.and_then(|r| r.result_of.as_ref()).is_some_and(|of| of.is_error);
    let said = result.map(|result| in_words(result.text.trim())).unwrap_or_default();
    // Of the line the time is always shown; argument and result share what is left.
    let room = width().saturating_sub(name.chars().count() + took.chars().count() + 10).max(16);
    let argument = cut(&line(&argument(&call.input)), room / 2);
    let said = cut(&said, room.saturating_sub(argument.chars().count()));
    let style = if is_error { RED } else { DIM };
    format!("  • {CYAN}{name}{CYAN:#} {argument} {style}→ {said}{style:#}  {DIM}{took}{DIM:#}\n")
}

/// What a tool answered.
fn answer(indent: &str, result: &MessageView, full: bool) -> String {
    let lead = format!("  {indent}→ ");
    match full {
        true => hanging(&lead, &lead, &clean(result.text.trim()), width()),
        false => {
            let said = cut(&in_words(result.text.trim()), width().saturating_sub(4));
            format!("  {DIM}→ {said}{DIM:#}\n")
        }
    }
}

/// The part of an input that says most: its only value, else the first text, else all of it.
fn argument(input: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(input) else {
        return input.to_owned();
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut values = fields.values();
    match (fields.len(), values.next()) {
        (0, _) | (_, None) => String::new(),
        (1, Some(only)) => text(only).unwrap_or_else(|| words(only)),
        _ => fields.values().find_map(text).unwrap_or_else(|| in_words(input)),
    }
}

/// What a tool said, as a person would write it: JSON as names and values, ids in their short form.
fn in_words(said: &str) -> String {
    let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str::<Value>(said)
    else {
        return line(said);
    };
    let message = value["error"]["message"].as_str().or_else(|| value["message"].as_str());
    match message {
        Some(message) => line(message),
        None => words(&with_short_ids(value)),
    }
}

fn with_short_ids(value: Value) -> Value {
    match value {
        Value::String(text) if TodoId::parse(&text).is_some() => short(&text).into(),
        Value::Array(items) => items.into_iter().map(with_short_ids).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, with_short_ids(value))).collect()
        }
        other => other,
    }
}

pub(super) fn listed(output: &conversation_list::Output) -> String {
    if output.conversations.is_empty() {
        return "No conversations to show.\n".to_owned();
    }
    let ids: Vec<&str> = output.conversations.iter().map(|one| one.id.as_str()).collect();
    let rows = output.conversations.iter().map(|conversation| {
        let channel = conversation.channel.name().to_owned();
        vec![short_among(&conversation.id, &ids).to_owned(), channel, line(&conversation.title)]
    });
    aligned(rows.collect(), width()) + &super::more(output.next_cursor.as_ref())
}

pub(super) fn posted(output: &conversation_post::Output) -> String {
    let mut shown = format!("Posted; the {} reads it next.\n", output.addressee);
    if let Some(done) = &output.done {
        shown.push_str(&format!("{}\n", line(done)));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_said_is_shown_without_json_and_whole_ids() {
        for (said, shown) in [
            ("two\nlines", "two lines"),
            (r#"{"gateId":"01JCQ0000000000000000A4F7Q","open":true}"#, "gateId: 4F7Q, open: yes"),
            (r#"{"error":{"code":"held","message":"it is on hold"}}"#, "it is on hold"),
            ("7", "7"),
        ] {
            assert_eq!(in_words(said), shown, "{said}");
        }
    }

    #[test]
    fn the_main_argument_of_a_call_is_shown() {
        for (input, shown) in [
            (r#"{"path":"src/a.rs"}"#, "src/a.rs"),
            (r#"{"limit":5,"pattern":"fn"}"#, "fn"),
            (r#"{"items":["a","b"]}"#, "a, b"),
            ("{}", ""),
            ("not json", "not json"),
        ] {
            assert_eq!(argument(input), shown, "{input}");
        }
    }
}
