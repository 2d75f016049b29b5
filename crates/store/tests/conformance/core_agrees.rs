//! SQL that repeats a rule of the core for speed gives the same result as the core on any list: the
//! next item of a taker (`rows/take.rs`), the current task of a plan (`rows/places.rs`), and the tasks
//! that an agent has not claimed (`rows/todos.rs`).
//!
//! The lists are created by commands, so that only valid lists occur. Each store holds many of
//! them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use punchlist_core::agent::SetAgentStatus;
use punchlist_core::command::{
    AssignTodo, CancelTodo, ChainTodo, ClaimTodo, Command, CompleteTodo, CreateTodos, DeferTodo,
    DemoteTodo, HoldTodo, NewTodo, ReleaseTodo, ReturnTodo, StartTodo, TakeTodo, UnholdTodo,
};
use punchlist_core::plan::{Tree, position};
use punchlist_core::select::next_for;
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::HoldKind;
use punchlist_core::{
    Actor, AgentPath, AgentStatus, List, ListId, ListKind, Role, Scope, Snapshot, Status, Time,
    TodoId, decide,
};
use punchlist_store::rows::take::Look;
use punchlist_store::{Error, Load, Store};
use punchlist_testkit::{Backend, on_every_store};

use crate::fixture::{Fixture, ids};

/// How many lists are checked on each store.
const LISTS: u32 = 100;

/// One action on a list. Items and agents are given by number.
#[derive(Clone, Copy, Debug)]
enum Act {
    Create {
        parent: Option<usize>,
        position: Option<i64>,
        backlog: bool,
    },
    /// Until this many seconds from now.
    Hold {
        item: usize,
        until: Option<i64>,
    },
    Unhold {
        item: usize,
    },
    Defer {
        item: usize,
        until: i64,
    },
    Claim {
        item: usize,
    },
    Return {
        item: usize,
    },
    Complete {
        item: usize,
    },
    Cancel {
        item: usize,
    },
    Demote {
        item: usize,
    },
    Start {
        item: usize,
    },
    Assign {
        item: usize,
        agent: usize,
    },
    /// A lease that ends this many seconds from now.
    Take {
        item: usize,
        agent: usize,
        lease_s: i64,
    },
    Release {
        item: usize,
    },
    Chain {
        item: usize,
        after: usize,
    },
}

fn any_act() -> impl Strategy<Value = Act> {
    let item = || 0..12_usize;
    let agent = || 0..2_usize;
    let soon = || prop_oneof![Just(-60_i64), Just(0), Just(60)];
    let create = (proptest::option::of(item()), proptest::option::of(0..4_i64), any::<bool>());
    prop_oneof![
        6 => create.prop_map(|(parent, position, backlog)| Act::Create {
            parent,
            position,
            backlog,
        }),
        1 => (item(), proptest::option::of(soon()))
            .prop_map(|(item, until)| Act::Hold { item, until }),
        1 => (item(), soon()).prop_map(|(item, until)| Act::Defer { item, until }),
        1 => item().prop_map(|item| Act::Claim { item }),
        1 => item().prop_map(|item| Act::Return { item }),
        1 => item().prop_map(|item| Act::Unhold { item }),
        1 => item().prop_map(|item| Act::Complete { item }),
        1 => item().prop_map(|item| Act::Cancel { item }),
        1 => item().prop_map(|item| Act::Demote { item }),
        1 => item().prop_map(|item| Act::Start { item }),
        1 => (item(), agent()).prop_map(|(item, agent)| Act::Assign { item, agent }),
        2 => (item(), agent(), prop_oneof![Just(-600_i64), Just(3_600)])
            .prop_map(|(item, agent, lease_s)| Act::Take { item, agent, lease_s }),
        1 => item().prop_map(|item| Act::Release { item }),
        3 => (item(), item()).prop_map(|(item, after)| Act::Chain { item, after }),
    ]
}

fn agents() -> [Actor; 2] {
    ["a.subagents.w", "b.subagents.w"]
        .map(|path| Actor::new(Role::Worker, AgentPath::parse(path).unwrap()))
}

