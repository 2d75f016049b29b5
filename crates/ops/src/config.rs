//! The agents that `punchlist.toml` names, as far as operations look at them.
//!
//! The surface finds and reads the files; here is what they may say. What the core's authority
//! would refuse anyway is an error already when it is written down (K-22).

use std::collections::BTreeMap;

use punchlist_core::delegation::Review;
use punchlist_core::driver::Budget;
use punchlist_core::run::{HISTORY_MAX, Settings};
use punchlist_core::{AgentPath, Refusal, Role};
use serde::Deserialize;

use crate::Error;

/// The tools of an issue's keeper; a subagent has none of them.
const ROOT_ONLY: [&str; 5] = ["todo", "issue", "checkpoint", "ask", "form"];

/// Where a file stands. What an agent can edit gives no role above `root`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    User,
    Project,
}

/// What a caller says about a run, for this once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub model: Option<String>,
    pub drives: Option<bool>,
    pub max_continuations: Option<u32>,
    pub max_iterations: Option<u32>,
    pub max_total_tokens: Option<u64>,
}

/// The configured agents, by name, and what holds for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roster {
    agents: BTreeMap<String, AgentConfig>,
    session_lists: Option<bool>,
}

/// What is configured about one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentConfig {
    pub model: Option<String>,
    pub role: Option<Role>,
    pub tools: Option<Vec<String>>,
    /// The names of the agents below it.
    pub subagents: Vec<String>,
    /// What becomes of what it proposes for a checklist; absent: review.
    pub todo_review: Option<Review>,
    pub todo_driven_execution: Option<bool>,
    pub max_todo_continuations: Option<u32>,
    pub todo_check_interval_ms: Option<u64>,
    pub max_tokens: Option<u64>,
}

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    /// May a session without an issue keep a list of its own? Absent: yes.
    session_lists: Option<bool>,
    agents: BTreeMap<String, AgentConfig>,
}

