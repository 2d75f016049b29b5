//! Projects: a name, created on first use. `merge` joins two of them.

use punchlist_core::{ProjectId, Time};

use super::word;
use crate::sql::Row;
use crate::{Error, Tx, sql};

/// A project as it is found by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    pub id: ProjectId,
    /// The project that it was merged into; it has nothing of its own then but its log.
    pub merged_into: Option<ProjectId>,
    /// The place it is recognised by, as JSON; `None` if it is not known.
    pub place: Option<String>,
}

/// A project and the place it is recognised by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub name: String,
    /// As JSON; `None` if it is not known.
    pub place: Option<String>,
    /// The name of the project that it was merged into.
    pub into: Option<String>,
}

impl Tx<'_> {
    /// The project with this name, if anything was ever written to it.
    pub fn project(&mut self, name: &str) -> Result<Option<ProjectId>, Error> {
        self.first(sql!("SELECT id FROM projects WHERE name = $1"), &[name.into()], id)
    }

    /// Like `project`, with what became of it.
    pub fn project_home(&mut self, name: &str) -> Result<Option<Home>, Error> {
        self.first(
            sql!("SELECT id, merged_into, place FROM projects WHERE name = $1"),
            &[name.into()],
            |row| {
                let merged_into = row.opt_text(1)?;
                let read = |text: String| word("project id", &text, ProjectId::parse);
                let merged_into = merged_into.map(read).transpose()?;
                Ok(Home { id: id(row)?, merged_into, place: row.opt_text(2)? })
            },
        )
    }

    /// All projects.
    pub fn projects(&mut self) -> Result<Vec<ProjectId>, Error> {
        self.query(sql!("SELECT id FROM projects ORDER BY id"), &[], id)
    }

    /// Every project with the place it is recognised by, if known; also those that were merged.
    pub fn places(&mut self) -> Result<Vec<Placed>, Error> {
        self.query(
            sql!(
                "SELECT p.name, p.place, i.name FROM projects AS p \
                 LEFT JOIN projects AS i ON i.id = p.merged_into ORDER BY p.id"
            ),
            &[],
            |row| {
                Ok(Placed { name: row.text(0)?, place: row.opt_text(1)?, into: row.opt_text(2)? })
            },
        )
    }

    /// A page of the projects that were not merged, the oldest first: all of them, or only the one with this name.
    pub fn projects_after(
        &mut self,
        only: Option<&str>,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<(ProjectId, String)>, Error> {
        self.query(
            sql!(
                "SELECT id, name FROM projects WHERE id > $1 AND merged_into IS NULL \
                 AND (CAST($2 AS TEXT) IS NULL OR name = $2) ORDER BY id LIMIT $3"
            ),
            &[after.unwrap_or_default().into(), only.into(), limit.into()],
            |row| Ok((word("project id", row.str(0)?, ProjectId::parse)?, row.text(1)?)),
        )
    }

    /// Records the place a project is recognised by. If its place is no longer the one that was
    /// read (`None`: unknown), another writer was faster, and that place is kept.
    pub fn place_project(
        &mut self,
        id: ProjectId,
        before: Option<&str>,
        place: &str,
    ) -> Result<(), Error> {
        let id = id.to_string();
        self.write(
            sql!("UPDATE projects SET place = $2 WHERE id = $1 AND coalesce(place, '') = $3"),
            &[(&id).into(), place.into(), before.unwrap_or_default().into()],
        )
    }

    /// The name of a project.
    pub fn project_name(&mut self, id: ProjectId) -> Result<Option<String>, Error> {
        let id = id.to_string();
        let statement = sql!("SELECT name FROM projects WHERE id = $1");
        self.first(statement, &[(&id).into()], |row| row.text(0))
    }

    /// Inserts a project. If two transactions do so at once they conflict, and the second then
    /// finds the project.
    pub fn insert_project(&mut self, id: ProjectId, name: &str, at: Time) -> Result<(), Error> {
        let id = id.to_string();
        self.write(
            sql!("INSERT INTO projects (id, name, created_at) VALUES ($1, $2, $3)"),
            &[(&id).into(), name.into(), at.micros().into()],
        )?;
        Ok(())
    }
}

fn id(row: &Row<'_>) -> Result<ProjectId, Error> {
    word("project id", row.str(0)?, ProjectId::parse)
}
