//! The items of a mission, across the lists of its pillars.

use punchlist_core::{ListId, ProjectId, Status, Time, Todo};

use super::todos::{self, WIDTH, columns};
use crate::{Error, Tx, sql};

/// Which items to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedTodos {
    /// The slug of a pillar.
    pub pillar: Option<String>,
    pub status: Option<Status>,
    pub include_archived: bool,
    /// Only ids greater than this one.
    pub above: Option<String>,
}

macro_rules! select {
    ($status:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            ", pillar FROM (SELECT t.*, l.scope_inner AS pillar FROM lists AS l \
             JOIN todos AS t ON t.list_id = l.id WHERE l.project_id = $1 \
             AND l.kind = 'pillar' AND l.scope_outer = $2 \
             AND (CAST($3 AS TEXT) IS NULL OR l.scope_inner = $3) AND ",
            $status,
            " AND (CAST($5 AS BIGINT) = 1 OR t.archived_at IS NULL) \
             AND (CAST($6 AS TEXT) IS NULL OR t.id > $6) AND t.removed_at IS NULL) AS found \
             ORDER BY id LIMIT $7"
        )
    };
}

impl Tx<'_> {
    /// The items of a mission, oldest first, each with its pillar's slug.
    pub fn mission_todos(
        &mut self,
        project: ProjectId,
        mission: &str,
        wanted: &WantedTodos,
        limit: i64,
    ) -> Result<Vec<(String, Todo)>, Error> {
        let project = project.to_string();
        let archived = i64::from(wanted.include_archived);
        // The index of a list is by status, so open items are found without reading settled ones.
        let statement = match wanted.status {
            Some(_) => sql!(select!("t.status = $4")),
            None => sql!(select!("CAST($4 AS TEXT) IS NULL")),
        };
        self.query(
            statement,
            &[
                (&project).into(),
                mission.into(),
                wanted.pillar.as_deref().into(),
                wanted.status.map(Status::name).into(),
                archived.into(),
                wanted.above.as_deref().into(),
                limit.into(),
            ],
            |row| Ok((row.text(WIDTH)?, todos::read(row)?)),
        )
    }

    /// The items of a list that were settled last, newest first.
    pub fn recently_settled(&mut self, list: ListId, limit: i64) -> Result<Vec<Todo>, Error> {
        let list = list.to_string();
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM todos WHERE list_id = $1 AND settled_at IS NOT NULL \
                 AND archived_at IS NULL ORDER BY settled_at DESC LIMIT $2"
            ),
            &[(&list).into(), limit.into()],
            todos::read,
        )
    }

    /// The completion times of a list's items since a time, newest first, without archived items.
    pub fn completed_since(
        &mut self,
        list: ListId,
        since: Time,
        limit: i64,
    ) -> Result<Vec<Time>, Error> {
        let list = list.to_string();
        self.query(
            sql!(
                "SELECT settled_at FROM todos WHERE list_id = $1 AND settled_at >= $2 \
                 AND settled_at IS NOT NULL AND archived_at IS NULL AND status = 'completed' \
                 ORDER BY settled_at DESC LIMIT $3"
            ),
            &[(&list).into(), since.micros().into(), limit.into()],
            |row| Ok(Time::from_micros(row.int(0)?)),
        )
    }

    /// The items of a list that were settled by this time and are not archived yet.
    pub fn settled_until(
        &mut self,
        list: ListId,
        until: Time,
        limit: i64,
    ) -> Result<Vec<Todo>, Error> {
        let list = list.to_string();
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM todos WHERE list_id = $1 AND settled_at <= $2 AND settled_at IS NOT NULL \
                 AND archived_at IS NULL ORDER BY settled_at LIMIT $3"
            ),
            &[(&list).into(), until.micros().into(), limit.into()],
            todos::read,
        )
    }
}
