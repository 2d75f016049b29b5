//! `punch plan tree`: the tree for people, narrow or wide, and updated while others work.

use std::io::{BufReader, Read, Write};

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::running::Running;
use crate::support::Place;

const FILE: &str = "plan.md";

fn import(place: &Place, markdown: &str) -> Value {
    let input = json!({ "planFile": FILE, "markdown": markdown });
    place.call("plan_import", &input).answer()
}

/// O-24, O-26: marks, numbers, agents, states and the position, at the available width.
#[test]
fn the_tree_fits_into_narrow_and_wide_terminals() {
    let place = Place::sqlite();
    let text = "# Implement authentication\n- [x] Brainstorm\n\
                - [ ] 漢字漢字漢字漢字 and more words than fit here\n  - [ ] Deep\n";
    let made = import(&place, text);
    let task = made["tasks"][0]["children"][1]["id"].clone();
    place.call("agent_register", &json!({ "agent": "backend" })).answer();
    place.call("task_assign", &json!({ "taskId": task, "agent": "backend" })).answer();
    let tree = place.punch(["plan", "tree", FILE]);
    assert_eq!(
        tree.env("COLUMNS", "100").said(),
        "[ ] t1 Implement authentication (pending)\n    [x] t2 Brainstorm (completed)\n    \
         [/] t3 漢字漢字漢字漢字 and more words than fit here (@backend, active)\n        \
         [ ] t4 Deep (pending)  <-- current\n"
    );
    let narrow = place.punch(["plan", "tree", FILE]).env("COLUMNS", "44").said();
    assert_eq!(
        narrow,
        "[ ] t1 Implement authentication (pending)\n  [x] t2 Brainstorm (completed)\n  \
         [/] t3 漢字漢字漢字漢字 and more words\n         than fit here (@backend, active)\n    \
         [ ] t4 Deep (pending)  <-- current\n"
    );
    // Colours on a terminal, unless they are switched off.
    let tree = place.punch(["plan", "tree", FILE]).env("TERM", "xterm");
    assert!(tree.on_terminal().stdout.contains("\u{1b}[36m[/]\u{1b}[0m"));
    for plain in [tree.clone().env("NO_COLOR", "1"), tree.words(["--no-color"])] {
        assert!(!plain.on_terminal().stdout.contains('\u{1b}'));
    }
}

/// The operator completes a task with everything below it; an agent is refused, with exit 4.
#[test]
fn only_the_operator_may_use_complete_with_children() {
    let place = Place::sqlite();
    import(&place, "# Plan\n- [ ] a\n  - [ ] b\n    - [ ] c\n- [ ] d\n");
    let tree = || place.punch(["plan", "tree", FILE]).said();
    let before = tree();
    let complete = ["plan", "complete", "t2", "--with-children", "--json"];
    let agent = place.punch(complete).env("AI_AGENT", "1");
    assert_eq!(agent.refusal(4)["code"], "not_permitted");
    assert_eq!(tree(), before);
    let done = place.punch(complete).on_terminal();
    assert_eq!(done.exit, Some(0), "{done:?}");
    let after = tree();
    for line in ["[x] t2 a (completed)", "[x] t3 b (completed)", "[x] t4 c (completed)"] {
        assert!(after.contains(line), "{after}");
    }
    assert!(after.contains("[ ] t5 d (pending)  <-- current"), "{after}");
}

/// O-22, P-23: changes to a plan are shown as they happen.
fn a_tree_is_followed(backend: Backend) {
    let place = Place::new(backend);
    let made = import(&place, "# Plan\n- [ ] a\n- [ ] b\n");
    let id = |n: usize| made["tasks"][0]["children"][n]["id"].clone();
    let watch = Running::start(&place.punch(["plan", "tree", FILE, "--watch"]));
    let drawing = |lines: [&str; 3]| {
        for expected in lines {
            assert_eq!(watch.line().expect("a line, not the end").1, expected);
        }
    };
    drawing([
        "[ ] t1 Plan (pending)",
        "    [ ] t2 a (pending)  <-- current",
        "    [ ] t3 b (pending)",
    ]);
    // A change elsewhere draws nothing; the next line is about the next change of the plan.
    place.create("elsewhere");
    place.call("agent_register", &json!({ "agent": "backend" })).answer();
    place.call("task_assign", &json!({ "taskId": id(1), "agent": "backend" })).answer();
    assert_eq!(watch.line().unwrap().1, "");
    drawing([
        "[ ] t1 Plan (pending)",
        "    [ ] t2 a (pending)",
        "    [/] t3 b (@backend, active)  <-- current",
    ]);
    place.call("agent_register", &json!({ "agent": "backend" })).answer();
    place.call("agent_status", &json!({ "agent": "backend", "status": "failed" })).answer();
    assert_eq!(watch.line().unwrap().1, "");
    let failed = "    [!] t3 b (@backend, failed, needs reassignment)  <-- current";
    drawing(["[ ] t1 Plan (pending)", "    [ ] t2 a (pending)", failed]);
    assert_eq!(watch.interrupt(), Some(0));
}

/// On a terminal it uses the alternate screen, and restores the terminal on Ctrl-C.
#[test]
fn a_watched_tree_gives_the_terminal_back() {
    let place = Place::sqlite();
    import(&place, "# Plan\n- [ ] a\n");
    let watch = place.punch(["plan", "tree", FILE, "--watch", "--no-color"]);
    let mut child = watch.spawn_on_terminal();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut seen = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&seen).contains("<-- current") {
        assert_eq!(out.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&seen));
        seen.push(byte[0]);
    }
    child.stdin.take().unwrap().write_all(b"\x03").unwrap();
    out.read_to_end(&mut seen).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let seen = String::from_utf8(seen).unwrap();
    let (drawn, left) = seen.split_once("\u{1b}[?25h\u{1b}[?1049l").unwrap();
    assert!(drawn.contains("\u{1b}[?1049h\u{1b}[?25l"), "{seen:?}");
    assert!(left.contains("[ ] t2 a (pending)  <-- current"), "{seen:?}");
}

on_every_lasting_store!(a_tree_is_followed);
