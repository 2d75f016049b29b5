//! Claude Code: JSON in, JSON out. A stop is turned into a continuation by `decision: block`.

use punchlist_core::host::{Happened, Host};
use punchlist_ops::operations::session_hook::{Answer, Input, NativeTodo, Output};
use punchlist_ops::operations::todo_write::WrittenStatus;
use serde_json::{Value, json};

use super::payload::{any_in, common, name};
use super::{Dialect, tasks, transcript};

pub(super) struct Claude;

/// Tools that change something outside.
const CHANGING: [&str; 6] = ["Edit", "Write", "MultiEdit", "NotebookEdit", "Bash", "PowerShell"];

impl Dialect for Claude {
    fn decode(&self, event: Happened, payload: &Value) -> Input {
        let mut hook = common(Host::Claude, event, payload);
        // Work in the background, or a schedule, wakes the session later.
        hook.parked = Some(any_in(payload, &["background_tasks", "session_crons"]));
        if event == Happened::Stop {
            let path = payload["transcript_path"].as_str();
            hook.changed = path.map(|path| transcript::changed(path, &CHANGING));
        }
        if event == Happened::Todos {
            hook.todos = todos(payload);
        }
        hook
    }

    fn encode(&self, event: Happened, output: &Output) -> String {
        encode(event, output)
    }
}

/// The format that Codex uses, too.
pub(super) fn encode(event: Happened, output: &Output) -> String {
    let Some(text) = output.text.as_deref() else { return String::new() };
    let answer = match (output.answer, event) {
        (Answer::Continue, _) => json!({ "decision": "block", "reason": text }),
        (Answer::Context, event) => json!({
            "hookSpecificOutput": { "hookEventName": event_name(event), "additionalContext": text }
        }),
        // The person sees what is left.
        (Answer::Allow, Happened::Stop) => json!({ "systemMessage": text }),
        (Answer::Allow, _) => return String::new(),
    };
    answer.to_string()
}

/// The name the host has for an event.
pub(super) const fn event_name(event: Happened) -> &'static str {
    match event {
        Happened::Start => "SessionStart",
        Happened::Prompt => "UserPromptSubmit",
        Happened::Stop => "Stop",
        Happened::SubagentStart => "SubagentStart",
        Happened::SubagentStop => "SubagentStop",
        Happened::StopFailure => "StopFailure",
        Happened::Todos => "PostToolUse",
        Happened::End => "SessionEnd",
    }
}

/// The whole list. `TodoWrite` is called with it; the other tools change one task, and the list is
/// in the host's task files.
fn todos(payload: &Value) -> Option<Vec<NativeTodo>> {
    if payload["tool_name"].as_str().is_some_and(|name| name.starts_with("Task")) {
        return tasks::of(payload["session_id"].as_str()?);
    }
    let list = payload["tool_input"]["todos"].as_array()?;
    Some(list.iter().map(native).collect())
}

/// An item of a list of `{id?, content, status, priority?}`.
pub(super) fn native(item: &Value) -> NativeTodo {
    let status = match item["status"].as_str() {
        Some("completed") => Some(WrittenStatus::Completed),
        Some("in_progress") => Some(WrittenStatus::InProgress),
        Some("cancelled") => Some(WrittenStatus::Cancelled),
        _ => Some(WrittenStatus::Pending),
    };
    let content = ["content", "step", "subject", "description"]
        .iter()
        .find_map(|field| item[*field].as_str())
        .and_then(|text| punchlist_core::text::Content::new(text).ok());
    let priority = item["priority"].as_str().and_then(|word| {
        use punchlist_ops::operations::todo_write::WrittenPriority as P;
        match word {
            "high" => Some(P::High),
            "medium" => Some(P::Medium),
            "low" => Some(P::Low),
            _ => None,
        }
    });
    let content = punchlist_ops::input::Maybe(content);
    NativeTodo { id: name(item, &["id"]), content, status, priority }
}
