//! Issue rows: written and read in full, numbered without collision, folded from the log.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

use punchlist_core::issue::{Closing, CreateIssue, Ground, TransitionIssue, apply_issue};
use punchlist_core::text::{Body, Title};
use punchlist_core::{By, Decide, Event, Issue, IssueId, IssueStatus};
use punchlist_store::rows::issue_lists::Wanted;
use punchlist_store::rows::lists::Lock;
use punchlist_store::{Error, ErrorKind, Stamp, Store, Tx, sql};
use punchlist_testkit::{Backend, on_every_store};

use crate::fixture::{Fixture, ids};

/// Creates an issue as the operation does.
pub(crate) fn file(
    store: &Store,
    stamp: &Stamp,
    title: &str,
    body: &str,
    seed: u128,
) -> Result<Issue, Error> {
    let (stamp, title, body) = (stamp.clone(), Title::new(title).unwrap(), Body::new(body).ok());
    let command = CreateIssue { title, body, force_new: true };
    store.write(move |tx| {
        let last_number = tx.lock_last_issue(stamp.project)?;
        let ground = Ground { project_id: stamp.project, last_number, neighbours: Vec::new() };
        let decision = command
            .decide(&ground, By { actor: &stamp.actor, now: stamp.at, ids: &mut ids(seed) })
            .map_err(|no| refused(&no))?;
        let mut state = None;
        tx.record_issue(&mut state, &decision, &stamp)?;
        state.ok_or_else(|| Error::new(ErrorKind::Backend, "nothing was filed"))
    })
}

fn refused(refused: &punchlist_core::Refused) -> Error {
    Error::new(ErrorKind::Backend, refused.refusal.to_string())
}

fn go(fixture: &Fixture, number: i64, status: IssueStatus) -> Issue {
    let stamp = fixture.stamp();
    fixture.store.write(move |tx| transition(tx, &stamp, number, status, None)).unwrap()
}

pub(crate) fn transition(
    tx: &mut Tx<'_>,
    stamp: &Stamp,
    number: i64,
    status: IssueStatus,
    reason: Option<&str>,
) -> Result<Issue, Error> {
    let mut state = tx.issue(stamp.project, number, Lock::Row)?;
    let reason = reason.and_then(|text| Body::new(text).ok());
    let command = TransitionIssue { status, reason, confirm: false };
    let issue = state.as_ref().ok_or_else(|| Error::new(ErrorKind::Backend, "no issue"))?;
    let (closing, mut ids) = (Closing::default(), ids(77));
    let decided =
        command.decide((issue, closing), By { actor: &stamp.actor, now: stamp.at, ids: &mut ids });
    let decision = decided.map_err(|no| refused(&no))?;
    tx.record_issue(&mut state, &decision, stamp)?;
    state.ok_or_else(|| Error::new(ErrorKind::Backend, "no issue"))
}

/// A transaction gets its number with its first lock. If it changes an issue that a transaction
/// with a higher number has changed since, its own event would come first in the log. It is run
/// again with a new number, so that folding the log gives the row.
#[test]
fn the_log_has_the_changes_of_an_issue_in_the_order_of_their_commits_on_postgres() {
    let fixture = Fixture::new(Backend::Postgres);
    let stamp = fixture.stamp();
    for (title, seed) in [("one", 1), ("two", 2)] {
        file(&fixture.store, &stamp, title, "", seed).unwrap();
    }
    let (store, attempts) = (Arc::clone(&fixture.store), Arc::new(AtomicUsize::new(0)));
    let (inside, entered) = channel();
    let (release, released) = channel::<()>();
    let counted = Arc::clone(&attempts);
    let waiting = thread::spawn(move || {
        store.write(move |tx| {
            tx.issue(stamp.project, 1, Lock::Row)?;
            if counted.fetch_add(1, Ordering::Relaxed) == 0 {
                inside.send(()).unwrap();
                released.recv().unwrap();
            }
            transition(tx, &stamp, 2, IssueStatus::InProgress, None)
        })
    });
    entered.recv().unwrap();
    go(&fixture, 2, IssueStatus::Triaged);
    release.send(()).unwrap();
    let issue = waiting.join().unwrap().unwrap();
    assert_eq!((issue.status, issue.revision), (IssueStatus::InProgress, 3));
    assert_eq!(attempts.load(Ordering::Relaxed), 2);
    let mut folded = None;
    for event in fixture.log(4).iter().filter(|event| event.aggregate == issue.id.to_string()) {
        apply_issue(&mut folded, &event.event().unwrap().unwrap(), event.at);
    }
    assert_eq!(folded, Some(issue));
}

