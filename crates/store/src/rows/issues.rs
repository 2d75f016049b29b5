//! One issue: numbered under the lock of its project, written, indexed for the search, and found by
//! its number or id. Lists of issues are in `issue_lists`.

use std::collections::BTreeMap;

use punchlist_core::issue::{apply_issue, search};
use punchlist_core::todo::Priority;
use punchlist_core::{Decision, Event, Issue, IssueId, IssueStatus, ProjectId, Time};

use super::events::Stamp;
use super::lists::Lock;
use super::{opt_time, time, word};
use crate::sql::Row;
use crate::{Dialect, Error, ErrorKind, Tx, sql};

macro_rules! columns {
    () => {
        "id, project_id, number, title, body, status, assignment, revision, created_by, \
         created_at, updated_at, defer_until, judged, labels, priority, assignee, status_reason"
    };
}

macro_rules! select {
    ($($condition:expr),+) => {
        concat!("SELECT ", columns!(), " FROM issues WHERE project_id = $1 AND ", $($condition),+)
    };
}

pub(super) use {columns, select};

impl Tx<'_> {
    /// The highest issue number of a project, locked until this transaction ends: other
    /// transactions that number an issue wait. Creating lists is not blocked.
    pub fn lock_last_issue(&mut self, project: ProjectId) -> Result<i64, Error> {
        let project = project.to_string();
        let statement = self.dialect().pick(
            sql!("SELECT last_issue FROM projects WHERE id = $1"),
            sql!("SELECT last_issue FROM projects WHERE id = $1 FOR NO KEY UPDATE"),
        );
        self.first(statement, &[(&project).into()], |row| row.int(0))?
            .ok_or_else(|| Error::new(ErrorKind::Backend, "the project is gone"))
    }

    pub fn insert_issue(&mut self, issue: &Issue) -> Result<(), Error> {
        let (id, project) = (issue.id.to_string(), issue.project_id.to_string());
        let (judged, labels) = (judged_text(issue)?, labels_text(issue)?);
        self.write(
            sql!("UPDATE projects SET last_issue = $2 WHERE id = $1 AND last_issue < $2"),
            &[(&project).into(), issue.number.into()],
        )?;
        self.write(
            sql!(
                "INSERT INTO issues (",
                columns!(),
                ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
            ),
            &[
                (&id).into(),
                (&project).into(),
                issue.number.into(),
                (&issue.title).into(),
                (&issue.body).into(),
                issue.status.name().into(),
                issue.assignment.as_deref().into(),
                issue.revision.into(),
                (&issue.created_by).into(),
                issue.created_at.micros().into(),
                issue.updated_at.micros().into(),
                issue.defer_until.map(Time::micros).into(),
                judged.as_deref().into(),
                labels.as_deref().into(),
                issue.priority.map(Priority::name).into(),
                issue.assignee.as_deref().into(),
                issue.status_reason.as_deref().into(),
            ],
        )?;
        self.index_issue(&id, &issue.title, &issue.body)
    }

    /// Adds a new issue to the search index.
    pub(crate) fn index_issue(&mut self, id: &str, title: &str, body: &str) -> Result<(), Error> {
        let terms = search::terms(title, body);
        self.write(
            self.dialect().pick(
                // Not INSERT … SELECT: that may write several rows, so SQLite prepares to undo the
                // statement alone, and for that FTS5 writes out its index after every issue instead
                // of once in a commit.
                sql!(
                    "INSERT INTO issue_search (rowid, terms) \
                     VALUES ((SELECT row FROM issues WHERE id = $1), $2)"
                ),
                sql!(
                    "INSERT INTO issue_search (issue_id, words) \
                     VALUES ($1, array_to_tsvector(string_to_array($2, ' ')))"
                ),
            ),
            &[id.into(), (&terms).into()],
        )
    }

    /// Writes the mutable columns.
    pub fn update_issue(&mut self, issue: &Issue) -> Result<(), Error> {
        let id = issue.id.to_string();
        self.write(
            in_log_order!(
                self,
                "issues",
                "UPDATE issues SET status = $2, status_reason = $3 WHERE id = $1"
            ),
            &[(&id).into(), issue.status.name().into(), issue.status_reason.as_deref().into()],
        )?;
        self.touch_issue(issue)
    }

    /// Writes the mutable columns except the status. That one is in an index, which SQLite writes
    /// again with every statement that names it, and most changes are to the checklist.
    fn touch_issue(&mut self, issue: &Issue) -> Result<(), Error> {
        let (id, judged) = (issue.id.to_string(), judged_text(issue)?);
        self.write(
            in_log_order!(
                self,
                "issues",
                "UPDATE issues SET assignment = $2, revision = $3, updated_at = $4, \
                 defer_until = $5, judged = $6 WHERE id = $1"
            ),
            &[
                (&id).into(),
                issue.assignment.as_deref().into(),
                issue.revision.into(),
                issue.updated_at.micros().into(),
                issue.defer_until.map(Time::micros).into(),
                judged.as_deref().into(),
            ],
        )
    }

    /// Writes the operator's changes, and updates the search index.
    fn revise_issue(&mut self, issue: &Issue) -> Result<(), Error> {
        let (id, labels) = (issue.id.to_string(), labels_text(issue)?);
        self.update_issue(issue)?;
        self.write(
            sql!(
                "UPDATE issues SET title = $2, body = $3, labels = $4, priority = $5, \
                 assignee = $6 WHERE id = $1"
            ),
            &[
                (&id).into(),
                (&issue.title).into(),
                (&issue.body).into(),
                labels.as_deref().into(),
                issue.priority.map(Priority::name).into(),
                issue.assignee.as_deref().into(),
            ],
        )?;
        self.write(
            self.dialect().pick(
                sql!(
                    "DELETE FROM issue_search WHERE rowid = (SELECT row FROM issues WHERE id = $1)"
                ),
                sql!("DELETE FROM issue_search WHERE issue_id = $1"),
            ),
            &[(&id).into()],
        )?;
        self.index_issue(&id, &issue.title, &issue.body)
    }

    /// The issue with a number.
    pub fn issue(
        &mut self,
        project: ProjectId,
        number: i64,
        lock: Lock,
    ) -> Result<Option<Issue>, Error> {
        let statement = match lock {
            Lock::No => sql!(select!("number = $2")),
            Lock::Row => self
                .dialect()
                .pick(sql!(select!("number = $2")), sql!(select!("number = $2 FOR UPDATE"))),
        };
        let project = project.to_string();
        self.first(statement, &[(&project).into(), number.into()], read)
    }

    pub fn issue_by_id(&mut self, id: IssueId, lock: Lock) -> Result<Option<Issue>, Error> {
        let id = id.to_string();
        let statement = match lock {
            Lock::No => sql!("SELECT ", columns!(), " FROM issues WHERE id = $1"),
            Lock::Row => self.dialect().pick(
                sql!("SELECT ", columns!(), " FROM issues WHERE id = $1"),
                sql!("SELECT ", columns!(), " FROM issues WHERE id = $1 FOR UPDATE"),
            ),
        };
        self.first(statement, &[(&id).into()], read)
    }

    /// The number of an issue.
    pub fn issue_number(&mut self, id: IssueId) -> Result<Option<i64>, Error> {
        let id = id.to_string();
        self.first(sql!("SELECT number FROM issues WHERE id = $1"), &[(&id).into()], |r| r.int(0))
    }

    /// Fills in what was said when the status of each issue last changed, as the log says.
    pub(crate) fn fill_status_reasons(&mut self) -> Result<(), Error> {
        self.migrate(match self.dialect() {
            Dialect::Sqlite => include_str!("../schema/sqlite/status_reasons.sql"),
            Dialect::Postgres => include_str!("../schema/postgres/status_reasons.sql"),
        })
    }

    /// Folds a decision into an issue and writes its row and its events.
    pub fn record_issue(
        &mut self,
        state: &mut Option<Issue>,
        decision: &Decision,
        stamp: &Stamp,
    ) -> Result<(), Error> {
        for event in &decision.events {
            let status = state.as_ref().map(|issue| issue.status);
            let changed = apply_issue(state, event, stamp.at);
            let Some(issue) = state.as_ref() else {
                continue;
            };
            match event {
                Event::IssueCreated(_) => self.insert_issue(issue)?,
                Event::IssueRevised(_) => self.revise_issue(issue)?,
                Event::IssueUpdated(e) => self.insert_update(&e.update)?,
                Event::IssueLinked(e) => self.insert_link(&e.link)?,
                Event::IssueUnlinked(e) => self.delete_link(e.link_id)?,
                _ if changed && status == Some(issue.status) => self.touch_issue(issue)?,
                _ if changed => self.update_issue(issue)?,
                _ => {}
            }
            self.append(stamp, &issue.id.to_string(), event)?;
        }
        Ok(())
    }
}

