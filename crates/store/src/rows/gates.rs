//! Gates: questions that wait for a person, by project, session and issue.

use punchlist_core::gate::{Details, GateKind, GateState, Purpose, apply_gate};
use punchlist_core::{
    AgentPath, Decision, Event, Gate, GateId, IssueId, IssueStatus, ProjectId, RunId, SessionId,
    Time, TodoId,
};

use super::events::Stamp;
use super::lists::Lock;
use super::{opt_time, reach, reach_text, time, word};
use crate::sql::Row;
use crate::{Error, Tx, sql};

macro_rules! columns {
    () => {
        "id, project_id, kind, purpose, state, session_id, issue_id, text, details, asked_by, \
         agent, created_at, revision, response, answered_by, answered_at, collected_at, todo_id, \
         run_id, closes_as, reach"
    };
}

macro_rules! select {
    ($($condition:expr),+) => {
        concat!("SELECT ", columns!(), " FROM gates WHERE ", $($condition),+)
    };
}

/// Which gates to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedGates {
    pub state: Option<GateState>,
    pub kind: Option<GateKind>,
    pub session: Option<SessionId>,
    pub issue: Option<IssueId>,
    /// Only ids greater than this one.
    pub above: Option<String>,
}

impl Tx<'_> {
    pub fn gate(
        &mut self,
        project: ProjectId,
        id: GateId,
        lock: Lock,
    ) -> Result<Option<Gate>, Error> {
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

    /// The gates of a project, oldest first.
    pub fn gates(
        &mut self,
        project: ProjectId,
        wanted: &WantedGates,
        limit: i64,
    ) -> Result<Vec<Gate>, Error> {
        let project = project.to_string();
        let session = wanted.session.map(|id| id.to_string());
        let issue = wanted.issue.map(|id| id.to_string());
        self.query(
            sql!(select!(
                "project_id = $1 AND (CAST($2 AS TEXT) IS NULL OR state = $2) \
                 AND (CAST($3 AS TEXT) IS NULL OR kind = $3) \
                 AND (CAST($4 AS TEXT) IS NULL OR session_id = $4) \
                 AND (CAST($5 AS TEXT) IS NULL OR issue_id = $5) \
                 AND (CAST($6 AS TEXT) IS NULL OR id > $6) ORDER BY id LIMIT $7"
            )),
            &[
                (&project).into(),
                wanted.state.map(GateState::name).into(),
                wanted.kind.map(GateKind::name).into(),
                session.as_deref().into(),
                issue.as_deref().into(),
                wanted.above.as_deref().into(),
                limit.into(),
            ],
            read,
        )
    }

    /// The earlier gates of a session, or of an agent without one, newest first.
    pub fn gates_asked(
        &mut self,
        project: ProjectId,
        session: Option<SessionId>,
        principal: &str,
        limit: i64,
    ) -> Result<Vec<Gate>, Error> {
        let project = project.to_string();
        let session = session.map(|id| id.to_string());
        match &session {
            Some(session) => self.query(
                sql!(select!("project_id = $1 AND session_id = $2 ORDER BY row DESC LIMIT $3")),
                &[(&project).into(), session.into(), limit.into()],
                read,
            ),
            None => self.query(
                sql!(select!(
                    "project_id = $1 AND session_id IS NULL AND asked_by = $2 \
                     ORDER BY row DESC LIMIT $3"
                )),
                &[(&project).into(), principal.into(), limit.into()],
                read,
            ),
        }
    }

    /// The gates about one tool of an agent, newest first.
    pub fn permission_gates(
        &mut self,
        project: ProjectId,
        agent: &AgentPath,
        tool: &str,
        limit: i64,
    ) -> Result<Vec<Gate>, Error> {
        let project = project.to_string();
        self.query(
            sql!(select!(
                "project_id = $1 AND kind = 'permission' AND agent = $2 AND text = $3 \
                 ORDER BY row DESC LIMIT $4"
            )),
            &[(&project).into(), agent.as_str().into(), tool.into(), limit.into()],
            read,
        )
    }

    /// The newest sign-off gate of an issue that is still valid.
    pub fn sign_off(&mut self, issue: IssueId) -> Result<Option<Gate>, Error> {
        let issue = issue.to_string();
        self.first(
            sql!(select!(
                "issue_id = $1 AND purpose = 'sign_off' AND state <> 'superseded' \
                 ORDER BY row DESC LIMIT 1"
            )),
            &[(&issue).into()],
            read,
        )
    }

    /// The open sign-offs of an issue, oldest first.
    pub fn open_sign_offs(&mut self, issue: IssueId) -> Result<Vec<Gate>, Error> {
        let issue = issue.to_string();
        self.query(
            sql!(select!("issue_id = $1 AND purpose = 'sign_off' AND state = 'open' ORDER BY row")),
            &[(&issue).into()],
            read,
        )
    }

    /// The open gates about an item, oldest first.
    pub fn open_gates_about(
        &mut self,
        project: ProjectId,
        todo: TodoId,
    ) -> Result<Vec<Gate>, Error> {
        let (project, todo) = (project.to_string(), todo.to_string());
        self.query(
            sql!(select!("todo_id = $2 AND project_id = $1 AND state = 'open' ORDER BY row")),
            &[(&project).into(), (&todo).into()],
            read,
        )
    }

    /// The open escalations of a mission, oldest first.
    pub fn open_escalations(
        &mut self,
        project: ProjectId,
        mission: &str,
    ) -> Result<Vec<Gate>, Error> {
        let project = project.to_string();
        self.query(
            sql!(select!(
                "project_id = $1 AND state = 'open' AND kind = 'escalation' AND todo_id IN \
                 (SELECT t.id FROM todos AS t JOIN lists AS l ON l.id = t.list_id \
                 WHERE l.project_id = $1 AND l.kind = 'pillar' AND l.scope_outer = $2) \
                 ORDER BY row LIMIT 1000"
            )),
            &[(&project).into(), mission.into()],
            read,
        )
    }

    /// Folds a decision into a gate and writes its row and its events.
    pub fn record_gate(
        &mut self,
        state: &mut Option<Gate>,
        decision: &Decision,
        stamp: &Stamp,
    ) -> Result<(), Error> {
        for event in &decision.events {
            let changed = apply_gate(state, event, stamp.at);
            let Some(gate) = state.as_ref() else { continue };
            match event {
                Event::GateOpened(_) => self.insert_gate(gate)?,
                _ if changed => self.update_gate(gate)?,
                _ => {}
            }
            self.append(stamp, &gate.id.to_string(), event)?;
        }
        Ok(())
    }

    fn insert_gate(&mut self, gate: &Gate) -> Result<(), Error> {
        let (id, project) = (gate.id.to_string(), gate.project_id.to_string());
        let session = gate.session_id.map(|id| id.to_string());
        let issue = gate.issue_id.map(|id| id.to_string());
        let todo = gate.todo_id.map(|id| id.to_string());
        let run = gate.run_id.map(|id| id.to_string());
        let details = gate.details.to_json()?;
        let reach = reach_text(&gate.reach)?;
        let response = gate.response.as_ref().map(ToString::to_string);
        self.write(
            sql!(
                "INSERT INTO gates (",
                columns!(),
                ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, \
                 $16, $17, $18, $19, $20, $21)"
            ),
            &[
                (&id).into(),
                (&project).into(),
                gate.kind().name().into(),
                gate.purpose.map(Purpose::name).into(),
                gate.state.name().into(),
                session.as_deref().into(),
                issue.as_deref().into(),
                (&gate.text).into(),
                (&details).into(),
                (&gate.asked_by).into(),
                gate.agent.as_str().into(),
                gate.created_at.micros().into(),
                gate.revision.into(),
                response.as_deref().into(),
                gate.answered_by.as_deref().into(),
                gate.answered_at.map(Time::micros).into(),
                gate.collected_at.map(Time::micros).into(),
                todo.as_deref().into(),
                run.as_deref().into(),
                gate.end.map(IssueStatus::name).into(),
                reach.as_deref().into(),
            ],
        )
    }

    fn update_gate(&mut self, gate: &Gate) -> Result<(), Error> {
        let id = gate.id.to_string();
        let response = gate.response.as_ref().map(ToString::to_string);
        self.write(
            in_log_order!(
                self,
                "gates",
                "UPDATE gates SET state = $2, revision = $3, response = $4, answered_by = $5, \
                 answered_at = $6, collected_at = $7 WHERE id = $1"
            ),
            &[
                (&id).into(),
                gate.state.name().into(),
                gate.revision.into(),
                response.as_deref().into(),
                gate.answered_by.as_deref().into(),
                gate.answered_at.map(Time::micros).into(),
                gate.collected_at.map(Time::micros).into(),
            ],
        )
    }
}

