//! Importing a checklist: what each line becomes, and what does not change.

use punchlist_core::command::{AcceptTodo, ImportTodos};
use punchlist_core::issue::checklist::parse;
use punchlist_core::select::ordered;
use punchlist_core::{Decision, Event, ListKind, Refusal, Role, Status, Warning};

use crate::edit_checklist::{notes, shown, world};
use crate::world::World;

fn import(world: &mut World, role: Role, text: &str) -> Decision {
    world.ok(role, ImportTodos { lines: parse(text).unwrap() })
}

fn skipped(decision: &Decision) -> Vec<&str> {
    let texts = decision.warnings.iter().filter_map(|warning| match warning {
        Warning::AlreadyListed { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

const ELSEWHERE: &str = "\
# Criteria
- [x] it is small
- [ ] it is kind

# Steps
- [/] begin
- [x] measure
  - note: 61 %
- [-] guess

# Later
- [!] ask <!-- blocked: nobody is in -->
";

/// P-22: an item ticked elsewhere becomes a claim of the importer, even of the operator; nothing is
/// completed.
#[test]
fn an_imported_done_is_a_claim() {
    for role in [Role::Operator, Role::Root] {
        let mut world = World::new(ListKind::Issue);
        let decision = import(&mut world, role, ELSEWHERE);
        assert_eq!(skipped(&decision), [""; 0]);
        assert!(!decision.events.iter().any(|event| matches!(event, Event::TodoCompleted(_))));
        let claims: Vec<(&str, Status, Option<&str>)> = ordered(&world.state)
            .into_iter()
            .map(|todo| {
                let by = todo.claim.as_ref().map(|claim| claim.by.as_str());
                (todo.title.as_str(), todo.status, by)
            })
            .collect();
        let me = format!("{role}:primary");
        let expected = [
            ("it is small", Status::Pending, Some(me.as_str())),
            ("it is kind", Status::Pending, None),
            // Exactly one step is in progress, as always: the first ready one.
            ("begin", Status::InProgress, None),
            ("measure", Status::Pending, Some(me.as_str())),
            ("guess", Status::Cancelled, None),
            ("ask", Status::Pending, None),
        ];
        assert_eq!(claims, expected);
        assert_eq!(notes(&world.state).values().flatten().next().unwrap().text, "61 %");
        let measure = ordered(&world.state)[3].id;
        let accept = AcceptTodo { todo_id: measure, outcome: None };
        assert!(matches!(world.refused(Role::Root, accept.clone()), Refusal::NotPermitted { .. }));
        world.ok(Role::Operator, accept);
        assert_eq!(world.state.todos[&measure].status, Status::Completed);
    }
}

/// Existing items are not changed: open texts are skipped with a warning, done lines with a settled
/// item are skipped, and an open line with a settled item is new work.
#[test]
fn only_new_lines_are_imported() {
    let mut world = world();
    let before = shown(&world);
    let again = import(&mut world, Role::Root, &before);
    assert_eq!(shown(&world), before);
    assert_eq!(again.events, []);
    assert_eq!(skipped(&again), ["works", "fast", "read", "skip", "plan", "code", "ship"]);
    let more = "- [x] code\n- [ ] plan\n- [-] ship\n- [ ] new\n";
    let decision = import(&mut world, Role::Root, more);
    assert_eq!(skipped(&decision), ["code", "ship"]);
    let expected = before.replace("- [x] plan\n", "- [x] plan\n- [ ] plan\n- [ ] new\n");
    assert_eq!(shown(&world), expected);
}

#[test]
fn a_text_that_is_ticked_twice_is_imported_once() {
    let mut world = World::new(ListKind::Issue);
    let decision = import(&mut world, Role::Root, "- [x] a\n- [x] a\n- [-] b\n- [-] b\n");
    assert_eq!(skipped(&decision), ["a", "b"]);
    assert_eq!(world.state.todos.len(), 2);
}

#[test]
fn a_worker_imports_nothing() {
    let mut world = World::new(ListKind::Issue);
    let lines = parse("- [ ] a\n").unwrap();
    let refused = world.refused(Role::Worker, ImportTodos { lines });
    assert!(matches!(refused, Refusal::NotPermitted { .. }));
}
