//! Any sequence of commands, by any role, on any kind of list, keeps every invariant; and folding
//! the events gives the state.

use proptest::prelude::*;
use punchlist_core::command::{
    AcceptTodo, AssignTodo, CancelTodo, ClaimTodo, Command, CompleteTodo, CreateTodos, DeferTodo,
    DemoteTodo, EditChecklist, HeartbeatTodo, HoldTodo, ImportPlan, ImportTodos, ListedTodo,
    MoveTodo, NewTodo, NoteTodo, PromoteTodo, ReleaseTodo, ReopenTodo, ReplaceTodos, ReturnTodo,
    ReviseTodo, StartTodo, TakeTodo, UnholdTodo,
};
use punchlist_core::issue::checklist::{markdown, parse};
use punchlist_core::plan;
use punchlist_core::policy::{Wip, policy};
use punchlist_core::select::ordered;
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::{HoldKind, Priority};
use punchlist_core::{
    AgentPath, Decision, ListKind, Role, Snapshot, Status, Tally, Time, Todo, TodoId, TodoKind,
    apply,
};

use crate::any_edits::{edit_of_nothing, touch};
use crate::edit_checklist::notes;
use crate::world::{World, actor};

/// A command as numbers: which one, on which item, with which choice.
#[derive(Clone, Debug)]
struct Try {
    role: Role,
    what: u8,
    which: usize,
    choice: u8,
}

fn tries() -> impl Strategy<Value = Vec<Try>> {
    let one = (0..Role::ALL.len(), 0..31u8, 0..12usize, any::<u8>())
        .prop_map(|(role, what, which, choice)| Try { role: Role::ALL[role], what, which, choice });
    proptest::collection::vec(one, 1..60)
}

fn title(n: u8) -> Title {
    Title::new(&format!("item {}", n % 8)).unwrap()
}

fn new_todo(n: u8, parent: Option<TodoId>) -> NewTodo {
    let mut new = NewTodo::titled(title(n));
    new.kind = if n.is_multiple_of(5) { TodoKind::Criterion } else { TodoKind::Step };
    new.status = if n.is_multiple_of(3) { Status::Backlog } else { Status::Pending };
    new.position = (n.is_multiple_of(4)).then_some(i64::from(n));
    new.parent_id = parent.filter(|_| n.is_multiple_of(2));
    new.phase = (n.is_multiple_of(7)).then(|| title(n));
    new
}

fn listed(n: u8) -> ListedTodo {
    let statuses = [Status::Pending, Status::InProgress, Status::Completed, Status::Cancelled];
    ListedTodo {
        external_id: (n.is_multiple_of(2)).then(|| format!("own-{}", n % 6)),
        title: (!n.is_multiple_of(11)).then(|| title(n).into()),
        phase: None,
        status: (n.is_multiple_of(3)).then(|| statuses[usize::from(n) % 4]),
        priority: (!n.is_multiple_of(7)).then(|| Priority::ALL[usize::from(n) % 4]),
        conflicts_with: (n.is_multiple_of(5)).then(|| format!("own-{}", n / 5 % 6)),
    }
}

/// A few nested items with marks; sometimes two items have the same text.
fn plan_file(t: &Try) -> String {
    let n = usize::from(t.choice);
    let line = |k: usize| {
        let (indent, mark) = ("  ".repeat(n * k / 7 % 4), [" ", " ", "x", "-"][(n + k) % 4]);
        format!("{indent}- [{mark}] item {}\n", (n + k * (t.which + 1)) % 9)
    };
    (0..n % 6 + 1).map(line).collect()
}

