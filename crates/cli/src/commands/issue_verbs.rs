//! `punch issue list|close|reopen|set`: what people do to issues every day, in their own words.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use punchlist_ops::Operation;
use punchlist_ops::catalogue::find;
use serde_json::{Map, Value, json};

use super::{call, edit, flags, named, operation};
use crate::args::Globals;
use crate::failure::Failure;

/// The group `issue` with these beside what the catalogue has. If a command of the catalogue is
/// meant, only that one is built.
pub(crate) fn with_verbs(group: Command, second: Option<&str>) -> Command {
    let group = match group.find_subcommand("list") {
        Some(_) => group.mut_subcommand("list", |list| {
            list.mut_arg(operation::id("open"), |open| open.hide(true)).arg(
                Arg::new("all")
                    .long("all")
                    .help("Show closed issues too")
                    .action(ArgAction::SetTrue),
            )
        }),
        None => group,
    };
    match second.and_then(|second| operation::named("issue", second)) {
        Some(_) => group,
        None => group.subcommands([close(), reopen(), set(), edit::command()]),
    }
}

fn number() -> Arg {
    Arg::new("number").value_name("ISSUE").help(flags::ISSUE).required(true)
}

fn text(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(shown).help(help)
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

fn close() -> Command {
    Command::new("close")
        .about("Close an issue as resolved, or as rejected")
        .arg(number())
        .arg(switch("rejected", "Close it as rejected: it will not be done"))
        .arg(text("reason", "TEXT", "Why; it is shown with the issue"))
        .arg(switch("yes", "Close it even if child issues are open"))
        .after_help("Example: punch issue close 3 --reason 'Shipped in 1.2'")
}

fn reopen() -> Command {
    Command::new("reopen")
        .about("Open a closed issue again")
        .arg(number())
        .arg(text("reason", "TEXT", "Why; it is shown with the issue"))
        .after_help("Example: punch issue reopen 3 --reason 'It is back'")
}

fn set() -> Command {
    Command::new("set")
        .about("Change an issue's title, body, labels, priority or assignee")
        .arg(number())
        .arg(text("title", "TEXT", "A new title"))
        .arg(text("body", "TEXT", "A new body"))
        .arg(
            text("label", "TEXT", "A label; all labels are replaced by those you give")
                .action(ArgAction::Append),
        )
        .arg(switch("no-labels", "Remove all labels").conflicts_with("label"))
        .arg(
            text("priority", "PRIORITY", "How urgent it is")
                .value_parser(["critical", "high", "medium", "low"]),
        )
        .arg(switch("no-priority", "Remove the priority").conflicts_with("priority"))
        .arg(text("assign", "NAME", "The person who is responsible").alias("assignee"))
        .arg(switch("no-assign", "Remove the assignee").conflicts_with("assign"))
        .arg(
            text("expected-revision", "N", "Change nothing if the issue has another revision")
                .alias("expect-revision")
                .value_parser(value_parser!(i64)),
        )
        .after_help("Example: punch issue set 3 --label login --priority high --assign ann")
}

/// Is this one of ours?
pub(crate) fn is_verb(matches: &ArgMatches) -> bool {
    matches!(matches.subcommand_name(), Some("list" | "close" | "reopen" | "set"))
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("close", matches)) => {
            let is_rejected = matches.get_flag("rejected");
            let status = if is_rejected { "rejected" } else { "resolved" };
            moved(globals, matches, status, matches.get_flag("yes"))
        }
        Some(("reopen", matches)) => moved(globals, matches, "open", false),
        Some(("set", matches)) => change(globals, matches),
        Some((_, matches)) => list(globals, matches),
        None => Err(Failure::usage("no command was given".to_owned())),
    }
}

/// The open issues, unless others are asked for.
fn list(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let operation = find("issue_list")?;
    let mut input = operation::input(operation, &mut globals.clone(), matches);
    if globals.issue.is_some() {
        let message = "`punch issue list` does not use --issue".to_owned();
        return Err(Failure::Usage { message, hint: Some("leave --issue out".to_owned()) });
    }
    if !matches.get_flag("all") && input.get("status").is_none() {
        input["open"] = true.into();
    }
    called(globals, operation, input)
}

/// Errors name the flags of these commands.
fn called(globals: &Globals, operation: &Operation, input: Value) -> Result<(), Failure> {
    call::call(globals, operation, input).map_err(|failure| operation::in_flags(failure, operation))
}

fn of(globals: &Globals, matches: &ArgMatches) -> Result<i64, Failure> {
    let named = matches.get_one::<String>("number").map(String::as_str);
    named::issue(globals, named.unwrap_or_default())
}

fn moved(
    globals: &Globals,
    matches: &ArgMatches,
    status: &str,
    confirm: bool,
) -> Result<(), Failure> {
    let mut input = json!({ "number": of(globals, matches)?, "status": status });
    if let Some(reason) = matches.get_one::<String>("reason") {
        input["reason"] = reason.as_str().into();
    }
    if confirm {
        input["confirm"] = true.into();
    }
    called(globals, find("issue_transition")?, input)
}

fn change(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let mut input = Map::from_iter([("number".to_owned(), Value::from(of(globals, matches)?))]);
    let mut put = |name: &str, value: Value| drop(input.insert(name.to_owned(), value));
    for (flag, field) in
        [("title", "title"), ("body", "body"), ("priority", "priority"), ("assign", "assignee")]
    {
        if let Some(given) = matches.get_one::<String>(flag) {
            put(field, given.as_str().into());
        }
    }
    if let Some(labels) = matches.get_many::<String>("label") {
        put("labels", labels.map(String::as_str).collect());
    }
    if matches.get_flag("no-labels") {
        put("labels", json!([]));
    }
    if matches.get_flag("no-priority") {
        put("priority", Value::Null);
    }
    if matches.get_flag("no-assign") {
        put("assignee", Value::Null);
    }
    if let Some(revision) = matches.get_one::<i64>("expected-revision") {
        put("expectedRevision", (*revision).into());
    }
    if input.len() == 1 {
        let message = "nothing to change was given".to_owned();
        let hint = "give --title, --body, --label, --priority or --assign".to_owned();
        return Err(Failure::Usage { message, hint: Some(hint) });
    }
    called(globals, find("issue_update")?, Value::Object(input))
}
