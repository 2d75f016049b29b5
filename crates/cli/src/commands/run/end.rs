//! The end of a run, or as far as it came: what was done, what is left, what it took.

use std::fmt::Write as _;

use punchlist_core::driver::StopReason;
use serde_json::{Map, Value, json};

use crate::args::Globals;
use crate::failure::Failure;
use crate::output;
use crate::output::{BOLD, GREEN, YELLOW};
use crate::render::columns::hanging;
use crate::render::runs::{item_line, reason, used};

/// What `run_show` says of it.
#[derive(Debug)]
pub(super) struct End(Value);

/// The flags that said who answers, for whoever wants to go on.
#[derive(Debug, Default)]
pub(super) struct Flags {
    pub(super) agent: Option<String>,
    pub(super) model: Option<String>,
}

impl End {
    pub(super) const fn new(shown: Value) -> Self {
        Self(shown)
    }

    fn run(&self) -> &Value {
        &self.0["run"]
    }

    pub(super) fn state(&self) -> &str {
        self.run()["state"].as_str().unwrap_or_default()
    }

    pub(super) fn waits_for(&self) -> &str {
        self.run()["waitsFor"]["kind"].as_str().unwrap_or_default()
    }

    pub(super) fn gate(&self) -> Option<&str> {
        self.run()["waitsFor"]["gateId"].as_str()
    }

    pub(super) fn delegations(&self) -> impl Iterator<Item = &str> {
        let ids = self.run()["waitsFor"]["delegationIds"].as_array();
        ids.into_iter().flatten().filter_map(Value::as_str)
    }

    fn items(&self, field: &str) -> &[Value] {
        self.0[field].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// Why it ended, or what it waits for; none: it was left as it is.
    fn reason(&self) -> Option<StopReason> {
        reason(self.run()).or_else(|| match self.waits_for() {
            "gate" => Some(StopReason::GateOpen),
            "delegations" => Some(StopReason::Waiting),
            "pause" => Some(StopReason::Paused),
            _ => None,
        })
    }

    /// Says it in the form that was asked for; work that is left is a failure.
    pub(super) fn show(&self, globals: &Globals, flags: &Flags) -> Result<(), Failure> {
        if globals.json {
            output::print(&output::json_text(&self.object()))?;
        } else if !globals.quiet {
            let mut told = self.summary();
            told.push_str(&self.next_step(flags));
            output::remark(&told);
        }
        match self.reason() {
            Some(reason) if reason.is_drained() => Ok(()),
            _ => Err(Failure::Told(1)),
        }
    }

    fn object(&self) -> Value {
        let run = self.run();
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
        put("runId", run["id"].clone());
        put("conversationId", run["conversationId"].clone());
        put("turnId", run["turnId"].clone());
        if run["sessionId"].is_string() {
            put("sessionId", run["sessionId"].clone());
        }
        put("stopReason", self.reason().map(StopReason::code).into());
        put("text", self.0["text"].clone());
        put("done", self.0["done"].clone());
        put("left", self.0["left"].clone());
        put("iterations", run["iterations"].clone());
        put("continuations", run["continuations"].clone());
        put("usage", usage(run));
        if let Some(error) = self.error() {
            put("error", error);
        }
        Value::Object(object)
    }

    /// What went wrong, with its stable code.
    fn error(&self) -> Option<Value> {
        let reason = self.reason().filter(|reason| *reason == StopReason::Error);
        let code = self.run()["stopCode"].as_str();
        let code = code.or_else(|| reason.map(StopReason::code))?;
        let words = reason.unwrap_or(StopReason::Error).words();
        let message = self.run()["stopDetail"].as_str().unwrap_or(words);
        Some(json!({ "code": code, "message": message }))
    }

    /// What was done, what is left and why, what it took (S-20, S-37).
    fn summary(&self) -> String {
        let (done, left) = (self.items("done"), self.items("left"));
        let total = done.len() + left.len();
        let width = output::remark_width();
        let mut text = String::new();
        if total > 0 {
            let is_cancelled = |item: &&Value| item["status"] == "cancelled";
            let cancelled = done.iter().filter(is_cancelled).count();
            let _ = write!(text, "{BOLD}Done {} of {total}{BOLD:#}", done.len() - cancelled);
            if cancelled > 0 {
                // Who cancels most of its plan is seen (P-9).
                let _ = write!(text, "; {cancelled} of {total} cancelled by the agent");
            }
            text.push_str(".\n");
        }
        if !left.is_empty() {
            text.push_str("Left:\n");
            for item in left {
                text.push_str(&hanging("  ", "  ", &item_line(item), width));
            }
        }
        let run = self.run();
        let (mark, why) = match self.reason() {
            Some(StopReason::NoPlan) if self.items("left").is_empty() => (GREEN, String::new()),
            Some(reason) => {
                let mark = if reason.is_drained() { GREEN } else { YELLOW };
                (mark, self.why(reason))
            }
            None => (YELLOW, "Left as it is; it goes on where it stands.".to_owned()),
        };
        if !why.is_empty() {
            for line in hanging("", "", &why, width).lines() {
                let _ = writeln!(text, "{mark}{line}{mark:#}");
            }
        }
        text.push_str(&hanging("", "", &format!("{}.", used(run)), width));
        text
    }

    fn why(&self, reason: StopReason) -> String {
        let run = self.run();
        let words = match reason {
            StopReason::ContinuationCap => {
                let made = run["continuations"].as_i64().unwrap_or_default();
                format!("the limit of {made} continuations was reached")
            }
            reason => reason.words().to_owned(),
        };
        let detail = run["stopDetail"].as_str().map(output::line);
        let detail = detail.map_or(String::new(), |detail| format!(": {detail}"));
        format!("Stopped ({}): {words}{detail}.", reason.code())
    }

    /// What the person can do now, where something is left.
    fn next_step(&self, flags: &Flags) -> String {
        let id = self.run()["id"].as_str().unwrap_or_default();
        let session = self.run()["sessionId"].as_str().unwrap_or_default();
        let next = match self.reason() {
            Some(StopReason::GateOpen) => {
                format!("waiting for an answer: punch inbox, then punch run --resume {id}")
            }
            Some(StopReason::Waiting) => format!(
                "nobody here does what it handed on: punch worker, then punch run --resume {id}"
            ),
            Some(StopReason::Paused) => {
                format!("punch session resume {session}, then punch run --resume {id}")
            }
            None => format!("punch run --resume {id}"),
            Some(reason) if !reason.is_drained() && !session.is_empty() => {
                let agent = flags.agent.as_ref().map(|agent| format!(" --agent {agent}"));
                let model = flags.model.as_ref().map(|model| format!(" --model {model}"));
                let (agent, model) = (agent.unwrap_or_default(), model.unwrap_or_default());
                format!("punch run \"Go on\" --session {session}{agent}{model}")
            }
            Some(_) => return String::new(),
        };
        hanging("      ", "next: ", &next, output::remark_width())
    }
}

/// The tokens of a run, and what they cost where the model has a price.
fn usage(run: &Value) -> Value {
    let mut usage = Map::new();
    for name in ["inputTokens", "outputTokens", "costUsd"] {
        usage.extend(run["usage"].get(name).map(|value| (name.to_owned(), value.clone())));
    }
    Value::Object(usage)
}
