//! How far an agent is driven: flag before environment, before its configuration, before the
//! default, which is off (F-13).
//!
//! Every switch has three positions, so that `false` in the environment switches off what a file
//! switched on. A value that cannot be read falls back to the next place that says something, with
//! a word about it (S-8). Nothing here is ever without limit: 0 is none (P-10).

use serde::Serialize;

use super::AgentConfig;

/// How often an agent is sent on, where nothing is said.
pub const MAX_CONTINUATIONS: u32 = 10;

/// The most that can be said.
pub const MAX_CONTINUATIONS_LIMIT: u32 = 1000;

/// How often a model is called for one message, at most and at best.
pub const MAX_ITERATIONS: u32 = 50;

/// The longest pause between two continuations: an hour.
pub const CHECK_INTERVAL_MS_MAX: u64 = 3_600_000;

/// The most tokens a run may be given.
pub const MAX_TOKENS_LIMIT: u64 = 1_000_000_000;

/// The variables that switch it on or off, ours before the seed's.
pub const ENABLED_VARIABLES: [&str; 2] =
    ["PUNCHLIST_AUTO_COMPLETE_TODOS", "SUPEROPENCODE_AUTO_COMPLETE_TODOS"];

/// The variables that say how often, ours before the seed's.
pub const CONTINUATIONS_VARIABLES: [&str; 2] =
    ["PUNCHLIST_MAX_TODO_CONTINUATIONS", "SUPEROPENCODE_MAX_TODO_CONTINUATIONS"];

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Flag,
    /// The variable of this name.
    Environment(&'static str),
    /// The agent's table in a file.
    Agent,
    Default,
}

/// What the command line says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveFlags {
    pub auto_complete_todos: Option<bool>,
    pub max_todo_continuations: Option<u32>,
}

/// How far an agent is driven, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DriveSettings {
    pub enabled: bool,
    pub enabled_by: Source,
    pub max_continuations: u32,
    pub max_continuations_by: Source,
    /// The least time between two continuations of a session; 0: none (Q-S1).
    pub check_interval_ms: u64,
    pub check_interval_ms_by: Source,
    pub max_iterations: u32,
    pub max_iterations_by: Source,
    pub max_tokens: Option<u64>,
    pub max_tokens_by: Source,
}

impl DriveSettings {
    /// What counts for an agent; none: nothing is configured about it. `variable` reads the
    /// environment. The second part says what was not understood, and what counts instead.
    #[must_use]
    pub fn resolve(
        agent: Option<&AgentConfig>,
        flags: DriveFlags,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> (Self, Vec<String>) {
        let mut notes = Vec::new();
        let enabled = flags.auto_complete_todos.map(|value| (value, Source::Flag)).or_else(|| {
            let expected = "true, false, on, off, 1 or 0";
            from_environment(ENABLED_VARIABLES, variable, switch, expected, &mut notes)
        });
        let (enabled, enabled_by) =
            enabled.unwrap_or_else(|| of_agent(agent, |agent| agent.todo_driven_execution, false));
        let continuations = flags
            .max_todo_continuations
            .map(|value| (value.min(MAX_CONTINUATIONS_LIMIT), Source::Flag))
            .or_else(|| {
                let expected = format!("0 to {MAX_CONTINUATIONS_LIMIT}");
                let names = CONTINUATIONS_VARIABLES;
                from_environment(names, variable, continuations, &expected, &mut notes)
            });
        let (max_continuations, max_continuations_by) = continuations.unwrap_or_else(|| {
            of_agent(agent, |agent| agent.max_todo_continuations, MAX_CONTINUATIONS)
        });
        let (check_interval_ms, check_interval_ms_by) =
            of_agent(agent, |agent| agent.todo_check_interval_ms, 0);
        let (max_iterations, max_iterations_by) =
            of_agent(agent, |agent| agent.max_iterations, MAX_ITERATIONS);
        let (max_tokens, max_tokens_by) = of_agent(agent, |agent| agent.max_tokens.map(Some), None);
        let settings = Self {
            enabled,
            enabled_by,
            max_continuations,
            max_continuations_by,
            check_interval_ms,
            check_interval_ms_by,
            max_iterations: max_iterations.min(MAX_ITERATIONS),
            max_iterations_by,
            max_tokens,
            max_tokens_by,
        };
        (settings, notes)
    }
}

fn of_agent<T>(
    agent: Option<&AgentConfig>,
    field: impl Fn(&AgentConfig) -> Option<T>,
    default: T,
) -> (T, Source) {
    let said = agent.and_then(field).map(|value| (value, Source::Agent));
    said.unwrap_or((default, Source::Default))
}

/// The first variable that says something; one that cannot be read is as if it were not there.
fn from_environment<T>(
    names: [&'static str; 2],
    variable: &dyn Fn(&str) -> Option<String>,
    read: fn(&str) -> Option<T>,
    expected: &str,
    notes: &mut Vec<String>,
) -> Option<(T, Source)> {
    for name in names {
        let Some(text) = variable(name) else { continue };
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        match read(text) {
            Some(value) => return Some((value, Source::Environment(name))),
            None => {
                let shown: String = text.chars().take(60).collect();
                notes.push(format!(
                    "{name} is `{shown}`, which is not {expected}: it does not count"
                ));
            }
        }
    }
    None
}

/// A switch as people write it.
#[must_use]
pub fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "on" => Some(true),
        "false" | "0" | "off" => Some(false),
        _ => None,
    }
}

/// A number of continuations.
#[must_use]
pub fn continuations(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_plain.then(|| text.parse().ok()).flatten();
    number.filter(|number| *number <= MAX_CONTINUATIONS_LIMIT)
}

#[cfg(test)]
mod tests;
