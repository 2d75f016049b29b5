//! Importing plan files: what is added, moved and archived, and that no work is undone.

use std::collections::BTreeSet;

use proptest::prelude::*;
use punchlist_core::authority::{Action, Denial};
use punchlist_core::command::{CreateTodos, ImportPlan, NewTodo, ReviseTodo};
use punchlist_core::plan::{Changes, Node, Tree, parse};
use punchlist_core::text::Title;
use punchlist_core::todo::SettledBy;
use punchlist_core::{
    Decision, Event, ListKind, Refusal, Role, Status, Todo, TodoId, TodoKind, apply,
};

use crate::plan_parse::WORKED_EXAMPLE;
use crate::plan_world::{agent, assign, complete, id, plan_world};
use crate::world::{World, actor};

fn tree_of(markdown: &str) -> Node {
    parse(markdown, "stem").unwrap().root
}

/// Imports as the orchestrator does, with the next free number.
fn import(world: &mut World, markdown: &str) -> (Changes, Decision) {
    let root = tree_of(markdown);
    let last = world.state.todos.values().filter_map(|todo| todo.seq).max();
    let next_seq = last.map_or(1, |seq| seq + 1);
    let decision = world.ok(Role::Root, ImportPlan { root: root.clone(), next_seq });
    (Changes::of(&root, &decision.events), decision)
}

fn imported(markdown: &str) -> World {
    let mut world = plan_world();
    import(&mut world, markdown);
    world
}

/// The tasks in view: number, mark and text, indented by depth.
fn outline(world: &World) -> String {
    let tree = Tree::of(&world.state);
    let line = |todo: &Todo, depth: usize| {
        let mark = match todo.status {
            Status::Completed => 'x',
            Status::Cancelled => '-',
            _ => ' ',
        };
        let (indent, seq) = ("  ".repeat(depth), todo.seq.unwrap_or(0));
        format!("{indent}[{mark}] {} #{seq}\n", todo.title)
    };
    tree.branches().iter().map(|branch| line(branch.todo, branch.depth)).collect()
}

fn changes(added: usize, moved: usize, archived: usize, unchanged: usize) -> Changes {
    Changes { added, moved, archived, unchanged }
}

fn nothing(world: &mut World, markdown: &str) {
    let (changes, decision) = import(world, markdown);
    assert_eq!(decision, Decision::default());
    assert_eq!((changes.added, changes.moved, changes.archived), (0, 0, 0));
}

fn types(decision: &Decision) -> Vec<&'static str> {
    decision.events.iter().map(Event::type_name).collect()
}

/// A subtask added by an agent, not by the file.
fn add(world: &mut World, role: Role, parent: Option<TodoId>, title: &str) -> Result<(), Refusal> {
    let title = Title::new(title).unwrap();
    let item = NewTodo { parent_id: parent, ..NewTodo::titled(title) };
    let done = world.run(&actor(role), CreateTodos { items: vec![item] });
    done.map(drop).map_err(|refused| refused.refusal)
}

/// O-14, X-9: one top-level task, a child for each step, nested steps nested, numbered in order.
#[test]
fn the_first_import_creates_the_tree() {
    let mut world = plan_world();
    let (counted, _) = import(&mut world, WORKED_EXAMPLE);
    assert_eq!(counted, changes(12, 0, 0, 0));
    let expected = "\
[ ] Implement authentication #1
  [ ] Brainstorm design #2
  [ ] Set up worktree #3
  [ ] Write implementation plan #4
  [ ] Execute plan #5
    [x] Task 1: Add user model #6
    [ ] Task 2: Add login endpoint #7
      [x] Implementation #8
      [ ] Spec review #9
      [ ] Code quality review #10
    [ ] Task 3: Add JWT middleware #11
  [ ] Finish branch #12
";
    assert_eq!(outline(&world), expected);
    let task = &world.state.todos[&id(&world, "Task 1: Add user model")];
    let settled_by = SettledBy { principal: "root:primary".into(), role: Role::Root };
    let parent_id = Some(id(&world, "Execute plan"));
    assert_eq!(
        (task.parent_id, task.position, task.settled_at, &task.settled_by),
        (parent_id, 0, Some(world.now), &Some(settled_by))
    );
    assert_eq!(world.state.todos[&id(&world, "Finish branch")].position, 4);
}

