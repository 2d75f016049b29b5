//! Budgets: how often a model is called and asked to continue, as tables.

use punchlist_core::driver::{
    Budget, CONTINUATIONS, Counters, Finish, ITERATIONS, ITERATIONS_WITH_PLAN, Spent, StopReason,
    Trigger, Verdict, Wait, Work,
};

use super::case::{Case, list, settle, with};

const STOPPED: Trigger = Trigger::Stopped(Finish::EndTurn);

/// How often is a model called that calls another tool each time, if its list is open for this many
/// calls?
fn calls_made(budget: Budget, open_for: u32) -> (u32, Verdict) {
    let mut case = Case { counters: Counters::new(&budget), budget, ..Case::new() };
    let open = case.work.clone();
    case.work = if open_for == 0 { Work::default() } else { open.clone() };
    let mut verdict = case.step(Trigger::UserMessage);
    while let Verdict::Continue { .. } = verdict {
        let calls = case.counters.calls;
        assert!(calls < 1_000, "it does not end");
        case.counters.replied(Spent::default(), Some(u64::from(calls)));
        case.work = if case.counters.calls < open_for { open.clone() } else { Work::default() };
        verdict = case.step(Trigger::ToolsDone);
    }
    (case.counters.calls, verdict)
}

/// T-25…T-28: ten calls, then ten more after the list was last open, never more than fifty.
#[test]
fn t_25_the_loop_is_as_long_as_the_plan_needs() {
    assert_eq!((ITERATIONS, ITERATIONS_WITH_PLAN, CONTINUATIONS), (10, 50, 10));
    let table = [
        (0, 10),
        // Open when the loop begins, closed after the first call: ten from the beginning.
        (1, 10),
        (2, 11),
        (5, 14),
        (16, 25),
        (40, 49),
        (41, 50),
        (45, 50),
        (1_000, 50),
    ];
    for (open_for, calls) in table {
        let made = calls_made(Budget::default(), open_for);
        assert_eq!(made, (calls, Verdict::Stop(StopReason::IterationCap)), "{open_for}");
    }
}

/// T-27, P-10: a limit above the maximum has no effect, a smaller one has, and zero allows nothing.
#[test]
fn limits_are_finite_and_zero_allows_nothing() {
    for (max, without, with) in [(0, 0, 0), (3, 3, 3), (20, 10, 20), (u32::MAX, 10, 50)] {
        let budget = Budget { max_iterations: max, ..Budget::default() };
        assert_eq!(calls_made(budget.clone(), 0).0, without, "{max}");
        assert_eq!(calls_made(budget, 1_000).0, with, "{max}");
    }
}

/// T-29: a plan of five items fits, with three calls for each.
#[test]
fn t_29_a_plan_of_five_runs_to_its_end() {
    let mut case = Case::after(Trigger::UserMessage);
    let mut items = list(&["a", "b", "c", "d", "e"]);
    case.work = Work::default();
    assert!(matches!(case.step(Trigger::UserMessage), Verdict::Continue { .. }));
    let call = |case: &mut Case, items: &punchlist_core::Snapshot| {
        case.counters.replied(Spent::default(), Some(u64::from(case.counters.calls)));
        case.work = Work::of([items], case.now);
        let verdict = case.step(Trigger::ToolsDone);
        assert!(matches!(verdict, Verdict::Continue { prompted: false, .. }), "{verdict:?}");
    };
    call(&mut case, &items);
    for index in 0..5 {
        call(&mut case, &items);
        call(&mut case, &items);
        with(&mut items, index, settle);
        call(&mut case, &items);
    }
    case.counters.replied(Spent::default(), None);
    assert_eq!(case.step(STOPPED), Verdict::Stop(StopReason::Drained));
    assert_eq!((case.counters.calls, case.counters.continuations), (17, 0));
}

/// P-10, S-20: zero allows no continuation; at the maximum the run ends with that reason.
#[test]
fn continuations_are_counted() {
    for max in [0, 1, 10] {
        let budget = Budget { max_continuations: max, ..Budget::default() };
        let mut case = Case { counters: Counters::new(&budget), budget, ..Case::new() };
        for made in 0..max {
            let verdict = case.step(STOPPED);
            assert!(matches!(verdict, Verdict::Continue { prompted: true, .. }), "{made}");
            case.counters.changed(false);
        }
        assert_eq!(case.step(STOPPED), Verdict::Stop(StopReason::ContinuationCap));
        assert_eq!(case.counters.continuations, max);
    }
}

