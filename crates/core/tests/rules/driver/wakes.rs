//! What wakes a run, and how that changes the counters.

use punchlist_core::driver::{
    Budget, Counters, Finish, Spent, StopReason, Trigger, Verdict, Wait, Work,
};
use punchlist_core::effect::Effect;
use punchlist_core::run::{CancelRun, RecordReply, Run, RunState, WakeRun, apply_run};
use punchlist_core::{Actor, AgentPath, Decision, Event, Role, Time};

use super::case::{Case, delegation, gate, run};
use crate::world::{by_policy, decided};

const WAKERS: [Trigger; 5] = [
    Trigger::UserMessage,
    Trigger::DelegationReturned,
    Trigger::GateAnswered,
    Trigger::Tick,
    Trigger::Resumed,
];

fn used() -> Counters {
    Counters {
        iterations: 7,
        limit: 17,
        calls: 31,
        continuations: 4,
        fruitless: 1,
        mutated: true,
        seen: Some(9),
        continued_at: Some(Time::from_micros(5)),
        input_tokens: 100,
        cached_tokens: 20,
        output_tokens: 30,
        context_tokens: 130,
        window: Some(1_000),
        last_calls: Some(3),
        repeats: 2,
        failing: None,
        started: Some("call_1".to_owned()),
        untouched: 5,
        heard: 2,
        answered: 2,
        deaths: 0,
    }
}

fn waiting(wait: Wait) -> Run {
    let mut run = run(Budget::default());
    (run.state, run.waits_for, run.counters) = (RunState::Waiting, Some(wait), used());
    run
}

fn folded(run: &Run, decision: &Decision) -> Run {
    let mut state = Some(run.clone());
    for event in &decision.events {
        assert!(apply_run(&mut state, event, run.created_at));
    }
    state.unwrap()
}

/// S-19: only a person's message resets the counters that limit the model; usage is kept.
#[test]
fn s_19_only_a_person_resets_the_counters() {
    for by in WAKERS {
        for state in [RunState::Waiting, RunState::Running] {
            let mut run = waiting(Wait::Gate(gate()));
            run.state = state;
            let decision = by_policy(&WakeRun { by, said: true }, &run).unwrap().unwrap();
            let counters = folded(&run, &decision).counters;
            let kept = Counters { heard: 3, ..used() };
            let expected = match by {
                Trigger::UserMessage => Counters {
                    calls: 31,
                    input_tokens: 100,
                    cached_tokens: 20,
                    output_tokens: 30,
                    context_tokens: 130,
                    window: Some(1_000),
                    started: Some("call_1".to_owned()),
                    heard: 3,
                    answered: 2,
                    ..Counters::new(&Budget::default())
                },
                _ => kept,
            };
            assert_eq!(counters, expected, "{by:?} {state:?}");
        }
    }
}

/// A waiting run is woken and queued for a worker; a run that is executed or over is not.
#[test]
fn a_wake_up_is_queued_once() {
    for by in WAKERS {
        for wait in [
            Wait::Gate(gate()),
            Wait::Delegations(vec![delegation()]),
            Wait::Cooldown(Time::from_micros(9)),
        ] {
            let run = waiting(wait);
            let decision = by_policy(&WakeRun { by, said: false }, &run).unwrap().unwrap();
            assert_eq!(decision.effects, [Effect::Drive { run_id: run.id }]);
            let woken = folded(&run, &decision);
            assert_eq!((woken.state, woken.waits_for), (RunState::Running, None));
        }
        let mut running = run(Budget::default());
        running.counters = used();
        if by != Trigger::UserMessage {
            assert_eq!(by_policy(&WakeRun { by, said: false }, &running).unwrap(), None);
        }
        let said = by_policy(&WakeRun { by, said: true }, &running).unwrap().unwrap();
        assert!(matches!(said.events[..], [Event::RunStepped(_)]) && said.effects.is_empty());
        let mut over = waiting(Wait::Pause);
        (over.state, over.stop_reason) = (RunState::Ended, Some(StopReason::Drained));
        assert_eq!(by_policy(&WakeRun { by, said: true }, &over).unwrap(), None);
        // Delegated work is in the queue of delegations already.
        let mut delegated = waiting(Wait::Gate(gate()));
        delegated.delegation_id = Some(delegation());
        assert_eq!(
            by_policy(&WakeRun { by, said: true }, &delegated).unwrap().unwrap().effects,
            []
        );
    }
}

