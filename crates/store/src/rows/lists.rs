//! Lists: found by project and scope, and locked if a rule depends on all their items.

use punchlist_core::naming::{self, Candidate};
use punchlist_core::{List, ListId, ListKind, ProjectId, Scope, Time, TodoId};

use super::{opt_time, time, word};
use crate::sql::Row;
use crate::{Dialect, Error, Tx, sql};

macro_rules! columns {
    () => {
        "id, project_id, kind, scope_outer, scope_inner, created_at, archived_at, last_seq"
    };
}

macro_rules! by_scope {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM lists WHERE project_id = $1 AND kind = $2 AND scope_outer = $3 \
             AND scope_inner = $4"
        )
    };
}

macro_rules! archived {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM lists WHERE project_id = $1 AND archived_at <= $2 ORDER BY archived_at, id"
        )
    };
}

macro_rules! of_todo {
    ($condition:expr) => {
        concat!(
            "SELECT l.id, l.project_id, l.kind, l.scope_outer, l.scope_inner, l.created_at, \
             l.archived_at, l.last_seq, t.id FROM todos AS t JOIN lists AS l ON l.id = t.list_id \
             WHERE l.project_id = $1 AND ",
            $condition
        )
    };
}

macro_rules! open_todos {
    ($condition:expr) => {
        concat!(
            "SELECT t.id, t.title, t.seq FROM todos AS t JOIN lists AS l ON l.id = t.list_id \
             WHERE l.project_id = $1 AND l.archived_at IS NULL AND t.removed_at IS NULL \
             AND NOT (t.status = 'completed' OR t.status = 'cancelled') AND ",
            $condition,
            " ORDER BY t.id DESC LIMIT 50"
        )
    };
}

/// How a caller names an item: by its id, or by its number if its list assigns one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TodoKey {
    Id(TodoId),
    Seq(i64),
}

impl TodoKey {
    /// Parses an id or a number; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        // A task is shown as t12, so that form is accepted too.
        let number = text.strip_prefix('t').unwrap_or(text);
        TodoId::parse(text).map(Self::Id).or_else(|| number.parse().ok().map(Self::Seq))
    }
}

/// Should other writers wait for this transaction?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    No,
    /// SQLite needs no lock: it has one writer.
    Row,
}

