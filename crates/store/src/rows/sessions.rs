//! Sessions: found by their id or their host's id, by folder, or by their issue.

use punchlist_core::session::{Act, SessionState, apply_session};
use punchlist_core::{
    ConversationId, Decision, Event, IssueId, ProjectId, Role, Session, SessionId, Time,
};

use super::events::Stamp;
use super::lists::Lock;
use super::{opt_time, reach, reach_text, time, word};
use crate::sql::Row;
use crate::{Error, Tx, sql};

macro_rules! columns {
    () => {
        "id, project_id, title, state, bound_issue, conversation_id, host, external_id, \
         directory, started_by, created_at, updated_at, ended_at, paused_by, reach"
    };
}

macro_rules! select {
    ($($condition:expr),+) => {
        concat!("SELECT ", columns!(), " FROM sessions WHERE ", $($condition),+)
    };
}

/// Which sessions to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WantedSessions<'a> {
    pub state: Option<SessionState>,
    /// Only ids less than this one.
    pub below: Option<&'a str>,
}

impl Tx<'_> {
    /// The session with this id, or with this id of its host.
    pub fn session(
        &mut self,
        project: ProjectId,
        named: &str,
        lock: Lock,
    ) -> Result<Option<Session>, Error> {
        let project = project.to_string();
        let statement = match lock {
            Lock::No => sql!(select!("project_id = $1 AND (id = $2 OR external_id = $2)")),
            Lock::Row => self.dialect().pick(
                sql!(select!("project_id = $1 AND (id = $2 OR external_id = $2)")),
                sql!(select!("project_id = $1 AND (id = $2 OR external_id = $2) FOR UPDATE")),
            ),
        };
        self.first(statement, &[(&project).into(), named.into()], read)
    }

    pub fn session_by_id(&mut self, id: SessionId) -> Result<Option<Session>, Error> {
        let id = id.to_string();
        self.first(sql!(select!("id = $1")), &[(&id).into()], read)
    }

    /// The session of a chat.
    pub fn session_of_conversation(
        &mut self,
        conversation: ConversationId,
    ) -> Result<Option<Session>, Error> {
        let conversation = conversation.to_string();
        self.first(
            sql!(select!("conversation_id = $1 ORDER BY row DESC LIMIT 1")),
            &[(&conversation).into()],
            read,
        )
    }

    /// The session, not ended, that is bound to an issue.
    pub fn session_on(&mut self, issue: IssueId) -> Result<Option<Session>, Error> {
        let issue = issue.to_string();
        let statement = self.dialect().pick(
            sql!(select!("bound_issue = $1 AND state <> 'ended'")),
            sql!(select!("bound_issue = $1 AND state <> 'ended' FOR UPDATE")),
        );
        self.first(statement, &[(&issue).into()], read)
    }

    /// The id of the session that is bound to an issue, without a lock.
    pub fn session_id_on(&mut self, issue: IssueId) -> Result<Option<SessionId>, Error> {
        let issue = issue.to_string();
        self.first(
            sql!("SELECT id FROM sessions WHERE bound_issue = $1 AND state <> 'ended'"),
            &[(&issue).into()],
            |row| word("session id", row.str(0)?, SessionId::parse),
        )
    }

    /// The sessions of a project, newest first.
    pub fn sessions(
        &mut self,
        project: ProjectId,
        wanted: WantedSessions<'_>,
        limit: i64,
    ) -> Result<Vec<Session>, Error> {
        let project = project.to_string();
        let state = wanted.state.map(SessionState::name);
        self.query(
            sql!(select!(
                "project_id = $1 AND (CAST($2 AS TEXT) IS NULL OR state = $2) \
                 AND (CAST($3 AS TEXT) IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"
            )),
            &[(&project).into(), state.into(), wanted.below.into(), limit.into()],
            read,
        )
    }

    /// The newest active sessions that a host has named and for which no hook has fired.
    pub fn sessions_without_hooks(
        &mut self,
        project: ProjectId,
        limit: i64,
    ) -> Result<Vec<Session>, Error> {
        let project = project.to_string();
        // The inner limit bounds the cost in a store with many sessions.
        self.query(
            sql!(concat!(
                "SELECT ",
                columns!(),
                " FROM (SELECT * FROM sessions WHERE project_id = $1 AND state = 'active' \
                 ORDER BY id DESC LIMIT 100) AS s WHERE external_id IS NOT NULL AND NOT EXISTS \
                 (SELECT 1 FROM host_records AS r WHERE r.session_id = s.id) \
                 ORDER BY id DESC LIMIT $2"
            )),
            &[(&project).into(), limit.into()],
            read,
        )
    }

    /// The sessions that have worked on an issue, oldest first.
    pub fn sessions_of(&mut self, issue: IssueId) -> Result<Vec<Session>, Error> {
        let issue = issue.to_string();
        self.query(
            sql!(select!(
                "id IN (SELECT session_id FROM bindings WHERE issue_id = $1) ORDER BY row"
            )),
            &[(&issue).into()],
            read,
        )
    }

    /// The newest question that an agent asked in a session, and the newest entry that an agent made
    /// in the history of this issue while the session was bound to it.
    pub fn newest_acts(
        &mut self,
        session: SessionId,
        issue: Option<IssueId>,
    ) -> Result<Vec<Act>, Error> {
        let (id, issue) = (session.to_string(), issue.map(|id| id.to_string()));
        self.query(
            sql!(
                "SELECT * FROM (SELECT asked_by, created_at FROM gates WHERE session_id = $1 \
                 AND asked_by NOT LIKE 'operator%' AND asked_by NOT LIKE 'system%' \
                 ORDER BY row DESC LIMIT 1) AS g UNION ALL SELECT * FROM (SELECT u.author, \
                 u.created_at FROM issue_updates AS u JOIN bindings AS b ON b.issue_id = u.issue_id \
                 WHERE u.issue_id = $2 AND b.session_id = $1 AND u.created_at >= b.bound_at \
                 AND (b.unbound_at IS NULL OR u.created_at <= b.unbound_at) \
                 AND u.author NOT LIKE 'operator%' AND u.author NOT LIKE 'system%' \
                 ORDER BY u.row DESC LIMIT 1) AS h"
            ),
            &[(&id).into(), issue.as_deref().into()],
            |row| Ok(Act { by: row.text(0)?, at: time(row, 1)? }),
        )
    }

    /// Folds a decision into a session and writes its row and its events.
    pub fn record_session(
        &mut self,
        state: &mut Option<Session>,
        decision: &Decision,
        stamp: &Stamp,
    ) -> Result<(), Error> {
        for event in &decision.events {
            let changed = apply_session(state, event, stamp.at);
            let Some(session) = state.as_ref() else { continue };
            match event {
                Event::SessionStarted(_) => self.insert_session(session)?,
                _ if changed => self.update_session(session)?,
                _ => {}
            }
            match event {
                Event::SessionBound(bound) => self.bind(session.id, bound.issue_id, stamp.at)?,
                Event::SessionUnbound(unbound) => {
                    self.unbind(session.id, unbound.issue_id, stamp.at)?;
                }
                Event::SessionTitled(titled) => {
                    // The chat of a session has its title.
                    self.title_conversation(session.conversation_id, &titled.title)?;
                }
                _ => {}
            }
            self.append(stamp, &session.id.to_string(), event)?;
        }
        Ok(())
    }

    fn insert_session(&mut self, session: &Session) -> Result<(), Error> {
        let (id, project) = (session.id.to_string(), session.project_id.to_string());
        let issue = session.bound_issue.map(|id| id.to_string());
        let conversation = session.conversation_id.to_string();
        let reach = reach_text(&session.reach)?;
        self.write(
            sql!(
                "INSERT INTO sessions (",
                columns!(),
                ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
            ),
            &[
                (&id).into(),
                (&project).into(),
                (&session.title).into(),
                session.state.name().into(),
                issue.as_deref().into(),
                (&conversation).into(),
                session.host.as_deref().into(),
                session.external_id.as_deref().into(),
                session.directory.as_deref().into(),
                (&session.started_by).into(),
                session.created_at.micros().into(),
                session.updated_at.micros().into(),
                session.ended_at.map(Time::micros).into(),
                session.paused_by.map(Role::name).into(),
                reach.as_deref().into(),
            ],
        )
    }

    fn update_session(&mut self, session: &Session) -> Result<(), Error> {
        let id = session.id.to_string();
        let issue = session.bound_issue.map(|id| id.to_string());
        self.write(
            in_log_order!(
                self,
                "sessions",
                "UPDATE sessions SET state = $2, bound_issue = $3, updated_at = $4, \
                 ended_at = $5, paused_by = $6, external_id = $7, directory = $8, title = $9 \
                 WHERE id = $1"
            ),
            &[
                (&id).into(),
                session.state.name().into(),
                issue.as_deref().into(),
                session.updated_at.micros().into(),
                session.ended_at.map(Time::micros).into(),
                session.paused_by.map(Role::name).into(),
                session.external_id.as_deref().into(),
                session.directory.as_deref().into(),
                (&session.title).into(),
            ],
        )
    }

    fn bind(&mut self, session: SessionId, issue: IssueId, at: Time) -> Result<(), Error> {
        let (session, issue) = (session.to_string(), issue.to_string());
        self.write(
            sql!(
                "INSERT INTO bindings (session_id, issue_id, bound_at) VALUES ($1, $2, $3) \
                 ON CONFLICT (issue_id, session_id, bound_at) DO UPDATE SET unbound_at = NULL"
            ),
            &[(&session).into(), (&issue).into(), at.micros().into()],
        )
    }

    fn unbind(&mut self, session: SessionId, issue: IssueId, at: Time) -> Result<(), Error> {
        let (session, issue) = (session.to_string(), issue.to_string());
        self.write(
            sql!(
                "UPDATE bindings SET unbound_at = $3 \
                 WHERE session_id = $1 AND issue_id = $2 AND unbound_at IS NULL"
            ),
            &[(&session).into(), (&issue).into(), at.micros().into()],
        )
    }
}

fn read(row: &Row<'_>) -> Result<Session, Error> {
    Ok(Session {
        id: word("session id", row.str(0)?, SessionId::parse)?,
        project_id: word("project id", row.str(1)?, ProjectId::parse)?,
        title: row.text(2)?,
        state: word("session state", row.str(3)?, SessionState::parse)?,
        bound_issue: row.opt_str(4)?.map(|id| word("issue id", id, IssueId::parse)).transpose()?,
        conversation_id: word("conversation id", row.str(5)?, ConversationId::parse)?,
        host: row.opt_text(6)?,
        external_id: row.opt_text(7)?,
        directory: row.opt_text(8)?,
        started_by: row.text(9)?,
        created_at: time(row, 10)?,
        updated_at: time(row, 11)?,
        ended_at: opt_time(row, 12)?,
        reach: reach(row, 14)?,
        paused_by: row.opt_str(13)?.map(|role| word("role", role, Role::parse)).transpose()?,
    })
}