/// P-10: only an explicit resume ends an explicit pause; messages are not lost meanwhile.
#[test]
fn p_10_only_a_resume_ends_a_pause() {
    for by in WAKERS {
        let run = waiting(Wait::Pause);
        let decision = by_policy(&WakeRun { by, said: true }, &run).unwrap().unwrap();
        let after = folded(&run, &decision);
        let resumed = by == Trigger::Resumed;
        assert_eq!(after.state == RunState::Running, resumed, "{by:?}");
        assert_eq!(decision.effects.len(), usize::from(resumed));
        assert_eq!(after.counters.heard, 3);
        assert!(after.counters.has_news());
    }
}

/// S-19, S-31: a message that arrives during the model's last reply is shown first; that is not a
/// continuation, and does not count as one.
#[test]
fn a_message_during_the_last_reply_is_shown_first() {
    let mut case = Case::after(Trigger::Stopped(Finish::EndTurn));
    case.counters.heard = 1;
    for (enabled, work) in
        [(true, case.work.clone()), (false, case.work.clone()), (true, Work::default())]
    {
        let case = Case { enabled, work, ..case.clone() };
        let (verdict, counters) = case.decide();
        assert!(matches!(verdict, Verdict::Continue { prompted: false, .. }), "{verdict:?}");
        assert_eq!((counters.continuations, counters.fruitless), (0, 0));
    }
    let stops = |change: fn(&mut Case)| {
        let mut case = case.clone();
        change(&mut case);
        case.verdict()
    };
    assert_eq!(stops(|case| case.cancelled = true), Verdict::Stop(StopReason::Cancelled));
    assert_eq!(stops(|case| case.paused = true), Verdict::Wait(Wait::Pause));
    assert_eq!(stops(|case| case.gate = Some(gate())), Verdict::Wait(Wait::Gate(gate())));
    let cap = stops(|case| case.counters.iterations = 50);
    assert_eq!(cap, Verdict::Stop(StopReason::IterationCap));
    let failed = stops(|case| case.trigger = Trigger::Stopped(Finish::Error));
    assert_eq!(failed, Verdict::Stop(StopReason::Error));
}

/// A reply answers only the messages that existed when the model was called.
#[test]
fn a_reply_answers_the_messages_it_was_called_with() {
    let mut run = run(Budget::default());
    run.counters.heard = 3;
    for (heard, has_news) in [(Some(3), false), (Some(2), true), (None, false)] {
        let reply = RecordReply { spent: Spent::default(), calls: None, window: None, heard };
        let after = folded(&run, &by_policy(&reply, &run).unwrap());
        assert_eq!(after.counters.has_news(), has_news, "{heard:?}");
        for reason in StopReason::ALL {
            let mut ended = after.clone();
            (ended.state, ended.stop_reason) = (RunState::Ended, Some(*reason));
            let owes = has_news && *reason != StopReason::Cancelled;
            assert_eq!(ended.owes_an_answer(), owes, "{reason}");
        }
        assert!(!after.owes_an_answer(), "it is not over");
    }
}

/// S-21, S-27, F-2: a stop ends a run at once if no process executes it; otherwise that process
/// ends it.
#[test]
fn a_stop_ends_a_run() {
    let operator = Actor::new(Role::Operator, AgentPath::primary());
    let cells = [
        (RunState::Running, true, false),
        (RunState::Running, false, true),
        (RunState::Waiting, true, true),
        (RunState::Waiting, false, true),
    ];
    for (state, executed, ends) in cells {
        let mut run = waiting(Wait::Gate(gate()));
        run.state = state;
        let cancel = CancelRun { reason: "enough".to_owned(), executed };
        let after = folded(&run, &decided(&cancel, &run, &operator, Time::from_micros(0)).unwrap());
        assert_eq!(after.is_over(), ends, "{state:?} {executed}");
        assert_eq!(after.cancelled.as_deref(), Some("enough"));
        if ends {
            assert_eq!(after.stop_reason, Some(StopReason::Cancelled));
            assert_eq!(
                decided(&cancel, &after, &operator, Time::from_micros(0))
                    .unwrap_err()
                    .refusal
                    .code(),
                "run_over"
            );
        }
    }
    let run = run(Budget::default());
    let cancel = CancelRun { reason: "enough".to_owned(), executed: false };
    for (role, path, may) in [
        (Role::System, "driver", true),
        (Role::Root, "primary", true),
        (Role::Root, "other", false),
        (Role::Worker, "primary.subagents.w", false),
        (Role::Lead, "primary", false),
    ] {
        let actor = Actor::new(role, AgentPath::parse(path).unwrap());
        assert_eq!(
            decided(&cancel, &run, &actor, Time::from_micros(0)).is_ok(),
            may,
            "{role:?} {path}"
        );
    }
}
