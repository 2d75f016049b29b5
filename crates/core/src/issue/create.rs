//! File an issue with the project's next number, unless an open one looks the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Issue, IssueStatus, Likeness, keeper};
use crate::authority::{Action, Subject};
use crate::event::IssueCreated;
use crate::text::{Body, Title, or_empty};
use crate::{By, Decide, Decision, IssueId, ProjectId, Refusal, Refused};

/// File a new issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateIssue {
    pub title: Title,
    pub body: Option<Body>,
    /// File it even if an open one looks the same.
    pub force_new: bool,
}

/// The facts for the decision. The project is locked, so that nobody else takes the next number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    pub project_id: ProjectId,
    /// The highest number ever given out in the project; 0 before the first.
    pub last_number: i64,
    /// The open issues that share a distinctive word with the new one.
    pub neighbours: Vec<Issue>,
}

impl Decide for CreateIssue {
    type On<'a> = &'a Ground;
    type Out = Decision;

    fn decide(
        &self,
        ground: Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Subject::Issue, Action::Create, || true)?;
        if !self.force_new {
            self.check_new(ground)?;
        }
        let issue = Issue {
            id: IssueId::from(ids.ulid()),
            project_id: ground.project_id,
            number: ground.last_number + 1,
            title: self.title.as_str().to_owned(),
            body: or_empty(self.body.clone()),
            status: IssueStatus::Open,
            assignment: None,
            revision: 1,
            judged: BTreeMap::new(),
            created_by: actor.principal.clone(),
            created_at: now,
            updated_at: now,
            defer_until: None,
            labels: Vec::new(),
            priority: None,
            assignee: None,
            status_reason: None,
        };
        let events = vec![IssueCreated { issue: Box::new(issue) }.into()];
        Ok(Decision { events, ..Decision::default() })
    }
}

impl CreateIssue {
    /// Fingerprint used to detect duplicates.
    #[must_use]
    pub fn likeness(&self) -> Likeness {
        let body = self.body.as_ref().map(Body::as_str).unwrap_or_default();
        Likeness::of((self.title.as_str(), body))
    }

    fn check_new(&self, ground: &Ground) -> Result<(), Refused> {
        let likeness = self.likeness();
        let twin = ground
            .neighbours
            .iter()
            .filter(|issue| !issue.status.is_closed())
            .filter(|issue| likeness.is_like((&issue.title, &issue.body)))
            .min_by_key(|issue| issue.number);
        match twin {
            None => Ok(()),
            Some(Issue { number, title, status, .. }) => {
                let (number, title, status) = (*number, title.clone(), *status);
                Err(Refusal::LookAlike { number, title, status }.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, AgentPath, Event, Ids, Role, Time};

    const NOW: Time = Time::from_micros(1_763_193_600_000_000);

    fn file(
        title: &str,
        force_new: bool,
        neighbours: &[Issue],
        role: Role,
    ) -> Result<Issue, Refusal> {
        let mut ids = Ids::new(NOW, 7);
        let ground = Ground {
            project_id: ProjectId::from(ids.ulid()),
            last_number: 41,
            neighbours: neighbours.to_vec(),
        };
        let command = CreateIssue { title: Title::new(title).unwrap(), body: None, force_new };
        let actor = Actor::new(role, AgentPath::primary());
        match command.decide(&ground, By { actor: &actor, now: NOW, ids: &mut ids }) {
            Err(refused) => Err(refused.refusal),
            Ok(decision) => match decision.events.as_slice() {
                [Event::IssueCreated(IssueCreated { issue })] => Ok(Issue::clone(issue)),
                events => panic!("{events:?}"),
            },
        }
    }

    #[test]
    fn a_new_issue_gets_the_next_number_and_revision_one() {
        let issue = file("Log in fails", false, &[], Role::Root).unwrap();
        assert_eq!((issue.number, issue.revision, issue.status), (42, 1, IssueStatus::Open));
        assert_eq!((issue.created_by.as_str(), issue.body.as_str()), ("root:primary", ""));
        assert_eq!((issue.created_at, issue.updated_at), (NOW, NOW));
    }

    /// P-26: a look-alike is named, unless it is closed or the caller insists.
    #[test]
    fn a_look_alike_is_refused_by_name() {
        let first = file("Log in fails!", false, &[], Role::Operator).unwrap();
        let older = Issue { number: 7, ..first.clone() };
        let refusal =
            file("log  IN fails", false, &[first.clone(), older], Role::Root).unwrap_err();
        let (title, status) = (first.title.clone(), IssueStatus::Open);
        assert_eq!(refusal, Refusal::LookAlike { number: 7, title, status });
        assert!(file("log in fails", true, std::slice::from_ref(&first), Role::Root).is_ok());
        for status in IssueStatus::ALL {
            let twin = Issue { status, ..first.clone() };
            let answer = file("log in fails", false, &[twin], Role::Root);
            assert_eq!(answer.is_ok(), status.is_closed(), "{status}");
        }
    }

    #[test]
    fn only_keepers_file_issues() {
        for role in Role::ALL {
            let answer = file("Log in fails", false, &[], role);
            assert_eq!(answer.is_ok(), matches!(role, Role::Operator | Role::Root), "{role}");
        }
    }
}
