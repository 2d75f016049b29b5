//! The order of checks: of any two conditions, the one that is checked first wins.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use punchlist_core::driver::{Finish, StopReason, Trigger, Verdict, Wait, Work};

use super::case::{Case, claim, delegation, gate, hold, list, settle, with};

/// A condition that prevents a continuation, by name.
type Condition = (&'static str, fn(&mut Case));

/// The checks after the model's last reply, in the order of the design.
const AT_A_STOP: [Condition; 13] = [
    ("cancelled", |case| case.cancelled = true),
    ("refused to go on", |case| case.trigger = Trigger::Stopped(Finish::Refusal)),
    ("switched off", |case| case.enabled = false),
    ("paused", |case| case.paused = true),
    ("gate open", |case| case.gate = Some(gate())),
    ("work in flight", |case| case.in_flight = vec![delegation()]),
    ("no todo tool", |case| case.has_todo_tool = false),
    ("nothing actionable", |case| {
        let mut held = list(&["a"]);
        with(&mut held, 0, hold);
        case.work = Work::of(&[held], case.now);
    }),
    ("continuations used up", |case| case.counters.continuations = case.budget.max_continuations),
    ("iterations used up", |case| case.counters.iterations = 50),
    ("window full", |case| case.counters.context_tokens = case.budget.window),
    ("no fruit", |case| {
        // One more fruitless continuation than is allowed.
        (case.counters.fruitless, case.counters.seen) = (1, Some(case.work.fingerprint));
        case.counters.continuations = case.counters.continuations.max(2);
    }),
    ("cooling down", |case| {
        case.budget.check_interval_ms = 60_000;
        case.counters.continued_at = Some(case.now);
    }),
];

/// The checks during a stretch.
const WITHIN: [Condition; 7] = [
    ("cancelled", |case| case.cancelled = true),
    ("paused", |case| case.paused = true),
    ("gate open", |case| case.gate = Some(gate())),
    ("waits for what it handed on", |case| {
        (case.trigger, case.in_flight) = (Trigger::Handed, vec![delegation()]);
    }),
    ("iterations used up", |case| (case.counters.iterations, case.counters.limit) = (50, 50)),
    ("window full", |case| case.counters.context_tokens = case.budget.window),
    ("repeats itself", |case| case.counters.repeats = 3),
];

fn words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Continue { prompted, .. } => format!("continue (prompted: {prompted})"),
        Verdict::Wait(Wait::Gate(_)) => "wait: gate".to_owned(),
        Verdict::Wait(Wait::Delegations(_)) => "wait: delegations".to_owned(),
        Verdict::Wait(Wait::Cooldown(_)) => "wait: cooldown".to_owned(),
        Verdict::Wait(Wait::Pause) => "wait: pause".to_owned(),
        Verdict::Stop(reason) => format!("stop: {reason}"),
    }
}

fn case_with(start: &Case, conditions: &[Condition]) -> String {
    let mut case = start.clone();
    // From the last to the first, so that one setup does not undo another.
    conditions.iter().rev().for_each(|(_, apply)| apply(&mut case));
    words(&case.verdict())
}

fn table(start: &Case, conditions: &[Condition]) -> String {
    let mut text = format!("nothing => {}\n", case_with(start, &[]));
    for (index, first) in conditions.iter().enumerate() {
        let _ = writeln!(text, "{} => {}", first.0, case_with(start, &[*first]));
        for second in &conditions[index + 1..] {
            let both = case_with(start, &[*first, *second]);
            let _ = writeln!(text, "{} + {} => {both}", first.0, second.0);
        }
    }
    text
}

/// S-13, S-21, S-33, X-14, X-15: every pair of conditions after a normal end, and the earlier one wins.
#[test]
fn at_a_stop_the_earlier_check_wins() {
    let start = Case::new();
    insta::assert_snapshot!("at_a_stop", table(&start, &AT_A_STOP));
    for (index, first) in AT_A_STOP.iter().enumerate() {
        let alone = case_with(&start, &[*first]);
        for second in &AT_A_STOP[index + 1..] {
            let both = case_with(&start, &[*first, *second]);
            // Both apply only if there is something to do.
            let is_moot = matches!(first.0, "switched off" | "no todo tool")
                && second.0 == "nothing actionable";
            let expected = if is_moot { "stop: blocked" } else { &alone };
            assert_eq!(both, expected, "{} + {}", first.0, second.0);
        }
    }
}

