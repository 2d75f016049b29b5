//! Runs: the progress of each execution of an agent's loop.
//!
//! The epoch is not folded from the log: it identifies the process that holds the run, and grows
//! with each takeover.

use punchlist_core::run::{RunState, apply_run};
use punchlist_core::{
    ConversationId, Decision, DelegationId, Event, GateId, Ids, ProjectId, Role, Run, RunId,
    SessionId,
};

use super::events::Stamp;
use super::lists::Lock;
use super::word;
use crate::sql::Row;
use crate::{Error, Tx, sql};

macro_rules! select {
    ($($condition:expr),+) => {
        concat!("SELECT data, epoch FROM runs WHERE ", $($condition),+)
    };
}

/// A run and the epoch of its holder.
pub type RunRow = (Run, i64);

impl Tx<'_> {
    pub fn run(
        &mut self,
        project: ProjectId,
        id: RunId,
        lock: Lock,
    ) -> Result<Option<RunRow>, Error> {
        let (project, id) = (project.to_string(), id.to_string());
        let statement = match lock {
            Lock::No => sql!(select!("project_id = $1 AND id = $2")),
            Lock::Row => self.dialect().pick(
                sql!(select!("project_id = $1 AND id = $2")),
                sql!(select!("project_id = $1 AND id = $2 FOR UPDATE")),
            ),
        };
        self.first(statement, &[(&project).into(), (&id).into()], read)
    }

    /// The project of a run, by id and name.
    pub fn home_of_run(&mut self, id: RunId) -> Result<Option<(ProjectId, String)>, Error> {
        let id = id.to_string();
        self.first(
            sql!(
                "SELECT p.id, p.name FROM runs AS r JOIN projects AS p ON p.id = r.project_id \
                 WHERE r.id = $1"
            ),
            &[(&id).into()],
            |row| Ok((word("project id", row.str(0)?, ProjectId::parse)?, row.text(1)?)),
        )
    }

    /// The runs of a project, newest first.
    pub fn runs(
        &mut self,
        project: ProjectId,
        state: Option<RunState>,
        session: Option<SessionId>,
        below: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Run>, Error> {
        let (project, session) = (project.to_string(), session.map(|id| id.to_string()));
        self.query(
            sql!(select!(
                "project_id = $1 AND (CAST($2 AS TEXT) IS NULL OR state = $2) \
                 AND (CAST($3 AS TEXT) IS NULL OR session_id = $3) \
                 AND (CAST($4 AS TEXT) IS NULL OR id < $4) ORDER BY id DESC LIMIT $5"
            )),
            &[
                (&project).into(),
                state.map(RunState::name).into(),
                session.as_deref().into(),
                below.into(),
                limit.into(),
            ],
            |row| read(row).map(|(run, _)| run),
        )
    }

    /// The runs of a session that have not ended.
    pub fn open_runs_of_session(&mut self, session: SessionId) -> Result<Vec<Run>, Error> {
        let session = session.to_string();
        self.query(
            sql!(select!("session_id = $1 AND state <> 'ended' ORDER BY id")),
            &[(&session).into()],
            |row| read(row).map(|(run, _)| run),
        )
    }

    /// The newest run of a session.
    pub fn newest_run_of_session(&mut self, session: SessionId) -> Result<Option<Run>, Error> {
        let session = session.to_string();
        self.first(
            sql!(select!("session_id = $1 ORDER BY id DESC LIMIT 1")),
            &[(&session).into()],
            |row| read(row).map(|(run, _)| run),
        )
    }

    /// The newest run in a chat.
    pub fn newest_run_in(&mut self, conversation: ConversationId) -> Result<Option<Run>, Error> {
        let conversation = conversation.to_string();
        self.first(
            sql!(select!("conversation_id = $1 ORDER BY id DESC LIMIT 1")),
            &[(&conversation).into()],
            |row| read(row).map(|(run, _)| run),
        )
    }

    /// The newest run in a chat with this role, among the last 100 runs.
    pub fn newest_run_as(
        &mut self,
        conversation: ConversationId,
        role: Role,
    ) -> Result<Option<Run>, Error> {
        let conversation = conversation.to_string();
        let newest = self.query(
            sql!(select!("conversation_id = $1 ORDER BY id DESC LIMIT 100")),
            &[(&conversation).into()],
            |row| read(row).map(|(run, _)| run),
        )?;
        Ok(newest.into_iter().find(|run| run.role == role))
    }

    /// The newest run of a delegation.
    pub fn run_of_delegation(&mut self, delegation: DelegationId) -> Result<Option<Run>, Error> {
        let delegation = delegation.to_string();
        self.first(
            sql!(select!("delegation_id = $1 ORDER BY id DESC LIMIT 1")),
            &[(&delegation).into()],
            |row| read(row).map(|(run, _)| run),
        )
    }

    /// The delegations of a run that have not returned yet.
    pub fn in_flight(&mut self, run: RunId) -> Result<Vec<DelegationId>, Error> {
        let run = run.to_string();
        self.query(
            sql!(
                "SELECT id FROM delegations WHERE run_id = $1 \
                 AND (state = 'queued' OR state = 'running') ORDER BY id"
            ),
            &[(&run).into()],
            |row| word("delegation id", row.str(0)?, DelegationId::parse),
        )
    }

    /// An open gate of this run or of its session.
    pub fn open_gate_of(
        &mut self,
        run: RunId,
        session: Option<SessionId>,
    ) -> Result<Option<GateId>, Error> {
        let (run, session) = (run.to_string(), session.map(|id| id.to_string()));
        self.first(
            sql!(
                "SELECT id FROM gates WHERE run_id = $1 AND state = 'open' \
                 UNION ALL SELECT id FROM gates WHERE session_id = $2 AND state = 'open' LIMIT 1"
            ),
            &[(&run).into(), session.as_deref().into()],
            |row| word("gate id", row.str(0)?, GateId::parse),
        )
    }

    /// Takes over a run: its previous holder can no longer write.
    pub fn take_run(&mut self, id: RunId) -> Result<i64, Error> {
        let id = id.to_string();
        let epoch = self.first(
            sql!("UPDATE runs SET epoch = epoch + 1 WHERE id = $1 RETURNING epoch"),
            &[(&id).into()],
            |row| row.int(0),
        )?;
        Ok(epoch.unwrap_or_default())
    }

    /// Folds a decision into a run and writes its row, its events and its effects.
    pub fn record_run(
        &mut self,
        state: &mut Option<Run>,
        decision: &Decision,
        stamp: &Stamp,
        ids: &mut Ids,
    ) -> Result<(), Error> {
        let mut changed = false;
        for event in &decision.events {
            changed |= apply_run(state, event, stamp.at);
            let Some(run) = state.as_ref() else { continue };
            if let Event::RunStarted(_) = event {
                self.insert_run(run)?;
                changed = false;
            }
            self.append(stamp, &run.id.to_string(), event)?;
        }
        if let (true, Some(run)) = (changed, state.as_ref()) {
            self.update_run(run)?;
        }
        for effect in &decision.effects {
            self.enqueue(effect, stamp.at, ids)?;
        }
        Ok(())
    }

    fn insert_run(&mut self, run: &Run) -> Result<(), Error> {
        let (id, project) = (run.id.to_string(), run.project_id.to_string());
        let conversation = run.conversation_id.to_string();
        let session = run.session_id.map(|id| id.to_string());
        let delegation = run.delegation_id.map(|id| id.to_string());
        let data = serde_json::to_string(run)?;
        self.write(
            sql!(
                "INSERT INTO runs (id, project_id, conversation_id, session_id, delegation_id, \
                 state, data) VALUES ($1, $2, $3, $4, $5, $6, $7)"
            ),
            &[
                (&id).into(),
                (&project).into(),
                (&conversation).into(),
                session.as_deref().into(),
                delegation.as_deref().into(),
                run.state.name().into(),
                (&data).into(),
            ],
        )
    }

    fn update_run(&mut self, run: &Run) -> Result<(), Error> {
        let (id, data) = (run.id.to_string(), serde_json::to_string(run)?);
        self.write(
            in_log_order!(self, "runs", "UPDATE runs SET state = $2, data = $3 WHERE id = $1"),
            &[(&id).into(), run.state.name().into(), (&data).into()],
        )
    }
}

fn read(row: &Row<'_>) -> Result<RunRow, Error> {
    Ok((serde_json::from_str(row.str(0)?)?, row.int(1)?))
}
