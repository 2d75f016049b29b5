//! The command tree: the global flags, the fixed commands, and one command for each operation
//! that asks for one.
//!
//! Only what the first word needs is built in full; the rest are names for help and suggestions.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_core::{AgentPath, Role};
use punchlist_ops::CATALOGUE;

use crate::commands;

/// Help is not laid out wider than this.
const WIDEST: usize = 100;

/// Below this width the help of an argument goes on a line of its own.
const NARROW: usize = 70;

/// Global flags that take a value; they are skipped to find the first word.
const WITH_VALUE: [&str; 11] = [
    "--db",
    "--project",
    "--as",
    "--agent",
    "--session",
    "--conversation",
    "--turn",
    "--mission",
    "--pillar",
    "--issue",
    "--idempotency-key",
];

/// The values of the global flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globals {
    pub(crate) db: Option<String>,
    pub(crate) project: Option<String>,
    pub(crate) json: bool,
    pub(crate) compact: bool,
    pub(crate) quiet: bool,
    pub(crate) no_color: bool,
    pub(crate) carry: Option<Role>,
    pub(crate) agent: Option<AgentPath>,
    pub(crate) session: Option<String>,
    /// A session from the environment, if an issue is named as well.
    pub(crate) implied_session: Option<String>,
    pub(crate) conversation: Option<String>,
    pub(crate) turn: Option<String>,
    pub(crate) mission: Option<String>,
    pub(crate) pillar: Option<String>,
    pub(crate) issue: Option<i64>,
    /// The issue that is meant, if it was not named by its number.
    pub(crate) issue_title: Option<String>,
    pub(crate) idempotency_key: Option<String>,
}

impl Globals {
    pub(crate) fn from_matches(matches: &ArgMatches) -> Self {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        let named = text("issue");
        // A typed issue has priority over a session from the environment, which may be unrelated.
        let implied =
            named.is_some() && matches.value_source("session") == Some(ValueSource::EnvVariable);
        let session = text("session");
        let (session, implied_session) = if implied { (None, session) } else { (session, None) };
        Self {
            db: text("db"),
            project: text("project"),
            json: matches.get_flag("json"),
            compact: matches.get_flag("compact"),
            quiet: matches.get_flag("quiet"),
            no_color: matches.get_flag("no-color"),
            carry: matches.get_one::<Role>("as").copied(),
            agent: matches.get_one::<AgentPath>("agent").cloned(),
            session,
            implied_session,
            conversation: text("conversation"),
            turn: text("turn"),
            mission: text("mission"),
            pillar: text("pillar"),
            issue: named.as_deref().and_then(|named| issue(named).ok()),
            issue_title: named.filter(|named| issue(named).is_err()),
            idempotency_key: text("idempotency-key"),
        }
    }
}

impl Globals {
    /// The value of a global flag that this command uses as an input field, if it was given on the
    /// command line. Then it no longer describes the caller.
    pub(crate) fn take_for_field(&mut self, field: &str, matches: &ArgMatches) -> Option<String> {
        if matches.value_source(field) != Some(ValueSource::CommandLine) {
            return None;
        }
        match field {
            "agent" => self.agent.take().map(|agent| agent.to_string()),
            "session" => self.session.take(),
            "mission" => self.mission.take(),
            "pillar" => self.pillar.take(),
            _ => None,
        }
    }
}

/// Was `--json` given? Checked before parsing, so that a parse error is shown in the right form.
pub(crate) fn asks_for_json(words: &[OsString]) -> bool {
    words.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json")
}

/// Was `--no-color` given? Checked before parsing, because parsing itself may print.
pub(crate) fn asks_for_no_color(words: &[OsString]) -> bool {
    words.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--no-color")
}

/// Was the help of `punch` itself asked for?
pub(crate) fn asks_for_help(words: &[OsString]) -> bool {
    words.iter().skip(1).any(|word| word == "--help" || word == "-h")
}

/// The words that are neither flags nor the values of global ones.
fn plain_words(words: &[OsString]) -> impl Iterator<Item = String> + '_ {
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy());
    std::iter::from_fn(move || {
        while let Some(word) = words.next() {
            if WITH_VALUE.contains(&word.as_ref()) {
                words.next();
            } else if !word.starts_with('-') {
                return Some(word.into_owned());
            }
        }
        None
    })
}

/// The first plain word: the command.
pub(crate) fn first_word(words: &[OsString]) -> Option<String> {
    plain_words(words).next()
}

/// The second plain word. Some commands have two words.
pub(crate) fn second_word(words: &[OsString]) -> Option<String> {
    plain_words(words).nth(1)
}