fn read(row: &Row<'_>) -> Result<Gate, Error> {
    let response = row.opt_str(13)?.map(serde_json::from_str).transpose()?;
    let kind = word("gate kind", row.str(2)?, GateKind::parse)?;
    Ok(Gate {
        id: word("gate id", row.str(0)?, GateId::parse)?,
        project_id: word("project id", row.str(1)?, ProjectId::parse)?,
        details: Details::read(kind, row.str(8)?)?,
        purpose: row.opt_str(3)?.map(|word_| word("purpose", word_, Purpose::parse)).transpose()?,
        state: word("gate state", row.str(4)?, GateState::parse)?,
        session_id: row
            .opt_str(5)?
            .map(|id| word("session id", id, SessionId::parse))
            .transpose()?,
        issue_id: row.opt_str(6)?.map(|id| word("issue id", id, IssueId::parse)).transpose()?,
        text: row.text(7)?,
        asked_by: row.text(9)?,
        agent: word("agent path", row.str(10)?, AgentPath::parse)?,
        created_at: time(row, 11)?,
        revision: row.opt_int(12)?,
        response,
        answered_by: row.opt_text(14)?,
        answered_at: opt_time(row, 15)?,
        collected_at: opt_time(row, 16)?,
        todo_id: row.opt_str(17)?.map(|id| word("todo id", id, TodoId::parse)).transpose()?,
        run_id: row.opt_str(18)?.map(|id| word("run id", id, RunId::parse)).transpose()?,
        end: row
            .opt_str(19)?
            .map(|status| word("issue status", status, IssueStatus::parse))
            .transpose()?,
        reach: reach(row, 20)?,
    })
}
