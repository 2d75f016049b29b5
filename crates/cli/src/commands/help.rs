//! `punch help`: the commands in groups, the options that every command has, or one command.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::args;
use crate::failure::Failure;
use crate::output::{self, BOLD};
use crate::render::columns::hanging;

/// The commands in the order people usually need them.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Everyday",
        &[
            "status",
            "inbox",
            "issue",
            "todo",
            "criterion",
            "ready",
            "plan",
            "run",
            "runs",
            "session",
            "log",
            "wait",
            "digest",
        ],
    ),
    ("Missions", &["mission", "metric", "delegation", "chat"]),
    (
        "Agents",
        &[
            "init",
            "agent",
            "mcp",
            "hook",
            "worker",
            "permission",
            "authority",
            "audit",
            "call",
            "demo",
        ],
    ),
    (
        "Store",
        &[
            "serve",
            "open",
            "project",
            "store",
            "token",
            "config",
            "doctor",
            "backup",
            "restore",
            "export",
            "import",
            "completions",
            "man",
            "help",
        ],
    ),
];

pub(crate) fn command() -> Command {
    Command::new("help")
        .about("Show the commands, or the help of one")
        .arg(
            Arg::new("topic")
                .value_name("COMMAND")
                .help("A command, or `options` for those that every command has")
                .num_args(0..)
                .action(ArgAction::Append),
        )
        .after_help("Examples:\n  punch help issue new\n  punch help options")
}

pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let topic: Vec<&String> = matches.get_many::<String>("topic").into_iter().flatten().collect();
    let words: Vec<&str> = topic.iter().map(|word| word.as_str()).collect();
    match words.as_slice() {
        [] => output::print(&overview())?,
        ["options"] => output::print(&options())?,
        [first, rest @ ..] => {
            let mut command = args::tree(Some(first), rest.first().copied());
            command.build();
            let mut found = command.find_subcommand(first);
            for word in rest {
                found = found.and_then(|command| command.find_subcommand(word));
            }
            let Some(found) = found else {
                let message = format!("there is no command `{}`", words.join(" "));
                let hint = Some("`punch help` shows all commands".to_owned());
                return Err(Failure::Usage { message, hint });
            };
            output::print(&found.clone().render_long_help().ansi().to_string())?;
        }
    }
    Ok(())
}

/// All commands, in groups.
pub(crate) fn overview() -> String {
    let tree = args::tree(None, None);
    let width = output::width();
    let mut shown = format!(
        "{}\n{BOLD}Usage:{BOLD:#} punch [COMMAND]\n\n{}",
        hanging("", "", &tree.get_about().map(ToString::to_string).unwrap_or_default(), width),
        hanging("", "", "Without a command it shows what matters now in this project.", width),
    );
    let mut named: Vec<&str> = Vec::new();
    let line = |command: &Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let about = about.lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
        let lead = format!("  {:<12} ", command.get_name());
        hanging(&lead, &lead, &about, width)
    };
    for (group, words) in GROUPS {
        shown.push_str(&format!("\n{BOLD}{group}{BOLD:#}\n"));
        for command in words.iter().filter_map(|word| tree.find_subcommand(word)) {
            shown.push_str(&line(command));
        }
        named.extend(words);
    }
    let rest: Vec<&Command> = tree
        .get_subcommands()
        .filter(|command| !named.contains(&command.get_name()) && !command.is_hide_set())
        .collect();
    if !rest.is_empty() {
        shown.push_str(&format!("\n{BOLD}More{BOLD:#}\n"));
        shown.extend(rest.into_iter().map(line));
    }
    let more = "`punch help COMMAND` shows one command, `punch help options` the options that \
                every command has.";
    shown.push_str(&format!("\n{}", hanging("", "", more, width)));
    let codes =
        "Exit codes: 0 done, 1 refused by a rule, 2 usage, 3 store or I/O, 4 not permitted.";
    shown.push_str(&hanging("", "", codes, width));
    shown
}

/// The options that every command has.
fn options() -> String {
    let shown = args::options().render_long_help().ansi().to_string();
    match shown.split_once("Options:") {
        Some((_, options)) => {
            format!("{BOLD}Options of every command{BOLD:#}\n{}", options.trim_start_matches('\n'))
        }
        None => shown,
    }
}
