//! Which operations an agent sees as tools, and what a model sees of each: one choice for MCP hosts
//! and for our own loop.
//!
//! A profile only trims what is listed; a tool the role may use answers by name all the same.

use punchlist_core::{Role, Run};
use serde_json::Value;

use crate::catalogue::{CATALOGUE, Operation, Profile};
use crate::config::{AgentConfig, ToolPattern};
use crate::schema;

/// Which tools to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The profile of the role; everything it may use while that profile has no tool yet.
    Default,
    Only(Profile),
    All,
}

impl Choice {
    /// Reads a profile's name; `all` lists everything the role may use.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        if name == "all" {
            return Some(Self::All);
        }
        Profile::ALL.into_iter().find(|profile| profile.name() == name).map(Self::Only)
    }
}

/// The tools of a role on an MCP host.
#[must_use]
pub fn listed(role: Role, choice: Choice) -> Vec<&'static Operation> {
    let profile = match choice {
        Choice::All => return usable(role).collect(),
        Choice::Only(profile) => return of_profile(role, profile, &[]),
        Choice::Default => match role {
            Role::Operator => Profile::Inbox,
            Role::Lead | Role::Owner => Profile::Mission,
            Role::Root | Role::System => Profile::Issue,
            Role::Worker => Profile::Plan,
        },
    };
    let own = of_profile(role, profile, &[]);
    if own.is_empty() { usable(role).collect() } else { own }
}

/// The tools of an agent in a run of ours: those its configuration names, else those that fit its
/// work. `has_issue`: its session is bound to an issue.
#[must_use]
pub fn of_run(run: &Run, has_issue: bool) -> Vec<&'static Operation> {
    if let Some(patterns) = &run.settings.tools {
        let tools = patterns.iter().filter_map(|pattern| ToolPattern::parse(pattern)).collect();
        let agent = AgentConfig { tools: Some(tools), ..AgentConfig::default() };
        return usable(run.role).filter(|operation| agent.offers(operation)).collect();
    }
    let (profile, mut extra) = match run.role {
        Role::Lead | Role::Owner => (Profile::Mission, Vec::new()),
        Role::Root if has_issue => (Profile::Issue, Vec::new()),
        Role::Root => (Profile::Turn, vec!["ask", "todo_hold", "todo_unhold"]),
        // A worker sees no list (T-21).
        Role::Worker | Role::Operator | Role::System => return Vec::new(),
    };
    extra.extend(run.plan.as_ref().map(|_| "plan"));
    of_profile(run.role, profile, &extra)
}

fn usable(role: Role) -> impl Iterator<Item = &'static Operation> {
    CATALOGUE.iter().filter(move |operation| operation.access.allows(role))
}

/// The tools of a profile that a role may use, and these beside them.
fn of_profile(role: Role, profile: Profile, extra: &[&str]) -> Vec<&'static Operation> {
    // A lead completes; a claim is for those who may not.
    let is_wanted = |operation: &Operation| role != Role::Lead || operation.name != "todo_claim";
    let is_listed = |operation: &&Operation| {
        let profiles = operation.surfaces.profiles;
        profiles.contains(&profile) && is_wanted(operation) || extra.contains(&operation.name)
    };
    usable(role).filter(is_listed).collect()
}

/// What a model sees of an operation: its description, and the schema of its input.
///
/// The description is not said twice, and no text says how long it may be: a model does not count
/// characters, and every session pays for the words. A text that is too long is refused with its
/// limit.
#[must_use]
pub fn shown(operation: &Operation) -> (String, Value) {
    let mut input = (operation.input_schema)();
    let description = schema::description(&input).to_owned();
    if let Value::Object(input) = &mut input {
        input.remove("description");
        for property in input.get_mut("properties").into_iter().filter_map(Value::as_object_mut) {
            property.values_mut().for_each(without_lengths);
        }
    }
    (description, input)
}

fn without_lengths(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    for word in ["minLength", "maxLength", "maxItems"] {
        schema.remove(word);
    }
    schema.get_mut("items").into_iter().for_each(without_lengths);
}
