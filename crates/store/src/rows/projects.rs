//! Projects: a name, created on first use.

use punchlist_core::{ProjectId, Time};

use super::word;
use crate::{Error, Tx, sql};

impl Tx<'_> {
    /// The project with this name, if anything was ever written to it.
    pub fn project(&mut self, name: &str) -> Result<Option<ProjectId>, Error> {
        self.first(sql!("SELECT id FROM projects WHERE name = $1"), &[name.into()], |row| {
            word("project id", row.str(0)?, ProjectId::parse)
        })
    }

    /// All projects.
    pub fn projects(&mut self) -> Result<Vec<ProjectId>, Error> {
        self.query(sql!("SELECT id FROM projects ORDER BY id"), &[], |row| {
            word("project id", row.str(0)?, ProjectId::parse)
        })
    }

    /// The name of every project, and the place it is recognised by, if known.
    pub fn places(&mut self) -> Result<Vec<(String, Option<String>)>, Error> {
        self.query(sql!("SELECT name, place FROM projects ORDER BY id"), &[], |row| {
            Ok((row.text(0)?, row.opt_text(1)?))
        })
    }

    /// Records the place a project is recognised by, unless it is already known.
    pub fn settle_project(&mut self, id: ProjectId, place: &str) -> Result<(), Error> {
        let id = id.to_string();
        self.write(
            sql!("UPDATE projects SET place = $2 WHERE id = $1 AND place IS NULL"),
            &[(&id).into(), place.into()],
        )
    }

    /// The project with this name, and whether its place is known.
    pub fn project_settled(&mut self, name: &str) -> Result<Option<(ProjectId, bool)>, Error> {
        self.first(
            sql!(
                "SELECT id, CASE WHEN place IS NULL THEN 0 ELSE 1 END FROM projects WHERE name = $1"
            ),
            &[name.into()],
            |row| Ok((word("project id", row.str(0)?, ProjectId::parse)?, row.int(1)? == 1)),
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
