//! Edge cases of plan files, each found by a surviving mutant.

use punchlist_core::Role;
use punchlist_core::command::ImportPlan;
use punchlist_core::event::TodoDescribed;
use punchlist_core::plan::parse;

use crate::plan_world::{id, plan_world};
use crate::world::World;

fn import(world: &mut World, file: &str) -> Vec<punchlist_core::Event> {
    let root = parse(file, "stem").unwrap().root;
    let next_seq = world.state.todos.len() as i64 + 1;
    world.ok(Role::Root, ImportPlan { root, next_seq }).events
}

/// A task from the file loses its description with the file. A task added by hand, which the file
/// names later, gets the file's description but keeps its own if the file has none.
#[test]
fn a_description_follows_the_file_and_one_given_by_hand_is_kept() {
    let mut world = plan_world();
    import(&mut world, "# P\n\n- [ ] one\n\n  words beside it\n");
    let todo_id = id(&world, "one");
    let removed = TodoDescribed { todo_id, description: String::new() };
    assert_eq!(import(&mut world, "# P\n\n- [ ] one\n"), [removed.into()]);
    let by_hand = |world: &mut World| {
        let todo = world.state.todos.get_mut(&todo_id).unwrap();
        (todo.external_id, todo.description) = (None, "my own words".to_owned());
    };
    by_hand(&mut world);
    assert_eq!(import(&mut world, "# P\n\n- [ ] one\n"), [], "the file has no words");
    let written = TodoDescribed { todo_id, description: "of the file".to_owned() };
    assert_eq!(import(&mut world, "# P\n\n- [ ] one\n\n  of the file\n"), [written.into()]);
}
