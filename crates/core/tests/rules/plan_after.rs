//! Tasks that wait for others: in the file, by hand, and never in a circle.

use std::collections::BTreeSet;

use proptest::prelude::*;
use punchlist_core::command::{ChainTodo, ImportPlan, TakeTodo};
use punchlist_core::plan::{self, Form, Tree, named_after, position, render, waiting};
use punchlist_core::{Agents, ListKind, Refusal, Role, TodoId};

use crate::plan_world::{complete, id, plan_world};
use crate::world::{World, actor};

fn imported(file: &str) -> World {
    let mut world = plan_world();
    let root = plan::parse(file, "stem").unwrap().root;
    world.ok(Role::Root, ImportPlan { root, next_seq: 1 });
    world
}

fn here(world: &World) -> Option<String> {
    let tree = Tree::of(&world.state);
    position(&tree, world.now).current.map(|at| tree.branches()[at].todo.title.clone())
}

fn chain(world: &mut World, task: &str, after: &[&str]) -> Result<(), Refusal> {
    let (todo_id, after) = (id(world, task), after.iter().map(|text| id(world, text)).collect());
    let decided = world.run(&actor(Role::Root), ChainTodo { todo_id, after });
    decided.map(|_| ()).map_err(|refused| refused.refusal)
}

fn take(world: &mut World, task: &str) -> Result<(), Refusal> {
    let (todo_id, clock) = (id(world, task), world.now);
    let decided = world.run(&actor(Role::Root), TakeTodo { todo_id, lease_s: 60, clock });
    decided.map(|_| ()).map_err(|refused| refused.refusal)
}

#[test]
fn a_line_of_the_file_names_what_comes_first() {
    for (description, texts) in [
        ("after: \"a b\"", &["a b"][..]),
        ("words\n- After:  \"a\" , \"b  c\"\n", &["a", "b c"]),
        ("after: \"a\"\nafter: \"b\"", &["a", "b"]),
        ("after: a", &[]),
        ("after: \"a\" or \"b\"", &[]),
        ("thereafter: \"a\"", &[]),
        ("```\nafter: \"a\"\n```\n<!--\nafter: \"b\"\n-->", &[]),
        ("<!--\nold\nafter: \"a\"\n-->\nafter: \"b\"", &["b"]),
        ("```\nold\nafter: \"a\"\n```\nafter: \"b\"", &["b"]),
    ] {
        assert_eq!(named_after(description), texts, "{description}");
    }
}

/// D-12: what waits is passed over, with everything below it, until what it waits for is settled.
#[test]
fn a_task_that_waits_is_not_current_and_cannot_be_taken() {
    let mut world = imported(
        "# T\n- [ ] ship\n  after: \"test\"\n  - [ ] pack\n- [ ] build\n- [ ] test\n  after: \"build\"\n",
    );
    assert_eq!(here(&world).as_deref(), Some("build"));
    let refused = take(&mut world, "pack").unwrap_err();
    assert_eq!(refused.code(), "waiting");
    let test = world.state.todos[&id(&world, "test")].seq.unwrap();
    assert_eq!(refused.to_string(), format!("`pack` waits for t{test} test"));
    let tree = render(&world.state, &Agents::default(), Form::Tree, None, world.now).text;
    assert!(tree.contains(&format!("[ ] ship (waits for t{test})\n")), "{tree}");
    assert!(!tree.contains("pack (waits"), "{tree}");
    complete(&mut world, "build");
    assert_eq!(here(&world).as_deref(), Some("test"));
    complete(&mut world, "test");
    assert_eq!(here(&world).as_deref(), Some("pack"));
    take(&mut world, "pack").unwrap();
    let tree = render(&world.state, &Agents::default(), Form::Tree, None, world.now).text;
    assert!(!tree.contains("waits"), "{tree}");
}

/// Where nothing can be worked on, the first open task is current and says what it waits for.
#[test]
fn the_current_task_says_what_it_waits_for() {
    let mut world = imported("# T\n- [ ] a\n  after: \"b\"\n- [ ] b\n");
    let b = world.state.todos[&id(&world, "b")].seq.unwrap();
    let hold = punchlist_core::command::HoldTodo {
        todo_id: id(&world, "b"),
        kind: punchlist_core::todo::HoldKind::Blocked,
        reason: punchlist_core::text::Body::new("no key").unwrap(),
        until: None,
    };
    world.ok(Role::Root, hold);
    let line = render(&world.state, &Agents::default(), Form::Line, None, world.now).text;
    assert!(line.contains("current: a") && line.ends_with(&format!("(waits for t{b})")), "{line}");
}

