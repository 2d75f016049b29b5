//! Cursor: a stop is continued by a follow-up message. Runs that were aborted or failed are not
//! continued.

use punchlist_core::host::{Happened, Host};
use punchlist_ops::operations::session_hook::{Answer, Input, Output};
use serde_json::{Value, json};

use super::Dialect;
use super::payload::common;

pub(super) struct Cursor;

impl Dialect for Cursor {
    fn decode(&self, event: Happened, payload: &Value) -> Input {
        let mut hook = common(Host::Cursor, event, payload);
        hook.interrupted = payload["status"].as_str().map(|status| status != "completed");
        hook.continued = payload["loop_count"].as_i64().map(|count| count > 0);
        hook
    }

    fn encode(&self, event: Happened, output: &Output) -> String {
        let answer = match (output.answer, output.text.as_deref(), event) {
            (Answer::Continue, Some(text), _) => json!({ "followup_message": text }),
            (Answer::Context, Some(text), _) => json!({ "additional_context": text }),
            (_, _, Happened::Prompt) => json!({ "continue": true }),
            _ => return self.silence().to_owned(),
        };
        answer.to_string()
    }

    fn silence(&self) -> &'static str {
        "{}"
    }
}
