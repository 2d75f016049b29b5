//! The driver: decides what an agent does next after a step has ended.
//!
//! One pure function serves the tool loop, the stop of our own agents, the stop hooks of others and
//! every wake-up. It gets facts that were just read from the store, and returns one of three
//! verdicts: continue, wait for an event that resumes the run, or stop. The checks have a fixed
//! order and the first hit wins; its reason is recorded and shown.
//!
//! It ends for any model: a stretch between two stops has at most fifty model calls, only a
//! continuation or a person begins a new stretch, and continuations are counted and must make
//! progress.

mod budget;
mod fingerprint;
mod prompt;
mod reason;
mod work;

pub use budget::{
    Budget, CONTINUATIONS, Counters, FAILURES_MAX, ITERATIONS, ITERATIONS_WITH_PLAN, Spent,
};
pub use fingerprint::of_calls;
pub use prompt::{
    UNHEARD, Ways, between, context, continuation, incomplete, planning_section, system,
};
pub use reason::StopReason;
pub use work::{Held, Next, Work};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::named;
use crate::{DelegationId, GateId, Time, TodoId};

named! {
    /// How a reply of a model ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Finish {
        /// A normal end: the only one that a continuation may follow (S-13).
        EndTurn = "end_turn",
        ToolUse = "tool_use",
        MaxTokens = "max_tokens",
        /// The model's context window is full.
        Context = "context",
        Refusal = "refusal",
        PermissionDenied = "permission_denied",
        Error = "error",
        Cancelled = "cancelled",
    }
}

impl Wait {
    /// The name that callers see.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Gate(_) => "gate",
            Self::Delegations(_) => "delegations",
            Self::Cooldown(_) => "cooldown",
            Self::Pause => "pause",
        }
    }
}

/// What happened that calls for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The model ended its reply without calling a tool.
    Stopped(Finish),
    /// All calls of a reply have their results.
    ToolsDone,
    /// A person wrote a message.
    UserMessage,
    /// Delegated work came back.
    DelegationReturned,
    /// A person answered.
    GateAnswered,
    /// A time was reached: a pause between two continuations is over, or a cycle began.
    Tick,
    /// An explicit pause ended.
    Resumed,
    /// It delegated work and needs the result before it can continue.
    Handed,
}

/// All facts that a decision depends on.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    pub trigger: Trigger,
    pub budget: &'a Budget,
    pub counters: &'a Counters,
    /// Somebody asked it to end.
    pub cancelled: bool,
    /// Does it continue by itself while its list is open?
    pub enabled: bool,
    /// It is paused until somebody resumes it (P-10).
    pub paused: bool,
    /// A question to a person that is open.
    pub gate: Option<GateId>,
    /// Delegated work whose results resume it.
    pub in_flight: &'a [DelegationId],
    /// Can this agent change its list at all?
    pub has_todo_tool: bool,
    pub work: &'a Work,
    pub now: Time,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Call the model again; if `prompted`, with the continuation prompt for the item.
    Continue {
        todo: Option<TodoId>,
        prompted: bool,
    },
    Wait(Wait),
    Stop(StopReason),
}

/// What a run waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    Gate(GateId),
    Delegations(Vec<DelegationId>),
    /// The pause between two continuations.
    Cooldown(Time),
    /// Somebody must resume it.
    Pause,
}

/// The verdict, and the new counters.
#[must_use]
pub fn decide(facts: &Facts<'_>) -> (Verdict, Counters) {
    let mut counters = facts.counters.clone();
    counters.look(facts.work, facts.budget);
    let verdict = match facts.trigger {
        Trigger::Stopped(finish) => after_stop(facts, finish, &mut counters),
        Trigger::Tick => after_stop(facts, Finish::EndTurn, &mut counters),
        Trigger::ToolsDone
        | Trigger::Handed
        | Trigger::UserMessage
        | Trigger::DelegationReturned
        | Trigger::GateAnswered
        | Trigger::Resumed => {
            if facts.trigger == Trigger::UserMessage {
                counters.begin(facts.budget);
            }
            within(facts, &counters)
        }
    };
    if let Verdict::Continue { prompted: true, .. } = verdict {
        counters.continued(facts.budget, facts.work, facts.now);
    }
    (verdict, counters)
}

/// The model ended its reply without a call: should it be asked to continue?
fn after_stop(facts: &Facts<'_>, finish: Finish, counters: &mut Counters) -> Verdict {
    let Facts { budget, work, now, .. } = *facts;
    if facts.cancelled {
        return Verdict::Stop(StopReason::Cancelled);
    }
    if let Some(reason) = StopReason::of(finish) {
        return Verdict::Stop(reason);
    }
    // A message arrived while it wrote its last reply: it must see that first.
    if counters.has_news() {
        return within(facts, counters);
    }
    // If continuing is switched off, the run stops with open items. Without open items, the checks
    // below find the reason.
    if !facts.enabled && work.actionable > 0 {
        return Verdict::Stop(StopReason::SwitchedOff);
    }
    if facts.paused {
        return Verdict::Wait(Wait::Pause);
    }
    if let Some(gate) = facts.gate {
        return Verdict::Wait(Wait::Gate(gate));
    }
    if !facts.in_flight.is_empty() {
        return Verdict::Wait(Wait::Delegations(facts.in_flight.to_vec()));
    }
    if work.actionable > 0 && !facts.has_todo_tool {
        return Verdict::Stop(StopReason::NoTodoTool);
    }
    if work.actionable == 0 {
        return Verdict::Stop(work.rest());
    }
    if counters.continuations >= budget.max_continuations {
        return Verdict::Stop(StopReason::ContinuationCap);
    }
    if counters.iterations >= budget.cap() {
        return Verdict::Stop(StopReason::IterationCap);
    }
    if counters.is_near(budget) {
        return Verdict::Stop(StopReason::TokenGuard);
    }
    if facts.trigger != Trigger::Tick {
        counters.weigh(work);
    }
    if counters.fruitless >= budget::FRUITLESS_MAX {
        return Verdict::Stop(StopReason::NoProgress);
    }
    if let Some(until) = counters.rests_until(budget, now) {
        return Verdict::Wait(Wait::Cooldown(until));
    }
    Verdict::Continue { todo: work.next.as_ref().map(|next| next.id), prompted: true }
}

/// During a stretch, or at its beginning: may the model be called once more?
fn within(facts: &Facts<'_>, counters: &Counters) -> Verdict {
    if facts.cancelled {
        return Verdict::Stop(StopReason::Cancelled);
    }
    if facts.paused {
        return Verdict::Wait(Wait::Pause);
    }
    if let Some(gate) = facts.gate {
        return Verdict::Wait(Wait::Gate(gate));
    }
    if facts.trigger == Trigger::Handed && !facts.in_flight.is_empty() {
        return Verdict::Wait(Wait::Delegations(facts.in_flight.to_vec()));
    }
    if counters.iterations >= counters.limit {
        return Verdict::Stop(StopReason::IterationCap);
    }
    if counters.is_near(facts.budget) {
        return Verdict::Stop(StopReason::TokenGuard);
    }
    if counters.repeats >= budget::REPEATS_MAX {
        return Verdict::Stop(StopReason::NoProgress);
    }
    Verdict::Continue { todo: facts.work.next.as_ref().map(|next| next.id), prompted: false }
}
