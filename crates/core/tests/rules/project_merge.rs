//! Merging projects: who may, what stands against it, and what the numbers become.

use punchlist_core::event::ProjectMerged;
use punchlist_core::project::{
    AtWork, Clash, MergeCounts, MergeProjects, Merges, Merging, MovedIssue, NewNumber, Side, joined,
};
use punchlist_core::{
    Agent, AgentPath, AgentStatus, Ids, IssueId, ProjectId, Refusal, Role, RunId, Time,
};

use crate::world::{self, actor};

const MERGE: MergeProjects = MergeProjects { confirm: true };

fn time(seconds: i64) -> Time {
    Time::from_micros(seconds * 1_000_000)
}

fn ids(count: usize) -> (Vec<ProjectId>, Vec<IssueId>) {
    let mut ids = Ids::new(time(0), 7);
    let projects = (0..count).map(|_| ids.ulid().into()).collect();
    (projects, (0..count).map(|_| ids.ulid().into()).collect())
}

fn decided(command: MergeProjects, on: &Merging, role: Role) -> Result<ProjectMerged, Refusal> {
    world::decided(&command, on, &actor(role), time(0)).map_err(|refused| refused.refusal)
}

/// FROM has #1, #4 and #9; INTO has given numbers up to 12.
fn merging() -> Merging {
    let (projects, issues) = ids(3);
    Merging {
        from: Side { id: projects[0], name: "old".into() },
        into: Side { id: projects[1], name: "new".into() },
        issues: issues.into_iter().zip([1, 4, 9]).collect(),
        last_issue: 12,
        clashes: Vec::new(),
        at_work: Vec::new(),
        counts: MergeCounts { sessions: 2, ..MergeCounts::default() },
    }
}

#[test]
fn the_next_numbers_follow_the_order_of_the_old_ones() {
    let on = merging();
    let merged = decided(MERGE, &on, Role::Operator).unwrap();
    let moved = on.issues.iter().zip(13..);
    let issues = moved.map(|(&(issue_id, from), to)| MovedIssue { issue_id, from, to }).collect();
    let expected = ProjectMerged {
        from_id: on.from.id,
        from: "old".into(),
        into_id: on.into.id,
        into: "new".into(),
        issues,
        last_issue: 15,
    };
    assert_eq!(merged, expected);
    let empty = Merging { issues: Vec::new(), ..on };
    let merged = decided(MERGE, &empty, Role::Operator).unwrap();
    assert_eq!((merged.issues.len(), merged.last_issue), (0, 12));
}

#[test]
fn only_the_operator_merges() {
    for role in Role::ALL {
        let answer = decided(MERGE, &merging(), role);
        assert_eq!(answer.is_ok(), role == Role::Operator, "{role}");
    }
}

/// Clashes come before work in progress, because waiting does not help; a confirmation comes last.
#[test]
fn a_merge_is_refused_for_the_first_reason_that_holds() {
    let mut on = merging();
    let unconfirmed = MergeProjects { confirm: false };
    let refusal =
        |on: &Merging, command: MergeProjects| decided(command, on, Role::Operator).unwrap_err();
    let numbers = vec![
        NewNumber { from: 1, to: 13 },
        NewNumber { from: 4, to: 14 },
        NewNumber { from: 9, to: 15 },
    ];
    let (from, into) = ("old".to_owned(), "new".to_owned());
    let expected = Refusal::MergeUnconfirmed {
        from: from.clone(),
        into: into.clone(),
        issues: numbers,
        counts: Box::new(on.counts),
    };
    assert_eq!(refusal(&on, unconfirmed), expected);
    assert_eq!(
        expected.to_string(),
        "this would move from `old` into `new`: 3 issues (#1 becomes #13, #9 #15), 2 sessions"
    );
    let run_id = RunId::from(Ids::new(time(0), 3).ulid());
    on.at_work = vec![AtWork::Run { run_id, agent: "primary".into() }];
    let at_work = on.at_work.clone();
    let expected = Refusal::ProjectBusy { project: from.clone(), at_work };
    assert_eq!(refusal(&on, unconfirmed), expected);
    assert_eq!(refusal(&on, MERGE), expected);
    on.clashes = vec![Clash::Mission { mission: "dx".into() }; 12];
    let expected = Refusal::MergeConflict { from, into, conflicts: on.clashes.clone() };
    assert_eq!(refusal(&on, MERGE), expected);
    let words = expected.to_string();
    assert!(words.ends_with("the mission `dx`, and 2 more"), "{words}");
}

#[test]
fn an_agent_of_both_is_what_it_reported_last() {
    let agent = |kind: Option<&str>, status, created: i64, heard: i64, updated: i64| Agent {
        path: AgentPath::parse("primary").unwrap(),
        kind: kind.map(str::to_owned),
        status,
        note: None,
        heartbeat_at: time(heard),
        created_at: time(created),
        updated_at: time(updated),
    };
    let one = agent(Some("backend"), AgentStatus::Idle, 5, 90, 10);
    let other = agent(None, AgentStatus::Busy, 3, 40, 20);
    let expected = agent(Some("backend"), AgentStatus::Busy, 3, 90, 20);
    assert_eq!(joined(&one, &other), expected);
    assert_eq!(joined(&other, &one), expected);
}

/// The fold of several merges: each thing is where the last one put it, also if a merge is in the
/// log of both of its projects.
#[test]
fn merges_are_followed_to_the_last_project_and_number() {
    let (projects, issues) = ids(3);
    let merge = |from: usize, into: usize, moved: &[(usize, i64, i64)]| ProjectMerged {
        from_id: projects[from],
        from: from.to_string(),
        into_id: projects[into],
        into: into.to_string(),
        issues: moved
            .iter()
            .map(|&(issue, from, to)| MovedIssue { issue_id: issues[issue], from, to })
            .collect(),
        last_issue: 0,
    };
    let (first, second) = (merge(0, 1, &[(0, 1, 8)]), merge(1, 2, &[(0, 8, 3), (1, 2, 4)]));
    let mut merges = Merges::default();
    for merged in [&first, &first, &second, &second] {
        merges.take(merged);
    }
    for project in &projects {
        assert_eq!(merges.home(*project), projects[2]);
    }
    let expected = [(projects[0], projects[2]), (projects[1], projects[2])];
    assert_eq!(*merges.projects(), expected.into_iter().collect());
    assert_eq!(merges.number(issues[0], 1), 3);
    assert_eq!(merges.number(issues[1], 2), 4);
    assert_eq!(merges.number(issues[2], 7), 7);
}
