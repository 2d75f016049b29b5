//! Codex: Claude Code's format, with a strict schema: a stop has only `decision`, `reason` and
//! `systemMessage`, and text that is not JSON counts as a failed hook.

use punchlist_core::host::{Happened, Host};
use punchlist_core::text::Title;
use punchlist_ops::operations::session_hook::{Input, Output};
use serde_json::Value;

use super::payload::common;
use super::{Dialect, claude, transcript};

pub(super) struct Codex;

/// Tools that change something outside.
const CHANGING: [&str; 6] =
    ["shell", "shell_command", "exec_command", "local_shell", "apply_patch", "write_stdin"];

impl Dialect for Codex {
    fn decode(&self, event: Happened, payload: &Value) -> Input {
        let mut hook = common(Host::Codex, event, payload);
        let path = payload["transcript_path"].as_str();
        if event == Happened::Stop {
            hook.changed = path.map(|path| transcript::changed(path, &CHANGING));
        }
        // When a session starts, its transcript may not be there yet.
        if event == Happened::Prompt {
            let version = path.and_then(transcript::codex_version);
            hook.version.0 = version.and_then(|version| Title::new(&version).ok());
        }
        if event == Happened::Todos {
            let plan = payload["tool_input"]["plan"].as_array();
            hook.todos = plan.map(|plan| plan.iter().map(claude::native).collect());
        }
        hook
    }

    fn encode(&self, event: Happened, output: &Output) -> String {
        claude::encode(event, output)
    }
}
