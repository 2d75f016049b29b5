//! Reading the payload of a hook: fields by any of their names, limited to the length of a title.

use punchlist_core::host::{Happened, Host, Source};
use punchlist_core::text::Title;
use punchlist_ops::input::Maybe;
use punchlist_ops::operations::session_hook::Input;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A hook with only its host and its event.
pub(super) fn empty(host: Host, event: Happened) -> Input {
    Input {
        host,
        event,
        external_id: Maybe(None),
        turn: Maybe(None),
        prompt: Maybe(None),
        source: None,
        continued: None,
        content: Maybe(None),
        parked: None,
        plan_mode: None,
        interrupted: None,
        subagent: Maybe(None),
        changed: None,
        error: Maybe(None),
        version: Maybe(None),
        processes: Vec::new(),
        auto_complete_todos: None,
        max_todo_continuations: None,
        todos: None,
    }
}

/// The text of the first of these fields that has one.
pub(super) fn text<'a>(payload: &'a Value, fields: &[&str]) -> Option<&'a str> {
    fields.iter().find_map(|field| payload.get(field)?.as_str()).filter(|t| !t.trim().is_empty())
}

/// Like [`text`], as a title; absent if it is too long or invalid.
pub(super) fn name(payload: &Value, fields: &[&str]) -> Maybe<Title> {
    Maybe(text(payload, fields).and_then(|text| Title::new(text).ok()))
}

pub(super) fn is_true(payload: &Value, fields: &[&str]) -> Option<bool> {
    fields.iter().find_map(|field| payload.get(field)?.as_bool())
}

/// Is one of these lists not empty? A form that is not known counts as something, because a stop is
/// allowed if in doubt.
pub(super) fn any_in(payload: &Value, fields: &[&str]) -> bool {
    fields.iter().any(|field| match &payload[*field] {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    })
}

pub(super) fn source(payload: &Value) -> Option<Source> {
    text(payload, &["source"]).and_then(Source::parse)
}

/// The most characters that are kept of a person's prompt.
const PROMPT_MAX: usize = 120;

/// The beginning of a person's prompt, in one line.
pub(super) fn beginning(prompt: &str) -> Maybe<Title> {
    let words = prompt.chars().take(PROMPT_MAX * 4).collect::<String>();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_cut = words.chars().count() > PROMPT_MAX || prompt.chars().nth(PROMPT_MAX * 4).is_some();
    let mut kept: String = words.chars().take(PROMPT_MAX).collect();
    if is_cut {
        kept.push('…');
    }
    Maybe(Title::new(&kept).ok())
}

/// A digest of the model's last message, to recognise a repeated stop.
pub(super) fn digest(text: Option<&str>) -> Maybe<Title> {
    let digest = text.map(|text| {
        let hash = Sha256::digest(text.as_bytes());
        hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>()
    });
    Maybe(digest.and_then(|digest| Title::new(&digest).ok()))
}

/// The fields that most hosts share.
pub(super) fn common(host: Host, event: Happened, payload: &Value) -> Input {
    let last = text(payload, &["last_assistant_message", "prompt_response", "lastText"]);
    Input {
        external_id: name(payload, &["session_id", "sessionId", "conversation_id"]),
        turn: name(payload, &["prompt_id", "turn_id", "generation_id"]),
        prompt: match event {
            Happened::Prompt => beginning(text(payload, &["prompt"]).unwrap_or_default()),
            _ => Maybe(None),
        },
        source: source(payload),
        continued: is_true(payload, &["stop_hook_active", "stopHookActive"]),
        content: digest(last),
        plan_mode: text(payload, &["permission_mode"]).map(|mode| mode == "plan"),
        subagent: name(payload, &["agent_id", "agent_type"]),
        error: name(payload, &["error", "errorMessage"]),
        version: name(payload, &["version", "cursor_version", "hostVersion"]),
        ..empty(host, event)
    }
}
