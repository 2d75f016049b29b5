//! Gemini CLI: `AfterAgent` is its stop, and standard output is JSON or nothing else.

use punchlist_core::host::{Happened, Host};
use punchlist_ops::operations::session_hook::{Answer, Input, Output};
use serde_json::{Value, json};

use super::Dialect;
use super::payload::common;

pub(super) struct Gemini;

impl Dialect for Gemini {
    fn decode(&self, event: Happened, payload: &Value) -> Input {
        common(Host::Gemini, event, payload)
    }

    fn encode(&self, event: Happened, output: &Output) -> String {
        let Some(text) = output.text.as_deref() else { return self.silence().to_owned() };
        let name = match event {
            Happened::Start => "SessionStart",
            Happened::Prompt => "BeforeAgent",
            _ => "AfterAgent",
        };
        let answer = match output.answer {
            Answer::Continue => json!({ "decision": "block", "reason": text }),
            Answer::Context => {
                json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text } })
            }
            Answer::Allow => json!({ "systemMessage": text }),
        };
        answer.to_string()
    }

    fn silence(&self) -> &'static str {
        "{}"
    }
}
