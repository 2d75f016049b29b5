//! Who acts: roles, agent paths, and the actor of a command.
//!
//! How an actor is proved (token, terminal, agent host) is not decided here; see `ops::identity`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::named;
use crate::{Reach, RunId, TokenId};

named! {
    /// What someone is in punchlist. The operator is the human.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum Role {
        /// The human: may do everything, and all of it is logged.
        Operator = "operator",
        /// The agent that leads a mission.
        Lead = "lead",
        /// The agent that owns a pillar of a mission.
        Owner = "owner",
        /// The agent that owns a session, a turn or a plan; also spelled supervisor.
        Root = "root" | "supervisor",
        /// A subagent: works and proposes, and cannot see the lists of other agents.
        Worker = "worker",
        /// The scheduler and the driver: act only by policy.
        System = "system",
    }
}

impl Role {
    /// Is it a role for agents: neither the human's nor the engine's?
    #[must_use]
    pub const fn is_agent(self) -> bool {
        !matches!(self, Self::Operator | Self::System)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The path of an agent in the tree of agents: `primary`, `primary.subagents.writer`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct AgentPath(String);

impl TryFrom<String> for AgentPath {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a path is words of letters, digits, - and _, joined by dots")
    }
}

impl AgentPath {
    /// The length limit of a path, in characters.
    pub const LIMIT: usize = 200;

    /// The top agent's path, used when no agent is named.
    #[must_use]
    pub fn primary() -> Self {
        Self("primary".to_owned())
    }

    /// The pattern for a JSON Schema.
    pub const PATTERN: &'static str = r"^[\w-]+(\.[\w-]+)*$";

    /// Reads a path: words of letters, digits, `-` and `_`, joined by dots.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let word = |w: &str| {
            !w.is_empty() && w.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        };
        (text.len() <= Self::LIMIT && text.split('.').all(word)).then(|| Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Is this the path of a subagent of that agent?
    #[must_use]
    pub fn is_below(&self, other: &Self) -> bool {
        self.0.strip_prefix(&other.0).is_some_and(|rest| rest.starts_with('.'))
    }

    /// Is this the path of that agent, or of a subagent of it?
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self == other || self.is_below(other)
    }

    /// A dotted path is a subagent's.
    #[must_use]
    pub fn is_subagent(&self) -> bool {
        self.0.contains('.')
    }
}

impl fmt::Display for AgentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The actor of one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The name the log keeps, e.g. `operator:ada` or `root:primary`.
    pub principal: String,
    /// The role that the rules check.
    pub role: Role,
    /// The role that was proved; differs from `role` if the caller took another one with `--as`.
    pub proved: Role,
    pub agent: AgentPath,
    /// The mission this actor is tied to; a lead owns nothing outside it.
    pub mission: Option<String>,
    /// The pillar this actor is tied to; an owner owns nothing outside it.
    pub pillar: Option<String>,
    /// What its token was narrowed to.
    pub reach: Reach,
    /// A token fixes the agent. Without a token the caller may name any agent.
    pub fixed: bool,
    /// The token or run that proves it; `None` if it only gave a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Credential>,
}

/// A credential that belongs to the agent itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Credential {
    Token(TokenId),
    Run(RunId),
}

impl Actor {
    /// An actor with the role it proved, not tied to a mission or pillar.
    #[must_use]
    pub fn new(role: Role, agent: AgentPath) -> Self {
        Self {
            principal: format!("{role}:{agent}"),
            role,
            proved: role,
            agent,
            mission: None,
            pillar: None,
            reach: Reach::default(),
            fixed: false,
            proof: None,
        }
    }

    /// The engine itself, which acts only by policy.
    #[must_use]
    pub fn system() -> Self {
        Self::new(Role::System, AgentPath::primary())
    }

    /// Does the actor's token reach this agent? Agents belong to the project; a narrowed token
    /// reaches only its own agent and the subagents. The error names what the token would need.
    pub fn reaches_agent(&self, agent: &AgentPath) -> Result<(), String> {
        match self.reach.is_narrowed() && !agent.is_within(&self.agent) {
            true => Err(format!("agent `{agent}`")),
            false => Ok(()),
        }
    }

    /// The role taken with `--as`, for the log, if it differs from the proved one.
    #[must_use]
    pub fn carried(&self) -> Option<Role> {
        (self.role != self.proved).then_some(self.role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dotted_path_is_a_subagents() {
        let path = |text| AgentPath::parse(text);
        assert!(!path("primary").unwrap().is_subagent());
        assert!(path("primary.subagents.writer-2").unwrap().is_subagent());
        for bad in ["", ".", "a.", "a b", "a/b", &"a".repeat(201)] {
            assert_eq!(path(bad), None, "{bad}");
        }
    }

    #[test]
    fn supervisor_is_another_spelling_of_root() {
        assert_eq!(Role::parse("supervisor"), Some(Role::Root));
        assert_eq!(Role::parse("root"), Some(Role::Root));
        assert_eq!(Role::parse("admin"), None);
    }
}
