//! Change an issue's title, body, labels, priority or assignee (K-55).

use serde::{Deserialize, Deserializer, Serialize};

use super::{Issue, Part, keeper};
use crate::authority::{Action, Subject};
use crate::event::IssueRevised;
use crate::text::{Body, Title};
use crate::todo::Priority;
use crate::{By, Decide, Decision, Refusal, Refused};

/// The most labels of one issue.
pub const LABELS_MAX: usize = 20;

/// The new values; absent ones stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateIssue {
    pub title: Option<Title>,
    /// An inner `None` empties the body.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub body: Option<Option<Body>>,
    /// All labels; they replace the present ones.
    pub labels: Option<Vec<Title>>,
    /// An inner `None` removes the priority.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub priority: Option<Option<Priority>>,
    /// An inner `None` removes the assignee.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub assignee: Option<Option<Title>>,
    pub expected_revision: Option<i64>,
}

/// Reads null as an inner `None`; an absent field does not come here.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl Decide for UpdateIssue {
    type On<'a> = &'a Issue;
    type Out = Decision;

    fn decide(&self, issue: Self::On<'_>, By { actor, .. }: By<'_>) -> Result<Self::Out, Refused> {
        keeper(actor, Subject::Issue, Action::Update, || true)?;
        if let Some(expected) = self.expected_revision.filter(|one| *one != issue.revision) {
            let (number, revision) = (issue.number, issue.revision);
            let refusal = Refusal::StaleRevision { number, expected, revision, checklist: None };
            return Err(refusal.into());
        }
        let text = |given: Option<&str>, now: &str| given.unwrap_or(now).to_owned();
        let title = text(self.title.as_ref().map(Title::as_str), &issue.title);
        let given = self.body.as_ref().map(|body| body.as_ref().map_or("", Body::as_str));
        let body = text(given, &issue.body);
        let labels = match &self.labels {
            None => issue.labels.clone(),
            Some(labels) => tidy(labels),
        };
        let priority = self.priority.unwrap_or(issue.priority);
        let assignee = match &self.assignee {
            None => issue.assignee.clone(),
            Some(assignee) => assignee.as_ref().map(|name| name.as_str().to_owned()),
        };
        let mut parts = Vec::new();
        if title != issue.title {
            parts.push(Part::Title);
        }
        if body != issue.body {
            parts.push(Part::Body);
        }
        let (issue_id, number, revision) = (issue.id, issue.number, issue.revision + 1);
        let is_same = parts.is_empty()
            && labels == issue.labels
            && priority == issue.priority
            && assignee == issue.assignee;
        if is_same {
            return Ok(Decision::default());
        }
        let revised = IssueRevised {
            issue_id,
            number,
            title,
            body,
            labels,
            priority,
            assignee,
            revision,
            parts,
        };
        Ok(Decision { events: vec![revised.into()], ..Decision::default() })
    }
}

/// Each label once, in the order they were given.
fn tidy(labels: &[Title]) -> Vec<String> {
    let mut tidy: Vec<String> = Vec::new();
    for label in labels.iter().map(Title::as_str) {
        if !tidy.iter().any(|known| known == label) {
            tidy.push(label.to_owned());
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::{apply_issue, tests::issue};
    use crate::{Actor, AgentPath, Role, Time};

    fn decided(role: Role, update: &UpdateIssue, issue: &Issue) -> Result<Decision, Refused> {
        crate::decide::tests::decided(update, issue, &Actor::new(role, AgentPath::primary()))
    }

    /// K-55: only the operator changes title and body; that makes an earlier sign-off void.
    #[test]
    fn only_the_operator_changes_title_and_body() {
        let before = issue(3);
        let update = UpdateIssue {
            title: Some(Title::new("New words").unwrap()),
            labels: Some(["a", "b", "a"].map(|text| Title::new(text).unwrap()).to_vec()),
            ..UpdateIssue::default()
        };
        assert!(decided(Role::Root, &update, &before).is_err());
        let decision = decided(Role::Operator, &update, &before).unwrap();
        let mut after = Some(before);
        for event in &decision.events {
            assert!(apply_issue(&mut after, event, Time::from_micros(5)));
        }
        let after = after.unwrap();
        assert_eq!((after.title.as_str(), after.revision), ("New words", 2));
        assert_eq!(after.labels, ["a", "b"]);
        assert_eq!(after.changed_since(1), [Part::Title]);
        assert!(decided(Role::Operator, &update, &after).unwrap().events.is_empty());
    }

    #[test]
    fn update_made_from_an_older_revision_changes_nothing() {
        let update = UpdateIssue { expected_revision: Some(7), ..UpdateIssue::default() };
        let refused = decided(Role::Operator, &update, &issue(3)).unwrap_err();
        assert_eq!(refused.refusal.code(), "stale_revision");
    }
}
