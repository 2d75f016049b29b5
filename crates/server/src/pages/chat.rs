//! A conversation: the messages of people and agents, tool calls as lines that unfold, and the
//! continuations that punchlist itself posted.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use punchlist_core::conversation::{MessageKind, SYNTHETIC, Speaker, ToolCall};
use punchlist_core::{RunId, Time};
use punchlist_ops::views::MessageView;
use punchlist_ops::views::run::RunView;
use serde_json::Value;

use super::icons::Icon;
use super::visit::Visit;
use super::{markdown, words};

/// The prefix of a person's principal.
const PERSON: &str = "operator";

/// How many messages a page shows.
pub(crate) const SHOWN: i64 = 100;

/// The longest result of a tool that is shown; more is cut.
const RESULT_MAX: usize = 16_000;

/// How much of an argument is shown in a line.
const ARGUMENT_MAX: usize = 120;

/// The data besides the messages that a conversation is drawn with.
#[derive(Debug, Default)]
pub(crate) struct Around<'a> {
    /// The runs that wrote in it.
    pub(crate) runs: &'a [RunView],
    /// Does it include the last message of the chat? Then continuations can be counted.
    pub(crate) is_newest: bool,
    /// Is an agent at work whose run is not known here?
    pub(crate) is_live: bool,
}

impl Around<'_> {
    fn run(&self, message: &MessageView) -> Option<&RunView> {
        let id = message.run_id?;
        self.runs.iter().find(|run| run.id == id)
    }
}

/// The messages, oldest first.
pub(crate) fn draw(visit: &Visit, messages: &[MessageView], around: &Around<'_>) -> Markup {
    let mut results = BTreeMap::new();
    for message in messages {
        if let Some(of) = &message.result_of {
            results.insert(key(message, &of.call_id), message);
        }
    }
    let called: BTreeSet<Key<'_>> = messages
        .iter()
        .flat_map(|one| one.calls.iter().map(move |call| key(one, &call.id)))
        .collect();
    let counts = continuations(messages, around);
    let mut before: Option<&MessageView> = None;
    html! {
        div.chat id="chat" data-rows="end" {
            @for message in messages {
                @match message.kind {
                    MessageKind::Synthetic => (continued(message, counts.get(message.id.as_str()).copied())),
                    MessageKind::Summary => (summary(message)),
                    MessageKind::Result => {
                        // The line of its call shows the result, if the call is on this page.
                        @if !message.result_of.as_ref().is_some_and(|of| called.contains(&key(message, &of.call_id))) {
                            (lone_result(visit, message))
                        }
                    }
                    MessageKind::Text | MessageKind::Report => {
                        @let follows = before.is_some_and(|one| follows(one, message));
                        (said(visit, message, follows, around, &results))
                    }
                }
                @let _ = before.replace(message);
            }
        }
    }
}

/// A call of a run. The run is part of the key, because models of different runs may use the same
/// ids.
type Key<'a> = (Option<RunId>, &'a str);

fn key<'a>(message: &MessageView, call: &'a str) -> Key<'a> {
    (message.run_id, call)
}

/// Does a message directly continue the previous one, so that its author need not be named again?
fn follows(before: &MessageView, message: &MessageView) -> bool {
    before.role == Speaker::Assistant
        && message.role == Speaker::Assistant
        && matches!(before.kind, MessageKind::Text | MessageKind::Result)
        && message.kind == MessageKind::Text
        && before.run_id == message.run_id
        && message.created_at.micros() - before.created_at.micros() < 60_000_000
}

fn said(
    visit: &Visit,
    message: &MessageView,
    follows: bool,
    around: &Around<'_>,
    results: &BTreeMap<Key<'_>, &MessageView>,
) -> Markup {
    let is_mine = message.role == Speaker::User && message.author.starts_with(PERSON);
    let class = if is_mine { "message mine" } else { "message" };
    let is_over = around.run(message).map_or(!around.is_live, |run| run.ended_at.is_some());
    html! {
        article class=(class) id={"message-" (message.id)} {
            @if !follows {
                header.message-head {
                    b { (visit.name(&message.author)) }
                    @if message.kind == MessageKind::Report { span.hint { "reported" } }
                    span.when { (words::ago(message.created_at, visit.now())) }
                }
            }
            @if !message.text.trim().is_empty() { div.md.speech { (markdown::render(&message.text)) } }
            @if !message.calls.is_empty() {
                div.calls {
                    @for call in &message.calls {
                        (tool(visit, message.created_at, call, results.get(&key(message, &call.id)).copied(), is_over))
                    }
                }
            }
        }
    }
}

