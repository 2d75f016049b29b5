//! The states of a plan's tasks, and the current task.

use punchlist_core::agent::SetAgentStatus;
use punchlist_core::command::{ClaimTodo, CompleteTodo, DeferTodo, HoldTodo, ReopenTodo};
use punchlist_core::plan::{
    Form, Need, Reason, State, Tree, badge, first_leaf_by_depth, need, position, render, state,
};
use punchlist_core::text::Body;
use punchlist_core::todo::HoldKind;
use punchlist_core::{Actor, AgentStatus, Agents, Role, Status};

use crate::plan_world::{
    agent, assign, cancel, complete, grown, id, nobody_known, plan_world, worked_example,
};
use crate::world::{World, actor};

/// The text of the current task, and the reason.
fn here(world: &World) -> (Option<String>, Reason) {
    let tree = Tree::of(&world.state);
    let position = position(&tree, world.now);
    let title = position.current.map(|index| tree.branches()[index].todo.title.clone());
    assert_eq!(position.todo_id(&tree), title.as_deref().map(|title| id(world, title)));
    (title, position.reason)
}

fn at(title: &str, reason: Reason) -> (Option<String>, Reason) {
    (Some(title.to_owned()), reason)
}

fn by_depth(world: &World) -> Option<String> {
    let tree = Tree::of(&world.state);
    first_leaf_by_depth(&tree).map(|index| tree.branches()[index].todo.title.clone())
}

fn backend(status: AgentStatus) -> Agents {
    Agents { status: [(agent("backend"), status)].into(), ..Agents::default() }
}

/// O-12, D-12, O-27: the worked example marks the spec review, four levels down, though leaves
/// above it are open; the query by depth finds those.
#[test]
fn the_current_task_of_the_worked_example_is_the_spec_review() {
    let world = worked_example();
    assert_eq!(here(&world), at("Spec review", Reason::UnderActive));
    assert_eq!(by_depth(&world).as_deref(), Some("Brainstorm design"));
}

/// D-12: without an active task it is the first open leaf of all, in pre-order.
#[test]
fn without_an_active_task_the_first_open_leaf_is_current() {
    let mut world = grown("# T\n1. a\n   1. b\n      1. c\n2. d\n");
    assert_eq!(here(&world), at("c", Reason::FirstOpen));
    assert_eq!(by_depth(&world).as_deref(), Some("d"));
    assign(&mut world, "d", "backend");
    assert_eq!(here(&world), at("d", Reason::UnderActive));
    // The deepest active one counts, and of equally deep ones the first.
    assign(&mut world, "b", "backend");
    assert_eq!(here(&world), at("c", Reason::UnderActive));
    assign(&mut world, "a", "backend");
    assert_eq!(here(&world), at("c", Reason::UnderActive));
}

/// D-13: a parent becomes current when all tasks below it are settled; it is not settled
/// automatically.
#[test]
fn a_parent_is_ready_to_close_when_no_open_leaf_is_left_below_it() {
    let mut world = grown("# T\n1. a\n   1. b\n   2. c\n2. d\n");
    complete(&mut world, "b");
    assert_eq!(here(&world), at("c", Reason::FirstOpen));
    cancel(&mut world, "c");
    assert_eq!(here(&world), at("a", Reason::ReadyToClose));
    complete(&mut world, "a");
    assert_eq!(here(&world), at("d", Reason::FirstOpen));
    complete(&mut world, "d");
    assert_eq!(here(&world), at("T", Reason::ReadyToClose));
    // The query by depth never finds a parent.
    assert_eq!(by_depth(&world), None);
    complete(&mut world, "T");
    assert_eq!(here(&world), (None, Reason::AllSettled));
}

/// O-13: a plan without a current task is not an error.
#[test]
fn an_empty_plan_has_nothing_current() {
    let world = plan_world();
    assert_eq!((here(&world), by_depth(&world)), ((None, Reason::NoTasks), None));
}

/// An open task below a settled one still has to be done.
#[test]
fn an_open_task_below_a_settled_one_is_found() {
    // Only a file can do that: completing the task would be refused.
    let world = grown("# T\n- [x] a\n  - [ ] b\n- [ ] c\n");
    assert_eq!(here(&world), at("b", Reason::FirstOpen));
}

