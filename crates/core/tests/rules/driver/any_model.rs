//! Any model on any list: the run ends within its budget, and no rule is broken.

use proptest::prelude::*;
use punchlist_core::driver::{
    self, Budget, Counters, Facts, Finish, Spent, StopReason, Trigger, Verdict, Wait, Work,
};
use punchlist_core::run::{DriveRun, RecordReply, RecordResult, Run, WakeRun, apply_run};
use punchlist_core::{Decision, Event, Snapshot, Time};

use super::case::{delegation, gate, hold, run, with};
use super::work::{CHANGES, any_list};
use crate::world::by_policy;

/// Something a model does when it is called, or somebody else does meanwhile.
#[derive(Clone, Copy, Debug)]
enum Act {
    End,
    /// Calls a tool with this input, which changes something or not.
    Call {
        words: u8,
        changed: bool,
    },
    /// Changes an item of its list.
    Change {
        item: usize,
        change: usize,
    },
    /// An external tool fails on the next item.
    Fail,
    Ask,
    HandOn,
    Await,
    Finish(usize),
    /// Somebody pauses it while it works, and resumes it later.
    Pause,
    /// Reports any number of tokens.
    Tokens(u64),
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::End),
        4 => (0..3_u8, any::<bool>()).prop_map(|(words, changed)| Act::Call { words, changed }),
        3 => (0..8_usize, 0..CHANGES.len()).prop_map(|(item, change)| Act::Change { item, change }),
        1 => Just(Act::Fail),
        1 => Just(Act::Ask),
        1 => Just(Act::HandOn),
        1 => Just(Act::Await),
        1 => (0..200_usize).prop_map(Act::Finish),
        1 => Just(Act::Pause),
        1 => any::<u64>().prop_map(|n| Act::Tokens(n >> (n % 64))),
    ]
}

/// A run, its list, and its open gates and delegations.
struct Play {
    run: Run,
    list: Snapshot,
    now: Time,
    gate: bool,
    handed: bool,
    paused: bool,
    has_tool: bool,
    /// Model calls since a person's last message.
    calls: u32,
}

impl Play {
    fn fold(&mut self, decision: &Decision) {
        let before = self.run.counters.clone();
        let mut state = Some(self.run.clone());
        for event in &decision.events {
            apply_run(&mut state, event, self.now);
            let after = &state.as_ref().unwrap().counters;
            falls_only_by_rule(&before, after, event);
        }
        self.run = state.unwrap();
    }

    fn drive(&mut self, trigger: Trigger) -> Verdict {
        let work = Work::of([&self.list], self.now);
        let in_flight = if self.handed { vec![delegation()] } else { Vec::new() };
        let facts = Facts {
            trigger,
            budget: &self.run.settings.budget,
            counters: &self.run.counters,
            cancelled: self.run.cancelled.is_some(),
            enabled: self.run.settings.drives,
            paused: self.paused,
            gate: self.gate.then(gate),
            in_flight: &in_flight,
            has_todo_tool: self.has_tool,
            work: &work,
            now: self.now,
        };
        breaks_no_rule(&facts);
        let driven = by_policy(&DriveRun::default(), (&self.run, &facts)).unwrap();
        self.fold(&driven.decision);
        driven.verdict
    }

    /// The model acts; returns what happened.
    fn act(&mut self, act: Act) -> Trigger {
        let (calls, spent) = match act {
            Act::End | Act::Finish(_) | Act::Pause => (None, Spent::default()),
            Act::Tokens(n) => (None, Spent { input: n, cached: n, output: n }),
            Act::Call { words, .. } => (Some(usize::from(words)), Spent::default()),
            Act::Change { item, change } => (Some(100 + item * 10 + change), Spent::default()),
            Act::Fail => (Some(1), Spent::default()),
            Act::Ask => (Some(2), Spent::default()),
            Act::HandOn => (Some(3), Spent::default()),
            Act::Await => (Some(4), Spent::default()),
        };
        self.calls += 1;
        let heard = Some(self.run.counters.heard);
        let reply =
            RecordReply { spent, calls: calls.map(|calls| calls as u64), window: None, heard };
        let decision = by_policy(&reply, &self.run).unwrap();
        self.fold(&decision);
        let mut result = RecordResult { changed: false, touched_list: false, failed_on: None };
        match act {
            Act::End | Act::Tokens(_) => return Trigger::Stopped(Finish::EndTurn),
            Act::Finish(n) => return Trigger::Stopped(Finish::ALL[n % Finish::ALL.len()]),
            Act::Pause => {
                self.paused = true;
                return Trigger::Stopped(Finish::EndTurn);
            }
            Act::Call { changed, .. } => result.changed = changed,
            Act::Change { item, change } => {
                if !self.list.todos.is_empty() {
                    let item = item % self.list.todos.len();
                    with(&mut self.list, item, CHANGES[change]);
                }
                (result.changed, result.touched_list) = (true, true);
            }
            Act::Fail => {
                result.failed_on = Work::of([&self.list], self.now).next.map(|next| next.id);
            }
            Act::Ask => self.gate = true,
            Act::HandOn | Act::Await => self.handed = true,
        }
        let (decision, given_up) = by_policy(&result, &self.run).unwrap();
        self.fold(&decision);
        if let Some(todo) = given_up.and_then(|id| self.list.todos.get_mut(&id)) {
            hold(todo);
        }
        if matches!(act, Act::Await) { Trigger::Handed } else { Trigger::ToolsDone }
    }

