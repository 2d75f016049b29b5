//! Copilot CLI and the agents of VS Code, which read the same files: the answer carries both forms.

use punchlist_core::host::{Happened, Host};
use punchlist_ops::operations::session_hook::{Answer, Input, Output};
use serde_json::{Value, json};

use super::payload::common;
use super::{Dialect, claude};

pub(super) struct Copilot;

impl Dialect for Copilot {
    fn decode(&self, event: Happened, payload: &Value) -> Input {
        let mut hook = common(Host::Copilot, event, payload);
        let reason = payload["stopReason"].as_str();
        hook.interrupted = reason.map(|reason| reason != "end_turn");
        hook
    }

    fn encode(&self, event: Happened, output: &Output) -> String {
        let Some(text) = output.text.as_deref() else { return String::new() };
        let name = claude::event_name(event);
        let answer = match output.answer {
            Answer::Continue => json!({
                "decision": "block",
                "reason": text,
                "hookSpecificOutput": { "hookEventName": name, "decision": "block", "reason": text },
            }),
            Answer::Context => json!({
                "additionalContext": text,
                "hookSpecificOutput": { "hookEventName": name, "additionalContext": text },
            }),
            Answer::Allow => return String::new(),
        };
        answer.to_string()
    }
}
