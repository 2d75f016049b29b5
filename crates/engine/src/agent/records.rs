//! Converts the model's replies to the steps that `run_step` records, and builds the questions to
//! the driver.

use punchlist_core::Run;
use punchlist_core::conversation::ToolCall;
use punchlist_core::driver::{Finish, Spent, Trigger};
use punchlist_ops::operations::run_step::{Question, Reply as RecordedReply, Step};

use super::tools::Toolset;
use crate::model::{FaultKind, Input, Reply, Stop, Usage};

/// The longest text of a reply that is stored, in bytes.
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
pub(super) fn failure(code: &str, detail: &str) -> Step {
    Step::Drive(Question {
        trigger: Trigger::Stopped(Finish::Error),
        workable: Vec::new(),
        can_hold: false,
        can_ask: false,
        detail: Some(detail.to_owned()),
        code: Some(code.to_owned()),
    })
}

/// A question to the driver about an agent with these tools.
pub(super) fn question(tools: &Toolset, trigger: Trigger) -> Question {
    let ways = tools.ways();
    Question {
        trigger,
        workable: tools.workable(),
        can_hold: ways.hold,
        can_ask: ways.ask,
        detail: None,
        code: None,
    }
}

/// A model's reply to the history of a run, whose newest message is `seen`.
pub(super) fn recorded(
    reply: Reply,
    run: &Run,
    window: u64,
    seen: Option<String>,
) -> RecordedReply {
    let finish = finish(&reply);
    let calls = reply.calls.into_iter().map(|call| {
        let input = match call.input {
            Input::Json(input) => input.to_string(),
            Input::Broken(text) => text,
        };
        ToolCall { id: call.id, name: call.name, input }
    });
    RecordedReply {
        calls: calls.collect(),
        text: shortened(reply.text),
        raw: reply.raw,
        finish,
        window: Some(window),
        heard: Some(run.counters.heard),
        spent: spent(reply.usage),
        seen,
    }
}

pub(super) const fn spent(usage: Usage) -> Spent {
    Spent { input: usage.input, cached: usage.cached, output: usage.output }
}

fn shortened(text: String) -> String {
    match text.char_indices().map(|(at, _)| at).find(|at| *at > TEXT_MAX) {
        Some(end) => format!("{}… (cut: it was longer)", &text[..end]),
        None => text,
    }
}

/// How a reply ended. A reply with calls counts as tool use, whatever its provider says. So does a
/// paused one: the model is called again.
fn finish(reply: &Reply) -> Finish {
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
    use punchlist_core::{Role, RunId};
    use punchlist_ops::operations::run_step::{self, RunStep};
    use punchlist_ops::operations::run_take::{self, RunTake};
    use punchlist_testkit::{Backend, World};
    use serde_json::json;

    use super::*;

    /// A refused step ends the run with the error's code and message.
    #[test]
    fn a_run_ends_with_the_code_and_the_message_of_its_error() {
        let world = World::new(Backend::SqliteMemory);
        let start = json!({ "prompt": "Do it", "model": "scripted:x" });
        let started = world.call("run_start", start).unwrap();
        let run = RunId::parse(started["run"]["id"].as_str().unwrap()).unwrap();
        let system = world.envelope(Role::System);
        let take = run_take::Input { run, entry: None };
        let epoch = world.ops.run::<RunTake>(&system, take).unwrap().epoch;
        let steps = vec![failure("already_settled", "the item is settled")];
        let ended = world.ops.run::<RunStep>(&system, run_step::Input { run, epoch, steps });
        assert_eq!(ended.unwrap().state, punchlist_core::run::RunState::Ended);
        let shown = world.call("run_show", json!({ "run": run.to_string() })).unwrap();
        let told = ["stopReason", "stopCode", "stopDetail"].map(|name| &shown["run"][name]);
        assert_eq!(told, ["error", "already_settled", "the item is settled"]);
    }
}