#[test]
fn a_file_whose_tasks_wait_for_no_task_or_for_themselves_is_refused_with_the_line() {
    for (file, said) in [
        ("# T\n- [ ] a\n  after: \"z\"\n", "line 2: the task comes after `z`, which is not a task"),
        (
            "# T\n- [ ] a\n  - [ ] x\n- [ ] b\n  - [ ] x\n- [ ] c\n  after: \"x\"\n",
            "line 6: several tasks say `x`: lines 3, 5",
        ),
        ("# T\n- [ ] a\n  after: \"b\"\n- [ ] b\n  after: \"a\"\n", "waits for itself: `"),
        ("# T\n- [ ] a\n  - [ ] b\n    after: \"a\"\n", "waits for itself: `"),
        ("# T\n- [ ] a\n  after: \"b\"\n  - [ ] b\n", "waits for itself: `"),
        ("# T\n- [ ] a\n  after: \"a\"\n", "waits for itself: `a` after `a`"),
    ] {
        let fault = plan::parse(file, "t").unwrap_err().to_string();
        assert!(fault.contains(said), "{file}: {fault}");
    }
}

#[test]
fn a_circle_made_by_hand_is_refused_and_named() {
    let mut world = imported("# T\n- [ ] a\n  - [ ] a1\n- [ ] b\n- [ ] c\n");
    chain(&mut world, "b", &["a"]).unwrap();
    chain(&mut world, "c", &["b"]).unwrap();
    for (task, after) in
        [("a", "c"), ("a1", "c"), ("a1", "b"), ("a", "a"), ("a", "a1"), ("a1", "a")]
    {
        let refused = chain(&mut world, task, &[after]).unwrap_err();
        assert_eq!(refused.code(), "dependency_cycle", "{task} after {after}");
        assert!(refused.to_string().contains(" after `t"), "{refused}");
    }
    chain(&mut world, "c", &[]).unwrap();
    chain(&mut world, "a", &["c"]).unwrap();
    let elsewhere = TodoId::parse("01JCQ0000000000000000000AB").unwrap();
    let command = ChainTodo { todo_id: id(&world, "a"), after: vec![elsewhere] };
    assert_eq!(world.refused(Role::Root, command.clone()).code(), "unknown_todo");
    assert_eq!(world.refused(Role::Worker, command).code(), "not_permitted");
    let mut issue = World::new(ListKind::Issue);
    let ids = issue.create(&["a", "b"]);
    let command = ChainTodo { todo_id: ids[0], after: vec![ids[1]] };
    assert_eq!(issue.refused(Role::Operator, command).code(), "not_permitted");
}

/// O-20: the same file changes nothing; a line taken out lets the task go; what was set by hand stays.
#[test]
fn an_import_sets_what_the_file_says_and_keeps_what_was_set_by_hand() {
    let file = "# T\n- [ ] a\n- [ ] b\n  after: \"a\"\n- [ ] c\n";
    let mut world = imported(file);
    chain(&mut world, "c", &["b"]).unwrap();
    let import = |world: &mut World, file: &str| {
        let root = plan::parse(file, "t").unwrap().root;
        world.ok(Role::Root, ImportPlan { root, next_seq: 100 }).events.len()
    };
    assert_eq!(import(&mut world, file), 0);
    let after = |world: &World, text: &str| world.state.todos[&id(world, text)].after.len();
    assert_eq!((after(&world, "b"), after(&world, "c")), (1, 1));
    assert!(import(&mut world, &file.replace("  after: \"a\"\n", "")) > 0);
    assert_eq!((after(&world, "b"), after(&world, "c")), (0, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is made to wait for whatever, some open task can always be worked on, and working on
    /// what is current settles the whole plan.
    #[test]
    fn a_plan_can_always_be_finished(wishes in prop::collection::vec((0..9usize, 0..9usize), 0..30)) {
        let names = ["a", "a1", "a2", "b", "b1", "b2", "c", "c1", "d"];
        let mut world = imported(
            "# T\n- [ ] a\n  - [ ] a1\n  - [ ] a2\n- [ ] b\n  - [ ] b1\n    - [ ] b2\n- [ ] c\n  - [ ] c1\n- [ ] d\n",
        );
        for (task, after) in wishes {
            let mut all: BTreeSet<TodoId> =
                world.state.todos[&id(&world, names[task])].after.iter().copied().collect();
            all.insert(id(&world, names[after]));
            let (todo_id, after) = (id(&world, names[task]), all.into_iter().collect());
            let before = world.state.clone();
            if world.run(&actor(Role::Root), ChainTodo { todo_id, after }).is_err() {
                prop_assert_eq!(&before, &world.state);
            }
        }
        for _ in 0..10 {
            let current = here(&world).unwrap();
            prop_assert!(!waiting(&world.state).contains(&id(&world, &current)), "{}", current);
            complete(&mut world, &current);
        }
        prop_assert_eq!(here(&world), None);
    }
}