pub(super) fn read(row: &Row<'_>) -> Result<Issue, Error> {
    Ok(Issue {
        id: word("issue id", row.str(0)?, IssueId::parse)?,
        project_id: word("project id", row.str(1)?, ProjectId::parse)?,
        number: row.int(2)?,
        title: row.text(3)?,
        body: row.text(4)?,
        status: word("issue status", row.str(5)?, IssueStatus::parse)?,
        assignment: row.opt_text(6)?,
        revision: row.int(7)?,
        created_by: row.text(8)?,
        created_at: time(row, 9)?,
        updated_at: time(row, 10)?,
        defer_until: opt_time(row, 11)?,
        judged: match row.opt_text(12)? {
            Some(text) => serde_json::from_str(&text)?,
            None => BTreeMap::new(),
        },
        labels: match row.opt_text(13)? {
            Some(text) => serde_json::from_str(&text)?,
            None => Vec::new(),
        },
        priority: row
            .opt_str(14)?
            .map(|text| word("priority", text, Priority::parse))
            .transpose()?,
        assignee: row.opt_text(15)?,
        status_reason: row.opt_text(16)?,
    })
}

fn labels_text(issue: &Issue) -> Result<Option<String>, Error> {
    let any = (!issue.labels.is_empty()).then_some(&issue.labels);
    Ok(any.map(serde_json::to_string).transpose()?)
}

fn judged_text(issue: &Issue) -> Result<Option<String>, Error> {
    let any = (!issue.judged.is_empty()).then_some(&issue.judged);
    Ok(any.map(serde_json::to_string).transpose()?)
}
