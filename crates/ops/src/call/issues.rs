//! The calls on issues: found by number, filed and moved as the core decides.

use punchlist_core::issue::{CreateIssue, Ground, TransitionIssue, telling_words};
use punchlist_core::text::Body;
use punchlist_core::{Decision, Issue, ProjectId, Refusal, Scope};
use punchlist_store::rows::lists::Lock;

use super::Call;
use crate::Error;

impl Call<'_, '_> {
    /// The issue of a number; one that is not there is a refusal.
    pub fn issue(&mut self, number: i64, lock: Lock) -> Result<Issue, Error> {
        self.reaches_issue(Some(number))?;
        let unknown = || Error::from(Refusal::UnknownIssue { number });
        let project = self.project()?.ok_or_else(unknown)?;
        self.tx.issue(project, number, lock)?.ok_or_else(unknown)
    }

    /// Does the caller's token reach this issue, or (none) the issues of the project at large?
    pub fn reaches_issue(&self, number: Option<i64>) -> Result<(), Error> {
        let scope = Scope::Issue { issue_id: String::new() };
        let covered = self.envelope.actor.reach.covers(&scope, number);
        covered.map_err(|missing| Refusal::OutOfReach { missing }.into())
    }

    /// Files an issue in this project, which is made on first use.
    pub fn create_issue(&mut self, command: &CreateIssue) -> Result<Issue, Error> {
        self.reaches_issue(None)?;
        let project_id = self.ensure_project()?;
        // The lock comes first: whoever files at the same time is seen below, or waits.
        let last_number = self.tx.lock_last_issue(project_id)?;
        let neighbours = if command.force_new {
            Vec::new()
        } else {
            let body = command.body.as_ref().map(Body::as_str).unwrap_or_default();
            let words = telling_words(command.title.as_str(), body);
            self.tx.issues_with_any(project_id, &words)?
        };
        let ground = Ground { project_id, last_number, neighbours };
        let (actor, now) = (&self.envelope.actor, self.envelope.now);
        match command.decide(&ground, actor, now, &mut self.ids) {
            Ok(decision) => self.record_issue(project_id, None, &decision),
            Err(refused) => Err(self.refuse(project_id, &project_id, refused)),
        }
    }

    /// Moves an issue that is locked.
    pub fn transition_issue(
        &mut self,
        issue: Issue,
        command: &TransitionIssue,
    ) -> Result<Issue, Error> {
        let project = issue.project_id;
        match command.decide(&issue, &self.envelope.actor) {
            Ok(decision) => self.record_issue(project, Some(issue), &decision),
            Err(refused) => Err(self.refuse(project, &issue.id, refused)),
        }
    }

    fn record_issue(
        &mut self,
        project: ProjectId,
        mut state: Option<Issue>,
        decision: &Decision,
    ) -> Result<Issue, Error> {
        let stamp = self.stamp(project);
        self.tx.record_issue(&mut state, decision, &stamp)?;
        state.ok_or_else(|| Error::Internal { detail: "a decision left no issue".into() })
    }
}
