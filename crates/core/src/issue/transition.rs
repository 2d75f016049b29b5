//! Move an issue to another status. Only this does; no drained checklist and no ended session.

use super::{Issue, IssueStatus, MoveVerdict, may_move, ways};
use crate::event::{IssueTransitionRefused, IssueTransitioned};
use crate::text::Body;
use crate::{Actor, Decision, Refusal, Refused};

/// Move an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionIssue {
    pub status: IssueStatus,
    pub reason: Option<Body>,
}

impl TransitionIssue {
    pub fn decide(&self, issue: &Issue, actor: &Actor) -> Result<Decision, Refused> {
        let (number, from, to, role) = (issue.number, issue.status, self.status, actor.role);
        match may_move(role, from, to) {
            MoveVerdict::Allow => {
                let moved = IssueTransitioned {
                    issue_id: issue.id,
                    number,
                    from,
                    status: to,
                    reason: self.reason.as_ref().map(|reason| reason.as_str().to_owned()),
                    revision: issue.revision + 1,
                };
                Ok(Decision { events: vec![moved.into()], ..Decision::default() })
            }
            MoveVerdict::NoSuchMove => {
                let allowed = ways(role, from);
                Err(Refusal::WrongIssueStatus { number, status: from, to, allowed }.into())
            }
            MoveVerdict::Deny => {
                let refusal = Refusal::IssueMoveNotPermitted { role, number, status: from, to };
                // To close or to reopen is to judge: a denied try stays visible.
                let audit = (from.is_closed() || to.is_closed()).then(|| {
                    let refusal = refusal.clone();
                    Box::new(IssueTransitionRefused { issue_id: issue.id, number, refusal }.into())
                });
                Err(Refused { refusal, audit })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::apply_issue;
    use crate::{AgentPath, Event, Ids, IssueId, ProjectId, Role, Time};

    fn issue(status: IssueStatus) -> Issue {
        let (at, mut ids) = (Time::from_micros(1), Ids::new(Time::from_micros(0), 7));
        Issue {
            id: IssueId::from(ids.ulid()),
            project_id: ProjectId::from(ids.ulid()),
            number: 3,
            title: "Log in fails".into(),
            body: String::new(),
            status,
            assignment: None,
            revision: 5,
            created_by: "operator".into(),
            created_at: at,
            updated_at: at,
            defer_until: None,
        }
    }

    /// Every move that the table allows changes the row and nothing else; every other changes
    /// nothing and says why.
    #[test]
    fn a_move_happens_whole_or_not_at_all() {
        let later = Time::from_micros(9);
        for from in IssueStatus::ALL {
            for to in IssueStatus::ALL {
                for role in Role::ALL {
                    let before = issue(from);
                    let reason = Body::new("because").ok();
                    let command = TransitionIssue { status: to, reason };
                    let actor = Actor::new(role, AgentPath::primary());
                    match command.decide(&before, &actor) {
                        Ok(decision) => {
                            assert_eq!(may_move(role, from, to), MoveVerdict::Allow);
                            let mut state = Some(before.clone());
                            for event in &decision.events {
                                assert!(apply_issue(&mut state, event, later));
                            }
                            let expected =
                                Issue { status: to, revision: 6, updated_at: later, ..before };
                            assert_eq!(state, Some(expected));
                        }
                        Err(refused) => {
                            let code = refused.refusal.code();
                            let judged = from.is_closed() || to.is_closed();
                            let denied = may_move(role, from, to) == MoveVerdict::Deny;
                            let expected =
                                if denied { "not_permitted" } else { "wrong_issue_status" };
                            assert_eq!(code, expected);
                            assert_eq!(refused.audit.is_some(), denied && judged);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_event_of_another_issue_changes_nothing() {
        let before = issue(IssueStatus::Open);
        let other = IssueTransitioned {
            issue_id: IssueId::from(Ids::new(Time::from_micros(0), 99).ulid()),
            number: 4,
            from: IssueStatus::Open,
            status: IssueStatus::Triaged,
            reason: None,
            revision: 2,
        };
        let mut state = Some(before.clone());
        assert!(!apply_issue(&mut state, &Event::from(other), Time::from_micros(9)));
        assert_eq!(state, Some(before));
    }
}
