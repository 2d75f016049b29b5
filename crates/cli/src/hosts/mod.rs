//! The dialects of agent hosts: one file each decodes its hooks into our words and encodes what
//! the host is answered.
//!
//! What is answered is decided by `session_hook`; what is written into a host's files by `init`.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod goose;
pub(crate) mod inspect;
pub(crate) mod install;
mod opencode;
mod payload;
pub(crate) mod process;
mod transcript;

use punchlist_core::host::{Happened, Host};
use punchlist_ops::operations::session_hook::{Input, Output};
use serde_json::Value;

/// How one host speaks.
pub(crate) trait Dialect {
    /// A hook in our words. What the payload does not say is absent.
    fn decode(&self, event: Happened, payload: &Value) -> Input;

    /// What goes to standard output; empty: nothing.
    fn encode(&self, event: Happened, output: &Output) -> String;

    /// What goes there where the hook could not be answered.
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

/// The event of a name, ours or a host's own, however it is spelled.
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

/// The host that fired a hook: files of one host are loaded by others, which say who they are.
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
