//! The summary of a run that ended or paused: what was done, what is left, what it used.

use std::fmt::Write as _;

use punchlist_core::driver::StopReason;
use punchlist_core::run::RunState;
use punchlist_core::text::counted;
use punchlist_core::{ConversationId, DelegationId, GateId, RunId, SessionId, Status};
use punchlist_ops::operations::run_show::{Output, RunItem};
use punchlist_ops::views::run::{RunView, WaitView};
use serde::Serialize;

use crate::args::Globals;
use crate::failure::Failure;
use crate::output;
use crate::output::{BOLD, GREEN, YELLOW};
use crate::render::columns::hanging;
use crate::render::runs::{item_line, used};
use crate::render::short;

/// The run as `run_show` returns it.
#[derive(Debug)]
pub(super) struct End(Output);

/// The flags that chose the agent and the model, repeated in the command that continues the run.
#[derive(Debug, Default)]
pub(super) struct Flags {
    pub(super) agent: Option<String>,
    pub(super) model: Option<String>,
}

impl End {
    pub(super) const fn new(shown: Output) -> Self {
        Self(shown)
    }

    const fn run(&self) -> &RunView {
        &self.0.run
    }

    pub(super) const fn state(&self) -> RunState {
        self.0.run.state
    }

    const fn wait(&self) -> Option<&WaitView> {
        self.0.run.waits_for.as_ref()
    }

    pub(super) fn waits_for(&self) -> &str {
        self.wait().map(|wait| &*wait.kind).unwrap_or_default()
    }

    pub(super) fn gate(&self) -> Option<GateId> {
        self.wait()?.gate_id
    }

    pub(super) fn delegations(&self) -> impl Iterator<Item = &DelegationId> {
        self.wait().into_iter().flat_map(|wait| &wait.delegation_ids)
    }

    /// Why it ended, or what it waits for; `None` if neither.
    fn reason(&self) -> Option<StopReason> {
        self.run().stop_reason.or_else(|| match self.waits_for() {
            "gate" => Some(StopReason::GateOpen),
            "delegations" => Some(StopReason::Waiting),
            "pause" => Some(StopReason::Paused),
            _ => None,
        })
    }

    /// Prints the summary in the requested form; remaining work is a failure.
    pub(super) fn show(&self, globals: &Globals, flags: &Flags) -> Result<(), Failure> {
        if globals.json {
            output::print_json(&self.object())?;
        } else if !globals.quiet {
            let mut summary = self.summary();
            summary.push_str(&self.next_step(flags));
            output::remark(&summary);
        }
        match self.reason() {
            Some(reason) if reason.is_drained() => Ok(()),
            _ => Err(Failure::Shown(1)),
        }
    }

    fn object(&self) -> Object<'_> {
        let run = self.run();
        Object {
            run_id: run.id,
            conversation_id: run.conversation_id,
            turn_id: &run.turn_id,
            session_id: run.session_id,
            stop_reason: self.reason().map(StopReason::code),
            text: &self.0.text,
            done: &self.0.done,
            left: &self.0.left,
            iterations: run.iterations,
            continuations: run.continuations,
            usage: Usage {
                input_tokens: run.usage.input_tokens,
                output_tokens: run.usage.output_tokens,
                cost_usd: run.usage.cost_usd,
            },
            error: self.error(),
        }
    }

    /// What went wrong, with its stable code.
    fn error(&self) -> Option<Fault<'_>> {
        let reason = self.reason().filter(|reason| *reason == StopReason::Error);
        let code = self.run().stop_code.as_deref();
        let code = code.or_else(|| reason.map(StopReason::code))?;
        let words = reason.unwrap_or(StopReason::Error).words();
        Some(Fault { code, message: self.run().stop_detail.as_deref().unwrap_or(words) })
    }

    /// What was done, what is left and why, what it used (S-20, S-37).
    fn summary(&self) -> String {
        let (done, left) = (&self.0.done, &self.0.left);
        let total = done.len() + left.len();
        let width = output::remark_width();
        let mut text = String::new();
        if total > 0 {
            let is_cancelled = |item: &&RunItem| item.status == Status::Cancelled;
            let cancelled = done.iter().filter(is_cancelled).count();
            let _ = write!(text, "{BOLD}Done {} of {total}{BOLD:#}", done.len() - cancelled);
            if cancelled > 0 {
                // Shows that the agent cancelled most of its plan (P-9).
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
            Some(StopReason::NoPlan) if left.is_empty() => (GREEN, String::new()),
            Some(reason) => {
                let mark = if reason.is_drained() { GREEN } else { YELLOW };
                (mark, self.why(reason))
            }
            None => (YELLOW, "Left as it is; it can be resumed.".to_owned()),
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
                let limit = counted(run.continuations, "continuation", "continuations");
                format!("the limit of {limit} was reached")
            }
            reason => reason.words().to_owned(),
        };
        let detail = run.stop_detail.as_deref().map(output::line);
        let detail = detail.map_or(String::new(), |detail| format!(": {detail}"));
        format!("Stopped: {words}{detail}.")
    }

    /// What the person can do now, if something is left.
    fn next_step(&self, flags: &Flags) -> String {
        let id = self.run().id.to_string();
        let id = short(&id);
        let session = self.run().session_id.map(|id| id.to_string()).unwrap_or_default();
        let session = short(&session);
        let next = match self.reason() {
            Some(StopReason::GateOpen) => {
                format!("punch inbox answer, then punch run --resume {id}")
            }
            Some(StopReason::Waiting) => format!(
                "no worker runs the delegated work: punch worker, then punch run --resume {id}"
            ),
            Some(StopReason::Paused) => {
                format!("punch session resume {session}, then punch run --resume {id}")
            }
            None => format!("punch run --resume {id}"),
            Some(reason) if !reason.is_drained() && !session.is_empty() => {
                let agent = flags.agent.as_ref().map(|agent| format!(" --with {agent}"));
                let model = flags.model.as_ref().map(|model| format!(" --model {model}"));
                let (agent, model) = (agent.unwrap_or_default(), model.unwrap_or_default());
                let first = self.lift_hold(reason);
                format!("{first}punch run \"Go on\" --session {session}{agent}{model}")
            }
            Some(_) => return String::new(),
        };
        hanging("      ", "next: ", &next, output::remark_width())
    }

    /// How to end the first hold, if everything left is held. It works on items of any list.
    fn lift_hold(&self, reason: StopReason) -> String {
        let held = self.0.left.iter().find(|item| item.hold.is_some());
        match held.filter(|_| reason == StopReason::Blocked) {
            Some(item) => format!("punch todo unhold {}, then ", short(&item.id)),
            None => String::new(),
        }
    }
}

/// The answer of `punch run --json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Object<'a> {
    run_id: RunId,
    conversation_id: ConversationId,
    turn_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    stop_reason: Option<&'a str>,
    text: &'a str,
    done: &'a [RunItem],
    left: &'a [RunItem],
    iterations: u32,
    continuations: u32,
    usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault<'a>>,
}

/// The tokens of a run, and their cost if the model has a price.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Fault<'a> {
    code: &'a str,
    message: &'a str,
}