/// during a stretch too, and after a wake-up.
#[test]
fn within_a_stretch_the_earlier_check_wins() {
    insta::assert_snapshot!("within", table(&Case::after(Trigger::ToolsDone), &WITHIN));
    for trigger in [
        Trigger::ToolsDone,
        Trigger::Resumed,
        Trigger::GateAnswered,
        Trigger::DelegationReturned,
        Trigger::Handed,
    ] {
        let start = Case::after(trigger);
        assert_eq!(case_with(&start, &[]), "continue (prompted: false)", "{trigger:?}");
        for (index, first) in WITHIN.iter().enumerate() {
            let alone = case_with(&start, &[*first]);
            assert_ne!(alone, "continue (prompted: false)", "{trigger:?}: {}", first.0);
            for second in &WITHIN[index + 1..] {
                assert_eq!(case_with(&start, &[*first, *second]), alone, "{trigger:?}");
            }
        }
    }
}

/// S-14: only a normal end is followed by a continuation, whatever is open.
#[test]
fn s_14_only_a_normal_end_is_followed_by_a_continuation() {
    for finish in Finish::ALL {
        let verdict = Case::after(Trigger::Stopped(finish)).verdict();
        let expected = match finish {
            Finish::EndTurn => {
                assert!(matches!(verdict, Verdict::Continue { prompted: true, .. }));
                continue;
            }
            Finish::ToolUse | Finish::Error => StopReason::Error,
            Finish::MaxTokens => StopReason::MaxTokens,
            Finish::Context => StopReason::Context,
            Finish::Refusal => StopReason::Refusal,
            Finish::PermissionDenied => StopReason::PermissionDenied,
            Finish::Cancelled => StopReason::Cancelled,
        };
        assert_eq!(verdict, Verdict::Stop(expected), "{finish:?}");
    }
}

/// P-1, P-4, S-29: the remaining items are the reason why there is nothing to do.
#[test]
fn the_remaining_items_are_the_reason() {
    let now = Case::new().now;
    let rests = |titles: &[&str], changes: &[fn(&mut punchlist_core::Todo)]| {
        let mut list = list(titles);
        for (index, change) in changes.iter().enumerate() {
            with(&mut list, index, change);
        }
        let case = Case { work: Work::of(&[list], now), ..Case::new() };
        case.verdict()
    };
    let later: fn(&mut punchlist_core::Todo) = |todo| {
        todo.defer_until = Some(todo.created_at.plus_seconds(86_400));
    };
    let blank: fn(&mut punchlist_core::Todo) = |todo| todo.title = " \t".to_owned();
    let stop = |reason| Verdict::Stop(reason);
    assert_eq!(rests(&[], &[]), stop(StopReason::NoPlan));
    assert_eq!(rests(&["a"], &[settle]), stop(StopReason::Drained));
    assert_eq!(rests(&["a", "b"], &[settle, hold]), stop(StopReason::Blocked));
    assert_eq!(rests(&["a", "b"], &[settle, claim]), stop(StopReason::AwaitingReview));
    assert_eq!(rests(&["a", "b"], &[settle, later]), stop(StopReason::Deferred));
    assert_eq!(rests(&["a", "b", "c"], &[claim, later, hold]), stop(StopReason::Blocked));
    assert_eq!(rests(&["a", "b"], &[settle, blank]), stop(StopReason::Drained));
}

/// Every reason of the driver occurs in some cell; the other three are its waits, as reported to a
/// caller that does not wait.
#[test]
fn every_reason_is_reachable() {
    let mut reached = BTreeSet::new();
    let mut note = |verdict: Verdict| match verdict {
        Verdict::Stop(reason) => drop(reached.insert(reason.code())),
        Verdict::Wait(_) | Verdict::Continue { .. } => {}
    };
    for (_, condition) in AT_A_STOP {
        let mut case = Case::new();
        condition(&mut case);
        note(case.verdict());
    }
    for finish in Finish::ALL {
        note(Case::after(Trigger::Stopped(finish)).verdict());
    }
    let now = Case::new().now;
    for change in [settle, claim] {
        let mut list = list(&["a"]);
        with(&mut list, 0, change);
        note(Case { work: Work::of(&[list], now), ..Case::new() }.verdict());
    }
    let mut resting = list(&["a"]);
    with(&mut resting, 0, |todo| todo.defer_until = Some(now.plus_seconds(60)));
    note(Case { work: Work::of(&[resting], now), ..Case::new() }.verdict());
    note(Case { work: Work::default(), ..Case::new() }.verdict());
    let waits = ["gate_open", "waiting", "paused"];
    let all: BTreeSet<&str> = StopReason::ALL.iter().map(|reason| reason.code()).collect();
    assert_eq!(
        all.into_iter().filter(|code| !waits.contains(code)).collect::<BTreeSet<_>>(),
        reached
    );
}
