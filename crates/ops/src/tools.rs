//! Which operations an agent sees as tools, and what a model sees of each. MCP hosts and our own
//! loop use the same selection.
//!
//! A profile limits only the listing. A tool that is not listed can still be called by name if the
//! role may use it.

use punchlist_core::{Role, Run};
use serde_json::Value;

use crate::catalogue::{CATALOGUE, Operation, Profile};
use crate::config::{AgentConfig, ToolPattern};
use crate::schema;

/// Which tools to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The profile of the role; if that profile has no tools yet, everything the role may use.
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
    let Some(profile) = profile(role, choice) else { return usable(role).collect() };
    let own = of_profile(role, profile, &[]);
    let is_default = choice == Choice::Default;
    if own.is_empty() && is_default { usable(role).collect() } else { own }
}

/// What a host should know before the first call: what the listed tools are for, and what to do
/// after a refusal. It is short, because it is part of every session. Names of tools are in
/// backticks, because many of them are also ordinary words.
#[must_use]
pub fn instructions(role: Role, choice: Choice) -> String {
    let about = match profile(role, choice) {
        Some(Profile::Turn) => {
            "Plan with `create_todo`, see what is open with `list_todo`, settle each item with \
             `complete_todo` before the final answer."
        }
        Some(Profile::Issue) => {
            "`todo` holds the steps and criteria of this session's issue: start a step, settle it \
             with done, and claim a criterion with evidence when it is met. The operator accepts \
             criteria; ask for it with `checkpoint`. `ask` and `form` reach a person. `delegate` \
             hands work on. `issue` is the tracker."
        }
        Some(Profile::Plan) => {
            "`plan` shows the task you were assigned; add subtasks below it, and complete it when \
             it is done."
        }
        Some(Profile::Session) => {
            "`todo_write` replaces this session's list, `todo_read` shows it; keep one item in \
             progress."
        }
        Some(Profile::Mission) => {
            "A mission has pillars with todos and metrics. `mission_status` shows where it is; \
             completing a todo is the lead's."
        }
        Some(Profile::Inbox) => {
            "`gate_list` shows what waits for the operator, `gate_answer` answers it; nothing else \
             goes on until then."
        }
        None => "Every operation of this role is listed.",
    };
    format!(
        "punchlist keeps plans that outlive the session. {about} A refusal says what is true now \
         and what to do next."
    )
}

/// The profile to list; `None`: everything the role may use.
fn profile(role: Role, choice: Choice) -> Option<Profile> {
    match choice {
        Choice::All => None,
        Choice::Only(profile) => Some(profile),
        Choice::Default => Some(match role {
            Role::Operator => Profile::Inbox,
            Role::Lead | Role::Owner => Profile::Mission,
            Role::Root => Profile::Issue,
            Role::Worker | Role::System => Profile::Plan,
        }),
    }
}

/// Tools that remove something that is not stored elsewhere.
pub const DESTRUCTIVE: [&str; 4] =
    ["plan_purge", "project_merge", "token_revoke", "permission_revoke"];

/// Tools for which a second call with the same input has no further effect.
pub const IDEMPOTENT: [&str; 15] = [
    "agent_register",
    "agent_status",
    "delegation_cancel",
    "drive_pause",
    "drive_resume",
    "issue_checklist_edit",
    "mission_init",
    "mission_pause",
    "mission_resume",
    "permission_revoke",
    "plan_import",
    "session_bind",
    "task_assign",
    "todo_write",
    "token_revoke",
];

/// What the session of a run works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionWork {
    /// It is bound to an issue.
    Issue,
    /// It has a list of its own with open items.
    List,
    None,
}

/// The tools that a run of ours shows to its model: those that the agent's configuration lists,
/// otherwise those that fit its work.
#[must_use]
pub fn of_run(run: &Run, work: SessionWork) -> Vec<&'static Operation> {
    if run.settings.tools.is_some() {
        return callable_in_run(run);
    }
    let (profile, mut extra) = match (run.role, work) {
        (Role::Lead | Role::Owner, _) => (Profile::Mission, Vec::new()),
        (Role::Root, SessionWork::Issue) => (Profile::Issue, Vec::new()),
        (Role::Root, SessionWork::List) => {
            (Profile::Turn, vec!["ask", "todo_hold", "todo_unhold", "todo_write", "todo_read"])
        }
        (Role::Root, SessionWork::None) => (Profile::Turn, vec!["ask", "todo_hold", "todo_unhold"]),
        // A worker sees no list (T-21).
        (Role::Worker | Role::Operator | Role::System, _) => return Vec::new(),
    };
    extra.extend(run.plan.as_ref().map(|_| "plan"));
    of_profile(run.role, profile, &extra)
}

/// The tools that a run of ours can call by name: those that the agent's configuration lists,
/// otherwise every tool its role may use, shown to the model or not.
#[must_use]
pub fn callable_in_run(run: &Run) -> Vec<&'static Operation> {
    let Some(patterns) = &run.settings.tools else { return usable(run.role).collect() };
    let tools = patterns.iter().filter_map(|pattern| ToolPattern::parse(pattern)).collect();
    let agent = AgentConfig { tools: Some(tools), ..AgentConfig::default() };
    usable(run.role).filter(|operation| agent.offers(operation)).collect()
}

fn usable(role: Role) -> impl Iterator<Item = &'static Operation> {
    CATALOGUE.iter().filter(move |operation| operation.access.allows(role))
}

/// The tools of a profile that a role may use, and the tools in `extra`.
fn of_profile(role: Role, profile: Profile, extra: &[&str]) -> Vec<&'static Operation> {
    // A lead completes items. Claims are for roles that may not complete.
    let is_wanted = |operation: &Operation| role != Role::Lead || operation.name != "todo_claim";
    let is_listed = |operation: &&Operation| {
        let profiles = operation.surfaces.profiles;
        profiles.contains(&profile) && is_wanted(operation) || extra.contains(&operation.name)
    };
    usable(role).filter(is_listed).collect()
}

/// What a model sees of an operation: its description, and the schema of its input.
///
/// The description appears only once, and the limits on text lengths are left out. A model does not
/// count characters, and every session pays for the tokens. A text that is too long is refused with
/// its limit.
#[must_use]
pub fn shown(operation: &Operation) -> (String, Value) {
    let mut input = operation.input_schema();
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