/// O-6, O-7, O-21: every row of the table.
#[test]
fn the_state_follows_from_assignment_completion_hold_and_agent() {
    use AgentStatus::{Archived, Blocked, Busy, Complete, Failed, Idle};
    let mut world = grown("# T\n1. a\n2. b\n3. c\n4. d\n5. e\n6. f\n");
    assign(&mut world, "a", "backend");
    assign(&mut world, "b", "backend");
    complete(&mut world, "b");
    complete(&mut world, "c");
    cancel(&mut world, "d");
    for (title, kind) in [("e", HoldKind::Failed), ("f", HoldKind::AwaitingApproval)] {
        let reason = Body::new("waits").unwrap();
        let todo_id = id(&world, title);
        world.ok(Role::Root, HoldTodo { todo_id, kind, reason, until: None });
    }
    let states = |agents: &Agents| -> Vec<(State, Option<Need>)> {
        let titles = ["T", "a", "b", "c", "d", "e", "f"];
        let todos = titles.map(|title| &world.state.todos[&id(&world, title)]);
        todos.into_iter().map(|todo| (state(todo, agents), need(todo, agents))).collect()
    };
    let expected = |a, need| {
        let rest =
            [State::Completed, State::Completed, State::Cancelled, State::Failed, State::Blocked];
        let mut all = vec![(State::Pending, None), (a, need)];
        all.extend(rest.map(|state| (state, None)));
        all
    };
    assert_eq!(states(&nobody_known()), expected(State::Active, None));
    for (status, state, need) in [
        (Idle, State::Active, None),
        (Busy, State::Active, None),
        (Blocked, State::Blocked, None),
        (Failed, State::Failed, Some(Need::Reassignment)),
        (Complete, State::Active, Some(Need::Completion)),
        (Archived, State::Active, Some(Need::Reassignment)),
    ] {
        assert_eq!(states(&backend(status)), expected(state, need), "{status}");
    }
    let silent = Agents { silent: [agent("backend")].into(), ..backend(Busy) };
    assert_eq!(states(&silent), expected(State::Active, Some(Need::Reassignment)));
}

/// O-21: the status complete claims the agent's own open tasks, and no status completes any.
#[test]
fn only_the_status_complete_claims_and_only_open_tasks_of_that_agent() {
    let mut world = grown("# T\n1. open\n2. claimed\n3. done\n4. other\n5. free\n");
    for (title, to) in
        [("open", "backend"), ("claimed", "backend"), ("done", "backend"), ("other", "frontend")]
    {
        assign(&mut world, title, to);
    }
    complete(&mut world, "done");
    let todo_id = id(&world, "claimed");
    world.ok(Role::Root, ClaimTodo { todo_id, outcome: None, evidence: vec![], clock: None });
    let claimed = |status: AgentStatus, actor: &Actor| -> Vec<&str> {
        let said = SetAgentStatus { agent: agent("backend"), status, note: None };
        let tasks = world.state.todos.values().filter(|task| said.claims(task, actor));
        tasks.map(|task| task.title.as_str()).collect()
    };
    for status in AgentStatus::ALL {
        let expected: &[&str] = if status == AgentStatus::Complete { &["open"] } else { &[] };
        assert_eq!(claimed(status, &Actor::new(Role::Root, agent("primary"))), expected);
    }
    for (role, path, expected) in [
        (Role::Operator, "primary", &["open"][..]),
        (Role::Worker, "backend", &["open"]),
        (Role::Worker, "frontend", &[]),
        (Role::System, "primary", &[]),
    ] {
        let actor = Actor::new(role, agent(path));
        assert_eq!(claimed(AgentStatus::Complete, &actor), expected, "{role} {path}");
    }
}

/// O-19: a cycle can only come from an edit by hand. Nothing loops, and nothing is hidden: the
/// cycle is cut at its first task, which is put at the top.
#[test]
fn a_cycle_is_cut_and_everything_is_shown() {
    let mut world = grown("# T\n1. a\n   1. b\n      1. c\n2. d\n");
    let (first, last, alone) = (id(&world, "a"), id(&world, "c"), id(&world, "d"));
    world.state.todos.get_mut(&first).unwrap().parent_id = Some(last);
    world.state.todos.get_mut(&alone).unwrap().parent_id = Some(alone);
    let tree = Tree::of(&world.state);
    let shown = tree.branches().iter().map(|branch| (branch.todo.title.as_str(), branch.depth));
    let shown: Vec<(&str, usize)> = shown.collect();
    assert_eq!(shown, [("T", 0), ("b", 0), ("c", 1), ("a", 2), ("d", 0)]);
    assert_eq!(here(&world).0.as_deref(), Some("T"));
    assert_eq!(by_depth(&world).as_deref(), Some("T"));
    // An agent without a task in the cycle owns none of it, and the check ends.
    let worker = crate::world::actor(Role::Worker);
    let todo = world.state.todo(first);
    assert!(!punchlist_core::authority::owns(&worker, &world.state, todo));
    assign(&mut world, "b", "primary.subagents.w");
    assert!(punchlist_core::authority::owns(&worker, &world.state, world.state.todo(first)));
}

