//! The calls on plans: finding them by file and branch, and the agents that work on them.

use std::path::Path;

use punchlist_core::agent::{Heard, RegisterAgent, SetAgentStatus};
use punchlist_core::command::ArchiveList;
use punchlist_core::plan::{ArchivedPlan, Purge, PurgePlans, PurgedPlan, Tree, position};
use punchlist_core::policy::policy;
use punchlist_core::text::Title;
use punchlist_core::{
    Agent, AgentPath, Agents, ArchiveReason, Decide, Decision, List, ListKind, ProjectId, Refusal,
    Scope, Snapshot, TodoId,
};
use punchlist_store::Load;

use super::Call;
use crate::Error;
use crate::plan_file::below_root;
use crate::views::PlanArchived;

/// The branch of a caller that is outside git and names no branch.
pub const BRANCH: &str = "main";

impl Call<'_, '_> {
    /// The scope of a plan file, on the named branch, otherwise on the caller's.
    pub(crate) fn plan(&self, plan_file: &Title, branch: Option<&Title>) -> Scope {
        let own = self.envelope.context.branch.as_deref().unwrap_or(BRANCH);
        let stored = below_root(self.envelope, Path::new(plan_file.as_str()));
        Scope::Plan {
            branch: branch.map_or(own, Title::as_str).to_owned(),
            plan_file: stored.unwrap_or_else(|| plan_file.as_str().to_owned()),
        }
    }

    /// Like `plan`, but if no branch is checked out, the caller must name one.
    pub(crate) fn plan_on_branch(
        &self,
        plan_file: &Title,
        branch: Option<&Title>,
    ) -> Result<Scope, Error> {
        let context = &self.envelope.context;
        if branch.is_none() && context.detached && context.branch.is_none() {
            return Err(Refusal::NoBranch { plan_file: plan_file.as_str().to_owned() }.into());
        }
        Ok(self.plan(plan_file, branch))
    }

    /// Refuses a plan that does not exist, archived or not. The refusal names other branches that
    /// have it.
    pub(crate) fn known_plan(&mut self, scope: &Scope) -> Result<(), Error> {
        if self.find(scope)?.is_some() {
            return Ok(());
        }
        let (branch, plan_file) = scope.keys();
        let (branch, plan_file) = (branch.to_owned(), plan_file.to_owned());
        let branches = match self.project()? {
            Some(project) => self.tx.branches_of(project, &plan_file)?,
            None => Vec::new(),
        };
        if branches.is_empty() {
            return Err(Refusal::UnknownPlan { plan_file, branch }.into());
        }
        Err(Refusal::PlanElsewhere { plan_file, branch, branches }.into())
    }

    /// A whole plan, for reading. It is empty if it was never imported, or if it is archived and
    /// archived plans were not requested.
    pub(crate) fn whole_plan(
        &mut self,
        scope: &Scope,
        include_archived: Option<bool>,
    ) -> Result<Option<Snapshot>, Error> {
        if include_archived != Some(true) {
            return self.look(scope, Load::All);
        }
        match self.find(scope)? {
            Some(list) => Ok(Some(self.snapshot(list, Load::All)?)),
            None => Ok(None),
        }
    }

    /// Archives a plan. Returns how many of its tasks were open.
    pub(crate) fn archive_plan(
        &mut self,
        scope: &Scope,
        reason: ArchiveReason,
        confirm: Option<bool>,
    ) -> Result<PlanArchived, Error> {
        self.known_plan(scope)?;
        // A finished plan may have open tasks below cancelled ones, which only the tree shows.
        let load = if reason == ArchiveReason::Finished { Load::All } else { Load::Counts };
        let Some(mut snapshot) = self.lock(scope, load)? else {
            let (branch, plan_file) = scope.keys();
            let (branch, plan_file) = (branch.to_owned(), plan_file.to_owned());
            return Err(Refusal::UnknownPlan { plan_file, branch }.into());
        };
        let confirm = confirm == Some(true);
        self.decide(&mut snapshot, ArchiveList { reason, confirm })?;
        Ok(PlanArchived::of(&snapshot))
    }

    /// Deletes the tasks of plans that were archived long ago, as the core decides.
    pub(crate) fn purge_plans(&mut self, command: PurgePlans) -> Result<Vec<PurgedPlan>, Error> {
        let now = self.envelope.now;
        let mut archived = Vec::new();
        if let Some(project) = self.project()? {
            let until = command.archived_until(now);
            for (list, tasks, last_seq) in self.tx.archived_lists(project, until)? {
                // A plan that the caller does not reach must not be named.
                if self.reach_scope(&list.scope).is_err() {
                    self.reach_project()?;
                }
                archived.push(ArchivedPlan { list, tasks, last_seq });
            }
        }
        let mut purged = Vec::new();
        let purges = command.decide(&archived, self.by()).map_err(|refused| refused.refusal)?;
        for Purge { list, plan, event } in purges {
            let decision = Decision { events: vec![event], ..Decision::default() };
            self.record(&mut Snapshot::empty(list), &decision)?;
            purged.push(plan);
        }
        Ok(purged)
    }

    /// Does this agent exist: registered in this project, configured, or the caller itself?
    pub(crate) fn knows(&mut self, agent: &AgentPath) -> Result<bool, Error> {
        let envelope = self.envelope;
        if envelope.actor.agent == *agent || envelope.agents().names(agent) {
            return Ok(true);
        }
        match self.project()? {
            Some(project) => Ok(self.tx.agent(project, agent)?.is_some()),
            None => Ok(false),
        }
    }

