//! The configured agents.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use punchlist_core::authority::{Action, Subject, may_any};
use punchlist_core::delegation::Review;
use punchlist_core::driver::Budget;
use punchlist_core::run::{Completion, HISTORY_MAX, Settings};
use punchlist_core::{AgentPath, Refusal, Role};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use super::drive::{
    CHECK_INTERVAL_MS_MAX, DriveFlags, DriveSettings, MAX_CONTINUATIONS_LIMIT, MAX_ITERATIONS,
    MAX_TOKENS_LIMIT,
};
use super::{Config, Effort, Origin, Price, ToolPattern};
use crate::Error;
use crate::catalogue::{self, Operation};
use crate::explain::{Fault, nearest};
use crate::written::Misplaced;

/// The model providers: the part of a model's name before the colon.
pub const PROVIDERS: [&str; 6] =
    ["anthropic", "openai", "openai-chat", "ollama", "acp", "scripted"];

/// The tools of a root agent. A subagent has none of them.
pub(super) const ROOT_ONLY: [&str; 5] = ["todo", "issue", "checkpoint", "ask", "form"];

/// The configured agents, by name, and the settings for all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roster {
    agents: BTreeMap<String, AgentConfig>,
    session_lists: Option<bool>,
    prices: BTreeMap<String, Price>,
    /// The project whose file is part of this, and the user's own agents for all others.
    elsewhere: Option<(String, Arc<Self>)>,
}

/// The caller's overrides for a single run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub model: Option<String>,
    pub drives: Option<bool>,
    pub max_continuations: Option<u32>,
    pub max_iterations: Option<u32>,
    pub max_total_tokens: Option<u64>,
}

/// The configuration of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentConfig {
    /// The provider and the model, e.g. `anthropic:claude-sonnet-5`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The tools it may call; absent: every tool its role may call, except private ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolPattern>>,
    /// The names of its subagents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<String>,
    /// Text that comes first in its prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// How hard its model thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
    /// How its proposals for a checklist are handled; absent: review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo_review: Option<Review>,
    /// Who completes an item of its plan: the agent itself, or the agent it delegated to. Absent:
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<Completion>,
    /// Continue until its list is empty? Absent: no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo_driven_execution: Option<bool>,
    /// Number of continuations before a person is asked; 0: none.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounded::<0, { MAX_CONTINUATIONS_LIMIT as i64 }, _, _>"
    )]
    #[schemars(range(min = 0, max = MAX_CONTINUATIONS_LIMIT))]
    pub max_todo_continuations: Option<u32>,
    /// Replaces our continuation message: `{count}` is the number of items left, `{title}` the next
    /// item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo_continuation: Option<String>,
    /// The shortest interval between two continuations.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounded::<0, { CHECK_INTERVAL_MS_MAX as i64 }, _, _>"
    )]
    #[schemars(range(min = 0, max = CHECK_INTERVAL_MS_MAX))]
    pub todo_check_interval_ms: Option<u64>,
    /// The highest number of model calls for one message.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounded::<1, { MAX_ITERATIONS as i64 }, _, _>"
    )]
    #[schemars(range(min = 1, max = MAX_ITERATIONS))]
    pub max_iterations: Option<u32>,
    /// The highest number of tokens for one run.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounded::<1, { MAX_TOKENS_LIMIT as i64 }, _, _>"
    )]
    #[schemars(range(min = 1, max = MAX_TOKENS_LIMIT))]
    pub max_tokens: Option<u64>,
}

