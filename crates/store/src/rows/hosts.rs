//! Hooks of hosts: the newest of each session, and the processes they were fired from.
//!
//! These rows are not derived from events, because they are valid only on one machine and for now.

use punchlist_core::host::{Delivery, Happened, Host};
use punchlist_core::{IssueId, ProjectId, Session, SessionId, Time};

use super::lists::Lock;
use super::{opt_time, time, word};
use crate::sql::Row;
use crate::{Error, Tx, sql};

/// The newest hook of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRecord {
    pub session_id: SessionId,
    pub host: Host,
    pub version: Option<String>,
    pub event: Happened,
    pub at: Time,
    /// The last answered stop.
    pub stop: Option<Delivery>,
    pub doubled_at: Option<Time>,
    pub told_at: Option<Time>,
}

/// How many processes are remembered per session. The newest count: hosts restart, and shells come
/// and go.
const PROCESSES_MAX: i64 = 50;

macro_rules! select {
    ($($condition:expr),+) => {
        concat!(
            "SELECT r.session_id, r.host, r.version, r.event, r.at, r.stop_key, r.stop_at, \
             r.stop_doubled, r.doubled_at, r.told_at FROM host_records AS r ",
            $($condition),+
        )
    };
}

macro_rules! waiting {
    ($lock:expr) => {
        concat!(
            "SELECT id FROM sessions WHERE project_id = $1 AND host = $2 \
             AND external_id IS NULL AND bound_issue IS NOT NULL AND state = 'active' \
             ORDER BY row LIMIT 1",
            $lock
        )
    };
}