fn command(state: &Snapshot, now: Time, t: &Try) -> Option<Command> {
    let n = t.choice;
    let ids: Vec<TodoId> = state.todos.keys().copied().collect();
    let picked = (!ids.is_empty()).then(|| ids[t.which % ids.len()]);
    let text = (!n.is_multiple_of(4)).then(|| format!("because {n}"));
    let body = Body::new("because").unwrap();
    if t.what >= 29 {
        let root = plan::parse(&plan_file(t), "item 0").ok()?.root;
        return Some(ImportPlan { root, next_seq: 1 }.into());
    }
    if t.what < 5 {
        let items = (0..=n % 3).map(|k| new_todo(n.wrapping_add(k), picked)).collect();
        return Some(CreateTodos { items }.into());
    }
    let todo_id = picked?;
    let evidence = vec![];
    Some(match t.what {
        5 | 6 => StartTodo { todo_id, reason: None }.into(),
        7 => {
            let epoch = n.is_multiple_of(2).then_some(i64::from(n % 3));
            ReleaseTodo { todo_id, epoch, reason: text, clock: now, unassigns: false }.into()
        }
        8 | 9 => {
            let metrics_impacted = vec![];
            CompleteTodo { todo_id, outcome: text, evidence, metrics_impacted }.into()
        }
        10 => CancelTodo { todo_id, outcome: text }.into(),
        11 => PromoteTodo { todo_id, reason: text }.into(),
        12 => DemoteTodo { todo_id, reason: text }.into(),
        13 => ReopenTodo { todo_id, reason: text }.into(),
        14 => NoteTodo { todo_id, text: body }.into(),
        15 => {
            ReplaceTodos { items: (0..n % 4).map(|k| listed(n.wrapping_add(k))).collect() }.into()
        }
        16 => {
            let (title, position) = (Some(title(n)), Some(i64::from(n % 9)));
            ReviseTodo { todo_id, title, priority: None, position, deadline: None, reason: None }
                .into()
        }
        17 => HoldTodo { todo_id, kind: HoldKind::Blocked, reason: body, until: None }.into(),
        18 => UnholdTodo { todo_id }.into(),
        19 => {
            let until = (n.is_multiple_of(2)).then(|| now.plus_seconds(i64::from(n)));
            DeferTodo { todo_id, until }.into()
        }
        20 => ClaimTodo { todo_id, outcome: text, evidence, clock: None }.into(),
        21 => AcceptTodo { todo_id, outcome: text }.into(),
        22 => ReturnTodo { todo_id, feedback: body }.into(),
        23 => TakeTodo { todo_id, lease_s: i64::from(n % 5), clock: now }.into(),
        24 => HeartbeatTodo { todo_id, epoch: i64::from(n % 3), clock: now }.into(),
        25 | 26 => {
            let notes = notes(state);
            let mut lines = parse(&markdown(state, &notes)).ok()?;
            for k in 0..=n % 3 {
                touch(&mut lines, t.which + usize::from(k), n.wrapping_mul(k + 1));
            }
            EditChecklist { lines, notes, basis: None }.into()
        }
        27 if n.is_multiple_of(2) => {
            let before = ids.get(usize::from(n)).copied().or(ids.first().copied());
            MoveTodo { todo_id, before: before.filter(|_| !n.is_multiple_of(3)) }.into()
        }
        27 => {
            let mut lines = parse(&markdown(state, &notes(state))).ok()?;
            touch(&mut lines, t.which, n);
            ImportTodos { lines }.into()
        }
        _ => {
            let path = if n.is_multiple_of(2) { "primary" } else { "primary.subagents.w" };
            AssignTodo { todo_id, assignee: AgentPath::parse(path).unwrap(), is_known: true }.into()
        }
    })
}

fn counted(state: &Snapshot) -> Tally {
    let mut tally = Tally::default();
    for todo in state.todos.values() {
        *tally.of(todo.status) += 1;
    }
    tally
}

/// An edit by hand may move a settled item of an issue or remove it from view, and so may the
/// import of a plan. A session's item leaves the view when a new item takes its id.
fn moved(todo: &Todo, now: &Todo) -> Todo {
    Todo {
        position: now.position,
        parent_id: now.parent_id,
        phase: now.phase.clone(),
        removed_at: now.removed_at,
        updated_at: now.updated_at,
        ..todo.clone()
    }
}

