//! What a run may use up, and what it has used.

use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use super::Work;
use crate::{Time, TodoId};

/// Most model calls in one stretch without a plan (T-25).
pub const ITERATIONS: u32 = 10;

/// Most model calls in one stretch with a plan (T-27).
pub const ITERATIONS_WITH_PLAN: u32 = 50;

/// How often an agent is asked to continue (S-3).
pub const CONTINUATIONS: u32 = 10;

/// This many continuations without any change end the run.
pub(super) const FRUITLESS_MAX: u32 = 2;

/// This many replies with the same tool calls and inputs end the run.
pub(super) const REPEATS_MAX: u32 = 3;

/// This many failures of external tools on one item, and the item is held.
pub const FAILURES_MAX: u32 = 2;

/// The limits of a run, copied from the configuration when it began. No limit is infinite; zero
/// allows nothing (P-10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    pub max_continuations: u32,
    pub max_iterations: u32,
    /// The minimum time between two continuations (Q-S1).
    pub check_interval_ms: u64,
    /// The model's context window, in tokens.
    pub window: u64,
    /// The limit of tokens for the whole run, input and output, if one is set.
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
    #[serde(deserialize_with = "tokens")]
    #[schemars(with = "i64", range(min = 0))]
    pub input: u64,
    /// Input tokens read from the provider's cache.
    #[serde(default, deserialize_with = "tokens")]
    #[schemars(with = "i64", range(min = 0))]
    pub cached: u64,
    /// Tokens that came out.
    #[serde(deserialize_with = "tokens")]
    #[schemars(with = "i64", range(min = 0))]
    pub output: u64,
}

/// A count of tokens, which the store keeps in 63 bits.
fn tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let count = u64::deserialize(deserializer)?;
    match i64::try_from(count) {
        Ok(_) => Ok(count),
        Err(_) => Err(D::Error::custom("too many tokens")),
    }
}

/// What a run has used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counters {
    /// Calls of the model since the last continuation.
    pub iterations: u32,
    /// The limit of `iterations` (T-26).
    pub limit: u32,
    /// Calls of the model in the whole run.
    pub calls: u32,
    pub continuations: u32,
    /// Continuations in a row that changed nothing.
    pub fruitless: u32,
    /// A tool that changes something succeeded since the last continuation.
    pub mutated: bool,
    /// The fingerprint of the list at the last continuation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_at: Option<Time>,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// The size of the last call. The next call is at least as large.
    pub context_tokens: u64,
    /// The context window reported by the model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The fingerprint of the last reply's calls, and how often it came in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_calls: Option<u64>,
    pub repeats: u32,
    /// The item that external tools failed on, and how often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<(TodoId, u32)>,
    /// A call of an external tool that has begun. A process that takes over does not repeat it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Successful changing calls since the list was last touched (F-15).
    pub untouched: u32,
    /// How many messages it has received: from people, from delegated work, from answered gates.
    #[serde(default)]
    pub heard: u32,
    /// How many of these messages the last model call had seen.
    #[serde(default)]
    pub answered: u32,
    /// How many processes died executing it since its last committed step.
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

    /// A person wrote: the counters that limit the model start again (S-19). Usage, the started
    /// call and the message counts stay.
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

    /// Are there messages that the model has not seen yet?
    #[must_use]
    pub const fn has_news(&self) -> bool {
        self.heard > self.answered
    }

    /// Records a model call. `calls`: the fingerprint of the tool calls in its reply.
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

    /// Adds the tokens of one call. Saturates: a provider may report any number.
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

    /// Records that an external tool failed during work on this item. True: it has failed too often
    /// (S-25).
    pub fn failed(&mut self, todo: TodoId) -> bool {
        let before = self.failing.filter(|(known, _)| *known == todo).map_or(0, |(_, n)| n);
        let failures = before.saturating_add(1);
        self.failing = Some((todo, failures));
        failures >= FAILURES_MAX
    }

    /// Raises the limit of the stretch while the plan has open items (T-26, T-28).
    pub(super) fn look(&mut self, work: &Work, budget: &Budget) {
        if work.actionable > 0 {
            let more = self.iterations.saturating_add(budget.base());
            self.limit = self.limit.max(more).min(budget.cap());
        }
    }

    /// Counts a stretch without progress. The first one does not count: it was no continuation.
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

    /// Are nine tenths of the window used, or all granted tokens (S-22)?
    #[must_use]
    pub fn is_near(&self, budget: &Budget) -> bool {
        let total = self.input_tokens.saturating_add(self.output_tokens);
        let window = self.window.unwrap_or(budget.window);
        self.context_tokens.saturating_mul(10) >= window.saturating_mul(9)
            || budget.max_total_tokens.is_some_and(|max| total >= max)
    }

    /// When the next continuation may come, if it must wait.
    pub(super) fn rests_until(&self, budget: &Budget, now: Time) -> Option<Time> {
        let last = self.continued_at?;
        let pause = i64::try_from(budget.check_interval_ms.saturating_mul(1_000)).ok()?;
        let until = Time::from_micros(last.micros().saturating_add(pause));
        (until > now).then_some(until)
    }
}
