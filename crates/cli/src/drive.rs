//! How long an agent continues: the flags, and the settings that follow from them.

use clap::{Arg, ArgMatches, builder::ValueParser};
use punchlist_ops::config::AgentConfig;
use punchlist_ops::config::drive::{
    DriveFlags, DriveSettings, MAX_CONTINUATIONS_LIMIT, Source, continuations, switch,
};

use crate::output;

pub(crate) fn args() -> [Arg; 2] {
    let on_or_off = |text: &str| switch(text).ok_or("give true or false");
    let number = |text: &str| {
        let expected = format!("give a number from 0 to {MAX_CONTINUATIONS_LIMIT}");
        continuations(text).ok_or(expected)
    };
    [
        Arg::new("auto-complete-todos")
            .long("auto-complete-todos")
            .value_name("true|false")
            .help("Keep the agent going until its list is done [default: as configured]")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(ValueParser::new(on_or_off)),
        Arg::new("max-todo-continuations")
            .long("max-todo-continuations")
            .value_name("N")
            .help("Maximum number of continuations; 0: never [default: as configured, else 10]")
            .allow_negative_numbers(true)
            .value_parser(ValueParser::new(number)),
    ]
}

pub(crate) fn flags(matches: &ArgMatches) -> DriveFlags {
    DriveFlags {
        auto_complete_todos: matches.get_one::<bool>("auto-complete-todos").copied(),
        max_todo_continuations: matches.get_one::<u32>("max-todo-continuations").copied(),
    }
}

/// The settings for continuing an agent, from these flags, the environment and its configuration;
/// and a warning for each value of the environment that cannot be parsed.
pub(crate) fn settings(
    agent: Option<&AgentConfig>,
    flags: DriveFlags,
) -> (DriveSettings, Vec<String>) {
    DriveSettings::resolve(agent, flags, &|name| std::env::var(name).ok())
}

/// As `settings`; prints the warnings.
pub(crate) fn settings_or_warn(agent: Option<&AgentConfig>, flags: DriveFlags) -> DriveSettings {
    let (settings, notes) = settings(agent, flags);
    notes.iter().for_each(|note| output::warn(&output::line(note)));
    settings
}

/// What a flag or the environment says: whether to continue, and how often. Where neither says
/// anything, the configuration of the agent decides (S-2…S-6).
pub(crate) fn said(settings: &DriveSettings) -> (Option<bool>, Option<i64>) {
    let is_said = |by: Source| matches!(by, Source::Flag | Source::Environment(_));
    let most = i64::from(settings.max_continuations);
    (
        is_said(settings.enabled_by).then_some(settings.enabled),
        is_said(settings.max_continuations_by).then_some(most),
    )
}
