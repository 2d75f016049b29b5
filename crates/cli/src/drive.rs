//! The flags that limit how long an agent continues.

use clap::{Arg, ArgMatches, builder::ValueParser};
use punchlist_ops::config::AgentConfig;
use punchlist_ops::config::drive::{
    DriveFlags, DriveSettings, MAX_CONTINUATIONS_LIMIT, continuations, switch,
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
            .help("Send the agent on until its list is drained [default: as configured]")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(ValueParser::new(on_or_off)),
        Arg::new("max-todo-continuations")
            .long("max-todo-continuations")
            .value_name("N")
            .help("How often at most; 0 is never [default: as configured, else 10]")
            .allow_negative_numbers(true)
            .value_parser(ValueParser::new(number)),
    ]
}

fn flags(matches: &ArgMatches) -> DriveFlags {
    DriveFlags {
        auto_complete_todos: matches.get_one::<bool>("auto-complete-todos").copied(),
        max_todo_continuations: matches.get_one::<u32>("max-todo-continuations").copied(),
    }
}

/// The settings for continuing an agent, from these flags, the environment and its configuration.
pub(crate) fn settings(matches: &ArgMatches, agent: Option<&AgentConfig>) -> DriveSettings {
    let variable = |name: &str| std::env::var(name).ok();
    let (settings, notes) = DriveSettings::resolve(agent, flags(matches), &variable);
    notes.iter().for_each(|note| output::warn(&output::line(note)));
    settings
}
