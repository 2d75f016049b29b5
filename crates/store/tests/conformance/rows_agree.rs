//! SQL that repeats a predicate of the core on rows gives the same rows as the core: the issues that
//! can be started (`rows/issue_lists.rs`), and the delegations that can be taken, now or later
//! (`rows/delegations.rs`). The rows need not be reachable by commands.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use punchlist_core::delegation::{Delegation, DelegationState, free_from, is_free};
use punchlist_core::driver::Budget;
use punchlist_core::event::{DelegationQueued, IssueLinked, RunStarted};
use punchlist_core::issue::ready::{is_ready, rank, urgency};
use punchlist_core::issue::{Link, LinkKind};
use punchlist_core::run::{Run, RunState, Settings, StartRun};
use punchlist_core::todo::Priority;
use punchlist_core::{
    Actor, AgentPath, By, ConversationId, Decide, Decision, DelegationId, Event, Ids, Issue,
    IssueId, IssueStatus, Lease, LinkId, ListKind, ProjectId, Role, Time,
};
use punchlist_store::{Error, Stamp, Tx};
use punchlist_testkit::{Backend, on_every_store};
use serde_json::json;

use crate::fixture::{Fixture, ids};

/// How many projects are checked on each store.
const PROJECTS: u32 = 60;

/// Makes a project for each case, with this number.
pub(crate) fn each_project<T: std::fmt::Debug>(
    backend: Backend,
    rows: impl Strategy<Value = Vec<T>>,
    check: impl Fn(&Fixture, ProjectId, u128, Vec<T>),
) {
    let fixture = Fixture::of(backend, ListKind::Plan);
    let number = AtomicU64::new(0);
    let config = Config { cases: PROJECTS, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&rows, |rows| {
            let seed = 1_000 + 100 * u128::from(number.fetch_add(1, Ordering::Relaxed));
            let project = ProjectId::from(ids(seed).ulid());
            let (name, now) = (name_of(seed), fixture.now);
            fixture.store.write(move |tx| tx.insert_project(project, &name, now)).unwrap();
            check(&fixture, project, seed, rows);
            Ok(())
        })
        .unwrap();
}

fn name_of(seed: u128) -> String {
    format!("project {seed}")
}

fn soon() -> impl Strategy<Value = i64> {
    prop_oneof![Just(-60_i64), Just(0), Just(60)]
}

/// An issue, and the one it is blocked by.
pub(crate) type AnyIssue = (IssueStatus, bool, bool, Option<i64>, Option<Priority>, Option<usize>);

fn any_issue() -> impl Strategy<Value = AnyIssue> {
    (
        proptest::sample::select(IssueStatus::ALL.to_vec()),
        proptest::bool::weighted(0.2),
        proptest::bool::weighted(0.2),
        proptest::option::of(soon()),
        proptest::option::of(proptest::sample::select(Priority::ALL.to_vec())),
        proptest::option::weighted(0.3, 0..8_usize),
    )
}

pub(crate) fn issue(
    project_id: ProjectId,
    number: i64,
    id: IssueId,
    any: &AnyIssue,
    now: Time,
) -> Issue {
    let (status, assignment, assignee, defer, priority, _) = any;
    Issue {
        id,
        project_id,
        number,
        title: format!("issue {number}"),
        body: String::new(),
        status: *status,
        assignment: assignment.then(|| "primary".to_owned()),
        revision: 1,
        judged: BTreeMap::new(),
        created_by: "operator".to_owned(),
        created_at: now,
        updated_at: now,
        defer_until: defer.map(|seconds| now.plus_seconds(seconds)),
        labels: Vec::new(),
        priority: *priority,
        assignee: assignee.then(|| "ada".to_owned()),
        status_reason: None,
    }
}