impl Roster {
    /// Reads a file on top of what another said: an agent it names is as it says.
    pub fn read(&self, text: &str, origin: Origin) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut agents = self.agents.clone();
        for (name, agent) in file.agents {
            let above = agent.role.filter(|role| !matches!(role, Role::Root | Role::Worker));
            if let (Some(role), Origin::Project) = (above, origin) {
                return Err(format!(
                    "agents.{name}.role is `{role}`: a project file gives no role above root"
                ));
            }
            agents.insert(name, agent);
        }
        let agents = Self { agents, session_lists: file.session_lists.or(self.session_lists) };
        agents.check_root_only()?;
        Ok(agents)
    }

    /// What becomes of a proposal of this specialist.
    #[must_use]
    pub fn review(&self, kind: &str) -> Review {
        self.agents.get(kind).and_then(|agent| agent.todo_review).unwrap_or_default()
    }

    /// How a run of this agent behaves, with what the caller says for this once; and the role that
    /// is configured for it.
    pub fn settings(
        &self,
        name: &str,
        over: &Overrides,
    ) -> Result<(Settings, Option<Role>), Error> {
        let agent = self.agents.get(name).cloned().unwrap_or_default();
        let Some(model) = over.model.clone().or(agent.model) else {
            return Err(Refusal::NoModel { agent: name.to_owned() }.into());
        };
        let default = Budget::default();
        let settings = Settings {
            model,
            drives: over.drives.or(agent.todo_driven_execution).unwrap_or(false),
            budget: Budget {
                max_continuations: over
                    .max_continuations
                    .or(agent.max_todo_continuations)
                    .unwrap_or(default.max_continuations),
                max_iterations: over.max_iterations.unwrap_or(default.max_iterations),
                check_interval_ms: agent.todo_check_interval_ms.unwrap_or_default(),
                window: default.window,
                max_total_tokens: over.max_total_tokens,
            },
            max_tokens: agent.max_tokens.and_then(|n| u32::try_from(n).ok()).unwrap_or(8_192),
            tools: agent.tools,
            instructions: None,
            history: HISTORY_MAX,
            continuation: None,
        };
        Ok((settings, agent.role))
    }

    /// Does an agent of this name have a model?
    #[must_use]
    pub fn has_model(&self, name: &str) -> bool {
        self.agents.get(name).is_some_and(|agent| agent.model.is_some())
    }

    /// The agents that have a model.
    pub fn with_model(&self) -> impl Iterator<Item = &str> {
        let with = self.agents.iter().filter(|(_, agent)| agent.model.is_some());
        with.map(|(name, _)| name.as_str())
    }

    /// The agent that plays a role in chats: the one configured for it; root's is `primary`.
    #[must_use]
    pub fn player(&self, role: Role) -> Option<String> {
        if role == Role::Root {
            return self.has_model("primary").then(|| "primary".to_owned());
        }
        let plays = |(_, agent): &(&String, &AgentConfig)| {
            agent.role == Some(role) && agent.model.is_some()
        };
        self.agents.iter().find(plays).map(|(name, _)| name.clone())
    }

    /// Does a file name this agent, wherever it stands in the tree?
    #[must_use]
    pub fn names(&self, agent: &AgentPath) -> bool {
        agent.as_str().rsplit('.').next().is_some_and(|name| self.agents.contains_key(name))
    }

    /// May a session without an issue keep a list of its own? Else there is no todo without an
    /// issue but those of turns and plans.
    #[must_use]
    pub fn keeps_session_lists(&self) -> bool {
        self.session_lists.unwrap_or(true)
    }

    /// No agent below another lists a tool that is root's alone.
    fn check_root_only(&self) -> Result<(), String> {
        for (name, agent) in &self.agents {
            for below in &agent.subagents {
                let listed = self.agents.get(below).and_then(|agent| agent.tools.as_ref());
                let tool =
                    listed.into_iter().flatten().find(|tool| ROOT_ONLY.contains(&tool.as_str()));
                if let Some(tool) = tool {
                    return Err(format!(
                        "agents.{below}.tools lists `{tool}`, but {below} is a subagent of {name}: \
                         only a root agent has it, a subagent proposes in its return"
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Roster, String> {
        Roster::default().read(text, Origin::Project)
    }

    /// K-22: a subagent that lists a root-only tool is refused where it is written.
    #[test]
    fn a_subagent_cannot_list_the_tools_of_a_root() {
        let primary = "[agents.primary]\nsubagents = [\"coder\"]\ntools = [\"todo\", \"issue\"]\n";
        for tool in ROOT_ONLY {
            let text = format!("{primary}[agents.coder]\ntools = [\"read\", \"{tool}\"]");
            let error = read(&text).unwrap_err();
            assert!(error.contains(&format!("agents.coder.tools lists `{tool}`")), "{error}");
        }
        assert!(read(&format!("{primary}[agents.coder]\ntools = [\"read\"]")).is_ok());
        assert!(read("[agents.primary]\ntolls = []").unwrap_err().contains("tolls"));
    }

    #[test]
    fn a_project_file_gives_no_role_above_root() {
        let text = "[agents.boss]\nrole = \"lead\"";
        assert!(read(text).unwrap_err().contains("agents.boss.role is `lead`"));
        assert!(Roster::default().read(text, Origin::User).is_ok());
        assert!(read("[agents.x]\nrole = \"root\"").is_ok());
    }

    /// on unless a file says otherwise; the later file wins.
    #[test]
    fn sessions_keep_lists_unless_a_file_says_otherwise() {
        assert!(Roster::default().keeps_session_lists());
        let user = read("session_lists = false").unwrap();
        assert!(!user.keeps_session_lists());
        let silent = user.read("[agents.coder]\nmodel = \"x\"", Origin::Project).unwrap();
        assert!(!silent.keeps_session_lists());
        assert!(user.read("session_lists = true", Origin::Project).unwrap().keeps_session_lists());
    }

    /// K-51: review unless the file says auto; the later file wins.
    #[test]
    fn a_proposal_is_reviewed_unless_the_file_says_otherwise() {
        assert_eq!(Roster::default().review("coder"), Review::Review);
        let user = read("[agents.coder]\ntodo_review = \"auto\"").unwrap();
        assert_eq!(user.review("coder"), Review::Auto);
        assert_eq!(user.review("writer"), Review::Review);
        let text = "[agents.coder]\ntodo_review = \"review\"";
        assert_eq!(user.read(text, Origin::Project).unwrap().review("coder"), Review::Review);
    }
}
