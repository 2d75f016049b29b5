//! Workers that die: how the next one continues, as a table.

use punchlist_core::delegation::{
    BuryDelegation, Delegation, DelegationState, HeartbeatDelegation, TakeDelegation,
    apply_delegation, has_died,
};
use punchlist_core::driver::{Budget, Counters, Spent};
use punchlist_core::run::{
    RecordReply, RecordResult, RecordStart, RecordSummary, RunState, TakeRun, Taken, WORKER_DIED,
    apply_run,
};
use punchlist_core::{
    Actor, AgentPath, By, Decide, Decision, Event, Ids, Lease, ProjectId, Role, Run, Time,
};

use super::case;
use crate::world::{by_policy, decided};

const CLOCK: Time = Time::from_micros(1_000_000_000);

fn run(deaths: u32, state: RunState) -> Run {
    let mut run = case::run(Budget::default());
    (run.counters.deaths, run.state) = (deaths, state);
    run
}

/// The result of taking a run, after a death or not: the new count, or the end of the run.
#[test]
fn a_run_ends_after_two_deaths_in_a_row() {
    use RunState::{Ended, Running, Waiting};
    // Deaths before, state, did the process die, deaths after (`None`: the run ends).
    let table = [
        (0, Running, false, Some(0)),
        (1, Running, false, Some(1)),
        (0, Running, true, Some(1)),
        (1, Running, true, None),
        (7, Running, true, None),
        (1, Waiting, true, Some(1)),
        (1, Ended, true, Some(1)),
    ];
    for (before, state, after_death, expected) in table {
        let run = run(before, state);
        let case = format!("{before} {state:?} {after_death}");
        match by_policy(&TakeRun { after_death }, &run).unwrap() {
            Taken::GoesOn(decision) => {
                assert_eq!(decision.events.len(), usize::from(expected != Some(before)), "{case}");
                assert_eq!(Some(folded(run, &decision).counters.deaths), expected, "{case}");
            }
            Taken::Ends { detail } => {
                assert_eq!(None, expected, "{case}");
                assert!(detail.starts_with(&format!("{WORKER_DIED}: ")), "{detail}");
            }
        }
    }
}

fn folded(run: Run, decision: &Decision) -> Run {
    let mut state = Some(run);
    for event in &decision.events {
        apply_run(&mut state, event, CLOCK);
    }
    state.unwrap()
}

/// A committed step between two deaths resets the count. A message from the driver or a person is
/// not a step.
#[test]
fn a_committed_step_resets_the_count() {
    let before = || run(1, RunState::Running);
    let spent = Spent::default();
    let reply = RecordReply { spent, calls: None, window: None, heard: None };
    let result = RecordResult { changed: false, touched_list: false, failed_on: None };
    let steps = [
        by_policy(&reply, &before()).unwrap(),
        by_policy(&result, &before()).unwrap().0,
        by_policy(&RecordStart { call_id: "c1".to_owned() }, &before()).unwrap(),
        by_policy(&RecordSummary { spent }, &before()).unwrap(),
    ];
    for decision in steps {
        assert_eq!(folded(before(), &decision).counters.deaths, 0, "{decision:?}");
    }
    let trigger = punchlist_core::driver::Trigger::UserMessage;
    let woken = punchlist_core::run::WakeRun { by: trigger, said: true };
    assert_eq!(
        folded(before(), &by_policy(&woken, &before()).unwrap().unwrap()).counters.deaths,
        1
    );
}

/// Counters of older versions, without deaths, are read; a count of zero is not written.
#[test]
fn a_count_of_zero_deaths_is_not_stored() {
    let counters = Counters::new(&Budget::default());
    let text = serde_json::to_string(&counters).unwrap();
    assert!(!text.contains("deaths"), "{text}");
    assert_eq!(serde_json::from_str::<Counters>(&text).unwrap(), counters);
}