impl AgentConfig {
    /// Does it have this tool, which is not in the catalogue?
    #[must_use]
    pub fn has(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|entry| entry.matches(tool)))
    }

    /// Is this operation one of its tools? A private operation (M-47), or one that is in no
    /// profile, must be listed by its full name. Whether the role may call it is checked by the
    /// operation.
    #[must_use]
    pub fn offers(&self, operation: &Operation) -> bool {
        let is_named = |entry: &ToolPattern| entry.exact() == Some(operation.name);
        if self.tools.iter().flatten().any(is_named) {
            return true;
        }
        !operation.private && !operation.surfaces.profiles.is_empty() && self.has(operation.name)
    }

    /// Could it have a tool whose name starts with `beginning`?
    #[must_use]
    pub fn may_have_below(&self, beginning: &str) -> bool {
        let may = |entry: &ToolPattern| entry.may_match_below(beginning);
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(may))
    }

    /// Merges this table of a project's file with the user's table for the same agent. An agent can
    /// edit a project's file, so it may only restrict: it lifts no limit, adds no tool and inherits
    /// no role above root. It may set what the user's file leaves open.
    pub(super) fn within(self, user: &Self) -> Self {
        fn lower<T: Ord>(own: Option<T>, user: Option<T>) -> Option<T> {
            match (own, user) {
                (Some(own), Some(user)) => Some(own.min(user)),
                (own, user) => own.or(user),
            }
        }
        let role = user
            .role
            .filter(|role| may_any(*role, Subject::Configuration, Action::FromProjectFile));
        let tools = match (self.tools, &user.tools) {
            (Some(own), Some(allowed)) => {
                let is_allowed = |entry: &ToolPattern| {
                    let covers = |name| allowed.iter().any(|allowed| allowed.matches(name));
                    allowed.contains(entry) || entry.exact().is_some_and(covers)
                };
                Some(own.into_iter().filter(is_allowed).collect())
            }
            (own, allowed) => own.or_else(|| allowed.clone()),
        };
        Self {
            model: self.model.or_else(|| user.model.clone()),
            // The lower role counts; roles are ordered from the operator down.
            role: self.role.max(role),
            tools,
            subagents: if self.subagents.is_empty() {
                user.subagents.clone()
            } else {
                self.subagents
            },
            instructions: self.instructions.or_else(|| user.instructions.clone()),
            reasoning_effort: self.reasoning_effort.or_else(|| user.reasoning_effort.clone()),
            todo_review: match user.todo_review {
                Some(Review::Review) => user.todo_review,
                _ => self.todo_review.or(user.todo_review),
            },
            completion: match user.completion {
                Some(Completion::Verified) => user.completion,
                _ => self.completion.or(user.completion),
            },
            todo_driven_execution: self.todo_driven_execution.or(user.todo_driven_execution),
            max_todo_continuations: lower(self.max_todo_continuations, user.max_todo_continuations),
            todo_continuation: self.todo_continuation.or_else(|| user.todo_continuation.clone()),
            todo_check_interval_ms: self.todo_check_interval_ms.max(user.todo_check_interval_ms),
            max_iterations: lower(self.max_iterations, user.max_iterations),
            max_tokens: lower(self.max_tokens, user.max_tokens),
        }
    }

    /// Checks what does not depend on other agents.
    pub(super) fn check(&self, path: &str, origin: Origin) -> Result<(), Fault> {
        let bad = |field: &str, found: &str, expected: String| Fault::BadValue {
            path: format!("{path}.{field}"),
            found: format!("`{}`", found.chars().take(60).collect::<String>()),
            expected,
        };
        // No agent may have a role that is reserved for people or for the engine.
        let may = |role: &Role, action| may_any(*role, Subject::Configuration, action);
        if let Some(role) = self.role.filter(|role| !may(role, Action::FromUserFile)) {
            let expected = "root, lead, owner or worker: the role of an agent".to_owned();
            return Err(bad("role", role.name(), expected));
        }
        let above = self.role.filter(|role| !may(role, Action::FromProjectFile));
        if let (Some(role), Origin::Project) = (above, origin) {
            let expected = "root or worker: a project file gives no role above root".to_owned();
            return Err(bad("role", role.name(), expected));
        }
        if let Some(model) = &self.model {
            let (provider, name) = model.split_once(':').unwrap_or(("", model));
            if !PROVIDERS.contains(&provider) || name.trim().is_empty() {
                // `acp` is reserved and cannot be used yet.
                let usable: Vec<&str> =
                    PROVIDERS.iter().copied().filter(|provider| *provider != "acp").collect();
                let expected = format!("PROVIDER:MODEL with {}", usable.join(", "));
                return Err(bad("model", model, expected));
            }
        }
        for below in &self.subagents {
            if !is_agent_name(below) {
                return Err(bad("subagents", below, AGENT_NAME.to_owned()));
            }
        }
        for (field, text, limit) in [
            ("instructions", &self.instructions, INSTRUCTIONS_MAX),
            ("todo_continuation", &self.todo_continuation, CONTINUATION_MAX),
        ] {
            let length = text.as_ref().map_or(0, String::len);
            if length > limit {
                let path = format!("{path}.{field}");
                return Err(Fault::TooLong { path, length, limit, unit: "bytes" });
            }
        }
        if self.todo_continuation.as_ref().is_some_and(|text| text.trim().is_empty()) {
            let expected = "a continuation message; absent: the default".to_owned();
            return Err(bad("todo_continuation", "", expected));
        }
        Ok(())
    }
}