/// D-14: the tasks of one import have the same `created_at`; they are ordered by position, not by
/// creation.
#[test]
fn position_orders_tasks_created_at_the_same_time() {
    let mut world = plan_world();
    let mut import = |markdown: &str| {
        let root = punchlist_core::plan::parse(markdown, "stem").unwrap().root;
        world.ok(Role::Root, punchlist_core::command::ImportPlan { root, next_seq: 1 });
        let born: std::collections::BTreeSet<_> =
            world.state.todos.values().map(|todo| todo.created_at).collect();
        assert_eq!(born.len(), 1);
        (here(&world).0.unwrap(), by_depth(&world).unwrap())
    };
    assert_eq!(import("# T\n- [ ] a\n- [ ] b\n- [ ] c\n"), ("a".into(), "a".into()));
    assert_eq!(import("# T\n- [ ] c\n- [ ] b\n- [ ] a\n"), ("c".into(), "c".into()));
    assert_eq!(import("# T\n- [ ] b\n- [ ] c\n- [ ] a\n"), ("b".into(), "b".into()));
}

/// D-12: held and deferred tasks are skipped, even if assigned; only if nothing is actionable, the
/// first open one is current, with the reason.
#[test]
fn held_and_deferred_tasks_are_not_current_while_another_can_be_worked_on() {
    let mut world = grown("# T\n1. a\n   1. b\n   2. c\n2. d\n");
    assign(&mut world, "b", "backend");
    assert_eq!(here(&world), at("b", Reason::UnderActive));
    let hold = |world: &mut World, title: &str| {
        let (todo_id, kind) = (id(world, title), HoldKind::Blocked);
        let reason = Body::new("no key").unwrap();
        world.ok(Role::Root, HoldTodo { todo_id, kind, reason, until: None });
    };
    hold(&mut world, "b");
    assert_eq!(here(&world), at("c", Reason::FirstOpen));
    let until = Some(world.now.plus_seconds(60));
    let todo_id = id(&world, "c");
    world.ok(Role::Root, DeferTodo { todo_id, until });
    assert_eq!(here(&world), at("d", Reason::FirstOpen));
    hold(&mut world, "d");
    assert_eq!(here(&world), at("b", Reason::UnderActive));
    let tree = Tree::of(&world.state);
    let b = tree.branches().iter().position(|branch| branch.todo.title == "b").unwrap();
    assert_eq!(badge(&tree, b, world.now).as_deref(), Some("blocked: no key"));
    let line = render(&world.state, &nobody_known(), Form::Line, None, world.now).text;
    assert!(line.ends_with("(blocked: no key)"), "{line}");
    world.now = world.now.plus_seconds(60);
    assert_eq!(here(&world), at("c", Reason::FirstOpen));
}

/// Completing a task over open ones would hide them: it is refused, and they are named.
#[test]
fn a_task_with_open_tasks_below_it_is_not_completed() {
    let mut world = grown("# T\n1. a\n   1. b\n   2. c\n");
    let (todo_id, evidence, metrics_impacted) = (id(&world, "a"), vec![], vec![]);
    let command = CompleteTodo { todo_id, outcome: None, evidence, metrics_impacted };
    for role in [Role::Root, Role::Operator] {
        let refused = world.run(&actor(role), command.clone()).unwrap_err().refusal;
        assert_eq!(refused.code(), "open_children");
        let words = refused.to_string();
        assert!(words.contains("`b`") && words.contains("`c`"), "{words}");
    }
    complete(&mut world, "b");
    cancel(&mut world, "c");
    world.ok(Role::Root, command);
    // Settled by mistake: root reopens it, and it is unassigned then.
    world.ok(Role::Root, ReopenTodo { todo_id, reason: Some("by mistake".into()) });
    let a = &world.state.todos[&todo_id];
    assert_eq!((a.status, &a.assignee), (Status::Pending, &None));
}