/// The command tree for one first word. Of a command of two words, only the given one is built:
/// building each of them would read a schema.
pub(crate) fn tree(word: Option<&str>, second: Option<&str>) -> Command {
    let root = root();
    if let Some(command) = word.and_then(|word| commands::built(word, second)) {
        return root.subcommand(command);
    }
    // Help, or an unknown word: every name, for the list or a suggestion.
    let fixed = commands::FIXED.iter().filter_map(|name| commands::built(name, None));
    let mut words: Vec<&str> = Vec::new();
    for word in CATALOGUE.iter().filter_map(|o| o.surfaces.command.first().copied()) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    root.subcommands(fixed.chain(words.into_iter().filter_map(|word| commands::built(word, None))))
}

fn root() -> Command {
    Command::new("punch")
        .about("A durable work ledger and execution engine for AI agents")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .term_width(crate::output::width().min(WIDEST))
        .next_line_help(crate::output::width() < NARROW)
        .args(global_args().into_iter().map(|arg| arg.hide(true)))
}

/// A command that shows the options which every command has.
pub(crate) fn options() -> Command {
    let width = crate::output::width();
    Command::new("punch")
        .term_width(width.min(WIDEST))
        .next_line_help(width < NARROW)
        .args(global_args())
}

fn global_args() -> Vec<Arg> {
    let value = |name: &'static str, shown: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(shown).help(help).global(true)
    };
    let switch = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).help(help).action(ArgAction::SetTrue).global(true)
    };
    let context = |arg: Arg| arg.help_heading("Identity and context");
    vec![
        value(
            "db",
            "URL|PATH",
            "The store: a SQLite file, postgres://… or http(s)://… [default: in your data directory]",
        )
        .env("PUNCHLIST_DB")
        .hide_env_values(true),
        value("project", "NAME", "The project [default: the repository's]")
            .env("PUNCHLIST_PROJECT")
            .hide_env_values(true),
        switch("json", "Print the bare output object, or {\"error\":…}"),
        switch("compact", "Print short text for agents, one item per line (format punchlist/1)"),
        switch("quiet", "Print nothing on success").short('q'),
        switch("no-color", "No colours, also not on a terminal"),
        context(value("as", "ROLE", "Act in this role, where you may").value_parser(role)),
        context(
            value("agent", "PATH", "Act as this agent, e.g. primary.subagents.writer")
                .value_parser(agent),
        ),
        context(
            value("session", "ID", "The session the caller is in")
                .env("PUNCHLIST_SESSION")
                .hide_env_values(true),
        ),
        context(value("conversation", "ID", "The conversation the caller is in")),
        context(value("turn", "ID", "The turn the caller is in")),
        context(value("mission", "SLUG", "The mission the caller works for")),
        context(value("pillar", "SLUG", "The pillar the caller works for")),
        context(value("issue", "N", "The issue that is meant, where it is not the session's")),
        context(value(
            "idempotency-key",
            "KEY",
            "The same key with the same input has one effect (kept 7 days)",
        )),
    ]
}

fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| {
        let names: Vec<&str> = Role::ALL.iter().map(|role| role.name()).collect();
        format!("there is no such role; the roles are {}", names.join(", "))
    })
}

/// The number of an issue: `3`, or `#3` as it is shown.
pub(crate) fn issue(text: &str) -> Result<i64, String> {
    let number = text.strip_prefix('#').unwrap_or(text).parse().ok();
    number.ok_or_else(|| "an issue is named by its number, e.g. 3 or '#3'".to_owned())
}

fn agent(text: &str) -> Result<AgentPath, String> {
    AgentPath::parse(text)
        .ok_or_else(|| "a path is words of letters, digits, - and _, joined by dots".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_found_behind_flags_and_their_values() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let first = |text: &str| first_word(&words(text));
        assert_eq!(first("punch --db call log"), Some("log".into()));
        assert_eq!(first("punch --json --project p status"), Some("status".into()));
        assert_eq!(first("punch --db=x call"), Some("call".into()));
        assert_eq!(first("punch --help"), None);
    }

    #[test]
    fn every_global_flag_with_a_value_is_known_to_the_first_word() {
        for arg in global_args().iter().filter(|arg| arg.get_action().takes_values()) {
            let flag = format!("--{}", arg.get_id());
            assert!(WITH_VALUE.contains(&flag.as_str()), "{flag}");
        }
    }

    #[test]
    fn no_argument_takes_an_unknown_flag_for_its_value() {
        fn walk(command: &Command) {
            for arg in command.get_arguments() {
                let takes_any = arg.is_allow_hyphen_values_set() || arg.is_trailing_var_arg_set();
                assert!(!takes_any, "{} of {}", arg.get_id(), command.get_name());
            }
            command.get_subcommands().for_each(walk);
        }
        walk(&tree(None, None));
    }

    #[test]
    fn the_whole_tree_is_sound() {
        tree(None, None).debug_assert();
        let of_operations = CATALOGUE.iter().filter_map(|o| o.surfaces.command.first().copied());
        for name in commands::FIXED.into_iter().chain(of_operations) {
            tree(Some(name), None).debug_assert();
        }
    }
}
