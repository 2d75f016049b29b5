//! The calls on plans: found by file and branch, with the agents that work on them.

use punchlist_core::event::AgentChanged;
use punchlist_core::text::Title;
use punchlist_core::{AgentStatus, Agents, Scope, Snapshot, TodoId};
use punchlist_store::Load;
use punchlist_store::rows::agents::Agent;

use super::Call;
use crate::Error;

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

    /// A plan to look at, whole; one that was never imported is empty.
    pub(crate) fn whole_plan(&mut self, scope: &Scope) -> Result<Option<Snapshot>, Error> {
        self.look(scope, Load::All)
    }

    /// As much of a plan as says where the work on it stands.
    pub(crate) fn standing_plan(&mut self, scope: &Scope) -> Result<Option<Snapshot>, Error> {
        self.look(scope, Load::Place)
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
