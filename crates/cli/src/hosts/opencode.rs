//! opencode: our own plugin calls `punch hook` and reads our answer; it continues a session by
//! prompting it again.

use std::borrow::Cow;

use punchlist_core::host::{Happened, Host};
use punchlist_ops::operations::session_hook::{Input, Output};
use serde_json::{Value, json};

use super::payload::{beginning, common, is_true};
use super::{Dialect, claude};

pub(super) struct Opencode;

impl Dialect for Opencode {
    fn decode(&self, event: Happened, payload: &Value) -> Input {
        let mut hook = common(Host::Opencode, event, payload);
        hook.changed = is_true(payload, &["changed"]);
        hook.interrupted = is_true(payload, &["interrupted"]);
        if event == Happened::Prompt {
            hook.prompt = beginning(&unquoted(payload["prompt"].as_str().unwrap_or_default()));
        }
        hook.plan_mode = payload["agent"].as_str().map(|agent| agent == "plan");
        if event == Happened::Todos {
            let todos = payload["todos"].as_array();
            hook.todos = todos.map(|todos| todos.iter().map(claude::native).collect());
        }
        hook
    }

    fn encode(&self, _: Happened, output: &Output) -> String {
        let (answer, reason) = (output.answer.name(), &output.reason);
        json!({ "answer": answer, "text": output.text, "reason": reason }).to_string()
    }
}

/// `opencode run` puts quotation marks around a prompt of several words.
fn unquoted(prompt: &str) -> Cow<'_, str> {
    let within = prompt.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match within {
        Some(within) if !within.replace("\\\"", "").contains('"') => {
            within.replace("\\\"", "\"").into()
        }
        _ => prompt.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quotation_marks_of_opencode_run_are_left_out() {
        assert_eq!(unquoted(r#""Fix the \"log\" in""#), r#"Fix the "log" in"#);
        for own in [r#""One" and "two""#, "Fix it", "\"", ""] {
            assert_eq!(unquoted(own), own);
        }
    }
}