/// The command of an action, and its actor; `None` if there is no such item.
fn command(
    act: Act,
    list: &Snapshot,
    seq: i64,
    now: Time,
    clock: Time,
) -> Option<(Actor, Command)> {
    let operator = Actor::new(Role::Operator, AgentPath::primary());
    let item = |at: usize| list.todos.keys().nth(at).copied();
    let by_operator = |command: Command| Some((operator.clone(), command));
    match act {
        Act::Create { parent, position, backlog } => {
            let status = if backlog { Status::Backlog } else { Status::Pending };
            let parent_id = parent.and_then(item);
            let title = Title::new(&format!("task {seq}")).unwrap();
            let seq = Some(seq);
            let new = NewTodo { status, position, parent_id, seq, ..NewTodo::titled(title) };
            by_operator(CreateTodos { items: vec![new] }.into())
        }
        Act::Hold { item: at, until } => {
            let (kind, reason) = (HoldKind::Blocked, Body::new("no key").unwrap());
            let until = until.map(|seconds| now.plus_seconds(seconds));
            by_operator(HoldTodo { todo_id: item(at)?, kind, reason, until }.into())
        }
        Act::Unhold { item: at } => by_operator(UnholdTodo { todo_id: item(at)? }.into()),
        Act::Defer { item: at, until } => {
            let until = Some(now.plus_seconds(until));
            by_operator(DeferTodo { todo_id: item(at)?, until }.into())
        }
        Act::Claim { item: at } => {
            let (todo_id, outcome) = (item(at)?, Some("done".to_owned()));
            by_operator(ClaimTodo { todo_id, outcome, evidence: vec![], clock: None }.into())
        }
        Act::Return { item: at } => {
            let feedback = Body::new("not yet").unwrap();
            by_operator(ReturnTodo { todo_id: item(at)?, feedback }.into())
        }
        Act::Complete { item: at } => by_operator(
            CompleteTodo {
                todo_id: item(at)?,
                outcome: Some("done".to_owned()),
                evidence: vec![],
                metrics_impacted: vec![],
            }
            .into(),
        ),
        Act::Cancel { item: at } => {
            by_operator(CancelTodo { todo_id: item(at)?, outcome: Some("no".to_owned()) }.into())
        }
        Act::Demote { item: at } => {
            by_operator(DemoteTodo { todo_id: item(at)?, reason: None }.into())
        }
        Act::Start { item: at } => {
            by_operator(StartTodo { todo_id: item(at)?, reason: None }.into())
        }
        Act::Assign { item: at, agent } => {
            let assignee = agents()[agent].agent.clone();
            by_operator(AssignTodo { todo_id: item(at)?, assignee, is_known: true }.into())
        }
        Act::Take { item: at, agent, lease_s } => {
            let take = TakeTodo { todo_id: item(at)?, lease_s, clock };
            Some((agents()[agent].clone(), take.into()))
        }
        Act::Chain { item: at, after } => {
            by_operator(ChainTodo { todo_id: item(at)?, after: vec![item(after)?] }.into())
        }
        Act::Release { item: at } => {
            let (epoch, reason) = (None, None);
            by_operator(
                ReleaseTodo { todo_id: item(at)?, epoch, reason, clock, unassigns: true }.into(),
            )
        }
    }
}

/// Plays actions on a new plan, skipping those that the core refuses. Returns the list as it is
/// stored.
fn played(fixture: &Fixture, number: u64, acts: &[Act]) -> List {
    let scope = Scope::from_keys(ListKind::Plan, "main".into(), format!("plan-{number}.md"));
    let id = ListId::from(ids(100 + u128::from(number)).ulid());
    let list = List::new(id, fixture.list.project_id, scope, fixture.now);
    let (made, stamp, acts) = (list.clone(), fixture.stamp(), acts.to_vec());
    let job = move |tx: &mut punchlist_store::Tx<'_>| {
        tx.put_list(&made)?;
        let clock = tx.clock()?;
        let mut ids = ids(10_000 + u128::from(number));
        let mut snapshot = tx.snapshot(made.clone(), Load::All)?;
        for (at, act) in acts.iter().enumerate() {
            let seq = i64::try_from(number).unwrap_or(0) * 1_000 + i64::try_from(at).unwrap_or(0);
            let given = command(*act, &snapshot, seq + 1, stamp.at, clock);
            let Some((actor, command)) = given else { continue };
            let decided = decide(&snapshot, &command, &actor, stamp.at, &mut ids);
            if let Ok(decision) = decided {
                tx.record(&mut snapshot, &decision, &stamp, &mut ids)?;
            }
        }
        Ok::<_, Error>(())
    };
    fixture.store.write(job).unwrap();
    list
}

