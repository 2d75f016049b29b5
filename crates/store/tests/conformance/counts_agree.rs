//! Counts that SQL makes of rows are those the core makes of the same items: the progress of
//! checklists (`rows/issue_lists.rs`), and what waits for its reviewer (`rows/waiting.rs`,
//! `rows/todos.rs`). The rows need not be reachable by commands.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use punchlist_core::issue::progress;
use punchlist_core::{
    IssueId, IssueStatus, List, ListId, ListKind, ProjectId, Scope, Status, Time, Todo, TodoId,
    TodoKind,
};
use punchlist_store::rows::issue_lists::IssueCounts;
use punchlist_store::{Error, Load, Tx};
use punchlist_testkit::{Backend, on_every_store};
use serde_json::{Value, json};

use crate::fixture::{Fixture, ids};
use crate::rows_agree::{each_project, issue};

/// More than there are.
const ALL: i64 = 10_000;

/// An item: its kind and status; whether it is claimed; when its hold ends, relative to now, if it
/// has one; whether it is removed from view.
type AnyItem = (TodoKind, Status, bool, Option<Option<i64>>, bool);

/// A list with its items: of an issue or of a plan, and whether it is archived.
type AnyList = (bool, bool, Vec<AnyItem>);

fn any_list() -> impl Strategy<Value = AnyList> {
    let item = (
        proptest::sample::select(TodoKind::ALL.to_vec()),
        proptest::sample::select(Status::ALL.to_vec()),
        any::<bool>(),
        proptest::option::weighted(0.4, proptest::option::of(-1..2_i64)),
        proptest::bool::weighted(0.2),
    );
    (
        proptest::bool::weighted(0.7),
        proptest::bool::weighted(0.2),
        proptest::collection::vec(item, 0..10),
    )
}

fn todo(list: ListId, id: TodoId, any: &AnyItem, now: Time) -> Todo {
    let (kind, status, is_claimed, held, is_removed) = *any;
    let claim = json!({ "by": "root:primary", "at": now, "evidence": [], "outcome": null });
    let until = held.flatten().map(|seconds| now.plus_seconds(seconds));
    let hold = json!({ "kind": "blocked", "reason": "no key", "at": now, "by": "operator",
        "until": until });
    let given = |is_given: bool, value: Value| if is_given { value } else { Value::Null };
    // What leaves the view is settled first.
    let removed = given(is_removed && status.is_settled(), json!(now));
    serde_json::from_value(json!({
        "id": id, "listId": list, "seq": null, "parentId": null, "kind": kind, "title": id,
        "description": "", "justification": "", "completionCriteria": "", "agentType": null,
        "status": status, "priority": "medium", "position": 1, "phase": null, "deadline": null,
        "originAgent": "primary", "externalId": null, "assignee": null,
        "claim": given(is_claimed, claim), "hold": given(held.is_some(), hold), "deferUntil": null,
        "outcome": null, "evidence": [], "settledBy": null, "ratifiedAt": null, "createdAt": now,
        "updatedAt": now, "startedAt": null, "settledAt": null, "removedAt": removed,
    }))
    .unwrap()
}

/// A stored list, with the number of its issue if it is one's.
type Stored = (List, Option<i64>, Vec<Todo>);

fn stored(fixture: &Fixture, project: ProjectId, seed: u128, rows: &[AnyList]) -> Vec<Stored> {
    let (now, mut ids) = (fixture.now, ids(seed + 1));
    let mut lists: Vec<Stored> = Vec::new();
    let mut issues = Vec::new();
    for (number, (is_issue, is_archived, items)) in (1..).zip(rows) {
        let scope = if *is_issue {
            let any = (IssueStatus::Open, false, false, None, None, None);
            let made = issue(project, number, IssueId::from(ids.ulid()), &any, now);
            let scope = Scope::Issue { issue_id: made.id.to_string() };
            issues.push(made);
            scope
        } else {
            Scope::from_keys(ListKind::Plan, "main".into(), format!("{seed}-{number}.md"))
        };
        let list = List::new(ListId::from(ids.ulid()), project, scope, now);
        let list = List { archived_at: is_archived.then_some(now), ..list };
        let todos = items.iter().map(|any| todo(list.id, TodoId::from(ids.ulid()), any, now));
        let todos = todos.collect();
        lists.push((list, is_issue.then_some(number), todos));
    }
    let made = lists.clone();
    let write = move |tx: &mut Tx<'_>| {
        for issue in &issues {
            tx.insert_issue(issue)?;
        }
        for (list, _, todos) in &made {
            tx.put_list(list)?;
            let nests = list.kind() == ListKind::Plan;
            todos.iter().try_for_each(|todo| tx.insert_todo(todo, nests))?;
        }
        Ok::<_, Error>(())
    };
    fixture.store.write(write).unwrap();
    lists
}

fn the_progress_of_issues_is_that_of_the_core(backend: Backend) {
    let rows = proptest::collection::vec(any_list(), 1..5);
    each_project(backend, rows, |fixture, project, seed, rows| {
        let lists = stored(fixture, project, seed, &rows);
        let mut expected: BTreeMap<i64, IssueCounts> = BTreeMap::new();
        for (list, number, _) in &lists {
            let Some(number) = number else { continue };
            let list = list.clone();
            let mut checklist = fixture.read(move |tx| tx.snapshot(list.clone(), Load::All));
            checklist.lift_holds(fixture.now);
            let progress = progress::of(&checklist);
            // An issue without items in view has no row.
            if progress.total > 0 {
                let count = |count: usize| i64::try_from(count).unwrap();
                let counts = IssueCounts {
                    criteria: count(progress.criteria),
                    met: count(progress.criteria_met),
                    claimed: count(progress.criteria_claimed),
                    steps: count(progress.steps),
                    steps_closed: count(progress.steps_closed),
                    held: count(progress.held),
                };
                expected.insert(*number, counts);
            }
        }
        let now = fixture.now;
        let found = fixture.read(move |tx| tx.issue_counts(project, (1, ALL), now));
        assert_eq!(found, expected, "{lists:#?}");
    });
}

/// P-32: the inbox lists and counts what the core says is in review.
fn the_items_in_review_are_those_of_the_core(backend: Backend) {
    let rows = proptest::collection::vec(any_list(), 1..5);
    let counts: RefCell<HashMap<ProjectId, i64>> = RefCell::default();
    each_project(backend, rows, |fixture, project, seed, rows| {
        let lists = stored(fixture, project, seed, &rows);
        let kept = lists.iter().filter(|(list, ..)| list.archived_at.is_none());
        let in_review = kept.flat_map(|(.., todos)| todos).filter(|todo| todo.is_in_review());
        let expected: Vec<TodoId> = in_review.map(|todo| todo.id).collect();
        let found = fixture.read(move |tx| tx.claimed(project, ALL));
        let found: Vec<TodoId> = found.into_iter().map(|claimed| claimed.id).collect();
        assert_eq!(found, expected, "{lists:#?}");
        let mut counts = counts.borrow_mut();
        if !expected.is_empty() {
            counts.insert(project, i64::try_from(expected.len()).unwrap());
        }
        assert_eq!(fixture.read(|tx| tx.review_counts(ALL)), *counts, "{lists:#?}");
    });
}

on_every_store!(
    the_progress_of_issues_is_that_of_the_core,
    the_items_in_review_are_those_of_the_core
);