fn the_ready_issues_are_those_of_the_core(backend: Backend) {
    let rows = proptest::collection::vec(any_issue(), 1..8);
    each_project(backend, rows, |fixture, project, seed, rows| {
        let (now, mut ids) = (fixture.now, ids(seed + 1));
        let made = (1..).zip(&rows).map(|(number, any)| {
            let id = IssueId::from(ids.ulid());
            issue(project, number, id, any, now)
        });
        let issues: Vec<Issue> = made.collect();
        let blocker = |at: usize| rows[at].5.and_then(|by| issues.get(by));
        let links: Vec<(Issue, Link, i64)> = (0..issues.len())
            .filter_map(|at| {
                let (from, to) = (issues[at].clone(), blocker(at)?);
                let link = Link {
                    id: LinkId::from(ids.ulid()),
                    project_id: project,
                    from_issue: from.id,
                    to_issue: to.id,
                    kind: LinkKind::BlockedBy,
                    created_by: "operator".to_owned(),
                    created_at: now,
                };
                Some((from, link, to.number))
            })
            .collect();
        let mut expected: Vec<&Issue> = (0..issues.len())
            .filter(|at| {
                let by: Vec<IssueStatus> = blocker(*at).map(|by| by.status).into_iter().collect();
                is_ready(&issues[*at], &by, now)
            })
            .map(|at| &issues[at])
            .collect();
        expected.sort_by_key(|issue| urgency(issue));
        let expected: Vec<i64> = expected.iter().map(|issue| issue.number).collect();
        let (stored, stamp) = (issues.clone(), Stamp { project, ..fixture.stamp() });
        let write = move |tx: &mut Tx<'_>| {
            for issue in &stored {
                tx.insert_issue(issue)?;
            }
            for (from, link, to) in &links {
                let (link, number, to) = (link.clone(), from.number, *to);
                let linked = decided(IssueLinked { link, number, to }.into());
                tx.record_issue(&mut Some(from.clone()), &linked, &stamp)?;
            }
            Ok::<_, Error>(())
        };
        fixture.store.write(write).unwrap();
        let found = fixture.read(move |tx| tx.ready_issues(project, now, None, 100));
        let found: Vec<i64> = found.iter().map(|issue| issue.number).collect();
        assert_eq!(found, expected, "{issues:#?}");
        // In pages of one, each after the rank of the last.
        let (mut paged, mut after) = (Vec::new(), None);
        loop {
            let page = fixture.read(move |tx| tx.ready_issues(project, now, after, 1));
            let Some(next) = page.first() else { break };
            paged.push(next.number);
            after = Some(rank(next));
        }
        assert_eq!(paged, expected, "{issues:#?}");
    });
}

fn decided(event: Event) -> Decision {
    Decision { events: vec![event], ..Decision::default() }
}

/// The state of a delegation, the end of its lease, and the state of its run; whether it belongs to
/// a pillar, and is done by another type of agent.
type AnyWork = (DelegationState, Option<i64>, Option<RunState>, bool, bool);

fn any_work() -> impl Strategy<Value = AnyWork> {
    (
        proptest::sample::select(DelegationState::ALL.to_vec()),
        proptest::option::of(prop_oneof![Just(-600_i64), Just(3_600)]),
        proptest::option::of(proptest::sample::select(RunState::ALL.to_vec())),
        any::<bool>(),
        any::<bool>(),
    )
}

fn delegation(project: ProjectId, ids: &mut Ids, any: &AnyWork, at: Time) -> Delegation {
    let (state, .., is_in_chat, is_of_tester) = *any;
    let chat = is_in_chat.then(|| ConversationId::from(ids.ulid()));
    let of = if is_of_tester { "tester" } else { "coder" };
    serde_json::from_value(json!({
        "id": DelegationId::from(ids.ulid()), "projectId": project, "type": of,
        "mission": "Do it", "rationale": null, "conversationId": chat,
        "mode": "async", "state": state, "review": "auto", "todoId": null, "sessionId": null,
        "issueId": null, "delegatedBy": "root:primary", "parentAgent": "primary",
        "agent": "primary.subagents.coder", "attempts": 1, "result": null, "error": null,
        "proposal": null, "decision": null, "createdAt": at, "updatedAt": at, "finishedAt": null,
    }))
    .unwrap()
}

fn run_of(delegation: &Delegation, state: RunState, seed: u128, now: Time) -> Run {
    let mut ids = ids(seed);
    let settings = Settings {
        effort: None,
        completion: Default::default(),
        model: "scripted:a".to_owned(),
        drives: true,
        budget: Budget::default(),
        max_tokens: 1_000,
        tools: None,
        instructions: None,
        history: 50,
        continuation: None,
    };
    let start = StartRun {
        agent: delegation.agent.clone(),
        role: Role::Worker,
        mission: None,
        pillar: None,
        conversation_id: ConversationId::from(ids.ulid()),
        turn_id: "t".to_owned(),
        session_id: None,
        plan: None,
        delegation_id: Some(delegation.id),
        settings,
        reach: None,
        names_model: false,
        held: false,
    };
    let actor = Actor::new(Role::Operator, AgentPath::primary());
    let begun =
        start.decide(delegation.project_id, By { actor: &actor, now, ids: &mut ids }).unwrap();
    let [Event::RunStarted(RunStarted { run })] = begun.events.as_slice() else {
        panic!("{begun:?}")
    };
    Run { state, ..Run::clone(run) }
}

