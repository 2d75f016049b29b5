//! Edge cases of issues, each found by a surviving mutant.

use punchlist_core::event::{
    ChecklistChanged, IssueAssigned, IssueDeferred, IssueRevised, IssueTransitioned,
};
use punchlist_core::issue::{Issue, IssueStatus, Part, apply_issue};
use punchlist_core::todo::Priority;
use punchlist_core::{Event, Ids, IssueId, Time};

use crate::issue_life::issue;

/// Each event of an issue with the fields it changes.
fn changes(issue_id: IssueId, at: Time) -> Vec<(Event, Issue)> {
    let (number, revision, parts) = (4, 8, vec![Part::Claims]);
    let judged = |part: Part| [(part, revision)].into();
    let now = |issue: Issue| Issue { revision, updated_at: at, ..issue };
    let (title, body, labels) = ("New".to_owned(), "Words".to_owned(), vec!["ui".to_owned()]);
    let (priority, assignee) = (Some(Priority::High), Some("Ada".to_owned()));
    let assignment = Some("primary".to_owned());
    let until = Some(Time::from_micros(77));
    let status = IssueStatus::Resolved;
    let moved = IssueTransitioned {
        issue_id,
        number,
        from: IssueStatus::InProgress,
        status,
        reason: None,
        revision,
        parts: vec![Part::Status],
    };
    let revised = IssueRevised {
        issue_id,
        number,
        title: title.clone(),
        body: body.clone(),
        labels: labels.clone(),
        priority,
        assignee: assignee.clone(),
        revision,
        parts: vec![Part::Title],
    };
    let new = Issue { title, body, labels, priority, assignee, ..issue() };
    let assigned = IssueAssigned { issue_id, number, assignment: assignment.clone(), revision };
    vec![
        (moved.into(), now(Issue { status, judged: judged(Part::Status), ..issue() })),
        (assigned.into(), now(Issue { assignment, ..issue() })),
        (
            IssueDeferred { issue_id, number, until, revision }.into(),
            now(Issue { defer_until: until, ..issue() }),
        ),
        (revised.into(), now(Issue { judged: judged(Part::Title), ..new })),
        (
            ChecklistChanged { issue_id, revision, parts }.into(),
            now(Issue { judged: judged(Part::Claims), ..issue() }),
        ),
    ]
}

/// Each event changes its own fields of its own issue, and no other issue.
#[test]
fn an_event_changes_its_own_issue_and_no_other() {
    let at = Time::from_micros(99);
    for (event, changed) in changes(issue().id, at) {
        let mut state = Some(issue());
        assert!(apply_issue(&mut state, &event, at), "{event:?}");
        assert_eq!(state, Some(changed), "{event:?}");
    }
    let other = IssueId::from(Ids::new(Time::from_micros(5), 8).ulid());
    for (event, _) in changes(other, at) {
        let mut state = Some(issue());
        assert!(!apply_issue(&mut state, &event, at), "{event:?}");
        assert_eq!(state, Some(issue()), "{event:?}");
        assert!(!apply_issue(&mut None, &event, at), "no issue: {event:?}");
    }
}