    /// Loads as much of a plan as is needed to find its current task.
    pub(crate) fn standing_plan(&mut self, scope: &Scope) -> Result<Option<Snapshot>, Error> {
        let Some(snapshot) = self.look(scope, Load::Place)? else { return Ok(None) };
        let now = self.envelope.now;
        let tree = Tree::of(&snapshot);
        let current = position(&tree, now).current.map(|at| tree.branches()[at].todo);
        // The loaded rows show which open task comes first. If nobody can work on that one, another
        // task may be current, and only the whole plan shows which.
        let is_chained = snapshot.todos.values().any(|todo| !todo.after.is_empty());
        let is_dropped = tree.branches().iter().any(|branch| branch.is_dropped);
        if !is_chained && !is_dropped && current.is_none_or(|todo| todo.is_actionable(now)) {
            return Ok(Some(snapshot));
        }
        self.look(scope, Load::All)
    }

    /// The agents of this project, and which of them are silent.
    pub(crate) fn known_agents(&mut self) -> Result<Agents, Error> {
        let Some(project) = self.project()? else { return Ok(Agents::default()) };
        Ok(Agents::at(self.envelope.now, self.tx.agents(project)?))
    }

    /// Registers an agent, or records that a known one is active again.
    pub(crate) fn register_agent(&mut self, command: &RegisterAgent) -> Result<Agent, Error> {
        self.reach_agent(&command.agent)?;
        let project = self.ensure_project()?;
        let known = self.tx.agent(project, &command.agent)?;
        let heard = command.decide(known.as_ref(), self.by()).map_err(|refused| refused.refusal)?;
        self.record_agent(project, heard)
    }

    /// Records the status that an agent reports.
    pub(crate) fn set_agent_status(&mut self, command: &SetAgentStatus) -> Result<Agent, Error> {
        self.reach_agent(&command.agent)?;
        let project = self.project()?;
        let known = match project {
            Some(project) => self.tx.agent(project, &command.agent)?,
            None => None,
        };
        let heard = command.decide(known.as_ref(), self.by()).map_err(|refused| refused.refusal)?;
        let project = self.ensure_project()?;
        let agent = self.record_agent(project, heard)?;
        self.claim_tasks(project, command)?;
        Ok(agent)
    }

    /// Claims the agent's open tasks if its new status implies that they are done. Tasks in plans
    /// that the caller's token does not reach are left alone.
    fn claim_tasks(&mut self, project: ProjectId, command: &SetAgentStatus) -> Result<(), Error> {
        if !command.may_claim() {
            return Ok(());
        }
        for (id, scope) in self.tx.unclaimed_tasks_of(project, &command.agent)? {
            match self.reach_scope(&scope) {
                Err(Error::Refused(refusal)) if matches!(*refusal, Refusal::OutOfReach { .. }) => {
                    continue;
                }
                reached => reached?,
            }
            let (mut snapshot, todo_id) = self.todo(&id.to_string())?;
            // Another caller may have changed the task before it was locked.
            let actor = &self.envelope.actor;
            let claim = snapshot.todo(todo_id).and_then(|task| command.claim(task, actor));
            if let Some(claim) = claim {
                self.decide(&mut snapshot, claim)?;
            }
        }
        Ok(())
    }

    /// Logs changes of an agent. A heartbeat is not a change.
    fn record_agent(
        &mut self,
        project: ProjectId,
        (agent, changed): Heard,
    ) -> Result<Agent, Error> {
        self.tx.put_agent(project, &self.envelope.project, &agent)?;
        if let Some(changed) = changed {
            self.log(&format!("agent/{}", agent.path), changed)?;
        }
        Ok(agent)
    }

    /// Adds the open items below an item, with those between, if the decision depends on them.
    pub(crate) fn bring_children(
        &mut self,
        snapshot: &mut Snapshot,
        id: TodoId,
    ) -> Result<(), Error> {
        if policy(snapshot.list.kind()).nests {
            let below = self.tx.open_below(snapshot.list.id, id)?;
            for todo in below {
                let mut above = todo.parent_id;
                snapshot.todos.insert(todo.id, todo);
                while let Some(id) = above.filter(|id| !snapshot.todos.contains_key(id)) {
                    let Some(todo) = self.tx.todo(snapshot.list.id, id)? else { break };
                    above = todo.parent_id;
                    snapshot.todos.insert(id, todo);
                }
            }
        }
        Ok(())
    }

    /// Loads a plan task for a change. An item of any other list is refused: its own operations
    /// check what these do not, such as the caller's turn or session.
    pub(crate) fn task(&mut self, named: &str) -> Result<(Snapshot, TodoId), Error> {
        let (list, id) = self.find_task(named)?;
        Ok((self.with_todo(list, id)?, id))
    }

    /// Finds a plan task and its plan. Neither is locked.
    fn find_task(&mut self, named: &str) -> Result<(List, TodoId), Error> {
        let (list, id) = self.find_todo(named)?;
        if list.kind() == ListKind::Plan {
            return Ok((list, id));
        }
        let (todo_id, list) = (named.to_owned(), Some(ListKind::Plan));
        Err(Refusal::UnknownTodo { todo_id, list }.into())
    }

    /// Finds a task and the whole plan it is in.
    pub(crate) fn plan_of(&mut self, named: &str) -> Result<(Snapshot, TodoId), Error> {
        let (snapshot, id) = self.task(named)?;
        Ok((self.snapshot(snapshot.list, Load::All)?, id))
    }

    /// Like `plan_of`, for a change: the list is locked before it is loaded.
    pub(crate) fn lock_plan_of(&mut self, named: &str) -> Result<(Snapshot, TodoId), Error> {
        let (list, id) = self.find_task(named)?;
        let (todo_id, kind) = (named.to_owned(), Some(list.kind()));
        let gone = || Error::from(Refusal::UnknownTodo { todo_id, list: kind });
        Ok((self.lock(&list.scope, Load::All)?.ok_or_else(gone)?, id))
    }
}
