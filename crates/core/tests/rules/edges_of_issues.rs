//! Edge cases of issues, each found by a surviving mutant: events of other issues, the events of
//! each command, and the counts of a checklist.

use punchlist_core::event::{
    ChecklistChanged, IssueAssigned, IssueDeferred, IssueLinked, IssueRevised, IssueTransitioned,
    IssueUnlinked, IssueUpdated,
};
use punchlist_core::issue::progress::{self, Progress};
use punchlist_core::issue::{
    AssignIssue, CloseAsDuplicate, CommentIssue, DeferIssue, DuplicateStep, Issue, IssueStatus,
    IssueUpdate, Link, LinkKind, Linking, Part, UnlinkIssues, UpdateKind, apply_issue, context,
    left_open,
};
use punchlist_core::text::Body;
use punchlist_core::todo::{Claim, Priority, SettledBy};
use punchlist_core::{
    Decide, Decision, Event, Ids, IssueId, LinkId, ListKind, Role, SessionId, Status, Time,
    TodoKind, UpdateId,
};

use crate::issue_life::issue;
use crate::world::{World, actor, decided};

const NOW: Time = Time::from_micros(99);

fn events(decision: Vec<Event>) -> Decision {
    Decision { events: decision, ..Decision::default() }
}

fn by_root<C: Decide>(command: &C, on: C::On<'_>) -> C::Out {
    decided(command, on, &actor(Role::Root), NOW).unwrap()
}

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

/// An assignment, a deferral and a comment change exactly one thing; the same value again changes
/// nothing.
#[test]
fn a_change_of_an_issue_is_one_event_and_the_same_value_is_none() {
    let (issue, number, revision) = (issue(), 4, 8);
    let issue_id = issue.id;
    let session = SessionId::from(Ids::new(NOW, 3).ulid());
    let other = SessionId::from(Ids::new(NOW, 4).ulid());
    let assign = AssignIssue::to(session);
    let assignment = Some(format!("session:{session}"));
    let assigned = IssueAssigned { issue_id, number, assignment: assignment.clone(), revision };
    assert_eq!(by_root(&assign, &issue), events(vec![assigned.into()]));
    assert_eq!(AssignIssue::away_from(session, &issue), None, "it is not assigned");
    let held = Issue { assignment, ..issue.clone() };
    assert_eq!(by_root(&assign, &held), Decision::default());
    let free = AssignIssue { assignment: None };
    assert_eq!(AssignIssue::away_from(session, &held), Some(free));
    assert_eq!(AssignIssue::away_from(other, &held), None, "it is another session's");

    let until = Some(NOW.plus_seconds(60));
    let later = Issue { defer_until: until, ..issue.clone() };
    for (on, until) in [(&issue, until), (&later, None)] {
        let deferred = IssueDeferred { issue_id, number, until, revision };
        assert_eq!(by_root(&DeferIssue { until }, on), events(vec![deferred.into()]));
        let same = DeferIssue { until: on.defer_until };
        assert_eq!(by_root(&same, on), Decision::default());
    }

    let comment = CommentIssue { text: Body::new("It is slow").unwrap() };
    let line = line(issue_id, UpdateKind::Comment, "It is slow", 1);
    assert_eq!(by_root(&comment, &issue), events(vec![line]));
}

/// A line in the ledger, with the n-th id of a decision.
fn line(issue_id: IssueId, kind: UpdateKind, text: &str, n: usize) -> Event {
    let mut ids = Ids::new(NOW, 1);
    let id = (0..n).map(|_| UpdateId::from(ids.ulid())).last().unwrap();
    let author = if kind == UpdateKind::Comment { Role::Root } else { Role::Operator };
    let (author, text) = (actor(author).principal, text.to_owned());
    IssueUpdated { update: IssueUpdate { id, issue_id, kind, author, text, created_at: NOW } }
        .into()
}

