//! Agents: the status each one reports, and when it was last heard from.

use punchlist_core::{Agent, AgentPath, AgentStatus, ProjectId};

use super::{time, word};
use crate::sql::Row;
use crate::{Error, Tx, sql};

macro_rules! columns {
    () => {
        "path, type, status, note, heartbeat_at, created_at, updated_at"
    };
}

impl Tx<'_> {
    /// Inserts an agent, or updates the status it reports.
    pub fn put_agent(
        &mut self,
        project: ProjectId,
        project_name: &str,
        agent: &Agent,
    ) -> Result<(), Error> {
        let (project, path) = (project.to_string(), agent.path.as_str());
        let id = format!("{project_name}/{path}");
        self.write(
            sql!(
                "INSERT INTO agents (id, project_id, ",
                columns!(),
                ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO UPDATE SET \
                 type = excluded.type, status = excluded.status, note = excluded.note, \
                 heartbeat_at = excluded.heartbeat_at, updated_at = excluded.updated_at"
            ),
            &[
                (&id).into(),
                (&project).into(),
                path.into(),
                agent.kind.as_deref().into(),
                agent.status.name().into(),
                agent.note.as_deref().into(),
                agent.heartbeat_at.micros().into(),
                agent.created_at.micros().into(),
                agent.updated_at.micros().into(),
            ],
        )
    }

    pub fn agent(&mut self, project: ProjectId, path: &AgentPath) -> Result<Option<Agent>, Error> {
        let project = project.to_string();
        self.first(
            sql!("SELECT ", columns!(), " FROM agents WHERE project_id = $1 AND path = $2"),
            &[(&project).into(), path.as_str().into()],
            read,
        )
    }

    /// The agents of a project, by path.
    pub fn agents(&mut self, project: ProjectId) -> Result<Vec<Agent>, Error> {
        self.agents_after(project, None, i64::MAX)
    }

    /// A page of the agents of a project, by path.
    pub fn agents_after(
        &mut self,
        project: ProjectId,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Agent>, Error> {
        let project = project.to_string();
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM agents WHERE project_id = $1 AND path > $2 ORDER BY path LIMIT $3"
            ),
            // No path is empty.
            &[(&project).into(), after.unwrap_or_default().into(), limit.into()],
            read,
        )
    }
}

fn read(row: &Row<'_>) -> Result<Agent, Error> {
    Ok(Agent {
        path: word("agent path", row.str(0)?, AgentPath::parse)?,
        kind: row.opt_text(1)?,
        status: word("agent status", row.str(2)?, AgentStatus::parse)?,
        note: row.opt_text(3)?,
        heartbeat_at: time(row, 4)?,
        created_at: time(row, 5)?,
        updated_at: time(row, 6)?,
    })
}
