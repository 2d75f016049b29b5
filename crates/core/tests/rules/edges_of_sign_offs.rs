//! Edge cases of what a sign-off covers, found by a surviving mutant: the parts of an issue that
//! each change of its checklist touches.

use punchlist_core::command::{
    AcceptTodo, CancelTodo, Command, CompleteTodo, CreateTodos, EditChecklist, HoldTodo, NewTodo,
    NoteTodo, ReopenTodo, ReturnTodo, ReviseTodo,
};
use punchlist_core::evidence::Evidence;
use punchlist_core::issue::{Part, ledger};
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::HoldKind;
use punchlist_core::{Event, Ids, ListKind, Role, TodoId, TodoKind};

use crate::issue_life::issue;
use crate::world::{World, actor};

fn body(text: &str) -> Body {
    Body::new(text).unwrap()
}

fn title(text: &str) -> Title {
    Title::new(text).unwrap()
}

/// Runs a command; returns the parts that a sign-off covers and that have changed.
fn parts(world: &mut World, role: Role, command: impl Into<Command>) -> Vec<Part> {
    let command = command.into();
    let decided = world.ok(role, command.clone());
    let (issue, by, now, state) = (issue(), actor(role), world.now, &world.state);
    let mut ids = Ids::new(now, 4);
    let followed = ledger::follow(&issue, state, &command, &decided, &by, now, &mut ids);
    let Some(Event::ChecklistChanged(changed)) = followed.events.last() else {
        panic!("{followed:?}");
    };
    assert_eq!((changed.issue_id, changed.revision), (issue.id, issue.revision + 1));
    changed.parts.clone()
}

fn create(world: &mut World, kind: TodoKind, text: &str) -> (TodoId, Vec<Part>) {
    let item = NewTodo { kind, ..NewTodo::titled(title(text)) };
    let parts = parts(world, Role::Operator, CreateTodos { items: vec![item] });
    let created = world.state.todos.values().find(|todo| todo.title == text).unwrap();
    (created.id, parts)
}

fn complete(todo_id: TodoId, evidence: Vec<Evidence>) -> CompleteTodo {
    CompleteTodo { todo_id, outcome: None, evidence, metrics_impacted: vec![] }
}

fn revise(todo_id: TodoId, text: &str) -> ReviseTodo {
    let (priority, position, deadline, reason) = (None, None, None, None);
    ReviseTodo { todo_id, title: Some(title(text)), priority, position, deadline, reason }
}

/// A sign-off covers the criteria, their claims and the evidence.
#[test]
fn each_change_of_a_criterion_names_its_part() {
    use Part::{Claims, Criteria, Evidence as Proof};
    use Role::{Operator, Root};
    let mut world = World::new(ListKind::Issue);
    let world = &mut world;
    let (todo_id, made) = create(world, TodoKind::Criterion, "fast");
    assert_eq!(made, [Criteria]);
    assert_eq!(parts(world, Operator, revise(todo_id, "very fast")), [Criteria]);
    let note = NoteTodo { todo_id, text: body("a word") };
    assert_eq!(parts(world, Root, note), [], "no sign-off covers a note");
    assert_eq!(parts(world, Root, complete(todo_id, vec![])), [Claims]);
    let back = ReturnTodo { todo_id, feedback: body("no") };
    assert_eq!(parts(world, Operator, back), [Claims]);
    let proof = vec![Evidence::parse("test:speed").unwrap()];
    assert_eq!(parts(world, Root, complete(todo_id, proof)), [Claims, Proof]);
    assert_eq!(parts(world, Operator, AcceptTodo { todo_id, outcome: None }), [Claims]);
    assert_eq!(parts(world, Operator, ReopenTodo { todo_id, reason: None }), [Claims]);
    let hold = HoldTodo { todo_id, kind: HoldKind::Blocked, reason: body("no key"), until: None };
    assert_eq!(parts(world, Operator, hold), [Criteria]);
    assert_eq!(parts(world, Operator, CancelTodo { todo_id, outcome: None }), [Criteria]);
    let empty = EditChecklist { lines: vec![], notes: Default::default(), basis: None };
    assert_eq!(parts(world, Operator, empty), [Criteria], "the criterion is removed");
}

/// No sign-off covers the steps.
#[test]
fn changing_a_step_does_not_affect_a_sign_off() {
    let mut world = World::new(ListKind::Issue);
    let (todo_id, made) = create(&mut world, TodoKind::Step, "build");
    assert_eq!(made, []);
    assert_eq!(parts(&mut world, Role::Root, revise(todo_id, "build it")), []);
    assert_eq!(parts(&mut world, Role::Root, complete(todo_id, vec![])), []);
    let (todo_id, _) = create(&mut world, TodoKind::Step, "test");
    assert_eq!(parts(&mut world, Role::Root, CancelTodo { todo_id, outcome: None }), []);
}
