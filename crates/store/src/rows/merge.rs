//! Joining two projects: what stands against it, and moving every row (ADR 0032).
//!
//! Rows keep their ids, so that everything that names a row by its id still finds it: links,
//! bindings, leases, effects, records of hosts, the search index. The rows that name their project
//! move; the log stays where it is.

use punchlist_core::event::ProjectMerged;
use punchlist_core::project::{AtWork, Clash, MergeCounts, joined};
use punchlist_core::{
    Agent, AgentPath, DelegationId, IssueId, ListKind, ProjectId, Run, Scope, Time,
};

use super::word;
use crate::sql::Sql;
use crate::{Dialect, Error, Recorded, Tx, sql};

/// How many obstacles of one kind are read.
const NAMED_MAX: i64 = 100;

impl Tx<'_> {
    /// Waits for every transaction that has looked for a project, and makes others wait that will.
    /// A transaction that found its project and has not written yet would otherwise write into one
    /// that was merged meanwhile; locking the rows would not stop it. It must come before anything
    /// else that reads projects. SQLite has one writer anyway.
    pub fn lock_projects(&mut self) -> Result<(), Error> {
        match self.dialect() {
            Dialect::Sqlite => Ok(()),
            Dialect::Postgres => self.batch("LOCK TABLE projects IN ACCESS EXCLUSIVE MODE"),
        }
    }

    /// The issues of a project, by number, locked.
    pub fn lock_issues(&mut self, project: ProjectId) -> Result<Vec<(IssueId, i64)>, Error> {
        let project = project.to_string();
        let statement = self.dialect().pick(
            sql!("SELECT id, number FROM issues WHERE project_id = $1 ORDER BY number"),
            sql!("SELECT id, number FROM issues WHERE project_id = $1 ORDER BY number FOR UPDATE"),
        );
        self.query(statement, &[(&project).into()], |row| {
            Ok((word("issue id", row.str(0)?, IssueId::parse)?, row.int(1)?))
        })
    }

    /// What both projects have, and a project has once. Lists of pillars clash with their missions.
    pub fn clashes(&mut self, from: ProjectId, into: ProjectId) -> Result<Vec<Clash>, Error> {
        let (from, into) = (from.to_string(), into.to_string());
        let params = [(&from).into(), (&into).into(), NAMED_MAX.into()];
        let mut clashes = self.query(
            sql!(
                "SELECT a.kind, a.scope_outer, a.scope_inner FROM lists AS a JOIN lists AS b \
                 ON b.project_id = $2 AND b.kind = a.kind AND b.scope_outer = a.scope_outer \
                 AND b.scope_inner = a.scope_inner WHERE a.project_id = $1 \
                 AND (a.kind = 'plan' OR a.kind = 'turn') \
                 ORDER BY a.kind, a.scope_inner, a.scope_outer LIMIT $3"
            ),
            &params,
            |row| {
                let kind = word("list kind", row.str(0)?, ListKind::parse)?;
                Ok(match Scope::from_keys(kind, row.text(1)?, row.text(2)?) {
                    Scope::Plan { branch, plan_file } => Clash::Plan { plan_file, branch },
                    scope => {
                        let (conversation, turn) = scope.keys();
                        Clash::Turn { conversation: conversation.into(), turn: turn.into() }
                    }
                })
            },
        )?;
        clashes.extend(self.query(
            sql!(
                "SELECT a.slug FROM missions AS a JOIN missions AS b ON b.project_id = $2 \
                 AND b.slug = a.slug WHERE a.project_id = $1 ORDER BY a.slug LIMIT $3"
            ),
            &params,
            |row| Ok(Clash::Mission { mission: row.text(0)? }),
        )?);
        clashes.extend(self.query(
            sql!(
                "SELECT a.external_id FROM sessions AS a JOIN sessions AS b ON b.project_id = $2 \
                 AND b.external_id = a.external_id WHERE a.project_id = $1 \
                 ORDER BY a.external_id LIMIT $3"
            ),
            &params,
            |row| Ok(Clash::Session { external_id: row.text(0)? }),
        )?);
        Ok(clashes)
    }

    /// Who works in a project now: held items, delegations and runs in progress.
    pub fn at_work(&mut self, project: ProjectId, clock: Time) -> Result<Vec<AtWork>, Error> {
        let held = self.leased(project, clock, NAMED_MAX)?.into_iter().map(|held| AtWork::Todo {
            todo_id: held.todo_id,
            title: held.title,
            holder: held.lease.holder.unwrap_or_default(),
            until: held.lease.until,
        });
        let mut at_work: Vec<AtWork> = held.collect();
        let id = project.to_string();
        let params = [(&id).into(), NAMED_MAX.into()];
        at_work.extend(self.query(
            sql!(
                "SELECT id, agent FROM delegations WHERE project_id = $1 AND state = 'running' \
                 ORDER BY id LIMIT $2"
            ),
            &params,
            |row| {
                let delegation_id = word("delegation id", row.str(0)?, DelegationId::parse)?;
                Ok(AtWork::Delegation { delegation_id, agent: row.text(1)? })
            },
        )?);
        let running = sql!(
            "SELECT data FROM runs WHERE project_id = $1 AND state = 'running' ORDER BY id LIMIT $2"
        );
        for run in self.query(running, &params, |row| run(row.str(0)?))? {
            at_work.push(AtWork::Run { run_id: run.id, agent: run.agent.to_string() });
        }
        Ok(at_work)
    }

    /// How much of a project a merge moves.
    pub fn merge_counts(
        &mut self,
        project: ProjectId,
        name: &str,
        clock: Time,
    ) -> Result<MergeCounts, Error> {
        let id = project.to_string();
        let mut count = |statement: &'static Sql| -> Result<u64, Error> {
            let count = self.first(statement, &[(&id).into()], |row| row.int(0))?;
            Ok(count.unwrap_or_default().unsigned_abs())
        };
        let mut counts = MergeCounts {
            lists: count(sql!("SELECT count(*) FROM lists WHERE project_id = $1"))?,
            missions: count(sql!("SELECT count(*) FROM missions WHERE project_id = $1"))?,
            sessions: count(sql!("SELECT count(*) FROM sessions WHERE project_id = $1"))?,
            conversations: count(sql!("SELECT count(*) FROM conversations WHERE project_id = $1"))?,
            gates: count(sql!("SELECT count(*) FROM gates WHERE project_id = $1"))?,
            delegations: count(sql!("SELECT count(*) FROM delegations WHERE project_id = $1"))?,
            runs: count(sql!("SELECT count(*) FROM runs WHERE project_id = $1"))?,
            agents: count(sql!("SELECT count(*) FROM agents WHERE project_id = $1"))?,
            tokens: 0,
        };
        let tokens = self.first(
            sql!(
                "SELECT count(*) FROM tokens WHERE project = $1 AND revoked_at IS NULL \
                 AND (expires_at IS NULL OR expires_at > $2)"
            ),
            &[name.into(), clock.micros().into()],
            |row| row.int(0),
        )?;
        counts.tokens = tokens.unwrap_or_default().unsigned_abs();
        Ok(counts)
    }

    /// Moves everything of one project into another, as decided. Projects must be locked.
    pub fn merge_projects(&mut self, merged: &ProjectMerged) -> Result<(), Error> {
        let (from, into) = (merged.from_id.to_string(), merged.into_id.to_string());
        for moved in &merged.issues {
            let id = moved.issue_id.to_string();
            self.write(
                sql!("UPDATE issues SET project_id = $2, number = $3 WHERE id = $1"),
                &[(&id).into(), (&into).into(), moved.to.into()],
            )?;
        }
        self.write(
            sql!("UPDATE projects SET last_issue = $2 WHERE id = $1"),
            &[(&into).into(), merged.last_issue.into()],
        )?;
        for statement in MOVES {
            self.write(statement, &[(&from).into(), (&into).into()])?;
        }
        self.move_runs(merged.from_id, merged.into_id)?;
        self.join_agents(merged)?;
        self.bury(merged)
    }

    /// A run is stored as JSON, which names its project too.
    fn move_runs(&mut self, from: ProjectId, into: ProjectId) -> Result<(), Error> {
        let (from, project) = (from.to_string(), into.to_string());
        let statement = self.dialect().pick(
            sql!("SELECT data FROM runs WHERE project_id = $1 ORDER BY id"),
            sql!("SELECT data FROM runs WHERE project_id = $1 ORDER BY id FOR UPDATE"),
        );
        for moved in self.query(statement, &[(&from).into()], |row| run(row.str(0)?))? {
            let moved = Run { project_id: into, ..moved };
            let (id, data) = (moved.id.to_string(), serde_json::to_string(&moved)?);
            self.write(
                sql!("UPDATE runs SET project_id = $2, data = $3 WHERE id = $1"),
                &[(&id).into(), (&project).into(), (&data).into()],
            )?;
        }
        Ok(())
    }

    /// An agent that both projects know is one agent from now on.
    fn join_agents(&mut self, merged: &ProjectMerged) -> Result<(), Error> {
        let known = self.agents(merged.into_id)?;
        let at = |path: &AgentPath| known.iter().find(|agent| agent.path == *path);
        let moved = self.agents(merged.from_id)?;
        let (from, into) = (merged.from_id.to_string(), merged.into_id.to_string());
        self.write(sql!("DELETE FROM agents WHERE project_id = $1"), &[(&from).into()])?;
        for agent in moved {
            let agent: Agent =
                at(&agent.path).map_or_else(|| agent.clone(), |own| joined(own, &agent));
            self.put_agent(merged.into_id, &merged.into, &agent)?;
            self.write(
                sql!("UPDATE agents SET created_at = $3 WHERE project_id = $1 AND path = $2"),
                &[(&into).into(), agent.path.as_str().into(), agent.created_at.micros().into()],
            )?;
        }
        Ok(())
    }

    /// Keeps the name, the place and the log of the merged project, and nothing else. What was
    /// merged into it before is in the other project now, too.
    fn bury(&mut self, merged: &ProjectMerged) -> Result<(), Error> {
        let (from, into) = (merged.from_id.to_string(), merged.into_id.to_string());
        self.write(
            sql!("UPDATE projects SET merged_into = $2 WHERE id = $1 OR merged_into = $1"),
            &[(&from).into(), (&into).into()],
        )
    }

    /// Every merge in the log, in order. Each is there twice, once for either project.
    pub(crate) fn merges(&mut self) -> Result<Vec<Recorded>, Error> {
        self.events_of_type("project_merged")
    }

    /// The projects that were merged, each with the one that it was merged into.
    pub(crate) fn merged_projects(&mut self) -> Result<Vec<(ProjectId, ProjectId)>, Error> {
        self.query(
            sql!("SELECT id, merged_into FROM projects WHERE merged_into IS NOT NULL ORDER BY id"),
            &[],
            |row| {
                let read = |text: &str| word("project id", text, ProjectId::parse);
                Ok((read(row.str(0)?)?, read(row.str(1)?)?))
            },
        )
    }
}

/// The tables whose rows move as they are, in the order in which everything locks.
static MOVES: &[&Sql] = &[
    sql!("UPDATE issue_links SET project_id = $2 WHERE project_id = $1"),
    sql!("UPDATE sessions SET project_id = $2 WHERE project_id = $1"),
    sql!("UPDATE gates SET project_id = $2 WHERE project_id = $1"),
    sql!("UPDATE delegations SET project_id = $2 WHERE project_id = $1"),
    sql!("UPDATE missions SET project_id = $2 WHERE project_id = $1"),
    sql!("UPDATE conversations SET project_id = $2 WHERE project_id = $1"),
    sql!("UPDATE lists SET project_id = $2 WHERE project_id = $1"),
];

fn run(data: &str) -> Result<Run, Error> {
    Ok(serde_json::from_str(data)?)
}
