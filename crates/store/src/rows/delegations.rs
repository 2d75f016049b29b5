//! Delegations: the one queue, taken by lease.
//!
//! Holder, epoch and end of the lease are not folded from the log; everything else is.

use punchlist_core::delegation::{
    DelegationState, Mode, ProposalDecision, Review, apply_delegation,
};
use punchlist_core::{
    AgentPath, ConversationId, Decision, Delegation, DelegationId, Event, IssueId, Lease, ListId,
    ProjectId, RunId, SessionId, Time, TodoId,
};

use serde::{Deserialize, Serialize};

use super::events::Stamp;
use super::lists::Lock;
use super::{opt_time, reach, reach_text, time, word};
use crate::sql::Row;
use crate::{Error, Tx, sql};

macro_rules! columns {
    () => {
        "id, project_id, type, mission, rationale, mode, state, review, todo_id, session_id, \
         issue_id, delegated_by, parent_agent, agent, attempts, result, error, proposal, \
         decision, created_at, updated_at, finished_at, conversation_id, run_id, reach"
    };
}

macro_rules! select {
    ($($condition:expr),+) => {
        concat!(
            "SELECT ",
            columns!(),
            ", holder, epoch, lease_until FROM delegations WHERE ",
            $($condition),+
        )
    };
}

/// Free (`core::delegation::is_free`), and what the caller asks for.
macro_rules! free {
    ($lock:expr) => {
        select!(
            "project_id = $1 AND (state = 'queued' OR (state = 'running' AND lease_until <= $2)) \
             AND NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.delegation_id = delegations.id \
             AND r.state = 'waiting') \
             AND (CAST($3 AS TEXT) IS NULL OR $3 LIKE '% ' || type || ' %' \
             OR (CAST($6 AS BIGINT) = 1 AND conversation_id IS NOT NULL)) \
             AND (CAST($7 AS TEXT) IS NULL OR id = $7) \
             AND (CAST($8 AS TEXT) IS NULL OR id > $8) AND (CAST($4 AS TEXT) IS NULL \
             OR conversation_id IN (SELECT c.id FROM conversations AS c WHERE c.mission_slug = $4 \
             AND (CAST($5 AS TEXT) IS NULL OR c.pillar_slug = $5))) ORDER BY id LIMIT 1",
            $lock
        )
    };
}

/// A delegation and its lease.
pub type Held = (Delegation, Option<Lease>);

/// Which delegations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedDelegations {
    pub state: Option<DelegationState>,
    pub kind: Option<String>,
    pub todo: Option<TodoId>,
    pub session: Option<SessionId>,
    pub issue: Option<IssueId>,
    /// Only delegations about items of this mission (by slug), and of this pillar.
    pub mission: Option<String>,
    pub pillar: Option<String>,
    /// Only ids greater than this one.
    pub above: Option<String>,
}

