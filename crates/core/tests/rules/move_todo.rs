//! Moving items by hand: only the requested order changes.

use proptest::prelude::*;
use punchlist_core::command::{CompleteTodo, CreateTodos, MoveTodo, NewTodo, ReplaceTodos};
use punchlist_core::refusal::Misplaced;
use punchlist_core::select::ordered;
use punchlist_core::text::Title;
use punchlist_core::{ListKind, Refusal, Role, TodoId, TodoKind};

use crate::world::{World, actor};

/// Two criteria, two steps without a phase, and two phases.
const ITEMS: [(&str, TodoKind, Option<&str>); 8] = [
    ("fast", TodoKind::Criterion, None),
    ("small", TodoKind::Criterion, None),
    ("read", TodoKind::Step, None),
    ("ask", TodoKind::Step, None),
    ("plan", TodoKind::Step, Some("Build")),
    ("code", TodoKind::Step, Some("Build")),
    ("pack", TodoKind::Step, Some("Ship")),
    ("send", TodoKind::Step, Some("Ship")),
];

fn checklist() -> World {
    let mut world = World::new(ListKind::Issue);
    let items = ITEMS.map(|(text, kind, phase)| {
        let phase = phase.map(|phase| Title::new(phase).unwrap());
        NewTodo { kind, phase, ..NewTodo::titled(Title::new(text).unwrap()) }
    });
    world.ok(Role::Operator, CreateTodos { items: items.into() });
    world
}

fn id(world: &World, text: &str) -> TodoId {
    world.state.todos.values().find(|todo| todo.title == text).unwrap().id
}

fn order(world: &World) -> Vec<String> {
    let shown = |todo: &&punchlist_core::Todo| match &todo.phase {
        Some(phase) => format!("{phase}/{}", todo.title),
        None => todo.title.clone(),
    };
    ordered(&world.state).iter().map(shown).collect()
}

fn moved(text: &str, before: Option<&str>) -> (Vec<String>, usize) {
    let mut world = checklist();
    let command =
        MoveTodo { todo_id: id(&world, text), before: before.map(|before| id(&world, before)) };
    let decision = world.ok(Role::Operator, command);
    (order(&world), decision.events.len())
}

/// K-29: only the item is changed, and it joins the phase it is moved to.
#[test]
fn an_item_is_moved_before_another_or_to_the_end_of_its_phase() {
    let head = ["fast", "small", "read", "ask"];
    for (text, before, expected) in [
        ("code", Some("plan"), ["Build/code", "Build/plan", "Ship/pack", "Ship/send"]),
        ("plan", None, ["Build/code", "Build/plan", "Ship/pack", "Ship/send"]),
        ("send", Some("plan"), ["Build/send", "Build/plan", "Build/code", "Ship/pack"]),
        ("plan", Some("send"), ["Build/code", "Ship/pack", "Ship/plan", "Ship/send"]),
        ("pack", None, ["Build/plan", "Build/code", "Ship/send", "Ship/pack"]),
    ] {
        let (order, events) = moved(text, before);
        assert_eq!(order, [head.as_slice(), &expected].concat(), "{text} before {before:?}");
        assert_eq!(events, 1, "{text} before {before:?}: {order:?}");
    }
    let (order, _) = moved("small", Some("fast"));
    assert_eq!(order[..2], ["small", "fast"]);
    let (order, _) = moved("ask", Some("code"));
    assert_eq!(order[2..6], ["read", "Build/plan", "Build/ask", "Build/code"]);
    let (_, events) = moved("send", None);
    assert_eq!(events, 0, "it is there already");
}

#[test]
fn an_item_cannot_be_moved_where_it_does_not_belong() {
    let mut world = checklist();
    let (fast, read, plan) = (id(&world, "fast"), id(&world, "read"), id(&world, "plan"));
    let elsewhere = id(&checklist(), "send");
    let elsewhere = TodoId::parse(&elsewhere.to_string().replace('0', "1")).unwrap();
    let bad = |title: &str, why| Refusal::BadPlace { title: title.to_owned(), why };
    for (todo_id, before, expected) in [
        (read, read, bad("read", Misplaced::BeforeItself)),
        (read, fast, bad("read", Misplaced::OtherKind)),
        (fast, plan, bad("fast", Misplaced::OtherKind)),
        (read, elsewhere, bad("read", Misplaced::OtherList)),
    ] {
        let before = Some(before);
        assert_eq!(world.refused(Role::Operator, MoveTodo { todo_id, before }), expected);
    }
    let complete =
        CompleteTodo { todo_id: read, outcome: None, evidence: vec![], metrics_impacted: vec![] };
    world.ok(Role::Operator, complete);
    let refused = world.refused(Role::Operator, MoveTodo { todo_id: read, before: Some(plan) });
    assert_eq!(refused.code(), "already_settled");
    // A settled item is a valid target.
    world.ok(Role::Operator, MoveTodo { todo_id: plan, before: Some(read) });
    assert_eq!(order(&world)[2..4], ["plan", "read"]);
}

