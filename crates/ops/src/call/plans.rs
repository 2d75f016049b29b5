//! The calls on plans: found by file and branch, with the agents that work on them.

use punchlist_core::command::ArchiveList;
use punchlist_core::event::AgentChanged;
use punchlist_core::plan::{ArchivedPlan, Purge, PurgePlans, PurgedPlan};
use punchlist_core::text::Title;
use punchlist_core::{
    AgentPath, AgentStatus, Agents, ArchiveReason, Decision, Refusal, Scope, Snapshot, TodoId,
};
use punchlist_store::Load;
use punchlist_store::rows::agents::Agent;

use super::Call;
use crate::Error;
use crate::views::PlanArchived;

/// An agent that is busy and was not heard of for this long has gone silent.
const SILENT_AFTER_S: i64 = 300;

/// The branch of whoever stands in no git folder and names none.
const BRANCH: &str = "main";

impl Call<'_, '_> {
    /// The scope of a plan file, on the branch that is named, else on the caller's.
    pub(crate) fn plan(&self, plan_file: &Title, branch: Option<&Title>) -> Scope {
        let own = self.envelope.context.branch.as_deref().unwrap_or(BRANCH);
        Scope::Plan {
            branch: branch.map_or(own, Title::as_str).to_owned(),
            plan_file: plan_file.as_str().to_owned(),
        }
    }

    /// A plan to look at, whole; one that was never imported is empty, and so is one that was
    /// archived, unless it is asked for.
    pub(crate) fn whole_plan(
        &mut self,
        scope: &Scope,
        include_archived: Option<bool>,
    ) -> Result<Option<Snapshot>, Error> {
        if include_archived != Some(true) {
            return self.look(scope, Load::All);
        }
        match self.find(scope)? {
            Some(list) => Ok(Some(self.tx.snapshot(list, Load::All)?)),
            None => Ok(None),
        }
    }

    /// Puts a plan away, and says how many of its tasks were open.
    pub(crate) fn archive_plan(
        &mut self,
        scope: &Scope,
        reason: ArchiveReason,
        confirm: Option<bool>,
    ) -> Result<PlanArchived, Error> {
        let Some(mut snapshot) = self.lock(scope, Load::Counts)? else {
            let (branch, plan_file) = scope.keys();
            let (branch, plan_file) = (branch.to_owned(), plan_file.to_owned());
            return Err(Refusal::UnknownPlan { plan_file, branch }.into());
        };
        let confirm = confirm == Some(true);
        self.decide(&mut snapshot, ArchiveList { reason, confirm })?;
        Ok(PlanArchived::of(&snapshot))
    }

    /// Deletes the tasks of what was archived long ago, as far as the core decides.
    pub(crate) fn purge_plans(&mut self, command: PurgePlans) -> Result<Vec<PurgedPlan>, Error> {
        let (actor, now) = (self.envelope.actor.clone(), self.envelope.now);
        let mut archived = Vec::new();
        if let Some(project) = self.project()? {
            let until = command.archived_until(now);
            for (list, tasks, last_seq) in self.tx.archived_lists(project, until)? {
                self.within_reach(&list.scope)?;
                archived.push(ArchivedPlan { list, tasks, last_seq });
            }
        }
        let mut purged = Vec::new();
        for Purge { list, plan, event } in command.decide(&archived, &actor, now)? {
            let decision = Decision { events: vec![event], ..Decision::default() };
            self.record(&mut Snapshot::empty(list), &decision)?;
            purged.push(plan);
        }
        Ok(purged)
    }

    /// Is there such an agent: registered here, configured, or the caller?
    pub(crate) fn knows(&mut self, agent: &AgentPath) -> Result<bool, Error> {
        let envelope = self.envelope;
        if envelope.actor.agent == *agent || envelope.agents.names(agent) {
            return Ok(true);
        }
        match self.project()? {
            Some(project) => Ok(self.tx.agent(project, agent)?.is_some()),
            None => Ok(false),
        }
    }

    /// The agents of this project, and who of them has gone silent.
    pub(crate) fn known_agents(&mut self) -> Result<Agents, Error> {
        let Some(project) = self.project()? else { return Ok(Agents::default()) };
        let heard_since = self.envelope.now.plus_seconds(-SILENT_AFTER_S);
        let mut agents = Agents::default();
        for agent in self.tx.agents(project)? {
            if agent.status == AgentStatus::Busy && agent.heartbeat_at < heard_since {
                agents.silent.insert(agent.path.clone());
            }
            agents.status.insert(agent.path, agent.status);
        }
        Ok(agents)
    }

    /// Writes down what an agent says of itself. The log keeps changes; a heartbeat is none.
    pub(crate) fn put_agent(&mut self, agent: &Agent) -> Result<(), Error> {
        let project = self.ensure_project()?;
        let before = self.tx.agent(project, &agent.path)?;
        let name = &self.envelope.project;
        self.tx.put_agent(project, name, agent)?;
        let (path, status, note) = (agent.path.clone(), agent.status, agent.note.clone());
        let same = before.is_some_and(|known| {
            (known.status, known.note, known.kind) == (status, note.clone(), agent.kind.clone())
        });
        if same {
            return Ok(());
        }
        let kind = agent.kind.clone();
        self.log(&format!("agent/{path}"), AgentChanged { agent: path, kind, status, note })
    }

    /// The plan a task is in, whole, and the task.
    pub(crate) fn plan_of(&mut self, named: &str) -> Result<(Snapshot, TodoId), Error> {
        let (snapshot, id) = self.todo(named)?;
        Ok((self.tx.snapshot(snapshot.list, Load::All)?, id))
    }
}
