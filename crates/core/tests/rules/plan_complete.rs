//! Completing a task, alone or with the open tasks below it.

use punchlist_core::command::HeartbeatTodo;
use punchlist_core::plan::Completion;
use punchlist_core::{Command, Refusal, Role, Time, TodoId};

use crate::plan_world::{complete, grown, id};

fn completed(commands: &[Command]) -> Vec<TodoId> {
    let completes = commands.iter().filter_map(|command| match command {
        Command::CompleteTodo(complete) => Some(complete.todo_id),
        _ => None,
    });
    completes.collect()
}

/// The order is that in which the commands can be decided: deepest first.
#[test]
fn children_are_completed_before_their_parents() {
    let mut world = grown("- [ ] a\n  - [ ] b\n    - [ ] c\n  - [ ] d\n- [ ] e\n");
    complete(&mut world, "d");
    let named = |title: &str| id(&world, title);
    let (outcome, lease) = (Some("done".to_owned()), None);
    let alone = Completion { todo_id: named("a"), outcome, lease, with_children: false };
    let commands = alone.commands(Role::Root, &world.state).unwrap();
    assert_eq!(completed(&commands), [named("a")]);
    let all = Completion { with_children: true, ..alone };
    let commands = all.commands(Role::Operator, &world.state).unwrap();
    assert_eq!(completed(&commands), [named("c"), named("b"), named("a")]);
    for command in commands {
        world.ok(Role::Operator, command);
    }
}

#[test]
fn only_the_operator_completes_a_task_with_its_children() {
    let world = grown("- [ ] a\n  - [ ] b\n");
    for role in Role::ALL {
        for with_children in [false, true] {
            let (todo_id, outcome, lease) = (id(&world, "a"), None, None);
            let completion = Completion { todo_id, outcome, lease, with_children };
            let commands = completion.commands(role, &world.state);
            if !with_children || role == Role::Operator {
                assert!(commands.is_ok(), "{role}");
            } else {
                let refused = matches!(commands, Err(Refusal::NotPermitted { .. }));
                assert!(refused, "{role}: {commands:?}");
            }
        }
    }
}

#[test]
fn the_lease_is_checked_before_anything_is_completed() {
    let world = grown("- [ ] a\n  - [ ] b\n");
    let todo_id = id(&world, "a");
    let lease = HeartbeatTodo { todo_id, epoch: 3, clock: Time::from_micros(5) };
    let (outcome, with_children) = (None, true);
    let completion = Completion { todo_id, outcome, lease: Some(lease.clone()), with_children };
    let commands = completion.commands(Role::Operator, &world.state).unwrap();
    assert_eq!(commands.first(), Some(&Command::from(lease)));
    assert_eq!(completed(&commands).len(), 2);
}
