//! What a run may use up, and what it has used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Work;
use crate::{Time, TodoId};

/// Calls of a model in one stretch, while there is no plan (T-25).
pub const ITERATIONS: u32 = 10;

/// And with one, whatever happens (T-27).
pub const ITERATIONS_WITH_PLAN: u32 = 50;

/// How often an agent is asked to go on (S-3).
pub const CONTINUATIONS: u32 = 10;

/// So many continuations without any change end it.
pub(super) const FRUITLESS_MAX: u32 = 2;

/// So many replies that call the same tools with the same words end it.
pub(super) const REPEATS_MAX: u32 = 3;

/// So often an outside tool may fail on one item before the item is held.
pub const FAILURES_MAX: u32 = 2;

/// The limits of a run, copied from the configuration when it began. None of them is infinite, and
/// zero means none (P-10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    pub max_continuations: u32,
    pub max_iterations: u32,
    /// The least time between two continuations (Q-S1).
    pub check_interval_ms: u64,
    /// What fits into one call of the model.
    pub window: u64,
    /// The tokens of the whole run, in and out, where somebody set a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_total_tokens: Option<u64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            max_continuations: CONTINUATIONS,
            max_iterations: ITERATIONS_WITH_PLAN,
            check_interval_ms: 0,
            window: 200_000,
            max_total_tokens: None,
        }
    }
}

impl Budget {
    /// The most calls in one stretch.
    #[must_use]
    pub fn cap(&self) -> u32 {
        self.max_iterations.min(ITERATIONS_WITH_PLAN)
    }

    /// The most calls while there is no plan.
    #[must_use]
    pub fn base(&self) -> u32 {
        self.cap().min(ITERATIONS)
    }
}

/// The tokens of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// Tokens that went in.
    #[schemars(with = "i64")]
    pub input: u64,
    /// Of these, the ones read from the maker's cache.
    #[serde(default)]
    #[schemars(with = "i64")]
    pub cached: u64,
    /// Tokens that came out.
    #[schemars(with = "i64")]
    pub output: u64,
}

/// What a run has used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counters {
    /// Calls of the model since the last continuation.
    pub iterations: u32,
    /// How many there may be (T-26).
    pub limit: u32,
    /// Calls of the model in the whole run.
    pub calls: u32,
    pub continuations: u32,
    /// Continuations in a row that changed nothing.
    pub fruitless: u32,
    /// A tool that changes something succeeded since the last continuation.
    pub mutated: bool,
    /// The list as it was at the last continuation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_at: Option<Time>,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// The size of the last call, which the next one is not smaller than.
    pub context_tokens: u64,
    /// What fits into one call, as the model that answers says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// What the last reply called, and how often in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_calls: Option<u64>,
    pub repeats: u32,
    /// The item outside tools failed on, and how often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<(TodoId, u32)>,
    /// A call of an outside tool that has begun: whoever takes over does not begin it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Successful changing calls since the list was last touched (F-15).
    pub untouched: u32,
    /// How much was said to it since it began: by people, by work that came back, by answers.
    #[serde(default)]
    pub heard: u32,
    /// How much of that the last reply of the model rests on.
    #[serde(default)]
    pub answered: u32,
    /// Processes that died with it in a row, since the last step that was committed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deaths: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Counters {
    #[must_use]
    pub fn new(budget: &Budget) -> Self {
        Self { limit: budget.base(), ..Self::default() }
    }

    /// A person spoke: all that was counted against the model is forgotten (S-19). What it used,
    /// what it has under way and what it has heard stays.
    pub(crate) fn begin(&mut self, budget: &Budget) {
        *self = Self {
            calls: self.calls,
            input_tokens: self.input_tokens,
            cached_tokens: self.cached_tokens,
            output_tokens: self.output_tokens,
            context_tokens: self.context_tokens,
            window: self.window,
            started: self.started.take(),
            heard: self.heard,
            answered: self.answered,
            deaths: self.deaths,
            ..Self::new(budget)
        };
    }

    /// Was something said that the model has not seen yet?
    #[must_use]
    pub const fn has_news(&self) -> bool {
        self.heard > self.answered
    }

    /// The model was called, and asks for the tools of this fingerprint.
    pub fn replied(&mut self, spent: Spent, calls: Option<u64>) {
        self.iterations = self.iterations.saturating_add(1);
        self.calls = self.calls.saturating_add(1);
        self.deaths = 0;
        self.spent(spent);
        self.context_tokens = spent.input.saturating_add(spent.output);
        if calls.is_none() {
            return;
        }
        self.repeats = if self.last_calls == calls { self.repeats.saturating_add(1) } else { 1 };
        self.last_calls = calls;
    }

    /// Adds the tokens of one call. A maker may say any number.
    pub(crate) const fn spent(&mut self, spent: Spent) {
        self.input_tokens = self.input_tokens.saturating_add(spent.input);
        self.cached_tokens = self.cached_tokens.saturating_add(spent.cached);
        self.output_tokens = self.output_tokens.saturating_add(spent.output);
    }

    /// A tool that changes something succeeded.
    pub const fn changed(&mut self, touched_list: bool) {
        self.mutated = true;
        self.failing = None;
        if touched_list {
            self.untouched = 0;
        } else {
            self.untouched = self.untouched.saturating_add(1);
        }
    }

    /// An outside tool failed while this item was worked on. True: that is once too often (S-25).
    pub fn failed(&mut self, todo: TodoId) -> bool {
        let before = self.failing.filter(|(known, _)| *known == todo).map_or(0, |(_, n)| n);
        let failures = before.saturating_add(1);
        self.failing = Some((todo, failures));
        failures >= FAILURES_MAX
    }

    /// While the plan is open the stretch may go on, up to its end (T-26, T-28).
    pub(super) fn look(&mut self, work: &Work, budget: &Budget) {
        if work.actionable > 0 {
            let more = self.iterations.saturating_add(budget.base());
            self.limit = self.limit.max(more).min(budget.cap());
        }
    }

    /// Did the stretch that ends bear fruit? The first one does not count: nobody asked for it.
    pub(super) fn weigh(&mut self, work: &Work) {
        if self.continuations == 0 {
            return;
        }
        let moved = self.mutated || self.seen != Some(work.fingerprint);
        self.fruitless = if moved { 0 } else { self.fruitless.saturating_add(1) };
    }

    pub(super) fn continued(&mut self, budget: &Budget, work: &Work, now: Time) {
        self.continuations = self.continuations.saturating_add(1);
        self.iterations = 0;
        self.limit = budget.base();
        self.look(work, budget);
        self.mutated = false;
        self.repeats = 0;
        self.last_calls = None;
        self.seen = Some(work.fingerprint);
        self.continued_at = Some(now);
    }

    /// Nine tenths of what fits are used, or all that was granted (S-22).
    #[must_use]
    pub fn is_near(&self, budget: &Budget) -> bool {
        let total = self.input_tokens.saturating_add(self.output_tokens);
        let window = self.window.unwrap_or(budget.window);
        self.context_tokens.saturating_mul(10) >= window.saturating_mul(9)
            || budget.max_total_tokens.is_some_and(|max| total >= max)
    }

    /// Until when the next continuation has to wait.
    pub(super) fn rests_until(&self, budget: &Budget, now: Time) -> Option<Time> {
        let last = self.continued_at?;
        let pause = i64::try_from(budget.check_interval_ms.saturating_mul(1_000)).ok()?;
        let until = Time::from_micros(last.micros().saturating_add(pause));
        (until > now).then_some(until)
    }
}