/// K-44: closing as a duplicate rejects the issue, links it, and notes it in the ledger. A link
/// that exists is not made again.
#[test]
fn closing_as_a_duplicate_is_a_move_a_link_and_a_note() {
    let duplicate = issue();
    let of = Issue { id: IssueId::from(Ids::new(NOW, 33).ulid()), number: 2, ..issue() };
    let (issue_id, number) = (duplicate.id, 4);
    let operator = actor(Role::Operator);
    let moved = |reason: Option<&str>| -> Event {
        IssueTransitioned {
            issue_id,
            number,
            from: IssueStatus::InProgress,
            status: IssueStatus::Rejected,
            reason: reason.map(str::to_owned),
            revision: 8,
            parts: vec![Part::Status],
        }
        .into()
    };
    let link = Link {
        id: LinkId::from(Ids::new(NOW, 1).ulid()),
        project_id: duplicate.project_id,
        from_issue: duplicate.id,
        to_issue: of.id,
        kind: LinkKind::DuplicateOf,
        created_by: operator.principal.clone(),
        created_at: NOW,
    };
    let close = |note: Option<&str>, links: &[Link]| {
        let note = note.map(|note| Body::new(note).unwrap());
        let on = Linking { from: &duplicate, to: &of, links };
        decided(&CloseAsDuplicate { note }, (on, &[]), &operator, NOW).unwrap()
    };
    let linked = IssueLinked { link: link.clone(), number, to: 2 };
    let note = |text: &str, n: usize| line(issue_id, UpdateKind::SystemNote, text, n);
    let noted = note("Closed as a duplicate of #2: the same crash", 2);
    let expected = vec![moved(Some("the same crash")), linked.into(), noted];
    assert_eq!(close(Some("the same crash"), &[]), events(expected));
    let expected = vec![moved(None), note("Closed as a duplicate of #2", 1)];
    assert_eq!(close(None, std::slice::from_ref(&link)), events(expected));

    let (kind, links) = (LinkKind::DuplicateOf, [link.clone()]);
    let on = Linking { from: &duplicate, to: &of, links: &links };
    let unlinked = IssueUnlinked { link_id: link.id, kind, number, to: 2 };
    assert_eq!(by_root(&UnlinkIssues { kind }, on), events(vec![unlinked.into()]));
}

/// One issue has to stay open, so a chain of closed duplicates must not lead back. An open issue on
/// the way is one to keep, and another circle elsewhere does not matter.
#[test]
fn closing_as_a_duplicate_does_not_complete_a_circle() {
    let duplicate = issue();
    let of = Issue { id: IssueId::from(Ids::new(NOW, 33).ulid()), number: 2, ..issue() };
    let closed = |from, to| DuplicateStep { from, status: IssueStatus::Rejected, to };
    let open = |from, to| DuplicateStep { status: IssueStatus::Open, ..closed(from, to) };
    let close = |steps: &[DuplicateStep]| {
        let on = Linking { from: &duplicate, to: &of, links: &[] };
        let command = CloseAsDuplicate { note: None };
        let decided = decided(&command, (on, steps), &actor(Role::Operator), NOW);
        decided.map(drop).map_err(|refused| refused.refusal.to_string())
    };
    for (steps, words) in [
        (&[closed(2, 4)] as &[_], "issue #2 is closed as a duplicate of #4"),
        (
            &[closed(2, 7), closed(7, 2), closed(7, 9), closed(9, 4)],
            "issue #2 is closed as a duplicate of #7, and #7 of #9, and #9 of #4",
        ),
    ] {
        assert_eq!(close(steps), Err(words.to_owned()));
    }
    for steps in [
        &[] as &[_],
        &[open(2, 4)],
        &[closed(2, 7), open(7, 4)],
        &[closed(2, 7), closed(7, 2)],
        &[closed(9, 4)],
    ] {
        assert_eq!(close(steps), Ok(()), "{steps:?}");
    }
}

/// A checklist with one item of each sort.
fn checklist() -> World {
    let mut world = World::new(ListKind::Issue);
    let titles =
        ["step", "done", "held", "dropped", "dropped by me", "met", "claimed", "open", "void"];
    let ids = world.create(&titles);
    let by = |role: Role| Some(SettledBy { principal: role.to_string(), role });
    for (id, title) in ids.into_iter().zip(titles) {
        let todo = world.state.todos.get_mut(&id).unwrap();
        if matches!(title, "met" | "claimed" | "open" | "void") {
            todo.kind = TodoKind::Criterion;
        }
        match title {
            "done" | "met" => todo.status = Status::Completed,
            "held" => crate::driver::case::hold(todo),
            "dropped" => (todo.status, todo.settled_by) = (Status::Cancelled, by(Role::Root)),
            "dropped by me" | "void" => {
                (todo.status, todo.settled_by) = (Status::Cancelled, by(Role::Operator));
            }
            "claimed" => {
                let claim = Claim::new(&actor(Role::Root), NOW, None, vec![]);
                todo.claim = Some(Box::new(claim));
            }
            _ => {}
        }
    }
    world
}

