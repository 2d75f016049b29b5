//! Links between issues: stored once, visible from both issues.

use punchlist_core::issue::{DuplicateStep, Link, LinkKind};
use punchlist_core::{IssueId, IssueStatus, LinkId, ProjectId};

use super::{time, word};
use crate::sql::Row;
use crate::{Error, Tx, sql};

macro_rules! columns {
    () => {
        "id, project_id, from_issue, to_issue, kind, created_by, created_at"
    };
}

/// A link, seen from one of its issues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub kind: LinkKind,
    /// The link starts at this issue.
    pub outgoing: bool,
    /// The other issue.
    pub number: i64,
    pub title: String,
    pub status: IssueStatus,
}

impl Tx<'_> {
    pub(super) fn insert_link(&mut self, link: &Link) -> Result<(), Error> {
        let (id, project) = (link.id.to_string(), link.project_id.to_string());
        let (from, to) = (link.from_issue.to_string(), link.to_issue.to_string());
        self.write(
            sql!("INSERT INTO issue_links (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7)"),
            &[
                (&id).into(),
                (&project).into(),
                (&from).into(),
                (&to).into(),
                link.kind.name().into(),
                (&link.created_by).into(),
                link.created_at.micros().into(),
            ],
        )
    }

    pub(super) fn delete_link(&mut self, id: LinkId) -> Result<(), Error> {
        let id = id.to_string();
        self.write(sql!("DELETE FROM issue_links WHERE id = $1"), &[(&id).into()])
    }

    /// The links between two issues, in either direction.
    pub fn links_between(&mut self, a: IssueId, b: IssueId) -> Result<Vec<Link>, Error> {
        let (a, b) = (a.to_string(), b.to_string());
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM issue_links WHERE (from_issue = $1 AND to_issue = $2) \
                 OR (from_issue = $2 AND to_issue = $1) ORDER BY id"
            ),
            &[(&a).into(), (&b).into()],
            read,
        )
    }

    /// The links that start at an issue.
    pub(crate) fn links_from(&mut self, issue: IssueId) -> Result<Vec<Link>, Error> {
        let issue = issue.to_string();
        self.query(
            sql!("SELECT ", columns!(), " FROM issue_links WHERE from_issue = $1 ORDER BY id"),
            &[(&issue).into()],
            read,
        )
    }

    /// Every `duplicate_of` link that can be reached from an issue.
    pub fn duplicate_steps(&mut self, from: IssueId) -> Result<Vec<DuplicateStep>, Error> {
        let from = from.to_string();
        self.query(
            sql!(
                "WITH RECURSIVE chain (id) AS (SELECT id FROM issues WHERE id = $1 \
                 UNION SELECT k.to_issue FROM chain AS c JOIN issue_links AS k \
                 ON k.from_issue = c.id AND k.kind = 'duplicate_of') \
                 SELECT f.number, f.status, t.number FROM chain AS c JOIN issue_links AS k \
                 ON k.from_issue = c.id AND k.kind = 'duplicate_of' \
                 JOIN issues AS f ON f.id = k.from_issue JOIN issues AS t ON t.id = k.to_issue \
                 ORDER BY k.id"
            ),
            &[(&from).into()],
            |row| {
                Ok(DuplicateStep {
                    from: row.int(0)?,
                    status: word("issue status", row.str(1)?, IssueStatus::parse)?,
                    to: row.int(2)?,
                })
            },
        )
    }

    /// All links of an issue with the linked issues, oldest first.
    pub fn links_of(&mut self, issue: IssueId) -> Result<Vec<Seen>, Error> {
        let issue = issue.to_string();
        self.query(
            sql!(
                "SELECT k.kind, CAST(CASE WHEN k.from_issue = $1 THEN 1 ELSE 0 END AS BIGINT), \
                 i.number, i.title, \
                 i.status FROM issue_links AS k JOIN issues AS i \
                 ON i.id = CASE WHEN k.from_issue = $1 THEN k.to_issue ELSE k.from_issue END \
                 WHERE k.from_issue = $1 OR k.to_issue = $1 ORDER BY k.id"
            ),
            &[(&issue).into()],
            |row| {
                Ok(Seen {
                    kind: word("link kind", row.str(0)?, LinkKind::parse)?,
                    outgoing: row.int(1)? == 1,
                    number: row.int(2)?,
                    title: row.text(3)?,
                    status: word("issue status", row.str(4)?, IssueStatus::parse)?,
                })
            },
        )
    }
}

fn read(row: &Row<'_>) -> Result<Link, Error> {
    Ok(Link {
        id: word("link id", row.str(0)?, LinkId::parse)?,
        project_id: word("project id", row.str(1)?, ProjectId::parse)?,
        from_issue: word("issue id", row.str(2)?, IssueId::parse)?,
        to_issue: word("issue id", row.str(3)?, IssueId::parse)?,
        kind: word("link kind", row.str(4)?, LinkKind::parse)?,
        created_by: row.text(5)?,
        created_at: time(row, 6)?,
    })
}
