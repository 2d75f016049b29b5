//! The history of an issue: entries are only added.

use punchlist_core::issue::{IssueUpdate, UpdateKind};
use punchlist_core::{IssueId, UpdateId};

use super::{time, word};
use crate::{Error, Tx, sql};

impl Tx<'_> {
    pub(super) fn insert_update(&mut self, update: &IssueUpdate) -> Result<(), Error> {
        let (id, issue) = (update.id.to_string(), update.issue_id.to_string());
        self.write(
            sql!(
                "INSERT INTO issue_updates (id, issue_id, kind, author, text, created_at) \
                 VALUES ($1, $2, $3, $4, $5, $6)"
            ),
            &[
                (&id).into(),
                (&issue).into(),
                update.kind.name().into(),
                (&update.author).into(),
                (&update.text).into(),
                update.created_at.micros().into(),
            ],
        )
    }

    /// The history of an issue, oldest first.
    pub fn updates(&mut self, issue_id: IssueId) -> Result<Vec<IssueUpdate>, Error> {
        let issue = issue_id.to_string();
        self.query(
            sql!(
                "SELECT id, kind, author, text, created_at FROM issue_updates \
                 WHERE issue_id = $1 ORDER BY row"
            ),
            &[(&issue).into()],
            |row| {
                Ok(IssueUpdate {
                    id: word("update id", row.str(0)?, UpdateId::parse)?,
                    issue_id,
                    kind: word("update kind", row.str(1)?, UpdateKind::parse)?,
                    author: row.text(2)?,
                    text: row.text(3)?,
                    created_at: time(row, 4)?,
                })
            },
        )
    }
}
