//! Ticks written back into the file: only boxes change, and only where the file still is the plan.

use proptest::prelude::*;
use punchlist_core::command::ImportPlan;
use punchlist_core::plan::{Mark, Node, Ticks, open_below, parse, to_sync};
use punchlist_core::{Refusal, Role};

use crate::plan_world::{cancel, complete, id, plan_world};
use crate::world::World;

fn imported(file: &str) -> World {
    let mut world = plan_world();
    let root = parse(file, "stem").unwrap().root;
    world.ok(Role::Root, ImportPlan { root, next_seq: 1 });
    world
}

fn sync(world: &World, file: &str) -> Result<Ticks, Refusal> {
    to_sync(file, &parse(file, "stem").unwrap().root, &world.state)
}

/// The file with the ticks written into it.
fn written(world: &World, file: &str) -> String {
    let ticks = sync(world, file).unwrap().ticks;
    let mut lines: Vec<String> = file.split('\n').map(str::to_owned).collect();
    for tick in ticks {
        let line = &mut lines[tick.line - 1];
        assert!(line.contains(&tick.before), "{tick:?}");
        *line = line.replace(&tick.before, &tick.after);
    }
    lines.join("\n")
}

#[test]
fn every_kind_of_box_is_ticked_and_nothing_else_changes() {
    let file = concat!(
        "\u{feff}# T\r\n## [ ] Phase 1\r\n - [/] a  \r\n\t1) [] b [ ] c\r\n",
        "* [!] d\r\n[ ] e\r\n3. f [ ]\r\n- [-] g\r\n"
    );
    let mut world = imported(file);
    for task in ["b [ ] c", "a", "d", "e", "f [ ]", "Phase 1"] {
        complete(&mut world, task);
    }
    let expected = concat!(
        "\u{feff}# T\r\n## [x] Phase 1\r\n - [x] a  \r\n\t1) [x] b [ ] c\r\n",
        "* [x] d\r\n[x] e\r\n3. f [ ]\r\n- [-] g\r\n"
    );
    assert_eq!(written(&world, file), expected);
    assert_eq!(sync(&world, file).unwrap().without_box, [7]);
    assert_eq!(sync(&world, expected).unwrap().ticks, []);
}

#[test]
fn a_file_that_no_longer_is_the_plan_is_refused() {
    let file = "# T\n- [ ] a\n- [ ] b\n";
    let mut world = imported(file);
    complete(&mut world, "a");
    cancel(&mut world, "b");
    assert_eq!(
        written(&world, file),
        "# T\n- [x] a\n- [ ] b\n",
        "what was cancelled is not ticked"
    );
    let other = sync(&world, "# T\n- [ ] a\n- [ ] c\n").unwrap_err();
    let (new, missing) = (vec!["c".to_owned()], vec!["b".to_owned()]);
    assert_eq!(other, Refusal::PlanChanged { new, missing });
    // What only moved is found again.
    assert_eq!(written(&world, "# T\n- [ ] b\n  - [ ] a\n"), "# T\n- [ ] b\n  - [x] a\n");
    // A tick that was not imported yet stays.
    assert_eq!(written(&world, "# T\n- [ ] a\n- [x] b\n"), "# T\n- [x] a\n- [x] b\n");
}

fn texts(node: &Node, into: &mut Vec<(String, Mark)>) {
    into.push((node.content.to_string(), node.mark));
    node.children.iter().for_each(|child| texts(child, into));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever was completed, the written file has the same tasks, and exactly those are ticked.
    #[test]
    fn the_written_file_is_the_same_plan(levels in prop::collection::vec(0..4usize, 1..12), done: u16) {
        let mut file = "# T\n".to_owned();
        let mut depth = 0;
        for (at, level) in levels.iter().enumerate() {
            depth = if at == 0 { 0 } else { (*level).min(depth + 1) };
            file.push_str(&format!("{}- [ ] item {at} [ ]\n  words [ ]\n", "  ".repeat(depth)));
        }
        let mut world = imported(&file);
        for at in (0..levels.len()).rev() {
            let title = format!("item {at} [ ]");
            let is_free = open_below(&world.state, id(&world, &title)).is_empty();
            if done & (1 << at) != 0 && is_free {
                complete(&mut world, &title);
            }
        }
        let after = written(&world, &file);
        prop_assert_eq!(after.len(), file.len());
        let mut found = Vec::new();
        texts(&parse(&after, "stem").unwrap().root, &mut found);
        for (text, mark) in found.into_iter().skip(1) {
            let todo = &world.state.todos[&id(&world, &text)];
            prop_assert_eq!(mark == Mark::Done, todo.status.is_settled(), "{}", text);
        }
        prop_assert_eq!(sync(&world, &after).unwrap().ticks, vec![]);
    }
}