impl Tx<'_> {
    /// The list of a scope, if it was ever used.
    pub fn list(
        &mut self,
        project: ProjectId,
        scope: &Scope,
        lock: Lock,
    ) -> Result<Option<List>, Error> {
        let statement = match lock {
            Lock::No => sql!(by_scope!()),
            Lock::Row => self.dialect().pick(sql!(by_scope!()), sql!(by_scope!(), " FOR UPDATE")),
        };
        let project = project.to_string();
        let (outer, inner) = scope.keys();
        let params = [(&project).into(), scope.kind().name().into(), outer.into(), inner.into()];
        self.first(statement, &params, alone)
    }

    /// The branches that have a plan with this file.
    pub fn branches_of(
        &mut self,
        project: ProjectId,
        plan_file: &str,
    ) -> Result<Vec<String>, Error> {
        let project = project.to_string();
        self.query(
            sql!(
                "SELECT scope_outer FROM lists WHERE project_id = $1 AND kind = 'plan' \
                 AND scope_inner = $2 AND archived_at IS NULL ORDER BY scope_outer LIMIT 20"
            ),
            &[(&project).into(), plan_file.into()],
            |row| row.text(0),
        )
    }

    /// The list of a scope in the project with this name, unless it is archived, in one query.
    pub fn list_in(&mut self, project: &str, scope: &Scope) -> Result<Option<List>, Error> {
        let (outer, inner) = scope.keys();
        self.first(
            sql!(
                "SELECT l.id, l.project_id, l.kind, l.scope_outer, l.scope_inner, l.created_at, \
                 l.archived_at, l.last_seq \
                 FROM projects AS p JOIN lists AS l ON l.project_id = p.id WHERE p.name = $1 \
                 AND l.kind = $2 AND l.scope_outer = $3 AND l.scope_inner = $4 \
                 AND l.archived_at IS NULL"
            ),
            &[project.into(), scope.kind().name().into(), outer.into(), inner.into()],
            alone,
        )
    }

    /// The list of an item in this project; the item is named by its id or its number.
    pub fn list_of(
        &mut self,
        project: ProjectId,
        todo: TodoKey,
    ) -> Result<Option<(List, TodoId)>, Error> {
        let project = project.to_string();
        let found = |row: &Row<'_>| Ok((alone(row)?, word("todo id", row.str(8)?, TodoId::parse)?));
        match todo {
            TodoKey::Id(id) => {
                let id = id.to_string();
                self.first(sql!(of_todo!("t.id = $2")), &[(&project).into(), (&id).into()], found)
            }
            TodoKey::Seq(seq) => {
                self.first(sql!(of_todo!("t.seq = $2")), &[(&project).into(), seq.into()], found)
            }
        }
    }

    /// Locks a list, so that no other transaction decides on it. SQLite has one writer anyway.
    pub fn lock_list(&mut self, list: ListId) -> Result<(), Error> {
        if self.dialect() == Dialect::Postgres {
            let id = list.to_string();
            let statement = sql!("SELECT id FROM lists WHERE id = $1 FOR UPDATE");
            self.first(statement, &[(&id).into()], |_| Ok(()))?;
        }
        Ok(())
    }

    /// The list with this id.
    pub fn list_by_id(&mut self, id: ListId) -> Result<Option<List>, Error> {
        let id = id.to_string();
        self.first(sql!("SELECT ", columns!(), " FROM lists WHERE id = $1"), &[(&id).into()], alone)
    }

    /// Lists of any project without events in the log. There should be none.
    pub(crate) fn lists_without_events(&mut self) -> Result<Vec<String>, Error> {
        self.query(
            sql!("SELECT id FROM lists EXCEPT SELECT aggregate FROM events LIMIT 100"),
            &[],
            |row| row.text(0),
        )
    }

    /// Inserts or updates a list.
    pub fn put_list(&mut self, list: &List) -> Result<(), Error> {
        let (id, project) = (list.id.to_string(), list.project_id.to_string());
        let (outer, inner) = list.scope.keys();
        self.write(
            in_log_order!(
                self,
                "lists",
                "INSERT INTO lists (",
                columns!(),
                ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO UPDATE \
                 SET archived_at = excluded.archived_at, last_seq = excluded.last_seq \
                 WHERE lists.id = excluded.id"
            ),
            &[
                (&id).into(),
                (&project).into(),
                list.kind().name().into(),
                outer.into(),
                inner.into(),
                list.created_at.micros().into(),
                list.archived_at.map(Time::micros).into(),
                list.last_seq.into(),
            ],
        )?;
        if let Scope::Pillar { mission, pillar } = &list.scope {
            // The list belongs to its pillar and is deleted with it.
            self.write(
                sql!(
                    "UPDATE lists SET pillar_id = (SELECT p.id FROM pillars AS p \
                     JOIN missions AS m ON m.id = p.mission_id WHERE m.project_id = $2 \
                     AND m.slug = $3 AND p.slug = $4) WHERE id = $1"
                ),
                &[(&id).into(), (&project).into(), mission.into(), pillar.into()],
            )?;
        }
        Ok(())
    }

    /// The newest visible lists of a project, newest first.
    pub fn recent_lists(&mut self, project: ProjectId, limit: i64) -> Result<Vec<List>, Error> {
        let project = project.to_string();
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM lists WHERE project_id = $1 AND archived_at IS NULL \
                 ORDER BY id DESC LIMIT $2"
            ),
            &[(&project).into(), limit.into()],
            alone,
        )
    }

    /// The plans of a project, by file and branch.
    pub fn plans(
        &mut self,
        project: ProjectId,
        with_archived: bool,
        after: Option<&Scope>,
        limit: i64,
    ) -> Result<Vec<List>, Error> {
        let project = project.to_string();
        // No plan has an empty file.
        let (branch, file) = after.map_or(("", ""), Scope::keys);
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM lists WHERE project_id = $1 AND kind = 'plan' \
                 AND (CAST($2 AS BIGINT) = 1 OR archived_at IS NULL) \
                 AND (scope_inner, scope_outer) > ($3, $4) \
                 ORDER BY scope_inner, scope_outer LIMIT $5"
            ),
            &[
                (&project).into(),
                i64::from(with_archived).into(),
                file.into(),
                branch.into(),
                limit.into(),
            ],
            alone,
        )
    }

    /// Items of a project whose id ends with this text.
    pub fn todos_ending(&mut self, project: ProjectId, end: &str) -> Result<Vec<Candidate>, Error> {
        let (project, last) = (project.to_string(), naming::short(end));
        let found = self.query(
            sql!(
                "SELECT t.id, t.title, t.seq FROM todos AS t JOIN lists AS l ON l.id = t.list_id \
                 WHERE l.project_id = $1 AND substr(t.id, 23) = $2 ORDER BY t.id DESC LIMIT 50"
            ),
            &[(&project).into(), last.into()],
            candidate,
        )?;
        Ok(found.into_iter().filter(|one| one.id.ends_with(end)).collect())
    }

    /// Open items of a project whose title contains this text, ignoring case.
    pub fn todos_saying(
        &mut self,
        project: ProjectId,
        text: &str,
    ) -> Result<Vec<Candidate>, Error> {
        let project = project.to_string();
        // Lower the text as the database does: SQLite lowers only ASCII letters.
        let low = match self.dialect() {
            Dialect::Sqlite => text.to_ascii_lowercase(),
            Dialect::Postgres => text.to_lowercase(),
        };
        let statement = self.dialect().pick(
            sql!(open_todos!("instr(lower(t.title), $2) > 0")),
            sql!(open_todos!("strpos(lower(t.title), $2) > 0")),
        );
        self.query(statement, &[(&project).into(), (&low).into()], candidate)
    }

    /// The lists of a project that were archived by this time and still have items, locked. Each
    /// comes with the number of items and their highest seq; in the order they were archived.
    pub fn archived_lists(
        &mut self,
        project: ProjectId,
        until: Time,
    ) -> Result<Vec<(List, u64, Option<i64>)>, Error> {
        let project = project.to_string();
        let statement = self.dialect().pick(sql!(archived!()), sql!(archived!(), " FOR UPDATE"));
        let lists = self.query(statement, &[(&project).into(), until.micros().into()], alone)?;
        let mut found = Vec::new();
        for list in lists {
            let id = list.id.to_string();
            let statement = sql!("SELECT count(*), max(seq) FROM todos WHERE list_id = $1");
            let counted = self.first(statement, &[(&id).into()], |row| {
                Ok((row.int(0)?.unsigned_abs(), row.opt_int(1)?))
            })?;
            if let Some((count, last_seq)) = counted.filter(|(count, _)| *count > 0) {
                found.push((list, count, last_seq));
            }
        }
        Ok(found)
    }

    /// Deletes the items of a list permanently, with their notes and leases.
    pub fn purge_list(&mut self, list: ListId) -> Result<(), Error> {
        let id = list.to_string();
        self.write(sql!("DELETE FROM todos WHERE list_id = $1"), &[(&id).into()])
    }

    /// The highest seq that any item of the store ever had.
    pub fn last_seq(&mut self) -> Result<i64, Error> {
        let highest = [
            sql!("SELECT seq FROM todos WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT 1"),
            sql!(
                "SELECT last_seq FROM lists WHERE last_seq IS NOT NULL ORDER BY last_seq DESC LIMIT 1"
            ),
        ];
        let mut last = 0;
        for statement in highest {
            last = last.max(self.first(statement, &[], |row| row.int(0))?.unwrap_or(0));
        }
        Ok(last)
    }
}

/// Reads a list, starting at this column.
pub(super) fn read(row: &Row<'_>, first: usize) -> Result<List, Error> {
    let kind = word("list kind", &row.text(first + 2)?, ListKind::parse)?;
    Ok(List {
        id: word("list id", &row.text(first)?, ListId::parse)?,
        project_id: word("project id", &row.text(first + 1)?, ProjectId::parse)?,
        scope: Scope::from_keys(kind, row.text(first + 3)?, row.text(first + 4)?),
        created_at: time(row, first + 5)?,
        archived_at: opt_time(row, first + 6)?,
        last_seq: row.opt_int(first + 7)?,
    })
}

fn candidate(row: &Row<'_>) -> Result<Candidate, Error> {
    Ok(Candidate { id: row.text(0)?, text: row.text(1)?, seq: row.opt_int(2)? })
}

fn alone(row: &Row<'_>) -> Result<List, Error> {
    read(row, 0)
}