/// O-20: the same plan again changes nothing, whatever was done to the tasks since.
#[test]
fn the_same_file_again_changes_nothing() {
    let mut world = imported(WORKED_EXAMPLE);
    nothing(&mut world, WORKED_EXAMPLE);
    assign(&mut world, "Task 2: Add login endpoint", "primary.subagents.w");
    let parent = Some(id(&world, "Spec review"));
    add(&mut world, Role::Worker, parent, "read the spec").unwrap();
    complete(&mut world, "Brainstorm design");
    let (todo_id, title) = (id(&world, "Set up worktree"), Title::new("Set up a worktree").ok());
    let (priority, position, deadline, reason) = (None, None, None, None);
    world.ok(Role::Root, ReviseTodo { todo_id, title, priority, position, deadline, reason });
    nothing(&mut world, WORKED_EXAMPLE);
    nothing(&mut world, &WORKED_EXAMPLE.replace("- [", "* [").replace("    ", "\t"));
}

/// O-20: new tasks are added, moved ones move, missing ones leave the view, and the rest does not
/// change.
#[test]
fn an_edited_file_adds_moves_and_archives() {
    let mut world = imported("# T\n1. a\n2. b\n   1. b1\n   2. b2\n3. c\n4. d\n");
    let (counted, decision) = import(&mut world, "# T\n1. d\n2. a\n3. new\n4. b\n   1. b2\n");
    assert_eq!(counted, changes(1, 1, 2, 4));
    let expected = [
        "todo_moved",
        "todo_created",
        "todo_cancelled",
        "todo_removed",
        "todo_cancelled",
        "todo_removed",
    ];
    assert_eq!(types(&decision), expected);
    let expected = "[ ] T #1\n  [ ] d #7\n  [ ] a #2\n  [ ] new #8\n  [ ] b #3\n    [ ] b2 #5\n";
    assert_eq!(outline(&world), expected);
    let gone = world.state.todos.values().find(|todo| todo.title == "c").unwrap();
    assert_eq!(gone.outcome.as_deref(), Some("no longer in the plan"));
    assert_eq!((gone.status, gone.removed_at), (Status::Cancelled, Some(world.now)));
    // A text that returns is a new task: a removed task stays removed.
    let (counted, _) = import(&mut world, "# T\n1. d\n2. a\n3. new\n4. b\n   1. b2\n5. c\n");
    assert_eq!(counted, changes(1, 0, 0, 6));
}

/// A completed task that the file lost leaves the view unchanged.
#[test]
fn completed_tasks_are_archived_as_completed() {
    let mut world = imported("# T\n1. a\n2. b\n");
    complete(&mut world, "a");
    let (_, decision) = import(&mut world, "# T\n1. b\n");
    assert_eq!(types(&decision), ["todo_removed"]);
    let done = world.state.todos.values().find(|todo| todo.title == "a").unwrap();
    assert_eq!(done.status, Status::Completed);
}

/// A task with a unique text is moved to its new parent, with its subtree.
#[test]
fn a_task_moves_to_another_parent_with_its_subtree() {
    let mut world = imported("# T\n1. a\n   1. x\n      1. y\n2. b\n");
    assign(&mut world, "x", "backend");
    let moved = id(&world, "x");
    let (counted, decision) = import(&mut world, "# T\n1. a\n2. b\n   1. x\n      1. y\n");
    assert_eq!((counted, types(&decision)), (changes(0, 1, 0, 4), vec!["todo_moved"]));
    assert_eq!(outline(&world), "[ ] T #1\n  [ ] a #2\n  [ ] b #5\n    [ ] x #3\n      [ ] y #4\n");
    assert_eq!(world.state.todos[&moved].assignee, Some(agent("backend")));
}

/// A text that occurs twice cannot be followed: it is removed at the old place and created at the
/// new one.
#[test]
fn a_repeated_text_under_another_parent_is_a_new_task() {
    let mut world = imported("# T\n1. a\n   1. test\n2. b\n   1. test\n3. c\n");
    let (counted, _) = import(&mut world, "# T\n1. a\n   1. test\n2. b\n3. c\n   1. test\n");
    assert_eq!(counted, changes(1, 0, 1, 5));
}

/// O-19: a parent and its child change places without a cycle.
#[test]
fn a_tree_turned_upside_down_is_a_tree() {
    let mut world = imported("# T\n1. a\n   1. b\n      1. c\n");
    let (counted, _) = import(&mut world, "# T\n1. c\n   1. b\n      1. a\n");
    assert_eq!(counted, changes(0, 3, 0, 1));
    assert_eq!(outline(&world), "[ ] T #1\n  [ ] c #4\n    [ ] b #3\n      [ ] a #2\n");
}

