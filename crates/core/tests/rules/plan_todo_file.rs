//! The backlog in a file: its lines, the line a plan comes from, and ticking it.

use punchlist_core::Refusal;
use punchlist_core::authority::{Action, may_ever};
use punchlist_core::command::{CreateTodos, ImportPlan};
use punchlist_core::plan::{
    Origin, TodoLineFault, opening, parse, pick, plan_file_for, to_tick, todo_lines,
};
use punchlist_core::text::Content;
use punchlist_core::{Event, ListKind, Role};

use crate::plan_world::{PLAN_FILE, plan_world};

const BACKLOG: &str = "\u{feff}# Backlog\r\n- [ ] Add authentication\r\n* [x] Set up CI\r\n\
                       \x20 1. [ ] Nested one\r\n\
                       - no box\r\n- [ ]\r\n- [?] odd\r\n```\r\n- [ ] in code\r\n```\r\n\
                       - [ ] Write docs\r\n- [ ] Write docs";

fn fault(result: Result<impl std::fmt::Debug, Refusal>) -> TodoLineFault {
    match result {
        Err(Refusal::BadTodoLine { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

fn origin(line: &str) -> Origin {
    Origin { file: "TODO.md".to_owned(), line: line.to_owned() }
}

/// O-1: items are lines with a checkbox; lines in code and lines without a checkbox are not items.
#[test]
fn the_lines_of_a_backlog_are_its_checkboxes() {
    let lines: Vec<(usize, &str, bool)> = todo_lines(BACKLOG)
        .iter()
        .map(|line| (line.number, line.content, line.is_ticked))
        .collect();
    assert_eq!(
        lines,
        [
            (2, "Add authentication", false),
            (3, "Set up CI", true),
            (4, "Nested one", false),
            (11, "Write docs", false),
            (12, "Write docs", false),
        ]
    );
}

/// A longer fence shows a shorter one as code, as in a plan's file.
#[test]
fn a_code_block_ends_only_with_a_fence_of_its_own_length() {
    let text = "````\n```\n- [ ] in code\n````\n- [ ] Write docs\n";
    let lines: Vec<&str> = todo_lines(text).iter().map(|line| line.content).collect();
    assert_eq!(lines, ["Write docs"]);
}

/// O-2: a line is chosen by number, by text or by a part that no other open line contains.
#[test]
fn a_line_is_picked_by_number_text_or_part() {
    for wanted in ["2", "Add authentication", "  Add   authentication ", "AUTHENT"] {
        assert_eq!(pick(BACKLOG, "TODO.md", wanted).unwrap().number, 2, "{wanted}");
    }
    assert_eq!(fault(pick(BACKLOG, "TODO.md", "1")), TodoLineFault::Gone);
    assert_eq!(fault(pick(BACKLOG, "TODO.md", "Nothing like it")), TodoLineFault::Gone);
    assert_eq!(fault(pick(BACKLOG, "TODO.md", "Set up CI")), TodoLineFault::Ticked { line: 3 });
    let both = TodoLineFault::Ambiguous { lines: vec![11, 12] };
    assert_eq!(fault(pick(BACKLOG, "TODO.md", "Write docs")), both);
    assert_eq!(pick(BACKLOG, "TODO.md", "12").unwrap().number, 12);
}

/// D-15: exactly the remembered line is ticked; not if it is gone, changed, repeated or ticked.
#[test]
fn only_the_very_line_is_ticked() {
    assert_eq!(to_tick(BACKLOG, "TODO.md", &origin("- [ ] Add authentication")), Ok(2));
    assert_eq!(to_tick(BACKLOG, "TODO.md", &origin("  1. [ ] Nested one")), Ok(4));
    assert_eq!(
        fault(to_tick(BACKLOG, "TODO.md", &origin("- [ ] Add authentication now"))),
        TodoLineFault::Gone
    );
    assert_eq!(
        fault(to_tick(BACKLOG, "TODO.md", &origin("* [ ] Set up CI"))),
        TodoLineFault::Ticked { line: 3 }
    );
    let both = TodoLineFault::Ambiguous { lines: vec![11, 12] };
    assert_eq!(fault(to_tick(BACKLOG, "TODO.md", &origin("- [ ] Write docs"))), both);
    let elsewhere = to_tick(BACKLOG, "docs/TODO.md", &origin("- [ ] Add authentication"));
    assert_eq!(fault(elsewhere), TodoLineFault::Elsewhere { file: "TODO.md".to_owned() });
    let ticks = |role: &Role| may_ever(*role, ListKind::Plan, Action::Tick);
    assert_eq!(
        Role::ALL.into_iter().filter(ticks).collect::<Vec<_>>(),
        [Role::Operator, Role::Root]
    );
}

/// O-2: the line becomes the root task, which remembers it; the plan's file, imported later, finds
/// it.
#[test]
fn a_plan_from_a_line_remembers_it() {
    let mut world = plan_world();
    let open = |world: &crate::world::World| -> Result<CreateTodos, Refusal> {
        let content = Content::new("Add authentication").unwrap();
        opening(&world.state, PLAN_FILE, content, &origin("- [ ] Add authentication"), 7)
    };
    let decision = world.ok(Role::Root, open(&world).unwrap());
    let Some(Event::TodoCreated(made)) = decision.events.first() else { panic!("{decision:?}") };
    assert_eq!(Origin::of(&made.todo), Some(origin("- [ ] Add authentication")));
    let exists = Refusal::PlanExists { plan_file: PLAN_FILE.to_owned() };
    assert_eq!(open(&world), Err(exists));
    let root = parse("# Authentication, at last\n- [ ] Model\n", "auth").unwrap().root;
    world.ok(Role::Root, ImportPlan { root, next_seq: 8 });
    let root = &world.state.todos[&made.todo.id];
    assert_eq!(root.title, "Authentication, at last");
    assert_eq!(Origin::of(root), Some(origin("- [ ] Add authentication")));
}

#[test]
fn a_plan_is_expected_in_a_file_named_after_its_line() {
    for (content, file) in [
        ("Add authentication!", "docs/plans/add-authentication.md"),
        ("  Übung — №1  ", "docs/plans/übung-1.md"),
        ("???", "docs/plans/todo.md"),
    ] {
        assert_eq!(plan_file_for(content), file);
    }
}