fn every_field_of_an_issue_comes_back(backend: Backend) {
    let fixture = Fixture::new(backend);
    let (project, at) = (fixture.list.project_id, fixture.now);
    let issue = Issue {
        id: IssueId::from(ids(3).ulid()),
        project_id: project,
        number: 7,
        title: "emoji 🧰, quote ' and \" and \\ and % and *".into(),
        body: format!("{}\n{}", "w".repeat(5_000), "שלום ".repeat(6_000)),
        status: IssueStatus::Triaged,
        assignment: Some("workflow:nightly".into()),
        revision: 12,
        judged: std::collections::BTreeMap::new(),
        created_by: "operator:ada".into(),
        created_at: at,
        updated_at: at.plus_seconds(1),
        defer_until: Some(at.plus_seconds(2)),
        labels: vec!["a \"b\"".to_owned()],
        priority: None,
        assignee: Some("ann".to_owned()),
        status_reason: Some("seen twice".to_owned()),
    };
    let written = issue.clone();
    fixture.store.write(move |tx| tx.insert_issue(&written)).unwrap();
    let changed = Issue {
        status: IssueStatus::Rejected,
        assignment: None,
        revision: 13,
        updated_at: at.plus_seconds(5),
        defer_until: None,
        status_reason: None,
        ..issue.clone()
    };
    assert_eq!(fixture.read(move |tx| tx.issue(project, 7, Lock::No)), Some(issue.clone()));
    let written = changed.clone();
    fixture.store.write(move |tx| tx.update_issue(&written)).unwrap();
    let found = fixture.store.write(move |tx| tx.issue(project, 7, Lock::Row)).unwrap();
    assert_eq!(found, Some(changed));
    assert_eq!(fixture.read(move |tx| tx.issue(project, 8, Lock::No)), None);
    assert_eq!(fixture.read(move |tx| tx.issue_number(issue.id)), Some(7));
    // A number that was inserted by hand counts as used.
    assert_eq!(fixture.store.write(move |tx| tx.lock_last_issue(project)).unwrap(), 7);
}

