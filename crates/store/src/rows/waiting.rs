//! How much waits for a person, and how many issues are in each status. Counting stops at a limit,
//! so that the cost does not depend on the size of the store.

use std::collections::HashMap;

use punchlist_core::todo::Hold;
use punchlist_core::{IssueStatus, ListKind, ProjectId, Scope, Time, TodoId};

use super::take::hold_until;
use super::word;
use crate::{Error, Tx, sql};

/// An open item that is on hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub id: TodoId,
    pub title: String,
    pub hold: Hold,
    pub scope: Scope,
}

/// Holds whose time is over are left out here, so that they do not use up the limit.
macro_rules! held {
    ($until:expr) => {
        concat!(
            "SELECT t.id, t.title, t.hold, l.kind, l.scope_outer, l.scope_inner \
             FROM todos AS t CROSS JOIN lists AS l WHERE l.id = t.list_id AND l.project_id = $1 \
             AND l.archived_at IS NULL AND t.hold IS NOT NULL AND t.removed_at IS NULL \
             AND (t.status = 'pending' OR t.status = 'in_progress') AND (",
            $until,
            " IS NULL OR ",
            $until,
            " > $3) ORDER BY t.updated_at DESC, t.id DESC LIMIT $2"
        )
    };
}

impl Tx<'_> {
    /// The projects, oldest first, without those that were merged into another.
    pub fn project_names(&mut self) -> Result<Vec<(ProjectId, String)>, Error> {
        self.query(
            sql!("SELECT id, name FROM projects WHERE merged_into IS NULL ORDER BY id"),
            &[],
            |row| Ok((word("project id", row.str(0)?, ProjectId::parse)?, row.text(1)?)),
        )
    }

    /// Open gates and undecided proposals of a project.
    pub fn waiting_count(&mut self, project: ProjectId, most: i64) -> Result<i64, Error> {
        let project = project.to_string();
        let count = sql!(
            "SELECT (SELECT count(*) FROM (SELECT id FROM gates WHERE project_id = $1 \
             AND state = 'open' LIMIT $2) AS g) + (SELECT count(*) FROM (SELECT id \
             FROM delegations WHERE project_id = $1 AND proposal IS NOT NULL \
             AND decision IS NULL LIMIT $2) AS d)"
        );
        let params = [(&project).into(), most.into()];
        Ok(self.first(count, &params, |row| row.int(0))?.unwrap_or(0))
    }

    /// Claims that wait for their reviewer, by project.
    pub fn review_counts(&mut self, most: i64) -> Result<HashMap<ProjectId, i64>, Error> {
        let counts = self.query(
            sql!(
                "SELECT l.project_id, count(*) FROM (SELECT list_id FROM todos \
                 WHERE claim IS NOT NULL AND kind <> 'criterion' \
                 AND (status = 'pending' OR status = 'in_progress') \
                 ORDER BY updated_at, id LIMIT $1) AS t JOIN lists AS l ON l.id = t.list_id \
                 WHERE l.archived_at IS NULL GROUP BY l.project_id"
            ),
            &[most.into()],
            |row| Ok((word("project id", row.str(0)?, ProjectId::parse)?, row.int(1)?)),
        )?;
        Ok(counts.into_iter().collect())
    }

    /// Open items of a project that are on hold now, with the scopes of their lists, newest first.
    pub fn held(&mut self, project: ProjectId, now: Time, limit: i64) -> Result<Vec<Held>, Error> {
        let (project, now) = (project.to_string(), now.to_string());
        self.query(
            self.dialect()
                .pick(sql!(held!(hold_until!(sqlite))), sql!(held!(hold_until!(postgres)))),
            &[(&project).into(), limit.into(), (&now).into()],
            |row| {
                let kind = word("list kind", row.str(3)?, ListKind::parse)?;
                Ok(Held {
                    id: word("todo id", row.str(0)?, TodoId::parse)?,
                    title: row.text(1)?,
                    hold: serde_json::from_str(row.str(2)?)?,
                    scope: Scope::from_keys(kind, row.text(4)?, row.text(5)?),
                })
            },
        )
    }

    /// The number of issues in a status.
    pub fn issue_count(
        &mut self,
        project: ProjectId,
        status: IssueStatus,
        most: i64,
    ) -> Result<i64, Error> {
        let project = project.to_string();
        let count = sql!(
            "SELECT count(*) FROM (SELECT number FROM issues WHERE project_id = $1 \
             AND status = $2 LIMIT $3) AS i"
        );
        let params = [(&project).into(), status.name().into(), most.into()];
        Ok(self.first(count, &params, |row| row.int(0))?.unwrap_or(0))
    }
}
