//! Rules on which the five designs differ, checked on lists of every kind: holds, and the text that
//! a completion needs.

use punchlist_core::command::{CompleteTodo, HoldTodo, StartTodo, UnholdTodo};
use punchlist_core::text::Body;
use punchlist_core::todo::HoldKind;
use punchlist_core::{ListKind, Refusal, Role, Status};

use crate::world::World;

/// a hold is a fact beside the status. The item stays open on a list of any kind, but nobody
/// can work on it until the hold is lifted.
#[test]
fn a_held_item_is_open_but_not_actionable_on_every_list() {
    for kind in ListKind::ALL {
        for hold in HoldKind::ALL {
            let mut world = World::new(kind);
            let todo_id = world.create(&["a"])[0];
            let reason = Body::new("waits for the key").unwrap();
            let held = HoldTodo { todo_id, kind: hold, reason, until: None };
            world.ok(Role::Operator, held);
            let todo = &world.state.todos[&todo_id];
            assert!(!todo.status.is_settled() && !todo.is_actionable(world.now), "{kind} {hold:?}");
            world.ok(Role::Operator, UnholdTodo { todo_id });
            assert!(world.state.todos[&todo_id].is_actionable(world.now), "{kind} {hold:?}");
        }
    }
}

/// turns and missions require an outcome; the other lists keep one if it is given.
#[test]
fn only_turns_and_missions_require_an_outcome() {
    for kind in ListKind::ALL {
        let mut world = World::new(kind);
        let todo_id = world.create(&["a"])[0];
        if kind == ListKind::Pillar {
            world.ok(Role::Operator, StartTodo { todo_id, reason: None });
        }
        let complete = |outcome: Option<&str>| {
            let outcome = outcome.map(str::to_owned);
            CompleteTodo { todo_id, outcome, evidence: vec![], metrics_impacted: vec![] }
        };
        if matches!(kind, ListKind::Turn | ListKind::Pillar) {
            for missing in [None, Some(" ")] {
                let refusal = world.refused(Role::Operator, complete(missing));
                assert_eq!(refusal, Refusal::OutcomeRequired, "{kind}");
            }
            world.ok(Role::Operator, complete(Some("20 s faster")));
        } else {
            world.ok(Role::Operator, complete(None));
        }
        let todo = &world.state.todos[&todo_id];
        let outcome = matches!(kind, ListKind::Turn | ListKind::Pillar).then_some("20 s faster");
        assert_eq!((todo.status, todo.outcome.as_deref()), (Status::Completed, outcome), "{kind}");
    }
}
