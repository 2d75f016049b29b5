//! The driver: what an agent does next when it has come to an end of something.
//!
//! One pure function serves the tool loop, the stop of our own agents, the stop hooks of others and
//! every wake-up. It looks at facts that were read from the store a moment ago, and answers with one
//! of three things: go on, wait for something that will wake us, stop. The checks stand in one fixed
//! order and the first hit wins; its reason is recorded and shown.
//!
//! It ends for any model: a stretch between two stops has at most fifty calls of a model, only a
//! continuation or a person begins a new one, and continuations are counted and have to bear fruit.

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

use crate::{DelegationId, GateId, Time, TodoId};

/// How a reply of a model ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It has nothing more to say: the only end that may be followed by a continuation (S-13).
    EndTurn,
    ToolUse,
    MaxTokens,
    /// The window is full.
    Context,
    Refusal,
    PermissionDenied,
    Error,
    Cancelled,
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

impl Finish {
    pub const ALL: [Self; 8] = [
        Self::EndTurn,
        Self::ToolUse,
        Self::MaxTokens,
        Self::Context,
        Self::Refusal,
        Self::PermissionDenied,
        Self::Error,
        Self::Cancelled,
    ];
}

/// What happened that calls for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The model ended its reply without calling a tool.
    Stopped(Finish),
    /// All calls of a reply have their results.
    ToolsDone,
    /// A person spoke.
    UserMessage,
    /// Work that was handed on came back.
    DelegationReturned,
    /// A person answered.
    GateAnswered,
    /// Its time came: a pause between two continuations is over, or a cycle began.
    Tick,
    /// An explicit pause ended.
    Resumed,
    /// It handed work on and needs what comes back before it can go on.
    Handed,
}

/// All that a decision rests on.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    pub trigger: Trigger,
    pub budget: &'a Budget,
    pub counters: &'a Counters,
    /// Somebody asked it to end.
    pub cancelled: bool,
    /// Is it to go on by itself while its list is open?
    pub enabled: bool,
    /// Somebody paused it, until somebody says otherwise (P-10).
    pub paused: bool,
    /// A question to a person that is open.
    pub gate: Option<GateId>,
    /// Work that will wake it when it comes back.
    pub in_flight: &'a [DelegationId],
    /// Can this agent change its list at all?
    pub has_todo_tool: bool,
    pub work: &'a Work,
    pub now: Time,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Call the model again; where an item is named, the continuation prompt goes with it.
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
    /// Somebody has to say that it may go on.
    Pause,
}

/// The decision, and the counters as they are from now on.
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

/// The model said its last word: is there a reason to ask it to go on?
fn after_stop(facts: &Facts<'_>, finish: Finish, counters: &mut Counters) -> Verdict {
    let Facts { budget, work, now, .. } = *facts;
    if facts.cancelled {
        return Verdict::Stop(StopReason::Cancelled);
    }
    if let Some(reason) = StopReason::of(finish) {
        return Verdict::Stop(reason);
    }
    // Something was said while it spoke its last word: it has to hear that first.
    if counters.has_news() {
        return within(facts, counters);
    }
    // Switched off, an end with open items is simply told; where nothing is open there is nothing
    // to switch off.
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

/// In the middle of a stretch, or at the beginning of one: may the model be called once more?
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