type Work = (Delegation, Option<Lease>, Option<Run>);

/// Stores delegations with their leases and runs.
fn handed_out(
    fixture: &Fixture,
    project: ProjectId,
    seed: u128,
    rows: &[AnyWork],
    clock: Time,
) -> Vec<Work> {
    let (now, mut new) = (fixture.now, ids(seed + 1));
    let work: Vec<Work> = rows
        .iter()
        .zip(2..)
        .map(|(any, n)| {
            let made = delegation(project, &mut new, any, now);
            let holder = Some("system:worker".to_owned());
            let lease =
                |s| Lease { holder: holder.clone(), epoch: 1, until: clock.plus_seconds(s) };
            let run = any.2.map(|state| run_of(&made, state, seed + n, now));
            (made, any.1.map(lease), run)
        })
        .collect();
    let (stored, stamp) = (work.clone(), Stamp { project, ..fixture.stamp() });
    let write = move |tx: &mut Tx<'_>| {
        for (made, lease, run) in &stored {
            let queued = DelegationQueued { delegation: Box::new(made.clone()) };
            tx.record_delegation(&mut None, &decided(queued.into()), &stamp)?;
            if let Some(lease) = lease {
                tx.put_delegation_lease(made.id, lease)?;
            }
            if let Some(run) = run {
                let begun = decided(RunStarted { run: Box::new(run.clone()) }.into());
                tx.record_run(&mut None, &begun, &stamp, &mut ids(seed + 50))?;
            }
        }
        Ok::<_, Error>(())
    };
    fixture.store.write(write).unwrap();
    work
}

fn the_free_delegations_are_those_of_the_core(backend: Backend) {
    let rows = proptest::collection::vec(any_work(), 1..8);
    each_project(backend, rows, |fixture, project, seed, rows| {
        let clock = fixture.read(|tx| tx.clock());
        let work = handed_out(fixture, project, seed, &rows, clock);
        let free = work
            .iter()
            .filter(|(made, lease, run)| is_free(made, lease.as_ref(), run.as_ref(), clock));
        let mut expected: Vec<DelegationId> = free.map(|(made, ..)| made.id).collect();
        expected.sort();
        let take_all = move |tx: &mut Tx<'_>| {
            let mut found: Vec<DelegationId> = Vec::new();
            loop {
                let after = found.last().map(ToString::to_string);
                let (any, within) = ((None, false, None), (None, None));
                let next = tx.next_delegation(project, any, within, after.as_deref(), clock)?;
                let Some((made, _)) = next else { return Ok::<_, Error>(found) };
                found.push(made.id);
            }
        };
        let found = fixture.store.write(take_all).unwrap();
        assert_eq!(found, expected, "{work:#?}");
    });
}

/// A worker looks at all projects: which have work for it now, and when the next work is due.
fn the_work_that_is_due_is_that_of_the_core(backend: Backend) {
    let rows = proptest::collection::vec(any_work(), 1..8);
    let stored: RefCell<Vec<(String, Work)>> = RefCell::default();
    each_project(backend, rows, |fixture, project, seed, rows| {
        let clock = fixture.read(|tx| tx.clock());
        let work = handed_out(fixture, project, seed, &rows, clock);
        let mut stored = stored.borrow_mut();
        stored.extend(work.into_iter().map(|one| (name_of(seed), one)));
        for (types, in_chats) in [(" coder ", false), (" tester ", true), (" nobody ", false)] {
            let fits = |made: &Delegation| {
                let is_named = types.contains(&format!(" {} ", made.kind));
                is_named || (in_chats && made.conversation_id.is_some())
            };
            let mut due: BTreeMap<&str, Time> = BTreeMap::new();
            for (name, (made, lease, run)) in stored.iter() {
                let from = free_from(made, lease.as_ref(), run.as_ref());
                let Some(from) = from.filter(|_| fits(made)) else { continue };
                let first = due.entry(name).or_insert(from);
                *first = from.min(*first);
            }
            let free = due.iter().filter(|(_, at)| **at <= clock).map(|(name, _)| *name);
            let expected = (free.collect::<Vec<_>>(), due.values().min().copied());
            let (free, next) = fixture.read(move |tx| tx.delegations_due(types, in_chats, clock));
            let found = (free.iter().map(String::as_str).collect::<Vec<_>>(), next);
            assert_eq!(found, expected, "{types} {in_chats} {stored:#?}");
        }
    });
}

on_every_store!(
    the_ready_issues_are_those_of_the_core,
    the_free_delegations_are_those_of_the_core,
    the_work_that_is_due_is_that_of_the_core
);