/// Subtasks that an agent added stay until their parent leaves the file.
#[test]
fn tasks_added_by_hand_stay_with_their_parent() {
    let mut world = imported("# T\n1. a\n   1. a1\n2. b\n");
    assign(&mut world, "a", "primary.subagents.w");
    let parent = Some(id(&world, "a"));
    add(&mut world, Role::Worker, parent, "by hand").unwrap();
    let (counted, _) = import(&mut world, "# T\n1. b\n2. a\n   1. a2\n");
    assert_eq!(counted, changes(1, 1, 1, 2));
    let order: Vec<String> = outline(&world).lines().map(|line| line.trim().to_owned()).collect();
    assert_eq!(order, ["[ ] T #1", "[ ] b #4", "[ ] a #2", "[ ] by hand #0", "[ ] a2 #5"]);
    let (counted, _) = import(&mut world, "# T\n1. b\n");
    assert_eq!(counted, changes(0, 0, 3, 2));
    assert_eq!(outline(&world), "[ ] T #1\n  [ ] b #4\n");
}

/// O-7: a mark settles a task that nobody works on, and never reopens a settled one.
#[test]
fn a_mark_settles_and_never_opens() {
    let mut world = imported("# T\n1. [x] a\n2. [-] b\n3. c\n4. d\n5. e\n");
    assign(&mut world, "e", "backend");
    let (counted, decision) =
        import(&mut world, "# T\n1. [-] a\n2. [ ] b\n3. [x] c\n4. [-] d\n5. [x] e\n");
    assert_eq!(types(&decision), ["todo_completed", "todo_cancelled"]);
    assert_eq!(counted, changes(0, 0, 0, 4));
    let expected = "[ ] T #1\n  [x] a #2\n  [-] b #3\n  [x] c #4\n  [-] d #5\n  [ ] e #6\n";
    assert_eq!(outline(&world), expected);
    assert_eq!(world.state.todos[&id(&world, "e")].status, Status::InProgress);
}

#[test]
fn the_root_keeps_its_identity_and_descriptions_follow_the_file() {
    let mut world = imported("# T\nOld words.\n1. a\n2. [x] b\n");
    let (counted, decision) =
        import(&mut world, "# U\nNew words.\n1. a\n   more\n2. [x] b\n   late\n");
    assert_eq!(types(&decision), ["todo_revised", "todo_described", "todo_described"]);
    assert_eq!(
        (counted, outline(&world)),
        (changes(0, 0, 0, 1), "[ ] U #1\n  [ ] a #2\n  [x] b #3\n".into())
    );
    let words = |title| world.state.todos[&id(&world, title)].description.as_str();
    assert_eq!((words("U"), words("a"), words("b")), ("New words.", "more", ""));
    nothing(&mut world, "# U\nNew words.\n1. a\n   more\n2. [x] b\n   late\n");
    // It may also get its first title back.
    import(&mut world, "# T\nNew words.\n1. a\n   more\n2. [x] b\n   late\n");
    assert_eq!(outline(&world), "[ ] T #1\n  [ ] a #2\n  [x] b #3\n");
}

/// O-18, X-12: only roles that keep the plan import it, and other lists hold no plan.
#[test]
fn a_worker_does_not_import_and_other_lists_hold_no_plan() {
    let command = || ImportPlan { root: tree_of("# T\n1. a\n"), next_seq: 1 };
    let refusal = |role, list, denial| Refusal::NotPermitted {
        role,
        action: Action::Create,
        list,
        todo_kind: TodoKind::Step,
        denial,
    };
    let mut world = plan_world();
    for (role, denial) in [
        (Role::Worker, Denial::NotYours),
        (Role::Lead, Denial::Role),
        (Role::Owner, Denial::Role),
        (Role::System, Denial::Role),
    ] {
        assert_eq!(world.refused(role, command()), refusal(role, ListKind::Plan, denial));
    }
    assert_eq!(world.log, []);
    for list in [ListKind::Turn, ListKind::Session, ListKind::Issue, ListKind::Pillar] {
        let refused = World::new(list).refused(Role::Operator, command());
        assert_eq!(refused, refusal(Role::Operator, list, Denial::NoSuchAct));
    }
}

