//! The formats of agent hosts: one file for each host decodes its hooks into our types and encodes
//! the answers.
//!
//! `session_hook` decides the answers; `init` decides what is written into a host's files.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod goose;
pub(crate) mod inspect;
pub(crate) mod install;
pub(crate) mod machine;
mod opencode;
mod payload;
pub(crate) mod process;
mod tasks;
mod transcript;
mod trust;

use punchlist_core::host::{Happened, Host};
use punchlist_ops::operations::session_hook::{Input, Output};
use serde_json::Value;

/// The format of one host.
pub(crate) trait Dialect {
    /// A hook in our types. Fields that the payload lacks are absent.
    fn decode(&self, event: Happened, payload: &Value) -> Input;

    /// The text for standard output; may be empty.
    fn encode(&self, event: Happened, output: &Output) -> String;

    /// The text for standard output if the hook could not be answered.
    fn silence(&self) -> &'static str {
        ""
    }
}

pub(crate) fn dialect(host: Host) -> &'static dyn Dialect {
    match host {
        Host::Claude => &claude::Claude,
        Host::Codex => &codex::Codex,
        Host::Opencode => &opencode::Opencode,
        Host::Gemini => &gemini::Gemini,
        Host::Cursor => &cursor::Cursor,
        Host::Copilot => &copilot::Copilot,
        Host::Goose => &goose::Goose,
    }
}

/// The event with this name, ours or a host's own, in any spelling.
pub(crate) fn event(name: &str) -> Option<Happened> {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    Some(match plain.as_str() {
        "start" | "sessionstart" => Happened::Start,
        "prompt"
        | "userpromptsubmit"
        | "userpromptsubmitted"
        | "beforeagent"
        | "beforesubmitprompt" => Happened::Prompt,
        "stop" | "agentstop" | "afteragent" => Happened::Stop,
        "subagentstart" => Happened::SubagentStart,
        "subagentstop" => Happened::SubagentStop,
        "stopfailure" | "erroroccurred" => Happened::StopFailure,
        "todos" | "todo" | "tool" | "posttooluse" => Happened::Todos,
        "end" | "sessionend" => Happened::End,
        _ => return None,
    })
}

/// The host that fired a hook. Some hosts load the files of others, and name themselves in the
/// payload.
pub(crate) fn fired_by(named: Host, payload: &Value) -> Host {
    let has = |field: &str| payload.get(field).is_some();
    match named {
        Host::Claude if has("cursor_version") => Host::Cursor,
        Host::Claude if has("turn_id") && !has("prompt_id") => Host::Codex,
        Host::Claude if has("sessionId") && !has("session_id") => Host::Copilot,
        named => named,
    }
}

#[cfg(test)]
mod tests;