fn whole(store: &Arc<Store>, list: &List, now: Time) -> (Snapshot, Time) {
    let list = list.clone();
    store
        .read(move |tx| {
            let mut snapshot = tx.snapshot(list.clone(), Load::All)?;
            snapshot.lift_holds(now);
            Ok::<_, Error>((snapshot, tx.clock()?))
        })
        .unwrap()
}

fn each_list(backend: Backend, check: impl Fn(&Fixture, &List)) {
    let fixture = Fixture::of(backend, ListKind::Plan);
    let number = AtomicU64::new(0);
    let config = Config { cases: LISTS, failure_persistence: None, ..Config::default() };
    let acts = proptest::collection::vec(any_act(), 1..40);
    TestRunner::new(config)
        .run(&acts, |acts| {
            let list = played(&fixture, number.fetch_add(1, Ordering::Relaxed), &acts);
            check(&fixture, &list);
            Ok(())
        })
        .unwrap();
}

/// An agent that asks for its next task gets the one from the core's rules, and may take it.
fn the_next_item_is_the_one_the_core_gives(backend: Backend) {
    each_list(backend, |fixture, list| {
        let now = fixture.now;
        for taker in agents() {
            let (snapshot, clock) = whole(&fixture.store, list, now);
            let expected = next_for(&snapshot, &taker, now, clock).map(|todo| todo.id);
            let (scope, asked) = (list.scope.clone(), taker.clone());
            let look = fixture
                .store
                .write(move |tx| tx.look_for_next("test", &scope, &asked, now))
                .unwrap();
            let found = match look {
                Look::Nothing => None,
                Look::Found(_, id) => Some(id),
                Look::Whole(_, todo, _) => Some(todo.id),
                Look::Again => panic!("nobody else writes"),
            };
            assert_eq!(found, expected, "{} on {snapshot:#?}", taker.agent);
            if let Some(todo_id) = found {
                let take = TakeTodo { todo_id, lease_s: 60, clock }.into();
                let taken = decide(&snapshot, &take, &taker, now, &mut ids(7));
                assert!(taken.is_ok(), "{taken:?}");
            }
        }
    });
}

/// D-12: the few rows that are looked up give the same position as the whole plan. If nobody can
/// work on the task they give, the whole plan is loaded anyway.
fn the_position_is_the_one_the_core_gives(backend: Backend) {
    each_list(backend, |fixture, list| {
        let now = fixture.now;
        let (whole, _) = whole(&fixture.store, list, now);
        let wanted = list.clone();
        let mut few = fixture.read(move |tx| tx.snapshot(wanted.clone(), Load::Place));
        few.lift_holds(now);
        let (tree, place) = (Tree::of(&whole), Tree::of(&few));
        let (expected, found) = (position(&tree, now), position(&place, now));
        let current = found.current.map(|at| place.branches()[at].todo);
        let is_chained = few.todos.values().any(|todo| !todo.after.is_empty());
        let is_dropped = place.branches().iter().any(|branch| branch.is_dropped);
        if !is_chained && !is_dropped && current.is_none_or(|todo| todo.is_actionable(now)) {
            let said = (found.todo_id(&place), found.reason);
            assert_eq!(said, (expected.todo_id(&tree), expected.reason), "{whole:#?}");
        }
    });
}

/// The tasks that the status `complete` claims are those the core would claim.
fn the_unclaimed_tasks_are_those_of_the_core(backend: Backend) {
    each_list(backend, |fixture, list| {
        let (whole, _) = whole(&fixture.store, list, fixture.now);
        for Actor { agent, .. } in agents() {
            let (status, note) = (AgentStatus::Complete, None);
            let done = SetAgentStatus { agent: agent.clone(), status, note };
            let by = Actor::new(Role::Operator, AgentPath::primary());
            let claimed = whole.todos.values().filter(|task| done.claims(task, &by));
            let mut expected: Vec<TodoId> = claimed.map(|task| task.id).collect();
            expected.sort();
            let project = list.project_id;
            let found = fixture.read(move |tx| tx.unclaimed_tasks_of(project, &agent));
            // The project has other lists too.
            let here =
                found.into_iter().map(|(id, _)| id).filter(|id| whole.todos.contains_key(id));
            assert_eq!(here.collect::<Vec<_>>(), expected, "{whole:#?}");
        }
    });
}

on_every_store!(
    the_next_item_is_the_one_the_core_gives,
    the_position_is_the_one_the_core_gives,
    the_unclaimed_tasks_are_those_of_the_core
);
