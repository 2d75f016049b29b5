//! The issues that somebody could start now.

use super::{Issue, IssueStatus};
use crate::Time;
use crate::todo::Priority;

/// Could somebody start this issue? It is open, not deferred, not assigned, and not blocked by an
/// open issue. `blockers`: the status of each issue that it is blocked by. The store repeats this in
/// SQL.
#[must_use]
pub fn is_ready(issue: &Issue, blockers: &[IssueStatus], now: Time) -> bool {
    !issue.status.is_closed()
        && issue.assignment.is_none()
        && issue.assignee.is_none()
        && issue.defer_until.is_none_or(|until| until <= now)
        && blockers.iter().all(|status| status.is_closed())
}

/// The order in which they are started: the most urgent first, then the oldest.
#[must_use]
pub fn urgency(issue: &Issue) -> (Priority, i64) {
    (issue.priority.unwrap_or_default(), issue.number)
}

/// The same order as one number, for a page that continues after an issue.
#[must_use]
pub fn rank(issue: &Issue) -> i64 {
    let (priority, number) = urgency(issue);
    let urgency = match priority {
        Priority::Critical => 0,
        Priority::High => 1,
        Priority::Medium => 2,
        Priority::Low => 3,
    };
    urgency * RANK + number
}

/// More than the number of any issue. The store repeats it in SQL.
pub const RANK: i64 = 10_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::tests::issue;

    #[test]
    fn only_a_free_issue_is_ready() {
        let now = Time::from_micros(50);
        let free = Issue { status: IssueStatus::Open, ..issue(3) };
        let later = Some(Time::from_micros(51));
        for (issue, expected) in [
            (free.clone(), true),
            (Issue { status: IssueStatus::InProgress, ..free.clone() }, true),
            (Issue { status: IssueStatus::Resolved, ..free.clone() }, false),
            (Issue { status: IssueStatus::Rejected, ..free.clone() }, false),
            (Issue { assignment: Some("primary".to_owned()), ..free.clone() }, false),
            (Issue { assignee: Some("ada".to_owned()), ..free.clone() }, false),
            (Issue { defer_until: Some(now), ..free.clone() }, true),
            (Issue { defer_until: later, ..free.clone() }, false),
        ] {
            assert_eq!(is_ready(&issue, &[], now), expected, "{issue:?}");
        }
        assert!(is_ready(&free, &[IssueStatus::Resolved], now));
        assert!(!is_ready(&free, &[IssueStatus::Resolved, IssueStatus::Triaged], now));
    }

    #[test]
    fn an_issue_without_a_priority_is_of_medium_urgency() {
        let issue = |priority, number| Issue { priority, number, ..issue(3) };
        let with = |priority, number| {
            let issue = issue(priority, number);
            (urgency(&issue), rank(&issue))
        };
        let order = [
            with(Some(Priority::Critical), 9),
            with(Some(Priority::High), 8),
            with(Some(Priority::Medium), 2),
            with(None, 3),
            with(Some(Priority::Medium), 4),
            with(Some(Priority::Low), 1),
        ];
        assert!(order.is_sorted(), "{order:?}");
    }
}