/// The syntax of an agent's name.
pub(super) const AGENT_NAME: &str = "one word of letters, digits, - and _";

/// The longest reply of a model, in tokens.
const REPLY_TOKENS: u32 = 8_192;

/// The longest instructions, in bytes.
const INSTRUCTIONS_MAX: usize = 64 << 10;

/// The longest continuation message, in bytes. It is short because it is sent many times.
const CONTINUATION_MAX: usize = 4 << 10;

pub(super) fn is_agent_name(name: &str) -> bool {
    AgentPath::parse(name).is_some_and(|path| !path.is_subagent())
}

impl Roster {
    /// Reads the agents of a file. An agent that the file names replaces the earlier one.
    pub fn read(&self, text: &str, origin: Origin) -> Result<Self, Misplaced> {
        let config = Config { agents: self.clone().into(), ..Config::default() };
        let read = config.read(text, origin, Path::new("."))?;
        Ok(Self::clone(&read.agents))
    }

    pub(super) fn set_elsewhere(&mut self, project: &str, user: Arc<Self>) {
        self.elsewhere = Some((project.to_owned(), user));
    }

    /// The agents that apply in a project: a project's file applies only in that project.
    #[must_use]
    pub fn in_project(self: &Arc<Self>, project: &str) -> Arc<Self> {
        match &self.elsewhere {
            Some((home, user)) if home != project => Arc::clone(user),
            _ => Arc::clone(self),
        }
    }

    /// Like `in_project`, borrowed.
    #[must_use]
    pub fn of_project(&self, project: &str) -> &Self {
        match &self.elsewhere {
            Some((home, user)) if home != project => user,
            _ => self,
        }
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&AgentConfig> {
        self.agents.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &AgentConfig)> {
        self.agents.iter().map(|(name, agent)| (name.as_str(), agent))
    }

    /// The configuration of the agent at this path. Its name is the last part of the path.
    #[must_use]
    pub fn of(&self, agent: &AgentPath) -> Option<&AgentConfig> {
        agent.as_str().rsplit('.').next().and_then(|name| self.agents.get(name))
    }

    /// The prices, by model name.
    #[must_use]
    pub const fn prices(&self) -> &BTreeMap<String, Price> {
        &self.prices
    }

    pub(super) fn set_price(&mut self, model: String, price: Price) {
        self.prices.insert(model, price);
    }

    /// The cost of these tokens in US dollars; `None` if the model has no price.
    #[must_use]
    pub fn cost_usd(&self, model: &str, input: u64, output: u64) -> Option<f64> {
        self.prices.get(model).map(|price| price.cost_usd(input, output))
    }

    /// May a session without an issue have a list?
    #[must_use]
    pub fn keeps_session_lists(&self) -> bool {
        self.session_lists != Some(false)
    }

    pub(super) const fn keep_session_lists(&mut self, keeps: bool) {
        self.session_lists = Some(keeps);
    }

    /// The settings for a run of this agent, with the caller's overrides, and the role that is
    /// configured for the agent.
    pub fn settings(
        &self,
        name: &str,
        over: &Overrides,
    ) -> Result<(Settings, Option<Role>), Error> {
        let agent = self.agents.get(name);
        let Some(model) = over.model.clone().or_else(|| agent?.model.clone()) else {
            return Err(Refusal::NoModel { agent: name.to_owned() }.into());
        };
        let flags = DriveFlags {
            auto_complete_todos: over.drives,
            max_todo_continuations: over.max_continuations,
        };
        // The caller has already applied the environment to the overrides.
        let (drive, _) = DriveSettings::resolve(agent, flags, &|_| None);
        let patterns = agent.and_then(|agent| agent.tools.as_ref());
        let settings = Settings {
            model,
            effort: agent
                .and_then(|agent| agent.reasoning_effort.as_ref())
                .map(|effort| effort.word().to_owned()),
            drives: drive.enabled,
            budget: Budget {
                max_continuations: drive.max_continuations,
                max_iterations: over.max_iterations.unwrap_or(drive.max_iterations),
                check_interval_ms: drive.check_interval_ms,
                window: Budget::default().window,
                max_total_tokens: over.max_total_tokens.or(drive.max_tokens),
            },
            max_tokens: REPLY_TOKENS,
            tools: patterns.map(|patterns| patterns.iter().map(ToString::to_string).collect()),
            instructions: agent.and_then(|agent| agent.instructions.clone()),
            completion: agent.and_then(|agent| agent.completion).unwrap_or_default(),
            history: HISTORY_MAX,
            continuation: agent.and_then(|agent| agent.todo_continuation.clone()),
        };
        Ok((settings, agent.and_then(|agent| agent.role)))
    }

    /// Does the agent with this name have a model?
    #[must_use]
    pub fn has_model(&self, name: &str) -> bool {
        self.agents.get(name).is_some_and(|agent| agent.model.is_some())
    }

    /// The names of the agents that have a model.
    pub fn with_model(&self) -> impl Iterator<Item = &str> {
        self.iter().filter(|(_, agent)| agent.model.is_some()).map(|(name, _)| name)
    }

    /// The agent that plays this role in chats: the one configured with the role. For root it is
    /// `primary`.
    #[must_use]
    pub fn player(&self, role: Role) -> Option<String> {
        if role == Role::Root {
            return self.has_model("primary").then(|| "primary".to_owned());
        }
        let plays =
            |(_, agent): &(&str, &AgentConfig)| agent.role == Some(role) && agent.model.is_some();
        self.iter().find(plays).map(|(name, _)| name.to_owned())
    }

    /// Is an agent configured for delegated work of this type? Work in the chat of a pillar is also
    /// done by the agent that plays the owner.
    #[must_use]
    pub fn does(&self, kind: &str, in_chat: bool) -> bool {
        self.agents.contains_key(kind) || (in_chat && self.player(Role::Owner).is_some())
    }

    /// How proposals of this specialist are handled.
    #[must_use]
    pub fn review(&self, kind: &str) -> Review {
        self.agents.get(kind).and_then(|agent| agent.todo_review).unwrap_or_default()
    }

    /// Does a file name this agent, anywhere in the tree?
    #[must_use]
    pub fn names(&self, agent: &AgentPath) -> bool {
        self.of(agent).is_some()
    }

    /// The agents that the files name.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.agents.keys().map(String::as_str)
    }