/// A tool call: one line that unfolds to its result. A failed or running call is unfolded.
fn tool(
    visit: &Visit,
    at: Time,
    call: &ToolCall,
    result: Option<&MessageView>,
    is_over: bool,
) -> Markup {
    let failed = result.is_some_and(|result| {
        result.result_of.as_ref().is_some_and(|of| of.is_error)
            || exit(&result.text).is_some_and(|code| code != 0)
    });
    let is_running = result.is_none() && !is_over;
    html! {
        details.call id=(format!("call-{}-{}", at.micros(), call.id)) open[failed || is_running] {
            summary {
                (Icon::Right.draw())
                span.call-name { (call.name) }
                span.call-argument.mono { (argument(&call.input)) }
                span.call-result { (outcome(result, is_running, failed)) }
                span.when {
                    @match result {
                        Some(result) => (took(at, result.created_at)),
                        None if is_running => (words::since(at, visit.now())),
                        None => {},
                    }
                }
            }
            div.call-body {
                @if !call.input.trim().is_empty() && call.input.trim() != "{}" {
                    pre.call-input { (pretty(&call.input)) }
                }
                @match result {
                    Some(result) => (output(&result.text)),
                    None if is_running => p.hint { "It is running. There is no result yet." },
                    None => p.hint { "It has no result." },
                }
            }
        }
    }
}

/// A result whose call is on an earlier page.
fn lone_result(visit: &Visit, message: &MessageView) -> Markup {
    let name = message.result_of.as_ref().map_or("result", |of| of.name.as_str());
    let failed = message.result_of.as_ref().is_some_and(|of| of.is_error);
    html! {
        div.calls id={"message-" (message.id)} {
            details.call open[failed] {
                summary {
                    (Icon::Right.draw())
                    span.call-name { (name) }
                    span.call-argument.hint { "called on an earlier page" }
                    span.call-result { (outcome(Some(message), false, failed)) }
                    span.when { (words::ago(message.created_at, visit.now())) }
                }
                div.call-body { (output(&message.text)) }
            }
        }
    }
}

fn output(text: &str) -> Markup {
    let end = text.char_indices().nth(RESULT_MAX).map_or(text.len(), |(at, _)| at);
    html! {
        pre.call-output { (&text[..end]) }
        @if end < text.len() { p.hint { "Only the beginning is shown." } }
    }
}

/// The outcome of a call, in a word or two.
fn outcome(result: Option<&MessageView>, is_running: bool, failed: bool) -> Markup {
    let Some(result) = result else {
        return html! { @if is_running { span.accent { "running" } } @else { span.grey { "no result" } } };
    };
    let json = serde_json::from_str::<Value>(&result.text).unwrap_or(Value::Null);
    let number = |name: &str| json.get(name).and_then(Value::as_i64);
    html! {
        @if let Some(code) = exit(&result.text) {
            span class=(if code == 0 { "green" } else { "red" }) { "exit " (code) }
        } @else if failed {
            span.red { "failed" }
        } @else if let (Some(added), Some(removed)) = (number("added"), number("removed")) {
            span.green { "+" (words::grouped(added)) } " " span.red { "−" (words::grouped(removed)) }
        } @else if let Some(matches) = json.get("matches").and_then(Value::as_array) {
            (words::count(i64::try_from(matches.len()).unwrap_or(0), "match", "matches"))
        } @else {
            span.grey { "done" }
        }
    }
}

fn exit(text: &str) -> Option<i64> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    serde_json::from_str::<Value>(text).ok()?.get("exit")?.as_i64()
}

/// The most informative field of an input.
fn argument(input: &str) -> String {
    // An id tells a person nothing, so it comes last.
    const TELLING: [&str; 14] = [
        "command", "path", "pattern", "query", "action", "title", "content", "question", "mission",
        "reason", "outcome", "text", "number", "todoId",
    ];
    let short = |text: &str| -> String {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(ARGUMENT_MAX) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        }
    };
    let Ok(json) = serde_json::from_str::<Value>(input) else { return short(input) };
    let plain = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(all) => {
            let words: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
            (!words.is_empty()).then(|| words.join(" "))
        }
        _ => None,
    };
    let told = TELLING.iter().filter_map(|name| json.get(name)).find_map(plain);
    let first = || json.as_object().and_then(|fields| fields.values().find_map(plain));
    told.or_else(first).map(|text| short(&text)).unwrap_or_default()
}

