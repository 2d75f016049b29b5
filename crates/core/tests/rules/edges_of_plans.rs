//! Edge cases of plans and of checklists as files, each found by a surviving mutant.

use punchlist_core::command::{CreateTodos, ImportPlan, NewTodo};
use punchlist_core::event::TodoDescribed;
use punchlist_core::issue::checklist::{self, LineFault};
use punchlist_core::plan::{Changes, Mark, Node, Tree, badge, parse};
use punchlist_core::text::Title;
use punchlist_core::{Event, Role, Time};

use crate::plan_world::{id, plan_world};
use crate::world::World;

fn import(world: &mut World, file: &str) -> Vec<Event> {
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

/// A plan whose title alone has changed has a changed root, and its tasks are unchanged.
#[test]
fn a_new_title_counts_as_a_change_of_the_root() {
    let mut world = plan_world();
    import(&mut world, "# P\n\n- [ ] one\n- [ ] two\n");
    let file = "# Q\n\n- [ ] one\n- [ ] two\n";
    let root = parse(file, "stem").unwrap().root;
    let events = import(&mut world, file);
    let types: Vec<&str> = events.iter().map(Event::type_name).collect();
    assert_eq!(types, ["todo_revised"]);
    let counted = Changes { added: 0, moved: 0, archived: 0, unchanged: 2 };
    assert_eq!(Changes::of(&root, &events), counted);
}

/// A task added by hand is found by its text when the file names it, whatever its white space.
#[test]
fn a_task_added_by_hand_is_found_whatever_its_white_space() {
    for text in ["one two", "one\ttwo", "one  two", "one\u{a0}two", "one \ttwo", "one\t two"] {
        let mut world = plan_world();
        import(&mut world, "# P\n");
        let parent_id = Some(id(&world, "P"));
        let item = NewTodo { parent_id, ..NewTodo::titled(Title::new(text).unwrap()) };
        world.ok(Role::Root, CreateTodos { items: vec![item] });
        assert_eq!(import(&mut world, "# P\n\n- [ ] one two\n"), [], "{text:?}");
    }
}

/// A box is a mark only if white space and a text follow it.
#[test]
fn a_box_without_a_space_after_it_is_text() {
    let tasks = |line: &str| -> Vec<(String, Mark)> {
        let root = parse(&format!("# P\n\n- [ ] one\n{line}\n"), "stem").unwrap().root;
        let said = |node: &Node| (node.content.as_str().to_owned(), node.mark);
        root.children.iter().map(said).collect()
    };
    let one = ("one".to_owned(), Mark::Open);
    assert_eq!(tasks("- [x] two"), [one.clone(), ("two".to_owned(), Mark::Done)]);
    assert_eq!(tasks("- [x]two"), [one], "no task");
}

/// A task is shown as deferred until its time comes, and no longer.
#[test]
fn a_badge_names_a_date_that_has_not_come() {
    let mut world = plan_world();
    import(&mut world, "# P\n\n- [ ] one\n");
    let (todo_id, now) = (id(&world, "one"), world.now);
    let mut shown = |until: Option<Time>| {
        world.state.todos.get_mut(&todo_id).unwrap().defer_until = until;
        badge(&Tree::of(&world.state), 1, now)
    };
    let later = now.plus_seconds(60);
    assert_eq!(shown(Some(later)), Some(format!("deferred until {later}")));
    assert_eq!(shown(Some(now)), None);
    assert_eq!(shown(Some(now.plus_seconds(-60))), None);
    assert_eq!(shown(None), None);
}

/// A fault in a later line of a note is reported for that line.
#[test]
fn a_note_over_lines_has_its_fault_where_it_is() {
    let file = "- [ ] a\n  - note: first\\\n    second\\\n- [ ] b\n";
    let what = "the note ends in `\\`, but no indented line follows; write `\\\\` for a backslash";
    let fault = LineFault { line: 3, what: what.to_owned() };
    assert_eq!(checklist::parse(file).unwrap_err(), [fault]);
}