    pub(super) fn insert(&mut self, name: String, agent: AgentConfig) {
        self.agents.insert(name, agent);
    }

    /// The agent that lists this one as a subagent, if any.
    fn above(&self, name: &str) -> Option<&str> {
        let holds = |agent: &AgentConfig| agent.subagents.iter().any(|below| below == name);
        self.iter().find(|(_, agent)| holds(agent)).map(|(above, _)| above)
    }

    /// Checks that need all agents (K-22): no agent lists a tool that its role may never call, and
    /// no subagent or worker lists a tool that only a root agent has.
    pub(super) fn check(&self) -> Result<(), Fault> {
        for (name, agent) in &self.agents {
            let above = self.above(name);
            if above == Some(name) {
                let (path, found) = (format!("agents.{name}.subagents"), format!("`{name}`"));
                let expected = "other agents: an agent cannot be below itself".to_owned();
                return Err(Fault::BadValue { path, found, expected });
            }
            let role = match agent.role {
                None | Some(Role::Root) if above.is_some() => Role::Worker,
                role => role.unwrap_or(Role::Root),
            };
            for tool in agent.tools.iter().flatten().filter_map(ToolPattern::exact) {
                let is_below = above.is_some() || role == Role::Worker;
                let expected = if is_below && ROOT_ONLY.contains(&tool) {
                    let why = above.map_or_else(
                        || format!("{name} is a worker"),
                        |above| format!("{name} is a subagent of {above}"),
                    );
                    format!(
                        "a tool it may use: {why}, and only a root agent has this one; \
                         a subagent proposes in its report"
                    )
                } else if catalogue::find(tool).is_ok_and(|found| !found.access.allows(role)) {
                    format!("a tool it may use: {name} acts as {role}, which may never call it")
                } else {
                    continue;
                };
                let (path, found) = (format!("agents.{name}.tools"), format!("`{tool}`"));
                return Err(Fault::BadValue { path, found, expected });
            }
        }
        Ok(())
    }

    /// The agent whose name is closest to an unknown one.
    #[must_use]
    pub fn nearest(&self, wrong: &str) -> Option<&str> {
        nearest(wrong, self.agents.keys().map(String::as_str))
    }
}

/// A number in its range, or none. The field's schema repeats the range, because errors are
/// explained from the schema.
fn bounded<'de, const MIN: i64, const MAX: i64, T: TryFrom<i64>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let Some(number) = Option::<i64>::deserialize(deserializer)? else { return Ok(None) };
    let inside = (MIN..=MAX).contains(&number).then(|| T::try_from(number).ok()).flatten();
    inside.map(Some).ok_or_else(|| D::Error::custom(format!("it must be {MIN} to {MAX}")))
}