/// O-17, O-18, O-19, X-12: an agent splits only its own task, at any depth.
#[test]
fn a_worker_adds_subtasks_below_its_own_task_only() {
    let mut world = imported("# T\n1. mine\n   1. part\n2. other\n   1. theirs\n");
    assign(&mut world, "mine", "primary.subagents.w");
    assign(&mut world, "theirs", "backend");
    for (parent, title) in [("mine", "one"), ("part", "two"), ("two", "three")] {
        let parent = Some(id(&world, parent));
        assert_eq!(add(&mut world, Role::Worker, parent, title), Ok(()));
    }
    let before = world.state.clone();
    let not_yours = Refusal::NotPermitted {
        role: Role::Worker,
        action: Action::Create,
        list: ListKind::Plan,
        todo_kind: TodoKind::Step,
        denial: Denial::NotYours,
    };
    for parent in [None, Some("T"), Some("other"), Some("theirs")] {
        let parent = parent.map(|title| id(&world, title));
        assert_eq!(add(&mut world, Role::Worker, parent, "no"), Err(not_yours.clone()));
    }
    let unknown = TodoId::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    let refused = add(&mut world, Role::Worker, unknown, "no").unwrap_err();
    assert_eq!((refused.code(), &world.state), ("unknown_todo", &before));
    complete(&mut world, "three");
    complete(&mut world, "two");
    let parent = Some(id(&world, "two"));
    let refused = add(&mut world, Role::Worker, parent, "late").unwrap_err();
    assert_eq!(refused.code(), "already_settled");
    // When the task is reassigned, so are its subtasks.
    assign(&mut world, "mine", "backend");
    let parent = Some(id(&world, "part"));
    assert_eq!(add(&mut world, Role::Worker, parent, "no"), Err(not_yours));
}

/// A file of a few texts in any nesting; the texts of siblings differ.
fn any_file() -> impl Strategy<Value = String> {
    let line = (0..4usize, 0..9u8, 0..6usize);
    prop::collection::vec(line, 0..14).prop_map(|lines| {
        let mut text = "# T\n".to_owned();
        for (indent, name, mark) in lines {
            let mark = [" ", " ", " ", " ", "x", "-"][mark];
            let line = format!("{}- [{mark}] t{name}\n", "  ".repeat(indent));
            // A node with a sibling's text is left out.
            if parse(&(text.clone() + &line), "stem").is_ok() {
                text.push_str(&line);
            }
        }
        text
    })
}

fn texts(node: &Node) -> Vec<(usize, String)> {
    let (mut found, mut open) = (Vec::new(), vec![(0, node)]);
    while let Some((depth, node)) = open.pop() {
        found.push((depth, node.content.to_string()));
        open.extend(node.children.iter().rev().map(|child| (depth + 1, child)));
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

    /// O-14, O-19, O-20: after any import the tasks in view are those of the file, and importing it
    /// again changes nothing; settled tasks stay settled, numbers are unique, and counts add up.
    #[test]
    fn any_file_can_be_imported_after_any_other(files in prop::collection::vec(any_file(), 1..5), hand in 0..9u8) {
        let mut world = plan_world();
        let first = world.state.clone();
        for file in &files {
            let before = world.state.clone();
            let (changes, decision) = import(&mut world, file);
            let tree = Tree::of(&world.state);
            let shown: Vec<(usize, String)> =
                tree.branches().iter().map(|b| (b.depth, b.todo.title.clone())).collect();
            let expected = texts(&tree_of(file));
            prop_assert_eq!(&shown, &expected);
            let count = |name: &str| types(&decision).into_iter().filter(|t| *t == name).count();
            prop_assert_eq!(changes.added, count("todo_created"));
            prop_assert_eq!(changes.moved, count("todo_moved"));
            prop_assert_eq!(changes.archived, count("todo_removed"));
            prop_assert!(changes.added + changes.moved + changes.unchanged <= expected.len());
            for (id, todo) in &before.todos {
                let now = &world.state.todos[id];
                prop_assert!(!todo.status.is_settled() || todo.status == now.status);
                prop_assert!(todo.removed_at.is_none() || todo == now);
            }
            let seqs: BTreeSet<i64> = world.state.todos.values().filter_map(|t| t.seq).collect();
            prop_assert_eq!(seqs.len(), world.state.todos.len());
            nothing(&mut world, file);
            let hand = format!("t{hand}");
            let open = world.state.todos.values().find(|t| t.title == hand && !t.status.is_settled());
            let left_out = punchlist_core::plan::dropped(&world.state);
            let free = open.filter(|todo| !left_out.contains(&todo.id));
            if let Some(todo_id) = free.map(|todo| todo.id) {
                let assignee = agent("backend");
                world.ok(Role::Root, punchlist_core::command::AssignTodo { todo_id, assignee, is_known: true });
                nothing(&mut world, file);
            }
        }
        let mut folded = first;
        for (event, at) in &world.log {
            apply(&mut folded, event, *at);
        }
        prop_assert_eq!(folded, world.state);
    }
}