    /// What it waits for happens.
    fn come(&mut self, wait: &Wait) -> Trigger {
        let (by, said) = match wait {
            Wait::Gate(_) => {
                self.gate = false;
                (Trigger::GateAnswered, true)
            }
            Wait::Delegations(_) => {
                self.handed = false;
                (Trigger::DelegationReturned, true)
            }
            Wait::Pause => {
                self.paused = false;
                (Trigger::Resumed, false)
            }
            Wait::Cooldown(until) => {
                self.now = *until;
                return Trigger::Tick;
            }
        };
        let decision = by_policy(&WakeRun { by, said }, &self.run).unwrap().unwrap();
        self.fold(&decision);
        by
    }
}

/// Counters fall only by rule: a continuation restarts the iterations.
fn falls_only_by_rule(before: &Counters, after: &Counters, event: &Event) {
    assert!(after.calls >= before.calls, "{event:?}");
    assert!(
        after.input_tokens >= before.input_tokens && after.output_tokens >= before.output_tokens
    );
    assert!(after.heard >= before.heard);
    assert!(after.continuations >= before.continuations, "no person spoke: {event:?}");
    let continued = matches!(event, Event::RunContinued(_));
    assert!(continued || after.iterations >= before.iterations, "{event:?}");
    assert_eq!(continued, after.continuations > before.continuations);
    assert!(after.limit <= 50 && after.continuations <= before.continuations + 1);
}

/// What is true for every decision.
fn breaks_no_rule(facts: &Facts<'_>) {
    let (verdict, counters) = driver::decide(facts);
    let Verdict::Continue { todo, prompted } = verdict else { return };
    assert!(!facts.cancelled && !facts.paused && facts.gate.is_none(), "{facts:?}");
    assert_eq!(todo, facts.work.next.as_ref().map(|next| next.id));
    if !prompted {
        assert!(counters.continuations <= facts.counters.continuations);
        return;
    }
    let (budget, work) = (facts.budget, facts.work);
    assert!(facts.enabled && facts.has_todo_tool && facts.in_flight.is_empty(), "{facts:?}");
    assert!(work.actionable > 0 && todo.is_some(), "nothing to do: {facts:?}");
    assert!(facts.counters.continuations < budget.max_continuations, "{facts:?}");
    assert!(!facts.counters.is_near(budget), "{facts:?}");
    assert_eq!(counters.iterations, 0);
    let normal = Trigger::Stopped(Finish::EndTurn);
    assert!(facts.trigger == normal || facts.trigger == Trigger::Tick, "{facts:?}");
}

fn any_trigger() -> impl Strategy<Value = Trigger> {
    prop_oneof![
        (0..Finish::ALL.len()).prop_map(|n| Trigger::Stopped(Finish::ALL[n])),
        Just(Trigger::ToolsDone),
        Just(Trigger::UserMessage),
        Just(Trigger::DelegationReturned),
        Just(Trigger::GateAnswered),
        Just(Trigger::Tick),
        Just(Trigger::Resumed),
        Just(Trigger::Handed),
    ]
}

prop_compose! {
    /// Any counters, including ones that no run can have.
    fn any_counters()(
        small in prop::array::uniform8(0..60_u32),
        large in prop::array::uniform6(any::<u64>()),
        extreme in any::<bool>(),
        flags in prop::array::uniform3(any::<bool>()),
    ) -> Counters {
        let count = |n: u32| if extreme && n.is_multiple_of(3) { u32::MAX - n } else { n };
        let tokens = |n: u64| if extreme { n } else { n >> 48 };
        Counters {
            iterations: count(small[0]),
            limit: small[1],
            calls: count(small[2]),
            continuations: count(small[3] % 14),
            fruitless: count(small[4] % 4),
            mutated: flags[0],
            seen: flags[1].then_some(large[0]),
            continued_at: flags[2].then_some(Time::from_micros(large[1].cast_signed() >> 8)),
            input_tokens: tokens(large[2]),
            cached_tokens: tokens(large[3]),
            output_tokens: tokens(large[4]),
            context_tokens: tokens(large[5]),
            window: flags[0].then_some(tokens(large[0])),
            repeats: count(small[5] % 5),
            untouched: count(small[6]),
            heard: count(small[7] % 3),
            answered: small[7] % 2,
            ..Counters::default()
        }
    }
}