fn pretty(input: &str) -> String {
    match serde_json::from_str::<Value>(input) {
        Ok(json) => serde_json::to_string_pretty(&json).unwrap_or_else(|_| input.to_owned()),
        Err(_) => input.to_owned(),
    }
}

/// "0.2 s", "38 s", "8 min".
fn took(from: Time, to: Time) -> String {
    let tenths = (to.micros() - from.micros()).max(0) / 100_000;
    match tenths {
        tenths if tenths < 100 => format!("{}.{} s", tenths / 10, tenths % 10),
        _ => words::span(from, to),
    }
}

fn without_label(text: &str) -> &str {
    text.strip_prefix(SYNTHETIC).unwrap_or(text).trim_start()
}

/// The reason of a continuation, derived from its text.
fn reason(text: &str) -> Option<String> {
    let text = without_label(text);
    if let Some(rest) = text.strip_prefix("You have ") {
        let (count, rest) = rest.split_once(' ')?;
        let count: i64 = count.parse().ok()?;
        let title = rest.split_once('\'').and_then(|(_, rest)| rest.rsplit_once("'. Continue"));
        let open = if count == 1 {
            "1 item is open".to_owned()
        } else {
            format!("{} items are open", words::grouped(count))
        };
        return Some(match title {
            Some((title, _)) => format!("{open}, next is “{title}”"),
            None => open,
        });
    }
    text.starts_with("Please check your todo list").then(|| "items are open".to_owned())
}

/// The numbers of continuations, counted back from the last one of each run.
fn continuations<'a>(
    messages: &'a [MessageView],
    around: &Around<'_>,
) -> BTreeMap<&'a str, (u32, u32)> {
    let mut counts = BTreeMap::new();
    let mut later: BTreeMap<RunId, u32> = BTreeMap::new();
    if !around.is_newest {
        return counts;
    }
    for message in messages.iter().rev() {
        if message.kind != MessageKind::Synthetic || reason(&message.text).is_none() {
            continue;
        }
        let Some(run) = around.run(message) else { continue };
        let seen = later.entry(run.id).or_default();
        if let Some(number) = run.continuations.checked_sub(*seen).filter(|number| *number > 0) {
            counts.insert(message.id.as_str(), (number, run.max_continuations));
        }
        *seen += 1;
    }
    counts
}

/// A line with the driver's reason and count; its full prompt unfolds.
fn continued(message: &MessageView, count: Option<(u32, u32)>) -> Markup {
    let text = without_label(&message.text);
    html! {
        details.continued id={"message-" (message.id)} {
            summary {
                (Icon::Again.draw())
                span {
                    @match reason(&message.text) {
                        Some(reason) => {
                            b { "Continued by punchlist" }
                            @if let Some((number, of)) = count { ", " (number) " of " (of) }
                            ": " (reason)
                        }
                        None => { b { "punchlist" } ": " (first_words(text)) }
                    }
                }
                (Icon::Right.draw())
            }
            div.md.speech { (markdown::render(text)) }
        }
    }
}

fn summary(message: &MessageView) -> Markup {
    html! {
        details.continued id={"message-" (message.id)} {
            summary {
                (Icon::Note.draw())
                span { b { "Summary" } " of everything before, for the model" }
                (Icon::Right.draw())
            }
            div.md.speech { (markdown::render(&message.text)) }
        }
    }
}

/// The beginning of a text, on one line.
fn first_words(text: &str) -> String {
    let line =
        text.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    match line.char_indices().nth(ARGUMENT_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_continuation_says_how_much_is_open_and_what_is_next() {
        let text = "[synthetic · punchlist] You have 4 incomplete tasks remaining. Please continue \
                    working on the next high-priority task: 'Copy the user's images'. Continue until \
                    all todos are completed. If you need the person to go on, use `ask`.";
        let said = reason(text).unwrap();
        assert_eq!(said, "4 items are open, next is “Copy the user's images”");
        assert_eq!(reason("[synthetic · punchlist] Something was said while you answered."), None);
    }

    #[test]
    fn a_tool_line_shows_the_field_that_says_most() {
        assert_eq!(argument(r#"{"cwd":"a","command":["cargo","test"]}"#), "cargo test");
        assert_eq!(argument(r#"{"path":"src/a.rs","new":"x"}"#), "src/a.rs");
        assert_eq!(argument("no json"), "no json");
        assert_eq!(argument("{}"), "");
    }

    #[test]
    fn the_exit_of_a_command_is_read_from_its_result() {
        assert_eq!(exit(r#"{"exit":101,"output":"x"}"#), Some(101));
        assert_eq!(exit("exit 3"), None);
    }
}
