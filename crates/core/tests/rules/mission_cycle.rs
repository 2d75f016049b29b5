//! When the cycles of a mission run: once if due, however late, and not while it is paused.

use punchlist_core::mission::{Cadence, RunCycle, SetStanding, Standing, apply_mission};
use punchlist_core::{Actor, Mission, Refusal, Role, Time};

use crate::mission_init::{mission, now};
use crate::world::{actor, decided};

fn at(text: &str) -> Time {
    Time::parse(text).unwrap()
}

/// Mondays at nine in Berlin, due on the sixteenth.
fn weekly() -> Mission {
    let cadence = Cadence { cron: "0 9 * * 1".into(), timezone: "Europe/Berlin".into() };
    let next_cycle_at = Some(at("2026-11-16T08:00:00Z"));
    Mission { cadence: Some(cadence), next_cycle_at, ..mission() }
}

/// Runs a cycle if it is due; returns whether it ran.
fn tick(mission: &mut Mission, now: Time) -> bool {
    let cycle = decided(&RunCycle { if_due: true }, mission, &actor(Role::System), now).unwrap();
    let Some(decision) = cycle else { return false };
    let mut state = Some(mission.clone());
    assert!(apply_mission(&mut state, &decision.events[0], now));
    *mission = state.unwrap();
    true
}

/// M-71, F-4: a due cycle runs once, and the next time is set; missed cycles run once together.
#[test]
fn a_due_cycle_runs_once_and_sets_the_next_time() {
    let mut mission = weekly();
    assert!(!tick(&mut mission, at("2026-11-16T07:59:59Z")), "not yet");
    let due = at("2026-11-16T08:00:00Z");
    assert!(tick(&mut mission, due));
    assert_eq!(mission.last_cycle_at, Some(due));
    assert_eq!(mission.next_cycle_at, Some(at("2026-11-23T08:00:00Z")));
    assert!(!tick(&mut mission, due), "the second caller finds it done");
    // No check for five weeks: one cycle runs, and the next is in the future.
    let late = at("2026-12-23T12:00:00Z");
    assert!(tick(&mut mission, late));
    assert_eq!(mission.next_cycle_at, Some(at("2026-12-28T08:00:00Z")));
    assert!(!tick(&mut mission, late));
}

/// M-72: a paused or archived mission runs no cycle, not even on request.
#[test]
fn a_paused_mission_runs_no_cycle() {
    for status in [Standing::Paused, Standing::Archived] {
        let mission = Mission { status, ..weekly() };
        for if_due in [true, false] {
            let late = at("2027-01-01T00:00:00Z");
            let cycle = decided(&RunCycle { if_due }, &mission, &actor(Role::Operator), late);
            assert_eq!(cycle, Ok(None), "{status:?}");
        }
    }
    // After a resume the next cycle is in the future; the missed ones are skipped.
    let operator = actor(Role::Operator);
    let set = |mission: &Mission, status, now| {
        let command = SetStanding { pillar: None, status };
        let decision = decided(&command, mission, &operator, now).unwrap();
        let mut state = Some(mission.clone());
        assert!(apply_mission(&mut state, &decision.events[0], now));
        state.unwrap()
    };
    let paused = set(&weekly(), Standing::Paused, now());
    assert_eq!(paused.next_cycle_at, None);
    let resumed = set(&paused, Standing::Active, at("2026-12-23T12:00:00Z"));
    assert_eq!(resumed.next_cycle_at, Some(at("2026-12-28T08:00:00Z")));
    let archived = Mission { status: Standing::Archived, ..weekly() };
    let resume = SetStanding { pillar: None, status: Standing::Active };
    let refused = decided(&resume, &archived, &operator, now()).unwrap_err().refusal;
    assert!(matches!(refused, Refusal::MissionArchived { .. }));
}

/// On request a cycle runs early, or without a cadence; the next due time does not change.
#[test]
fn a_cycle_may_be_run_by_hand() {
    let early = now();
    let cycle = decided(&RunCycle { if_due: false }, &weekly(), &actor(Role::Operator), early);
    let mut state = Some(weekly());
    apply_mission(&mut state, &cycle.unwrap().unwrap().events[0], early);
    assert_eq!(state.unwrap().next_cycle_at, Some(at("2026-11-16T08:00:00Z")));
    let bare = decided(&RunCycle { if_due: false }, &mission(), &actor(Role::Operator), early);
    assert!(bare.unwrap().is_some());
    assert_eq!(
        decided(&RunCycle { if_due: true }, &mission(), &actor(Role::System), early),
        Ok(None)
    );
}

/// Only the operator and the mission's lead run a cycle or pause a mission; the scheduler may run a
/// cycle, too.
#[test]
fn others_do_not_run_a_mission() {
    let elsewhere = Actor { mission: Some("another".into()), ..actor(Role::Lead) };
    let everybody = Role::ALL.map(actor).into_iter().chain([elsewhere]);
    for actor in everybody {
        let own = actor.mission.as_deref() == Some("outer");
        let leads = actor.role == Role::Operator || (actor.role == Role::Lead && own);
        let cycle = decided(&RunCycle { if_due: false }, &weekly(), &actor, now());
        assert_eq!(cycle.is_ok(), leads || actor.role == Role::System, "{actor:?}");
        let rest = SetStanding { pillar: None, status: Standing::Paused };
        assert_eq!(decided(&rest, &weekly(), &actor, now()).is_ok(), leads, "{actor:?}");
    }
}