impl Tx<'_> {
    pub fn delegation(
        &mut self,
        project: ProjectId,
        id: DelegationId,
        lock: Lock,
    ) -> Result<Option<Held>, Error> {
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

    /// Delegations whose proposal nobody has decided on, oldest first.
    pub fn undecided(&mut self, project: ProjectId, limit: i64) -> Result<Vec<Delegation>, Error> {
        let project = project.to_string();
        let found = self.query(
            sql!(select!(
                "project_id = $1 AND proposal IS NOT NULL AND decision IS NULL ORDER BY id LIMIT $2"
            )),
            &[(&project).into(), limit.into()],
            read,
        )?;
        Ok(found.into_iter().map(|(delegation, _)| delegation).collect())
    }

    /// The next delegation to work on, locked; other callers skip it. It has one of these types
    /// (each between two spaces), or any other type if it belongs to a pillar; or it is the single
    /// one that was named. A caller with limited reach gets only work of its mission and pillar;
    /// with `after`, only ids greater than it.
    pub fn next_delegation(
        &mut self,
        project: ProjectId,
        (types, in_chats, only): (Option<&str>, bool, Option<&str>),
        within: (Option<&str>, Option<&str>),
        after: Option<&str>,
        clock: Time,
    ) -> Result<Option<Held>, Error> {
        let project = project.to_string();
        let statement =
            self.dialect().pick(sql!(free!("")), sql!(free!(" FOR UPDATE SKIP LOCKED")));
        let (mission, pillar) = within;
        self.first(
            statement,
            &[
                (&project).into(),
                clock.micros().into(),
                types.into(),
                mission.into(),
                pillar.into(),
                i64::from(in_chats).into(),
                only.into(),
                after.into(),
            ],
            read,
        )
    }

    /// The projects that have work of these types now; if there are none, also when the next work
    /// is due (`core::delegation::free_from`).
    pub fn delegations_due(
        &mut self,
        types: &str,
        in_chats: bool,
        clock: Time,
    ) -> Result<(Vec<String>, Option<Time>), Error> {
        let rows = self.query(
            sql!(
                "SELECT p.name, min(CASE WHEN d.state = 'queued' THEN 0 ELSE d.lease_until END) \
                 FROM delegations AS d JOIN projects AS p ON p.id = d.project_id \
                 WHERE (d.state = 'queued' OR (d.state = 'running' AND d.lease_until IS NOT NULL)) \
                 AND ($1 LIKE '% ' || d.type || ' %' OR (CAST($2 AS BIGINT) = 1 AND d.conversation_id IS NOT NULL)) \
                 AND NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.delegation_id = d.id \
                 AND r.state = 'waiting') GROUP BY p.name ORDER BY p.name"
            ),
            &[types.into(), i64::from(in_chats).into()],
            |row| Ok((row.text(0)?, time(row, 1)?)),
        )?;
        let next = rows.iter().map(|(_, at)| *at).min();
        let free = rows.into_iter().filter(|(_, at)| *at <= clock).map(|(name, _)| name);
        Ok((free.collect(), next))
    }

    /// The delegation that a worker holds in this chat, if any. An expired lease does not count.
    pub fn at_work_in(
        &mut self,
        conversation: ConversationId,
        clock: Time,
    ) -> Result<Option<Delegation>, Error> {
        let conversation = conversation.to_string();
        let found = self.first(
            sql!(select!(
                "conversation_id = $1 AND state = 'running' AND lease_until > $2 ORDER BY id LIMIT 1"
            )),
            &[(&conversation).into(), clock.micros().into()],
            read,
        )?;
        Ok(found.map(|(delegation, _)| delegation))
    }

    /// Delegations that failed, newest first.
    pub fn failed_delegations(
        &mut self,
        project: ProjectId,
        limit: i64,
    ) -> Result<Vec<Held>, Error> {
        let project = project.to_string();
        self.query(
            sql!(select!("project_id = $1 AND state = 'failed' ORDER BY id DESC LIMIT $2")),
            &[(&project).into(), limit.into()],
            read,
        )
    }

    /// All delegations of an item, oldest first.
    pub fn delegations_of_todo(&mut self, todo: TodoId) -> Result<Vec<Held>, Error> {
        let todo = todo.to_string();
        self.query(sql!(select!("todo_id = $1 ORDER BY id")), &[(&todo).into()], read)
    }

    /// The delegations of a list's items that are not over, oldest first. Few delegations are live
    /// at a time, so this does not grow with the list.
    pub fn live_delegations(
        &mut self,
        project: ProjectId,
        list: ListId,
    ) -> Result<Vec<Held>, Error> {
        let (project, list) = (project.to_string(), list.to_string());
        self.query(
            sql!(select!(
                "project_id = $1 AND state IN ('queued', 'running') AND EXISTS (SELECT 1 \
                 FROM todos AS t WHERE t.id = delegations.todo_id AND t.list_id = $2) ORDER BY id"
            )),
            &[(&project).into(), (&list).into()],
            read,
        )
    }

    /// The delegations of a project, oldest first.
    pub fn delegations(
        &mut self,
        project: ProjectId,
        wanted: &WantedDelegations,
        limit: i64,
    ) -> Result<Vec<Held>, Error> {
        let project = project.to_string();
        let todo = wanted.todo.map(|id| id.to_string());
        let session = wanted.session.map(|id| id.to_string());
        let issue = wanted.issue.map(|id| id.to_string());
        self.query(
            sql!(select!(
                "project_id = $1 AND (CAST($2 AS TEXT) IS NULL OR state = $2) \
                 AND (CAST($3 AS TEXT) IS NULL OR type = $3) \
                 AND (CAST($4 AS TEXT) IS NULL OR todo_id = $4) \
                 AND (CAST($5 AS TEXT) IS NULL OR session_id = $5) \
                 AND (CAST($6 AS TEXT) IS NULL OR issue_id = $6) \
                 AND (CAST($7 AS TEXT) IS NULL OR id > $7) \
                 AND (CAST($9 AS TEXT) IS NULL OR todo_id IN (SELECT t.id FROM todos AS t \
                 JOIN lists AS l ON l.id = t.list_id WHERE l.kind = 'pillar' \
                 AND l.scope_outer = $9 AND (CAST($10 AS TEXT) IS NULL OR l.scope_inner = $10))) \
                 ORDER BY id LIMIT $8"
            )),
            &[
                (&project).into(),
                wanted.state.map(DelegationState::name).into(),
                wanted.kind.as_deref().into(),
                todo.as_deref().into(),
                session.as_deref().into(),
                issue.as_deref().into(),
                wanted.above.as_deref().into(),
                limit.into(),
                wanted.mission.as_deref().into(),
                wanted.pillar.as_deref().into(),
            ],
            read,
        )
    }

    pub fn put_delegation_lease(&mut self, id: DelegationId, lease: &Lease) -> Result<(), Error> {
        let id = id.to_string();
        self.write(
            sql!("UPDATE delegations SET holder = $2, epoch = $3, lease_until = $4 WHERE id = $1"),
            &[
                (&id).into(),
                lease.holder.as_deref().into(),
                lease.epoch.into(),
                lease.until.micros().into(),
            ],
        )
    }

    /// Folds a decision into a delegation and writes its row and its events.
    pub fn record_delegation(
        &mut self,
        state: &mut Option<Delegation>,
        decision: &Decision,
        stamp: &Stamp,
    ) -> Result<(), Error> {
        for event in &decision.events {
            let changed = apply_delegation(state, event, stamp.at);
            let Some(delegation) = state.as_ref() else { continue };
            match event {
                Event::DelegationQueued(_) => self.insert_delegation(delegation)?,
                _ if changed => self.update_delegation(delegation)?,
                _ => {}
            }
            self.append(stamp, &delegation.id.to_string(), event)?;
        }
        Ok(())
    }

    fn insert_delegation(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let (id, project) = (delegation.id.to_string(), delegation.project_id.to_string());
        let todo = delegation.todo_id.map(|id| id.to_string());
        let session = delegation.session_id.map(|id| id.to_string());
        let issue = delegation.issue_id.map(|id| id.to_string());
        let conversation = delegation.conversation_id.map(|id| id.to_string());
        let run = delegation.run_id.map(|id| id.to_string());
        let reach = reach_text(&delegation.reach)?;
        let proposal = delegation.proposal.as_ref().map(serde_json::to_string).transpose()?;
        let decision = decision_text(delegation)?;
        self.write(
            sql!(
                "INSERT INTO delegations (",
                columns!(),
                ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, \
                 $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)"
            ),
            &[
                (&id).into(),
                (&project).into(),
                (&delegation.kind).into(),
                (&delegation.mission).into(),
                delegation.rationale.as_deref().into(),
                delegation.mode.name().into(),
                delegation.state.name().into(),
                delegation.review.name().into(),
                todo.as_deref().into(),
                session.as_deref().into(),
                issue.as_deref().into(),
                (&delegation.delegated_by).into(),
                delegation.parent_agent.as_str().into(),
                delegation.agent.as_str().into(),
                delegation.attempts.into(),
                delegation.result.as_deref().into(),
                delegation.error.as_deref().into(),
                proposal.as_deref().into(),
                decision.as_deref().into(),
                delegation.created_at.micros().into(),
                delegation.updated_at.micros().into(),
                delegation.finished_at.map(Time::micros).into(),
                conversation.as_deref().into(),
                run.as_deref().into(),
                reach.as_deref().into(),
            ],
        )
    }

    fn update_delegation(&mut self, delegation: &Delegation) -> Result<(), Error> {
        let id = delegation.id.to_string();
        let proposal = delegation.proposal.as_ref().map(serde_json::to_string).transpose()?;
        let decision = decision_text(delegation)?;
        self.write(
            in_log_order!(
                self,
                "delegations",
                "UPDATE delegations SET state = $2, attempts = $3, result = $4, error = $5, \
                 proposal = $6, decision = $7, updated_at = $8, finished_at = $9 WHERE id = $1"
            ),
            &[
                (&id).into(),
                delegation.state.name().into(),
                delegation.attempts.into(),
                delegation.result.as_deref().into(),
                delegation.error.as_deref().into(),
                proposal.as_deref().into(),
                decision.as_deref().into(),
                delegation.updated_at.micros().into(),
                delegation.finished_at.map(Time::micros).into(),
            ],
        )
    }
}