/// F-14: two continuations in a row without a change end the run. Any change of an item, and any
/// tool that changed something, is progress.
#[test]
fn f_14_two_fruitless_continuations_are_enough() {
    let continued =
        |case: &mut Case| matches!(case.step(STOPPED), Verdict::Continue { prompted: true, .. });
    let mut case = Case::new();
    assert!(continued(&mut case) && continued(&mut case), "the first stop was asked for by nobody");
    assert_eq!(case.step(STOPPED), Verdict::Stop(StopReason::NoProgress));

    let mut case = Case::new();
    for _ in 0..4 {
        assert!(continued(&mut case));
        case.counters.changed(false);
    }
    assert!(continued(&mut case), "a tool changed something each time");
    assert!(continued(&mut case), "the first without a change");
    assert_eq!(case.step(STOPPED), Verdict::Stop(StopReason::NoProgress));

    let mut case = Case::new();
    assert!(continued(&mut case) && continued(&mut case));
    case.work = Work::of(&[list(&["write", "read"])], case.now);
    assert!(continued(&mut case), "somebody else changed the list");
}

/// Q-T1, F-14: it is not progress when the driver starts the next item itself.
#[test]
fn a_start_by_the_driver_itself_is_not_progress() {
    let mut items = list(&["write", "read"]);
    let mut case = Case { work: Work::of(&[items.clone()], Case::new().now), ..Case::new() };
    assert!(matches!(case.step(STOPPED), Verdict::Continue { prompted: true, .. }));
    with(&mut items, 0, |todo| todo.status = punchlist_core::Status::InProgress);
    case.work = Work::of(&[items.clone()], case.now);
    assert!(matches!(case.step(STOPPED), Verdict::Continue { prompted: true, .. }));
    assert_eq!(case.counters.fruitless, 1);
    assert_eq!(case.step(STOPPED), Verdict::Stop(StopReason::NoProgress));
    // Another next item is progress.
    with(&mut items, 0, |todo| todo.status = punchlist_core::Status::Pending);
    with(&mut items, 1, |todo| todo.status = punchlist_core::Status::InProgress);
    let changed = Work::of(&[items], case.now);
    assert_ne!(changed.fingerprint, case.work.fingerprint);
}

/// Q-S1: the pause is between two continuations, not before the first; zero means no pause.
#[test]
fn q_s1_there_is_a_pause_between_two_continuations() {
    let budget = Budget { check_interval_ms: 5_000, ..Budget::default() };
    let mut case = Case { budget, ..Case::new() };
    let begun = case.now;
    assert!(matches!(case.step(STOPPED), Verdict::Continue { prompted: true, .. }));
    case.now = begun.plus_seconds(2);
    let until = begun.plus_seconds(5);
    assert_eq!(case.step(STOPPED), Verdict::Wait(Wait::Cooldown(until)));
    assert_eq!((case.counters.continuations, case.counters.fruitless), (1, 1));
    // Too early again: it is the same stop, which is counted once.
    case.now = begun.plus_seconds(4);
    assert_eq!(case.step(Trigger::Tick), Verdict::Wait(Wait::Cooldown(until)));
    case.now = until;
    assert!(matches!(case.step(Trigger::Tick), Verdict::Continue { prompted: true, .. }));
    assert_eq!((case.counters.continuations, case.counters.fruitless), (2, 1));
    case.budget.check_interval_ms = 0;
    case.counters.changed(false);
    assert!(matches!(case.step(STOPPED), Verdict::Continue { prompted: true, .. }));
    case.counters.changed(false);
    // A pause that would overflow the clock must not panic.
    case.budget.check_interval_ms = u64::MAX;
    let _ = case.step(STOPPED);
}

/// S-22: nine tenths of the model's window are used, or all granted tokens.
#[test]
fn s_22_a_nearly_full_window_ends_the_run() {
    let guarded = |used: u64, window: Option<u64>, granted: Option<u64>, total: u64| {
        let mut case = Case::new();
        case.budget = Budget { window: 1_000, max_total_tokens: granted, ..case.budget };
        (case.counters.context_tokens, case.counters.window) = (used, window);
        (case.counters.input_tokens, case.counters.output_tokens) = (total, 0);
        let stop = case.verdict() == Verdict::Stop(StopReason::TokenGuard);
        case.trigger = Trigger::ToolsDone;
        assert_eq!(case.verdict() == Verdict::Stop(StopReason::TokenGuard), stop, "in both places");
        stop
    };
    assert!(!guarded(899, None, None, 0));
    assert!(guarded(900, None, None, 0));
    assert!(!guarded(900, Some(2_000), None, 0), "the model says how much fits");
    assert!(guarded(1_800, Some(2_000), None, 0));
    assert!(!guarded(0, None, Some(500), 499));
    assert!(guarded(0, None, Some(500), 500));
    assert!(guarded(u64::MAX, None, None, u64::MAX), "any number, however large");
}

/// Three replies in a row with the same calls and inputs end the run; other replies do not.
#[test]
fn a_model_that_repeats_itself_is_stopped() {
    let mut case = Case::after(Trigger::ToolsDone);
    for (calls, goes_on) in [(1, true), (1, true), (2, true), (2, true), (2, false)] {
        case.counters.replied(Spent::default(), Some(calls));
        let verdict = case.step(Trigger::ToolsDone);
        assert_eq!(matches!(verdict, Verdict::Continue { .. }), goes_on, "{calls}");
    }
    assert_eq!(case.verdict(), Verdict::Stop(StopReason::NoProgress));
}
