//! Plans to test with: the tree of the tasks design as rows, and any tree.

use punchlist_core::command::{AssignTodo, CancelTodo, CompleteTodo, CreateTodos, NewTodo};
use punchlist_core::event::TodoCompleted;
use punchlist_core::plan::{Mark, Node, parse};
use punchlist_core::todo::SettledBy;
use punchlist_core::{AgentPath, Agents, Event, ListKind, Role, Scope, TodoId, apply};

use crate::plan_parse::WORKED_EXAMPLE;
use crate::world::World;

pub(crate) const PLAN_FILE: &str = "docs/plans/2025-12-24-auth.md";

pub(crate) fn agent(name: &str) -> AgentPath {
    AgentPath::parse(name).unwrap()
}

pub(crate) fn plan_world() -> World {
    let mut world = World::new(ListKind::Plan);
    world.state.list.scope =
        Scope::Plan { branch: "main".to_owned(), plan_file: PLAN_FILE.to_owned() };
    world
}

pub(crate) fn id(world: &World, title: &str) -> TodoId {
    let mut found = world.state.todos.values().filter(|todo| todo.title == title);
    let todo = found.find(|todo| todo.removed_at.is_none());
    todo.unwrap_or_else(|| panic!("no task {title}")).id
}

pub(crate) fn assign(world: &mut World, title: &str, to: &str) {
    let (todo_id, assignee) = (id(world, title), agent(to));
    world.ok(Role::Root, AssignTodo { todo_id, assignee, is_known: true });
}

pub(crate) fn complete(world: &mut World, title: &str) {
    let (todo_id, evidence, metrics_impacted) = (id(world, title), vec![], vec![]);
    world.ok(Role::Root, CompleteTodo { todo_id, outcome: None, evidence, metrics_impacted });
}

pub(crate) fn cancel(world: &mut World, title: &str) {
    let todo_id = id(world, title);
    world.ok(Role::Root, CancelTodo { todo_id, outcome: None });
}

/// Creates the tasks one by one, as an orchestrator would.
pub(crate) fn grown(markdown: &str) -> World {
    let mut world = plan_world();
    let root = parse(markdown, "stem").unwrap().root;
    let mut open: Vec<(Option<TodoId>, &Node)> = vec![(None, &root)];
    let mut settle = Vec::new();
    while let Some((parent_id, node)) = open.pop() {
        let item = NewTodo { parent_id, ..NewTodo::titled(node.content.clone()) };
        let decision = world.ok(Role::Root, CreateTodos { items: vec![item] });
        let Some(Event::TodoCreated(created)) = decision.events.first() else {
            panic!("{decision:?}");
        };
        settle.push((created.todo.id, node.mark));
        open.extend(node.children.iter().rev().map(|child| (Some(created.todo.id), child)));
    }
    for (todo_id, mark) in settle {
        match mark {
            Mark::Open => {}
            // As a file does it: even if tasks below it are open.
            Mark::Done => {
                let settled_by = SettledBy { principal: "root:primary".into(), role: Role::Root };
                let (started_at, settled_at) = (world.now, world.now);
                let (outcome, evidence) = (None, vec![]);
                let done = TodoCompleted {
                    self_accepted: false,
                    todo_id,
                    outcome,
                    evidence,
                    started_at,
                    settled_at,
                    settled_by,
                };
                apply(&mut world.state, &done.into(), world.now);
            }
            Mark::Dropped => drop(world.ok(Role::Root, CancelTodo { todo_id, outcome: None })),
        }
    }
    world
}

/// The worked example of the design: the backend agent has done the first task and works on the
/// second.
pub(crate) fn worked_example() -> World {
    let mut world = grown(&WORKED_EXAMPLE.replace("[x] Task 1", "[ ] Task 1"));
    assign(&mut world, "Task 1: Add user model", "backend");
    complete(&mut world, "Task 1: Add user model");
    assign(&mut world, "Task 2: Add login endpoint", "backend");
    world
}

pub(crate) fn nobody_known() -> Agents {
    Agents::default()
}
