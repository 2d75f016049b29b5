//! The driver's verdict, and failing tools.

use punchlist_core::command::{HoldTodo, StartTodo};
use punchlist_core::driver::{self, Budget, Finish, StopReason, Trigger, Verdict, Ways, Work};
use punchlist_core::follow::Then;
use punchlist_core::follow::run as follow;
use punchlist_core::run::RunState;
use punchlist_core::text::Body;
use punchlist_core::todo::HoldKind;
use punchlist_core::{DelegationId, Ids, ListKind, Role, Scope, Status, Time};

use crate::driver::case::{list, run, with};
use crate::world::World;

/// Q-T1: the next item is started, in lists with one item in progress at a time, if none is.
#[test]
fn the_driver_starts_the_next_item() {
    let now = Time::from_micros(9);
    let turn = list(&["a", "b"]);
    let first = *turn.todos.keys().next().unwrap();
    let start = Some(StartTodo { todo_id: first, reason: None });
    let mut begun = turn.clone();
    with(&mut begun, 1, |todo| todo.status = Status::InProgress);
    let mut plan = World::new(ListKind::Plan);
    let task = plan.create(&["a"])[0];
    for (list, id, expected) in [(&turn, first, start), (&plan.state, task, None)] {
        let work = Work::of([list], now);
        let handed = follow::hand_out(&work, std::slice::from_ref(list), id);
        assert_eq!(handed, expected);
    }
    let work = Work::of([&turn], now);
    assert_eq!(follow::hand_out(&work, &[begun], first), None, "one is under way");
    let other = *turn.todos.keys().last().unwrap();
    assert_eq!(follow::hand_out(&work, &[turn], other), None, "it is not the next");
}

#[test]
fn the_driver_says_how_to_continue_or_what_is_left() {
    let (lists, run, ways) = ([list(&["a"])], run(Budget::default()), Ways::default());
    let work = Work::of(&lists, Time::from_micros(9));
    let stopped = Trigger::Stopped(Finish::EndTurn);
    let on = |prompted| Verdict::Continue { todo: None, prompted };
    let asked = driver::continuation(&work, None, ways);
    let left = driver::incomplete(&lists, StopReason::Error, (0, 10));
    for (verdict, trigger, expected) in [
        (on(true), stopped, Some(asked)),
        (on(false), stopped, Some(driver::UNHEARD.to_owned())),
        (on(false), Trigger::Tick, Some(driver::UNHEARD.to_owned())),
        (on(false), Trigger::ToolsDone, None),
        (Verdict::Wait(driver::Wait::Pause), stopped, None),
        (Verdict::Stop(StopReason::Error), stopped, left),
    ] {
        let said = follow::words((&verdict, trigger), &run, (&work, &lists), ways);
        assert_eq!(said, expected, "{verdict:?} {trigger:?}");
    }
}

/// Unseen messages are answered by the next run of the chat, unless the run was delegated work.
#[test]
fn unseen_messages_are_answered_by_the_next_run() {
    let mut ended = run(Budget::default());
    assert_eq!(follow::unanswered(&ended), None);
    (ended.state, ended.stop_reason) = (RunState::Ended, Some(StopReason::Error));
    ended.counters.heard = 1;
    assert_eq!(follow::unanswered(&ended), Some(Then::CallUpon(ended.conversation_id)));
    ended.delegation_id = Some(DelegationId::from(Ids::new(Time::from_micros(0), 1).ulid()));
    assert_eq!(follow::unanswered(&ended), None);
}

#[test]
fn a_run_has_its_turn_then_its_plan() {
    let mut run = run(Budget::default());
    let (conversation_id, turn_id) = (run.conversation_id.to_string(), run.turn_id.clone());
    let turn = Scope::Turn { conversation_id, turn_id };
    let plan = Scope::Plan { branch: "main".to_owned(), plan_file: "p.md".to_owned() };
    assert_eq!(follow::scopes(&run, None), vec![turn.clone()]);
    run.plan = Some(plan.clone());
    assert_eq!(follow::scopes(&run, None), vec![turn, plan]);
    run.role = Role::Worker;
    assert_eq!(follow::scopes(&run, None), vec![], "T-21");
    run.role = Role::Root;
    assert_eq!(follow::owned_pillar(&run), None);
    (run.mission, run.pillar) = (Some("m".to_owned()), Some("p".to_owned()));
    assert_eq!(follow::owned_pillar(&run), None, "root owns no pillar");
    run.role = Role::Owner;
    assert_eq!(follow::owned_pillar(&run), Some(("m", "p")));
}

/// S-25: the reason is the error on one line, cut, and the model is asked to continue.
#[test]
fn an_item_whose_tools_fail_is_held() {
    let lists = list(&["a"]);
    let item = lists.todos.values().next().unwrap();
    let reason = Body::new(&format!("its tools failed: no key {}", "x".repeat(293))).unwrap();
    let hold = HoldTodo { todo_id: item.id, kind: HoldKind::Failed, reason, until: None };
    let told = format!("“a” is held as failed: no key {}. Go on with the others.", "x".repeat(293));
    let error = format!("no\n  key {}", "x".repeat(400));
    assert_eq!(follow::tools_failed(item, &error), Some((hold, told)));
}
