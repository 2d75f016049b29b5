//! Search: one corpus, one table of queries and results, the same on every store (P-26).

use punchlist_core::issue::{Likeness, search};
use punchlist_core::{Ids, Issue, IssueId, IssueStatus};
use punchlist_store::rows::issue_lists::Wanted;
use punchlist_store::rows::lists::Lock;
use punchlist_store::{Tx, sql};
use punchlist_testkit::{Backend, on_every_store};

use crate::fixture::Fixture;
use crate::issues::file;

/// Title and body; the first is issue 1.
const CORPUS: [(&str, &str); 9] = [
    ("Log in fails on Safari", "The login page stays white. See https://example.org/a?b=c"),
    ("Logging is too loud", "crates/store/src/sqlite/open.rs logs each statement"),
    ("Größe der Datei", "Die Größe wird falsch gezählt, ÜBER 4 GiB"),
    ("漢字を検索", "日本語の本文 Привет мир"),
    ("Upgrade to v2.0.1", "from 1.9; 1e5 rows, 0x1F, e-mail ada@example.org"),
    ("Don't stop", "O'Reilly said \"never\" & | ! ( ) : * \\ 'quoted'"),
    ("The and of a", "stop words are words: running runs ran"),
    ("snake_case and kebab-case", "camelCase"),
    ("café naïve", "CAFÉ"),
];

/// The query, and the numbers it finds, newest first.
const QUESTIONS: &[(&str, &[i64])] = &[
    ("log", &[2, 1]),
    ("login", &[1]),
    ("LOG in", &[1]),
    ("logs sqlite", &[2]),
    ("größe", &[3]),
    ("GRÖSSE", &[]),
    ("über", &[3]),
    ("uber", &[]),
    ("漢", &[4]),
    ("字", &[]),
    ("прив", &[4]),
    ("2", &[]),
    ("v2", &[5]),
    ("1e5", &[5]),
    ("0x1f", &[5]),
    ("example.org", &[5, 1]),
    ("https://example.org/a?b=c", &[1]),
    ("don't", &[6]),
    ("'quoted'", &[6]),
    ("never & | ! ( ) : * \\", &[6]),
    ("the", &[7, 1]),
    ("run", &[7]),
    ("running runs ran", &[7]),
    ("runner", &[]),
    ("snake", &[8]),
    ("case", &[8]),
    ("snakecase", &[]),
    ("camelcase", &[8]),
    ("camel", &[8]),
    ("cafe", &[]),
    ("café", &[9]),
    ("or", &[5, 1]),
    ("near", &[]),
    ("a", &[8, 7, 5, 1]),
];

fn filled(backend: Backend) -> Fixture {
    let fixture = Fixture::new(backend);
    for (seed, (title, body)) in (1..).zip(CORPUS) {
        file(&fixture.store, &fixture.stamp(), title, body, seed).unwrap();
    }
    fixture
}

fn found(fixture: &Fixture, wanted: Wanted, limit: i64) -> Vec<i64> {
    let project = fixture.list.project_id;
    let issues = fixture.read(move |tx| tx.issues(project, &wanted, limit));
    issues.iter().map(|issue| issue.number).collect()
}

/// P-26: the same results on both databases for the corpus.
fn every_query_has_the_same_result_on_every_store(backend: Backend) {
    let fixture = filled(backend);
    for (text, numbers) in QUESTIONS {
        let words = search::query(text);
        let wanted = Wanted { words, ..Wanted::default() };
        assert_eq!(found(&fixture, wanted, 50), *numbers, "{text}");
    }
}

fn search_goes_with_status_pages_and_projects(backend: Backend) {
    let fixture = filled(backend);
    let settle = sql!("UPDATE issues SET status = 'rejected' WHERE number = 5");
    fixture.store.write(move |tx| tx.execute(settle, &[])).unwrap();
    let a = |status: Option<IssueStatus>, before: Option<i64>, limit: i64| {
        let words = vec!["a".to_owned()];
        found(&fixture, Wanted { status, words, before, ..Wanted::default() }, limit)
    };
    assert_eq!(a(Some(IssueStatus::Open), None, 50), [8, 7, 1]);
    assert_eq!(a(Some(IssueStatus::Rejected), None, 50), [5]);
    assert_eq!(a(None, None, 2), [8, 7]);
    assert_eq!(a(None, Some(8), 2), [7, 5]);
    let other = punchlist_core::ProjectId::from(crate::fixture::ids(77).ulid());
    let words = Wanted { words: vec!["a".to_owned()], ..Wanted::default() };
    assert_eq!(fixture.read(move |tx| tx.issues(other, &words, 9)), []);
}

/// The look-alike check finds open issues that share a distinctive word.
fn look_alikes_share_a_word_and_are_not_closed(backend: Backend) {
    let fixture = filled(backend);
    let project = fixture.list.project_id;
    let near = |title: &str, body: &str| {
        let words = Likeness::of((title, body)).telling_words();
        let issues = fixture.read(move |tx| tx.issues_with_any(project, &words));
        issues.iter().map(|issue| issue.number).collect::<Vec<_>>()
    };
    assert_eq!(near("log in fails on safari", ""), [1]);
    assert_eq!(near("CAFÉ NAÏVE!", ""), [9]);
    assert_eq!(near("logg", ""), [0; 0], "whole words, not their beginnings");
    assert_eq!(near("???", ""), [0; 0]);
    let long: String = (0..9_000).map(|n| format!("word{n} ")).collect();
    assert_eq!(near("safari", &long), [1]);
    let settle = sql!("UPDATE issues SET status = 'resolved' WHERE number = 1");
    fixture.store.write(move |tx| tx.execute(settle, &[])).unwrap();
    assert_eq!(near("log in fails on safari", ""), [0; 0]);
}

/// Issues that are committed together are indexed together. An index that is written out after every
/// issue cost a server an eighth of its time under load.
#[test]
fn issues_of_one_commit_make_one_part_of_the_index() {
    let fixture = Fixture::new(Backend::SqliteFile);
    file(&fixture.store, &fixture.stamp(), "The first", "", 1).unwrap();
    let first = fixture.read({
        let project = fixture.list.project_id;
        move |tx| tx.issue(project, 1, Lock::No)
    });
    let first = first.unwrap();
    let parts = sql!("SELECT count(DISTINCT segid) FROM issue_search_idx");
    let count = move |tx: &mut Tx<'_>| tx.first(parts, &[], |row| row.int(0));
    let before = fixture.read(count).unwrap();
    let mut ids = Ids::new(fixture.now, 2);
    let many: Vec<Issue> = (2..20)
        .map(|number| Issue { id: IssueId::from(ids.ulid()), number, ..first.clone() })
        .collect();
    fixture
        .store
        .write(move |tx| many.iter().try_for_each(|issue| tx.insert_issue(issue)))
        .unwrap();
    assert_eq!(fixture.read(count), Some(before + 1));
}

on_every_store!(
    every_query_has_the_same_result_on_every_store,
    search_goes_with_status_pages_and_projects,
    look_alikes_share_a_word_and_are_not_closed,
);
