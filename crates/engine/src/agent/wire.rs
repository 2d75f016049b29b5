//! Replies, results and questions to the driver, as `run_step` takes them.

use punchlist_core::conversation::ToolCall;
use punchlist_core::driver::{Finish, Trigger};
use serde_json::{Value, json};

use super::tools::{Said, Toolset};
use crate::model::{FaultKind, Input, Reply, Stop};

/// The longest text of one reply that is kept.
const TEXT_MAX: usize = 1 << 20;

/// The stable code of a fault, for programs.
#[must_use]
pub const fn code_of(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Cancelled => "cancelled",
        FaultKind::Key => "model_key",
        FaultKind::Spend => "model_quota",
        FaultKind::BadRequest => "model_bad_request",
        FaultKind::Context => "context_full",
        FaultKind::Busy => "model_overloaded",
        FaultKind::Server => "model_failed",
        FaultKind::Network => "model_unreachable",
        FaultKind::Garbled => "model_garbled",
        FaultKind::Script => "script_failed",
    }
}

/// The question to the driver that ends a run with an error.
pub(super) fn failed_input(code: &str, detail: &str) -> Value {
    json!({
        "trigger": "stopped", "finish": Finish::Error, "hasTodoTool": false, "code": code,
        "detail": detail,
    })
}

pub(super) fn drive_input(tools: &Toolset, trigger: Trigger, detail: Option<&str>) -> Value {
    let ways = tools.ways();
    let (trigger, finish) = match trigger {
        Trigger::Stopped(finish) => (json!("stopped"), Some(finish)),
        other => (json!(other), None),
    };
    json!({
        "trigger": trigger, "finish": finish, "hasTodoTool": tools.has_todo_tool(), "canHold": ways.hold,
        "canAsk": ways.ask, "detail": detail,
    })
}

pub(super) fn reply_input(reply: &Reply, finish: Finish) -> Value {
    let calls: Vec<Value> = reply
        .calls
        .iter()
        .map(|call| {
            let input = match &call.input {
                Input::Json(input) => input.to_string(),
                Input::Broken(text) => text.clone(),
            };
            json!({ "id": call.id, "name": call.name, "input": input })
        })
        .collect();
    json!({
        "text": shortened(&reply.text), "calls": calls, "raw": reply.raw, "finish": finish,
        "inputTokens": reply.usage.input, "cachedTokens": reply.usage.cached,
        "outputTokens": reply.usage.output,
    })
}

pub(super) fn result_input(call: &ToolCall, said: &Said) -> Value {
    json!({
        "callId": call.id, "name": call.name, "text": said.text, "isError": said.is_error,
        "changed": said.changed, "touchedList": said.touched_list, "outside": said.outside,
    })
}

/// The calls of a reply, as they are written down.
pub(super) fn calls_of(reply: &Value) -> Vec<ToolCall> {
    let word = |call: &Value, field: &str| call[field].as_str().unwrap_or_default().to_owned();
    let calls = reply["calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let call = |call: &Value| ToolCall {
        id: word(call, "id"),
        name: word(call, "name"),
        input: word(call, "input"),
    };
    calls.iter().map(call).collect()
}

fn shortened(text: &str) -> String {
    match text.char_indices().map(|(at, _)| at).find(|at| *at > TEXT_MAX) {
        Some(end) => format!("{}… (cut: it was longer)", &text[..end]),
        None => text.to_owned(),
    }
}

/// How a reply ended. One that calls tools goes on, whatever its maker says; one whose maker wants
/// to go on with it is called again.
pub(super) fn finish(reply: &Reply) -> Finish {
    match reply.stop {
        _ if !reply.calls.is_empty() => Finish::ToolUse,
        Stop::Paused => Finish::ToolUse,
        Stop::EndTurn | Stop::ToolUse => Finish::EndTurn,
        Stop::MaxTokens => Finish::MaxTokens,
        Stop::Context => Finish::Context,
        Stop::Refusal => Finish::Refusal,
    }
}

#[cfg(test)]
mod tests {
    use punchlist_core::Role;
    use punchlist_testkit::{Backend, World};

    use super::*;

    /// A step that is refused ends the run: `run_step` can parse what is sent then, and the run
    /// says why.
    #[test]
    fn a_run_is_ended_with_the_code_and_the_words_of_an_error() {
        let world = World::new(Backend::SqliteMemory);
        let start = json!({ "prompt": "Do it", "model": "scripted:x" });
        let run = world.call("run_start", start).unwrap()["run"]["id"].clone();
        let system = world.envelope(Role::System);
        let taken = world.call_in(&system, "run_step", json!({ "run": run })).unwrap();
        let drive = failed_input("already_settled", "the item is settled");
        let step = json!({ "run": run, "epoch": taken["epoch"], "drive": drive });
        let ended = world.call_in(&system, "run_step", step).unwrap();
        assert_eq!(ended["state"], "ended");
        let shown = world.call("run_show", json!({ "run": run })).unwrap();
        let told = ["stopReason", "stopCode", "stopDetail"].map(|name| &shown["run"][name]);
        assert_eq!(told, ["error", "already_settled", "the item is settled"]);
    }
}