fn check(before: &Snapshot, after: &Snapshot, now: Time) {
    let kind = after.list.kind();
    let in_progress: Vec<_> =
        after.todos.values().filter(|t| t.status == Status::InProgress).collect();
    match policy(kind).wip {
        Wip::Many => {}
        Wip::AtMostOne => assert!(in_progress.len() <= 1, "{kind}: {in_progress:?}"),
        Wip::ExactlyOneStep => {
            assert!(in_progress.iter().all(|t| t.kind == TodoKind::Step));
            let ready =
                after.todos.values().any(|t| t.kind == TodoKind::Step && t.is_actionable(now));
            assert!(in_progress.len() <= 1 && (in_progress.len() == 1 || !ready), "{after:?}");
        }
    }
    for (id, lease) in &after.leases {
        let before = before.leases.get(id).map_or(0, |lease| lease.epoch);
        assert!(lease.epoch >= before, "an epoch never falls");
    }
    if let Some(limits) = after.limits {
        assert!(after.tally.active() <= u64::from(limits.active + limits.active_soft_margin));
        assert!(after.tally.backlog <= u64::from(limits.backlog));
    }
    assert_eq!(after.tally, counted(after));
    if kind == ListKind::Issue {
        assert_eq!(edit_of_nothing(after, now), Decision::default());
    }
    for (id, todo) in &before.todos {
        let now = &after.todos[id];
        let reopens = matches!(kind, ListKind::Issue | ListKind::Plan);
        let reopened = reopens && now.status != todo.status;
        let moves = matches!(kind, ListKind::Issue | ListKind::Plan | ListKind::Session);
        let same = if moves { &moved(todo, now) } else { todo };
        assert!(!todo.status.is_settled() || now == same || reopened, "settled is final");
        assert_eq!((now.created_at, now.id), (todo.created_at, todo.id));
    }
    // O-19: every item in view is below a root, never in a cycle.
    let in_view = after.todos.values().filter(|todo| todo.removed_at.is_none()).count();
    assert_eq!(ordered(after).len(), in_view);
    for todo in after.todos.values() {
        if kind == ListKind::Plan && !todo.status.is_settled() {
            assert_eq!(todo.assignee.is_some(), todo.status == Status::InProgress, "X-5");
        }
        assert_eq!(todo.status.is_settled(), todo.settled_at.is_some());
        assert!(todo.removed_at.is_none() || todo.status.is_settled(), "out of view is settled");
        assert!(!todo.status.is_settled() || (todo.hold.is_none() && todo.defer_until.is_none()));
        assert!(todo.status != Status::InProgress || todo.started_at.is_some());
        let judge = todo.settled_by.as_ref().map(|by| by.role);
        let completed = todo.status == Status::Completed;
        if completed && kind == ListKind::Pillar {
            assert!(matches!(judge, Some(Role::Lead | Role::Operator)));
        }
        if completed && todo.kind == TodoKind::Criterion && kind == ListKind::Issue {
            assert_eq!(judge, Some(Role::Operator));
        }
        assert!(!matches!(judge, Some(Role::Worker)) || kind == ListKind::Plan);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// T-34, M-12, M-33, M-35, K-20, K-30, K-33, X-1, X-3, X-4, X-5, O-19, D-26.
    #[test]
    fn any_sequence_keeps_every_invariant(kind in 0..5usize, tries in tries()) {
        let kind = ListKind::ALL[kind];
        let mut world = World::new(kind);
        let first = world.state.clone();
        for t in &tries {
            let Some(command) = command(&world.state, world.now, t) else { continue };
            let before = world.state.clone();
            match world.run(&actor(t.role), command.clone()) {
                Ok(_) => check(&before, &world.state, world.now),
                Err(_) => prop_assert_eq!(&before, &world.state),
            }
            let text = serde_json::to_string(&command).unwrap();
            prop_assert_eq!(serde_json::from_str::<Command>(&text).unwrap(), command);
        }
        let mut folded = first;
        for (event, at) in &world.log {
            apply(&mut folded, event, *at);
        }
        prop_assert_eq!(folded, world.state);
    }
}
