//! An owner's recommendations: kept for the lead, who makes the change with the ordinary command.

use punchlist_core::command::{
    CancelTodo, Command, DemoteTodo, PromoteTodo, ReviseTodo, StartTodo,
};
use punchlist_core::deadline::Deadline;
use punchlist_core::todo::Priority;
use punchlist_core::{ListKind, Role, TodoId, Warning};

use crate::world::{World, actor};

fn revise(todo_id: TodoId, deadline: Option<&str>, priority: Option<Priority>) -> Command {
    let deadline = deadline.and_then(Deadline::parse);
    let (title, position, reason) = (None, None, Some("because".to_owned()));
    ReviseTodo { todo_id, title, priority, position, deadline, reason }.into()
}

fn extend(todo_id: TodoId) -> Command {
    revise(todo_id, Some("2026-12-01"), None)
}

fn reprioritize(todo_id: TodoId) -> Command {
    revise(todo_id, None, Some(Priority::High))
}

/// The recommendations on an item.
fn wishes(world: &World, id: TodoId) -> Vec<Command> {
    world.state.todos[&id].wishes.iter().map(|wish| Command::clone(&wish.command)).collect()
}

fn recommended(world: &mut World, command: &Command) -> bool {
    let decision = world.ok(Role::Owner, command.clone());
    decision.warnings.iter().any(|warning| matches!(warning, Warning::Recommended { .. }))
}

/// D-2, M-40: everything but cancelling is only recommended, changes nothing, and is removed when
/// done.
#[test]
fn a_recommendation_is_kept_until_it_is_done() {
    let mut world = World::new(ListKind::Pillar);
    let id = world.create(&["item"])[0];
    let reason = Some("because".to_owned());
    let start: Command = StartTodo { todo_id: id, reason: reason.clone() }.into();
    let demote: Command = DemoteTodo { todo_id: id, reason: reason.clone() }.into();
    let all = [start.clone(), extend(id), reprioritize(id), demote];
    for wish in &all {
        let before = world.state.todos[&id].clone();
        assert!(recommended(&mut world, wish));
        let mut after = world.state.todos[&id].clone();
        (after.wishes, after.updated_at) = (before.wishes.clone(), before.updated_at);
        assert_eq!(after, before, "nothing else changed");
    }
    assert_eq!(wishes(&world, id), all, "one does not push another out");
    // A repeated recommendation still counts once.
    assert!(recommended(&mut world, &extend(id)));
    assert_eq!(wishes(&world, id).len(), 4);
    world.ok(Role::Lead, reprioritize(id));
    assert!(wishes(&world, id).contains(&extend(id)), "another change grants it not");
    world.ok(Role::Lead, extend(id));
    world.ok(Role::Lead, start);
    assert_eq!(wishes(&world, id).len(), 1, "to demote it");
    world.ok(Role::Owner, CancelTodo { todo_id: id, outcome: reason });
    assert_eq!(wishes(&world, id), [], "what is settled has no wishes");
}

/// D-2: if the mission allows it, owners move items between tiers and reorder them directly. Only
/// the lead starts and extends.
#[test]
fn an_owner_rebalances_its_own_pillar_if_allowed() {
    let mut world = World::new(ListKind::Pillar);
    let id = world.create(&["item"])[0];
    world.state.terms.owner_may_rebalance = true;
    let reason = || Some("because".to_owned());
    for (command, outright) in [
        (DemoteTodo { todo_id: id, reason: reason() }.into(), true),
        (PromoteTodo { todo_id: id, reason: reason() }.into(), true),
        (reprioritize(id), true),
        (extend(id), false),
        (revise(id, Some("2026-12-01"), Some(Priority::Low)), false),
        (StartTodo { todo_id: id, reason: reason() }.into(), false),
    ] {
        assert_eq!(recommended(&mut world, &command), !outright, "{command:?}");
    }
    assert_eq!(world.state.todos[&id].priority, Priority::High);
    assert_eq!(world.state.todos[&id].deadline, None);
    // Only in its own pillar.
    let mut elsewhere = actor(Role::Owner);
    elsewhere.pillar = Some("another".into());
    assert!(world.run(&elsewhere, reprioritize(id)).is_err());
}