/// F-17: numbers are per project, without gaps, collisions or errors, however many callers create
/// issues.
fn concurrent_creators_get_different_numbers(backend: Backend) {
    const EACH: u128 = 4;
    let fixture = Fixture::new(backend);
    let start = Arc::new(Barrier::new(8));
    let creators: Vec<_> = (1..=8_u128)
        .map(|n| {
            let (store, stamp) = (Arc::clone(&fixture.store), fixture.stamp());
            let start = Arc::clone(&start);
            thread::spawn(move || {
                start.wait();
                let file = |m| file(&store, &stamp, "one more", "", n * 100 + m);
                (0..EACH).map(|m| file(m).unwrap().number).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut numbers: Vec<i64> = Vec::new();
    for creator in creators {
        let own = creator.join().unwrap();
        assert!(own.is_sorted());
        numbers.extend(own);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=32).collect::<Vec<_>>());
}

fn a_number_is_not_given_twice_even_if_its_issue_is_gone(backend: Backend) {
    let fixture = Fixture::new(backend);
    let file = |seed| file(&fixture.store, &fixture.stamp(), "a", "", seed).unwrap().number;
    assert_eq!((file(2), file(3)), (1, 2));
    let gone = sql!("DELETE FROM issues WHERE number = 2");
    fixture.store.write(move |tx| tx.execute(gone, &[])).unwrap();
    assert_eq!(file(4), 3);
    let twin = sql!("UPDATE issues SET number = 1 WHERE number = 3");
    assert!(fixture.store.write(move |tx| tx.execute(twin, &[])).is_err());
}

fn issues_are_listed_newest_first_by_status_and_in_pages(backend: Backend) {
    let fixture = Fixture::new(backend);
    for n in 1..=5 {
        file(&fixture.store, &fixture.stamp(), &format!("issue {n}"), "", n).unwrap();
    }
    go(&fixture, 2, IssueStatus::Triaged);
    go(&fixture, 4, IssueStatus::Triaged);
    let project = fixture.list.project_id;
    let numbers = |status: Option<IssueStatus>, before: Option<i64>, limit: i64| {
        let wanted = Wanted { status, before, ..Wanted::default() };
        let found = fixture.read(move |tx| tx.issues(project, &wanted, limit));
        found.iter().map(|issue| issue.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(None, None, 9), [5, 4, 3, 2, 1]);
    assert_eq!(numbers(None, Some(4), 2), [3, 2]);
    assert_eq!(numbers(Some(IssueStatus::Triaged), None, 9), [4, 2]);
    assert_eq!(numbers(Some(IssueStatus::Triaged), Some(4), 9), [2]);
    assert_eq!(numbers(Some(IssueStatus::Resolved), None, 9), [0; 0]);
    let other = punchlist_core::ProjectId::from(ids(77).ulid());
    let wanted = Wanted::default();
    assert_eq!(fixture.read(move |tx| tx.issues(other, &wanted, 9)), []);
}

fn folding_the_log_gives_the_issues(backend: Backend) {
    let fixture = Fixture::new(backend);
    for n in 1..=2 {
        file(&fixture.store, &fixture.stamp(), &format!("issue {n}"), "with a body", n).unwrap();
    }
    for status in [IssueStatus::Triaged, IssueStatus::Resolved, IssueStatus::Open] {
        go(&fixture, 1, status);
    }
    let project = fixture.list.project_id;
    let log = fixture.log(5);
    assert_eq!(log.len(), 5);
    for number in 1..=2 {
        let issue = fixture.read(move |tx| tx.issue(project, number, Lock::No)).unwrap();
        let mut folded = None;
        for recorded in log.iter().filter(|e| e.aggregate == issue.id.to_string()) {
            let event: Event = recorded.event().unwrap().unwrap();
            assert!(apply_issue(&mut folded, &event, recorded.at));
        }
        assert_eq!(folded, Some(issue));
    }
}

fn the_tables_refuse_unknown_words_and_go_with_their_project(backend: Backend) {
    let fixture = Fixture::new(backend);
    file(&fixture.store, &fixture.stamp(), "a", "", 2).unwrap();
    for statement in [
        sql!("UPDATE issues SET status = 'done'"),
        sql!("UPDATE issues SET project_id = 'nowhere'"),
    ] {
        assert!(fixture.store.write(move |tx| tx.execute(statement, &[])).is_err());
    }
    fixture.store.write(|tx| tx.execute(sql!("DELETE FROM projects"), &[])).unwrap();
    for count in [sql!("SELECT count(*) FROM issues"), sql!("SELECT count(*) FROM issue_search")] {
        assert_eq!(fixture.read(move |tx| tx.first(count, &[], |row| row.int(0))), Some(0));
    }
}

on_every_store!(
    every_field_of_an_issue_comes_back,
    concurrent_creators_get_different_numbers,
    a_number_is_not_given_twice_even_if_its_issue_is_gone,
    issues_are_listed_newest_first_by_status_and_in_pages,
    folding_the_log_gives_the_issues,
    the_tables_refuse_unknown_words_and_go_with_their_project,
);