/// Criteria belong to the operator; an agent orders its own steps. Other lists have their own order.
#[test]
fn only_roles_that_keep_the_list_move_items() {
    let mut world = checklist();
    let (fast, small) = (id(&world, "fast"), id(&world, "small"));
    let command = MoveTodo { todo_id: small, before: Some(fast) };
    for role in [Role::Root, Role::Worker, Role::Lead, Role::Owner, Role::System] {
        assert_eq!(world.refused(role, command.clone()).code(), "not_permitted", "{role}");
    }
    let step = MoveTodo { todo_id: id(&world, "ask"), before: Some(id(&world, "read")) };
    assert_eq!(world.refused(Role::Worker, step.clone()).code(), "not_permitted");
    world.ok(Role::Root, step);
    for kind in [ListKind::Turn, ListKind::Plan, ListKind::Pillar] {
        let mut world = World::new(kind);
        let ids = world.create(&["a", "b"]);
        let command = MoveTodo { todo_id: ids[1], before: Some(ids[0]) };
        assert_eq!(world.refused(Role::Operator, command).code(), "not_permitted", "{kind}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any moves give the same order as in a simple model, in a checklist and in a session.
    #[test]
    fn any_moves_give_the_requested_order(
        issue: bool,
        moves in prop::collection::vec((0..8usize, prop::option::of(0..8usize)), 1..30),
    ) {
        let mut world = if issue { checklist() } else { World::new(ListKind::Session) };
        if !issue {
            world.create(&ITEMS.map(|(text, ..)| text));
        }
        let kind_of = |text: &str| ITEMS.iter().find(|(one, ..)| *one == text).unwrap().1;
        for (which, before) in moves {
            let text = |world: &World| -> Vec<(String, Option<String>)> {
                let mut todos: Vec<_> = world.state.todos.values().collect();
                if issue {
                    todos = ordered(&world.state);
                } else {
                    todos.sort_by_key(|todo| (todo.position, todo.created_at, todo.id));
                }
                todos.iter().map(|todo| (todo.title.clone(), todo.phase.clone())).collect()
            };
            let mut paper = text(&world);
            let (name, phase) = paper[which].clone();
            let target = before.map(|at| paper[at].clone());
            let todo_id = id(&world, &name);
            let command = MoveTodo { todo_id, before: target.as_ref().map(|(name, _)| id(&world, name)) };
            let is_bad = target.as_ref().is_some_and(|(other, _)| {
                *other == name || (issue && kind_of(other) != kind_of(&name))
            });
            let answer = world.run(&actor(Role::Operator), command);
            prop_assert_eq!(answer.is_err(), is_bad);
            if !is_bad {
                paper.remove(which);
                let group = |one: &(String, Option<String>)| {
                    (issue.then(|| (kind_of(&one.0), one.1.clone()))) == issue.then(|| (kind_of(&name), phase.clone()))
                };
                let (at, phase) = match &target {
                    Some(target) => (paper.iter().position(|one| one == target), target.1.clone()),
                    None => (paper.iter().rposition(group).map(|last| last + 1), phase.clone()),
                };
                paper.insert(at.unwrap_or(which), (name, phase));
            }
            prop_assert_eq!(text(&world), paper);
        }
    }
}

/// A session's list keeps the order it was given until somebody moves an item, whatever its priority.
#[test]
fn a_sessions_item_is_moved_in_the_order_it_was_written_in() {
    let mut world = World::new(ListKind::Session);
    world.ok(Role::Root, ReplaceTodos { items: vec![] });
    let ids = world.create(&["a", "b", "c"]);
    world.ok(Role::Root, MoveTodo { todo_id: ids[2], before: Some(ids[0]) });
    let mut todos: Vec<_> = world.state.todos.values().collect();
    todos.sort_by_key(|todo| todo.position);
    assert_eq!(todos.iter().map(|todo| todo.title.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
}