proptest! {
    /// S-13, F-14: the driver decides any facts, always the same way for the same facts, and breaks
    /// no rule.
    #[test]
    fn the_driver_is_total(
        trigger in any_trigger(),
        counters in any_counters(),
        items in prop::collection::vec((0..CHANGES.len(), 0..8_usize), 0..8),
        limits in (0..13_u32, 0..80_u32, prop_oneof![Just(0), 0..100_000_u64, Just(u64::MAX)]),
        flags in prop::array::uniform6(any::<bool>()),
    ) {
        let now = Time::parse("2026-11-15T09:00:00Z").unwrap();
        let (max_continuations, max_iterations, check_interval_ms) = limits;
        let budget = Budget {
            max_continuations, max_iterations, check_interval_ms, ..Budget::default()
        };
        let [cancelled, enabled, paused, asks, handed, has_todo_tool] = flags;
        let work = Work::of([&any_list(&items)], now);
        let in_flight = if handed { vec![delegation()] } else { Vec::new() };
        let facts = Facts {
            trigger,
            budget: &budget,
            counters: &counters,
            cancelled,
            enabled,
            paused,
            gate: asks.then(gate),
            in_flight: &in_flight,
            has_todo_tool,
            work: &work,
            now,
        };
        breaks_no_rule(&facts);
        prop_assert_eq!(driver::decide(&facts), driver::decide(&facts));
    }

    /// S-35, T-27, X-13, P-10: any model, on any list, ends within (continuations + 1) × 50 calls,
    /// whatever is asked, delegated, paused or changed meanwhile.
    #[test]
    fn any_model_ends_within_its_budget(
        acts in prop::collection::vec(any_act(), 1..30),
        items in prop::collection::vec((0..CHANGES.len(), 0..8_usize), 0..8),
        limits in (0..12_u32, prop_oneof![Just(50_u32), 0..60_u32], prop_oneof![Just(0), 0..5_000_u64]),
        has_tool in prop::bool::weighted(0.9),
        drives in prop::bool::weighted(0.9),
    ) {
        let (max_continuations, max_iterations, check_interval_ms) = limits;
        let budget = Budget {
            max_continuations, max_iterations, check_interval_ms, ..Budget::default()
        };
        let mut run = run(budget);
        run.settings.drives = drives;
        let now = run.created_at;
        let list = any_list(&items);
        let mut play = Play {
            run, list, now, gate: false, handed: false, paused: false, has_tool, calls: 0,
        };
        let most = (max_continuations + 1) * max_iterations.min(50);
        let mut acts = acts.iter().copied().cycle();
        let mut trigger = Trigger::UserMessage;
        let mut waits = 0;
        let reason = loop {
            match play.drive(trigger) {
                Verdict::Continue { .. } => {
                    waits = 0;
                    prop_assert!(play.calls < most, "more than {most} calls");
                    trigger = play.act(acts.next().unwrap());
                }
                Verdict::Wait(wait) => {
                    waits += 1;
                    prop_assert!(waits < 5, "it is woken again and again, and never goes on");
                    trigger = play.come(&wait);
                }
                Verdict::Stop(reason) => break reason,
            }
        };
        prop_assert_eq!(play.run.stop_reason, Some(reason));
        if !drives || !has_tool {
            prop_assert_eq!(play.run.counters.continuations, 0);
        }
        if reason == StopReason::Drained {
            let work = Work::of([&play.list], play.now);
            prop_assert!(work.actionable == 0 && work.held.is_empty() && work.claimed == 0);
        }
    }
}

/// S-29, S-35: models that loop in other systems.
#[test]
fn models_known_to_loop_end_early() {
    let play = |act: Act| {
        let run = run(Budget::default());
        let (now, list) = (run.created_at, any_list(&[(0, 9), (0, 9)]));
        let mut play = Play {
            run,
            list,
            now,
            gate: false,
            handed: false,
            paused: false,
            has_tool: true,
            calls: 0,
        };
        let mut trigger = Trigger::UserMessage;
        loop {
            match play.drive(trigger) {
                Verdict::Continue { .. } => trigger = play.act(act),
                Verdict::Wait(wait) => trigger = play.come(&wait),
                Verdict::Stop(reason) => return (reason, play.calls),
            }
        }
    };
    assert_eq!(play(Act::End), (StopReason::NoProgress, 3), "says that it is done");
    let call = |changed| Act::Call { words: 0, changed };
    assert_eq!(play(call(false)), (StopReason::NoProgress, 3), "calls the same again and again");
    assert_eq!(play(call(true)), (StopReason::NoProgress, 3), "even where that succeeds");
    assert_eq!(play(Act::Ask), (StopReason::NoProgress, 3), "asks the person the same");
}