impl Tx<'_> {
    /// The newest hook of a session.
    pub fn host_record(&mut self, session: SessionId) -> Result<Option<HostRecord>, Error> {
        let session = session.to_string();
        self.first(sql!(select!("WHERE r.session_id = $1")), &[(&session).into()], read)
    }

    /// The newest hooks of a project's sessions, newest first.
    pub fn host_records(&mut self, project: &str, limit: i64) -> Result<Vec<HostRecord>, Error> {
        self.query(
            sql!(select!(
                "JOIN sessions AS s ON s.id = r.session_id \
                 JOIN projects AS p ON p.id = s.project_id WHERE p.name = $1 \
                 ORDER BY r.at DESC LIMIT $2"
            )),
            &[project.into(), limit.into()],
            read,
        )
    }

    /// Stores the newest hook of a session.
    pub fn put_host_record(&mut self, record: &HostRecord) -> Result<(), Error> {
        let session = record.session_id.to_string();
        let stop = record.stop.as_ref();
        self.write(
            sql!(
                "INSERT INTO host_records (session_id, host, version, event, at, stop_key, \
                 stop_at, stop_doubled, doubled_at, told_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
                 ON CONFLICT (session_id) DO UPDATE SET host = $2, version = $3, event = $4, \
                 at = $5, stop_key = $6, stop_at = $7, stop_doubled = $8, doubled_at = $9, \
                 told_at = $10"
            ),
            &[
                (&session).into(),
                record.host.name().into(),
                record.version.as_deref().into(),
                record.event.name().into(),
                record.at.micros().into(),
                stop.map(|stop| stop.key.as_str()).into(),
                stop.map(|stop| stop.at.micros()).into(),
                i64::from(stop.is_some_and(|stop| stop.doubled)).into(),
                record.doubled_at.map(Time::micros).into(),
                record.told_at.map(Time::micros).into(),
            ],
        )
    }

    /// Records that a process fires the hooks of a session.
    pub fn put_host_process(
        &mut self,
        process: &str,
        session: SessionId,
        at: Time,
    ) -> Result<(), Error> {
        let session = session.to_string();
        self.write(
            sql!(
                "INSERT INTO host_processes (process, session_id, at) VALUES ($1, $2, $3) \
                 ON CONFLICT (process, session_id) DO UPDATE SET at = $3"
            ),
            &[process.into(), (&session).into(), at.micros().into()],
        )
    }

    /// Deletes the processes of a session: all of them, or all but the newest.
    pub fn forget_host_processes(&mut self, session: SessionId, all: bool) -> Result<(), Error> {
        let session = session.to_string();
        let kept = if all { 0 } else { PROCESSES_MAX };
        self.write(
            sql!(
                "DELETE FROM host_processes WHERE session_id = $1 AND process NOT IN \
                 (SELECT process FROM host_processes WHERE session_id = $1 \
                 ORDER BY at DESC, process LIMIT $2)"
            ),
            &[(&session).into(), kept.into()],
        )
    }

    /// Removes all other sessions of a process in the project of this one.
    pub fn only_session_of_process(
        &mut self,
        process: &str,
        session: &Session,
    ) -> Result<(), Error> {
        let (id, project) = (session.id.to_string(), session.project_id.to_string());
        self.write(
            sql!(
                "DELETE FROM host_processes WHERE process = $1 AND session_id <> $2 \
                 AND session_id IN (SELECT id FROM sessions WHERE project_id = $3)"
            ),
            &[process.into(), (&id).into(), (&project).into()],
        )
    }

    /// Does any process fire the hooks of a session?
    pub fn knows_host_processes(&mut self) -> Result<bool, Error> {
        let found = self.first(sql!("SELECT 1 FROM host_processes LIMIT 1"), &[], |_| Ok(()))?;
        Ok(found.is_some())
    }

    /// The sessions of a project that have not ended and whose hooks this process has fired, newest
    /// first.
    pub fn sessions_of_process(
        &mut self,
        project: ProjectId,
        process: &str,
    ) -> Result<Vec<SessionId>, Error> {
        let project = project.to_string();
        self.query(
            sql!(
                "SELECT s.id FROM host_processes AS p JOIN sessions AS s ON s.id = p.session_id \
                 WHERE p.process = $1 AND s.project_id = $2 AND s.state <> 'ended' \
                 ORDER BY p.at DESC, s.id"
            ),
            &[process.into(), (&project).into()],
            |row| word("session id", row.str(0)?, SessionId::parse),
        )
    }

    /// The oldest session that waits for this host in a project. If it is to be locked, a session that
    /// another transaction is adopting is skipped.
    pub fn waiting_session(
        &mut self,
        project: ProjectId,
        host: Host,
        lock: Lock,
    ) -> Result<Option<Session>, Error> {
        let project = project.to_string();
        let statement = match lock {
            Lock::No => sql!(waiting!("")),
            Lock::Row => {
                self.dialect().pick(sql!(waiting!("")), sql!(waiting!(" FOR UPDATE SKIP LOCKED")))
            }
        };
        let found = self.first(statement, &[(&project).into(), host.name().into()], |row| {
            word("session id", row.str(0)?, SessionId::parse)
        })?;
        match found {
            Some(id) => self.session_by_id(id),
            None => Ok(None),
        }
    }

    /// The last issue that a session worked on.
    pub fn last_issue_of(&mut self, session: SessionId) -> Result<Option<IssueId>, Error> {
        let session = session.to_string();
        self.first(
            sql!(
                "SELECT issue_id FROM bindings WHERE session_id = $1 ORDER BY bound_at DESC LIMIT 1"
            ),
            &[(&session).into()],
            |row| word("issue id", row.str(0)?, IssueId::parse),
        )
    }
}

fn read(row: &Row<'_>) -> Result<HostRecord, Error> {
    let stop = match (row.opt_text(5)?, opt_time(row, 6)?) {
        (Some(key), Some(at)) => Some(Delivery { key, at, doubled: row.int(7)? != 0 }),
        _ => None,
    };
    Ok(HostRecord {
        session_id: word("session id", row.str(0)?, SessionId::parse)?,
        host: word("host", row.str(1)?, Host::parse)?,
        version: row.opt_text(2)?,
        event: word("event of a hook", row.str(3)?, Happened::parse)?,
        at: time(row, 4)?,
        stop,
        doubled_at: opt_time(row, 8)?,
        told_at: opt_time(row, 9)?,
    })
}
