//! The calls on issues: finding, creating, changing, linking and closing them, as the core decides.
//!
//! Their checklists are in `checklist`.

use punchlist_core::follow;
use punchlist_core::issue::{
    CloseAsDuplicate, Closing, CommentIssue, CreateIssue, DeferIssue, Ground, LinkIssues, LinkKind,
    Linking, TransitionIssue, UnlinkIssues, UpdateIssue, is_open_child,
};
use punchlist_core::{Decision, Issue, Place, ProjectId, Refusal};
use punchlist_store::rows::links::Seen;
use punchlist_store::rows::lists::Lock;

use super::Call;
use crate::Error;

impl Call<'_, '_> {
    /// Finds an issue by its number. Refuses an unknown one.
    pub fn issue(&mut self, number: i64, lock: Lock) -> Result<Issue, Error> {
        let unknown = || Error::from(Refusal::UnknownIssue { number });
        let found = match self.project()? {
            Some(project) => self.tx.issue(project, number, lock)?,
            None => None,
        };
        match found {
            Some(issue) => {
                self.reach_issue(&issue)?;
                Ok(issue)
            }
            // A narrowed token does not learn whether an issue outside its reach exists.
            None => {
                self.reach(&Place::issue(number))?;
                Err(unknown())
            }
        }
    }

    /// Two issues for a change. They are locked in the order of their ids, as everywhere.
    pub(crate) fn two_issues(&mut self, one: i64, other: i64) -> Result<(Issue, Issue), Error> {
        let (first, second) = (self.issue(one, Lock::No)?.id, self.issue(other, Lock::No)?.id);
        self.tx.issue_by_id(first.min(second), Lock::Row)?;
        Ok((self.issue(one, Lock::Row)?, self.issue(other, Lock::Row)?))
    }

    /// An issue and the one it is a duplicate of. Whether it may be closed as such depends on other
    /// issues that were, so no two are closed at the same time in one project.
    pub(crate) fn two_duplicates(&mut self, one: i64, of: i64) -> Result<(Issue, Issue), Error> {
        if let Some(project) = self.project()? {
            self.tx.lock_last_issue(project)?;
        }
        self.two_issues(one, of)
    }

    /// Creates an issue in this project. The project is created on first use.
    pub fn create_issue(&mut self, command: &CreateIssue) -> Result<Issue, Error> {
        self.reach_project()?;
        let project_id = self.ensure_project()?;
        // Lock first, so that an issue created at the same time is either seen below or waits.
        let last_number = self.tx.lock_last_issue(project_id)?;
        let neighbours = if command.force_new {
            Vec::new()
        } else {
            self.tx.issues_with_any(project_id, &command.likeness().telling_words())?
        };
        let ground = Ground { project_id, last_number, neighbours };
        let decision = self.decided(command, &ground, (project_id, &project_id))?;
        self.record_issue(project_id, None, &decision)
    }

    /// The issue with all changes that this call has made to it.
    pub(crate) fn reload(&mut self, issue: &Issue) -> Result<Issue, Error> {
        let number = issue.number;
        let unknown = || Error::from(Refusal::UnknownIssue { number });
        self.tx.issue_by_id(issue.id, Lock::No)?.ok_or_else(unknown)
    }

    /// Changes the status of a locked issue.
    pub fn transition_issue(
        &mut self,
        issue: Issue,
        command: &TransitionIssue,
        open_children: &[i64],
    ) -> Result<Issue, Error> {
        let project = issue.project_id;
        let (session, sign_off, checklist) = if command.status.is_closed() {
            (self.session(Lock::No)?, self.tx.sign_off(issue.id)?, self.checklist(&issue)?)
        } else {
            (None, None, None)
        };
        let sign_off = sign_off.as_ref();
        let (session, checklist) = (session.as_ref(), checklist.as_ref());
        let closing = Closing { session, sign_off, checklist, open_children };
        let decision = self.decided(command, (&issue, closing), (project, &issue.id))?;
        self.record_move(project, issue, &decision)
    }

    /// Records a change of an issue's status, and its consequences.
    fn record_move(
        &mut self,
        project: ProjectId,
        issue: Issue,
        decision: &Decision,
    ) -> Result<Issue, Error> {
        let issue = self.record_issue(project, Some(issue), decision)?;
        let then = follow::issue::moved(&issue, &self.envelope.actor);
        self.then(project, then)?;
        Ok(issue)
    }

    /// The open children of this issue. Closing it lists them and does not change them (Q-K6).
    pub(crate) fn open_children(&mut self, issue: &Issue) -> Result<Vec<Seen>, Error> {
        let mut links = self.tx.links_of(issue.id)?;
        links.retain(|link| is_open_child(link.kind, link.outgoing, link.status));
        Ok(links)
    }

    pub(crate) fn comment(&mut self, issue: Issue, command: &CommentIssue) -> Result<Issue, Error> {
        let project = issue.project_id;
        let decision = self.decided(command, &issue, (project, &issue.id))?;
        self.record_issue(project, Some(issue), &decision)
    }

    pub(crate) fn link(&mut self, from: Issue, to: &Issue, kind: LinkKind) -> Result<Issue, Error> {
        let links = self.tx.links_between(from.id, to.id)?;
        let project = from.project_id;
        let on = Linking { from: &from, to, links: &links };
        let decision = self.decided(&LinkIssues { kind }, on, (project, &from.id))?;
        self.record_issue(project, Some(from), &decision)
    }

    pub(crate) fn unlink(
        &mut self,
        from: Issue,
        to: &Issue,
        kind: LinkKind,
    ) -> Result<Issue, Error> {
        let links = self.tx.links_between(from.id, to.id)?;
        let project = from.project_id;
        let on = Linking { from: &from, to, links: &links };
        let unlink = UnlinkIssues { kind };
        let decision = self.decided(&unlink, on, (project, &from.id))?;
        let keeper = unlink.keeper(on).clone();
        self.record_issue(project, Some(keeper), &decision)?;
        Ok(from)
    }

    pub(crate) fn close_as_duplicate(
        &mut self,
        issue: Issue,
        of: &Issue,
        command: &CloseAsDuplicate,
    ) -> Result<Issue, Error> {
        let links = self.tx.links_between(issue.id, of.id)?;
        let project = issue.project_id;
        let steps = self.tx.duplicate_steps(of.id)?;
        let on = Linking { from: &issue, to: of, links: &links };
        let decision = self.decided(command, (on, &steps), (project, &issue.id))?;
        self.record_move(project, issue, &decision)
    }

    pub(crate) fn defer_issue(
        &mut self,
        issue: Issue,
        command: DeferIssue,
    ) -> Result<Issue, Error> {
        let project = issue.project_id;
        let decision = self.decided(&command, &issue, (project, &issue.id))?;
        self.record_issue(project, Some(issue), &decision)
    }

    pub(crate) fn update_issue(
        &mut self,
        issue: Issue,
        command: &UpdateIssue,
    ) -> Result<Issue, Error> {
        let project = issue.project_id;
        let decision = self.decided(command, &issue, (project, &issue.id))?;
        self.record_issue(project, Some(issue), &decision)
    }

    pub(super) fn record_issue(
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