/// P-9: each item is counted once in each column it belongs to.
#[test]
fn a_checklist_is_counted_by_what_its_items_are() {
    let world = checklist();
    let counted = Progress {
        total: 9,
        open: 3,
        closed: 6,
        held: 1,
        criteria: 3,
        criteria_met: 1,
        criteria_claimed: 1,
        dropped_by_agent: 1,
        steps: 5,
        steps_closed: 3,
    };
    assert_eq!(progress::of(&world.state), counted);
    let words = "5 of 9 closed, 1 held, 1 of 3 criteria met, 1 claimed, \
                 1 of 5 cancelled by the agent";
    assert_eq!(progress::line(&world.state), words);
    let left = "Closed although 2 criteria are not accepted";
    assert_eq!(left_open(&world.state).as_deref(), Some(left));
}

/// Closing an issue warns of the number of open criteria. Without open criteria there is no warning.
#[test]
fn open_criteria_are_counted_for_the_person_who_closes() {
    let mut world = checklist();
    let settle = |world: &mut World, title: &str| {
        let todo = world.state.todos.values_mut().find(|todo| todo.title == title).unwrap();
        todo.status = Status::Completed;
    };
    settle(&mut world, "claimed");
    let left = "Closed although 1 criterion is not accepted";
    assert_eq!(left_open(&world.state).as_deref(), Some(left));
    settle(&mut world, "open");
    assert_eq!(left_open(&world.state), None);
    assert_eq!(left_open(&World::new(ListKind::Issue).state), None, "no criteria");
}

/// The context shows each item with its mark and its reason, and says what it left out.
#[test]
fn the_context_shows_every_item_and_counts_what_is_left_out() {
    let world = checklist();
    let whole = "\
Issue #4 (in_progress): Log in fails
Checklist: 5 of 9 closed, 1 held, 1 of 3 criteria met, 1 claimed, 1 of 5 cancelled by the agent.
Criteria (4):
- [x] met
- [x] claimed (claimed, waits for sign-off)
- [ ] open
- [-] void
Open steps (2):
- [/] step
- [!] held (held: REASON)
Closed steps (3):
- [x] done
- [-] dropped
- [-] dropped by me";
    let held = world.state.todos.values().find_map(|todo| todo.hold.as_ref()).unwrap();
    let whole = whole.replace("REASON", &held.reason);
    assert_eq!(context::render(&issue(), Some(&world.state), &[], 1_500), whole);
    let cut = whole.replace("\n- [-] dropped by me", "\n… and 1 more");
    assert_eq!(context::render(&issue(), Some(&world.state), &[], whole.len() - 1), cut);
}

/// F-16: what the operator removed is named, the newest first and five at most, unless it is back.
#[test]
fn removed_items_are_named_so_that_nobody_adds_them_again() {
    let mut world = World::new(ListKind::Session);
    assert_eq!(progress::removed_notice(&world.state), None);
    let ids = world.create(&["a", "b", "c", "d", "e", "f", "g", "kept", "back", "back"]);
    assert_eq!(progress::removed_notice(&world.state), None, "nothing is removed");
    let remove = |world: &mut World, at: usize, second: i64| {
        let removed_at = Some(NOW.plus_seconds(second));
        world.state.todos.get_mut(&ids[at]).unwrap().removed_at = removed_at;
    };
    let notice = |world: &World| progress::removed_notice(&world.state).unwrap();
    remove(&mut world, 8, 9);
    assert_eq!(progress::removed_notice(&world.state), None, "it is back");
    remove(&mut world, 0, 2);
    remove(&mut world, 1, 3);
    let named = "Removed by the operator, not to be added again: `b`, `a`.";
    assert_eq!(notice(&world), named);
    for at in 2..7 {
        remove(&mut world, at, 4);
    }
    let named = "Removed by the operator, not to be added again: \
                 `g`, `f`, `e`, `d`, `c`, 2 more.";
    assert_eq!(notice(&world), named);
}