fn worker() -> Actor {
    Actor::new(Role::Worker, AgentPath::parse("primary.subagents.w").unwrap())
}

fn delegation(state: DelegationState, attempts: i64) -> Delegation {
    let mut ids = Ids::new(CLOCK, 1);
    let root = Actor::new(Role::Root, AgentPath::primary());
    let command = crate::world::order("do it");
    let project = ProjectId::from(ids.ulid());
    let decision =
        command.decide((project, None, 1), By { actor: &root, now: CLOCK, ids: &mut ids }).unwrap();
    let mut made = None;
    apply_delegation(&mut made, &decision.events[0], CLOCK);
    Delegation { state, attempts, ..made.unwrap() }
}

fn lease(is_held: bool) -> Lease {
    Lease { holder: is_held.then(|| worker().principal), epoch: 1, until: CLOCK }
}

#[test]
fn a_delegation_fails_after_two_deaths_in_a_row() {
    use DelegationState::{Queued, Running};
    // State, attempts, was it held when the lease ended, deaths counted by its run, does it fail?
    let table = [
        (Queued, 1, false, None, false),
        (Running, 1, true, None, false),
        (Running, 2, true, None, true),
        (Running, 2, false, None, false),
        (Running, 1, true, Some(0), false),
        (Running, 1, true, Some(1), true),
        // The run made a step between the deaths.
        (Running, 5, true, Some(0), false),
        (Running, 5, false, Some(1), false),
    ];
    for (state, attempts, is_held, counted, expected) in table {
        let delegation = delegation(state, attempts);
        let run = counted.map(|deaths| run(deaths, RunState::Running));
        let decided =
            by_policy(&BuryDelegation, (&delegation, Some(&lease(is_held)), run.as_ref())).unwrap();
        let case = format!("{state:?} {attempts} {is_held} {counted:?}");
        assert_eq!(decided.is_some(), expected, "{case}");
        let Some(decision) = decided else { continue };
        let [Event::DelegationFailed(failed)] = &*decision.events else { panic!("{case}") };
        assert!(!failed.again && failed.error.starts_with(WORKER_DIED), "{failed:?}");
    }
    // If the run has ended, the attempts count, as without a run.
    let ended = run(0, RunState::Ended);
    let running = delegation(Running, 2);
    assert!(
        by_policy(&BuryDelegation, (&running, Some(&lease(true)), Some(&ended))).unwrap().is_some()
    );
    assert!(by_policy(&BuryDelegation, (&running, None, None)).unwrap().is_none());
}

/// Work that was given back has not failed: the next worker continues it without a new attempt.
#[test]
fn continuing_work_that_was_given_back_is_not_a_new_attempt() {
    let (held, back) = (lease(true), lease(false));
    let running = delegation(DelegationState::Running, 1);
    let take = TakeDelegation { lease_s: 30, clock: CLOCK };
    for (before, attempts) in [(&held, 2), (&back, 1)] {
        let (decision, _) = decided(&take, (&running, Some(before)), &worker(), CLOCK).unwrap();
        let [Event::DelegationStarted(started)] = &*decision.events else { panic!() };
        assert_eq!(started.attempts, attempts);
    }
    assert!(has_died(&running, Some(&held)) && !has_died(&running, Some(&back)));
    let until = CLOCK.plus_seconds(30);
    let fresh = Lease { until, ..held };
    let beat = |lease_s| HeartbeatDelegation { epoch: 1, lease_s, clock: CLOCK };
    let kept = decided(&beat(5), (&running, Some(&fresh)), &worker(), CLOCK).unwrap();
    assert_eq!(kept, Lease { until: CLOCK.plus_seconds(5), ..fresh.clone() });
    let given_back = decided(&beat(0), (&running, Some(&fresh)), &worker(), CLOCK).unwrap();
    assert_eq!(given_back, Lease { holder: None, epoch: 1, until: CLOCK });
}
