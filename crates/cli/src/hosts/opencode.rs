//! opencode: our own plugin calls `punch hook` and reads our answer; it continues a session by
//! prompting it again.

use punchlist_core::host::{Happened, Host};
use punchlist_ops::operations::session_hook::{Input, Output};
use serde_json::{Value, json};

use super::payload::{common, is_true};
use super::{Dialect, claude};

pub(super) struct Opencode;

impl Dialect for Opencode {
    fn decode(&self, event: Happened, payload: &Value) -> Input {
        let mut hook = common(Host::Opencode, event, payload);
        hook.changed = is_true(payload, &["changed"]);
        hook.interrupted = is_true(payload, &["interrupted"]);
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
