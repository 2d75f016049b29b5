//! The settings of a driven run. Precedence: flag, environment, the agent's configuration, then the
//! default, which is off (F-13).
//!
//! Every switch is on, off or absent, so that `false` in the environment overrides a file that says
//! `true`. A value that cannot be parsed is ignored with a warning (S-8). No setting means
//! unlimited: 0 is none (P-10).

use serde::Serialize;

use super::AgentConfig;

/// The default number of continuations.
pub const MAX_CONTINUATIONS: u32 = 10;

/// The highest number of continuations.
pub const MAX_CONTINUATIONS_LIMIT: u32 = 1000;

/// The highest number of model calls for one message, and the default.
pub const MAX_ITERATIONS: u32 = 50;

/// The longest interval between two continuations: one hour.
pub const CHECK_INTERVAL_MS_MAX: u64 = 3_600_000;

/// The highest token limit for a run.
pub const MAX_TOKENS_LIMIT: u64 = 1_000_000_000;

/// The variables that switch driving on or off. Ours takes precedence over the seed's.
pub const ENABLED_VARIABLES: [&str; 2] =
    ["PUNCHLIST_AUTO_COMPLETE_TODOS", "SUPEROPENCODE_AUTO_COMPLETE_TODOS"];

/// The variables for the number of continuations. Ours takes precedence over the seed's.
pub const CONTINUATIONS_VARIABLES: [&str; 2] =
    ["PUNCHLIST_MAX_TODO_CONTINUATIONS", "SUPEROPENCODE_MAX_TODO_CONTINUATIONS"];

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Flag,
    /// The variable of this name.
    Environment(&'static str),
    /// The agent's table in a configuration file.
    Agent,
    Default,
}

/// The values from the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveFlags {
    pub auto_complete_todos: Option<bool>,
    pub max_todo_continuations: Option<u32>,
}

/// The settings of a driven run, and the source of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DriveSettings {
    pub enabled: bool,
    pub enabled_by: Source,
    pub max_continuations: u32,
    pub max_continuations_by: Source,
    /// The shortest interval between two continuations of a session; 0: none (Q-S1).
    pub check_interval_ms: u64,
    pub check_interval_ms_by: Source,
    pub max_iterations: u32,
    pub max_iterations_by: Source,
    pub max_tokens: Option<u64>,
    pub max_tokens_by: Source,
}

impl DriveSettings {
    /// Resolves the settings for an agent; `agent` is `None` if it is not configured. `variable`
    /// reads the environment. Also returns a warning for each value that could not be parsed.
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

/// The value of the first variable that parses. Empty variables are skipped; malformed ones are
/// skipped with a warning.
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
                notes.push(format!("ignored {name}, which is `{shown}`: expected {expected}"));
            }
        }
    }
    None
}

/// Parses a switch.
#[must_use]
pub fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "on" => Some(true),
        "false" | "0" | "off" => Some(false),
        _ => None,
    }
}

/// Parses a number of continuations.
#[must_use]
pub fn continuations(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_plain.then(|| text.parse().ok()).flatten();
    number.filter(|number| *number <= MAX_CONTINUATIONS_LIMIT)
}

#[cfg(test)]
mod tests;