/// A decision as it is stored: the bare word, as ever, or the word with its reason.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Decided {
    Bare(ProposalDecision),
    Why { decision: ProposalDecision, reason: String },
}

impl Decided {
    fn of(delegation: &Delegation) -> Option<Self> {
        let decision = delegation.decision?;
        Some(match delegation.decision_reason.clone() {
            None => Self::Bare(decision),
            Some(reason) => Self::Why { decision, reason },
        })
    }

    fn into_parts(self) -> (ProposalDecision, Option<String>) {
        match self {
            Self::Bare(decision) => (decision, None),
            Self::Why { decision, reason } => (decision, Some(reason)),
        }
    }
}

fn decision_text(delegation: &Delegation) -> Result<Option<String>, Error> {
    Ok(Decided::of(delegation).as_ref().map(serde_json::to_string).transpose()?)
}

fn read(row: &Row<'_>) -> Result<Held, Error> {
    let json = |column: usize| row.opt_text(column);
    let decided: Option<Decided> = json(18)?.map(|text| serde_json::from_str(&text)).transpose()?;
    let (decision, decision_reason) = decided.map(Decided::into_parts).unzip();
    let decision_reason = decision_reason.flatten();
    let delegation = Delegation {
        id: word("delegation id", row.str(0)?, DelegationId::parse)?,
        project_id: word("project id", row.str(1)?, ProjectId::parse)?,
        kind: row.text(2)?,
        mission: row.text(3)?,
        rationale: row.opt_text(4)?,
        mode: word("mode", row.str(5)?, Mode::parse)?,
        state: word("delegation state", row.str(6)?, DelegationState::parse)?,
        review: word("review", row.str(7)?, Review::parse)?,
        todo_id: row.opt_str(8)?.map(|id| word("todo id", id, TodoId::parse)).transpose()?,
        session_id: row
            .opt_str(9)?
            .map(|id| word("session id", id, SessionId::parse))
            .transpose()?,
        issue_id: row.opt_str(10)?.map(|id| word("issue id", id, IssueId::parse)).transpose()?,
        delegated_by: row.text(11)?,
        parent_agent: word("agent path", row.str(12)?, AgentPath::parse)?,
        agent: word("agent path", row.str(13)?, AgentPath::parse)?,
        attempts: row.int(14)?,
        result: row.opt_text(15)?,
        error: row.opt_text(16)?,
        proposal: json(17)?.map(|text| serde_json::from_str(&text)).transpose()?,
        decision,
        decision_reason,
        created_at: time(row, 19)?,
        updated_at: time(row, 20)?,
        finished_at: opt_time(row, 21)?,
        conversation_id: row
            .opt_str(22)?
            .map(|id| word("conversation id", id, ConversationId::parse))
            .transpose()?,
        run_id: row.opt_str(23)?.map(|id| word("run id", id, RunId::parse)).transpose()?,
        reach: reach(row, 24)?,
    };
    let (holder, epoch, until) = (row.opt_text(25)?, row.int(26)?, opt_time(row, 27)?);
    Ok((delegation, until.map(|until| Lease { holder, epoch, until })))
}
