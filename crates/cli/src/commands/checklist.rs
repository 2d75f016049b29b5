//! `punch todo view|set|add|start|done|drop|note|block|unblock`: an issue's checklist, for people.
//!
//! Each is the operation `todo` with its action. `--issue` or the session selects the list.

use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_core::Role;
use punchlist_core::authority::{Action, Subject, may_any};
use punchlist_ops::catalogue::find;
use punchlist_ops::input::Maybe;
use punchlist_ops::operations::issue_show::{self, IssueShow};
use punchlist_ops::operations::session_show::{self, SessionShow};
use punchlist_ops::operations::todo;
use punchlist_ops::{Envelope, Error, Ops};
use serde_json::{Map, Value};

use super::{call, operation};
use crate::args::Globals;
use crate::failure::Failure;
use crate::{caller, output, render};

/// The names of the actions, and what they do.
const ACTIONS: [(&str, &str); 9] = [
    ("view", "Show the checklist"),
    ("set", "Replace the steps: what stays keeps its notes, what is missing is dropped"),
    ("add", "Add items at the end"),
    ("start", "Begin a step; the one in progress goes back to pending"),
    ("done", "Tick an item off"),
    ("drop", "Give an item up; it stays in view"),
    ("note", "Write a note under an item"),
    ("block", "Hold an item back, and say why"),
    ("unblock", "Let an item that is held go on"),
];

const WHOSE: &str = "The checklist is that of --issue N, or of the session's issue.";

/// The group `todo` with these actions besides those of the catalogue.
pub(crate) fn with_actions(todo: &Command) -> Command {
    let actions = ACTIONS.iter().map(|(name, about)| action(name, about));
    let others: Vec<Command> = (ACTIONS.len()..)
        .zip(todo.get_subcommands())
        .map(|(place, other)| match other.get_name() {
            "show" => show(other.clone()),
            _ => other.clone().display_order(place),
        })
        .collect();
    let alone = Command::new("todo")
        .about(todo.get_about().cloned().unwrap_or_default())
        .subcommand_required(true);
    alone.subcommands(actions).subcommands(others)
}

/// `todo show` shows one item, and without one the checklist; it stands first in the help.
fn show(show: Command) -> Command {
    show.display_order(0)
        .about("Show the checklist, or one item in full")
        .mut_arg(operation::id("todoId"), |item| {
            item.required(false).help("One item: its short id or its text [default: all of them]")
        })
        .after_help(WHOSE)
}

/// The action that is meant, where it is one of ours.
fn meant(matches: &ArgMatches) -> Option<&str> {
    let (name, inner) = matches.subcommand()?;
    let item = operation::id("todoId");
    let shows_all = name == "show" && inner.try_get_one::<String>(&item).ok().flatten().is_none();
    let own = || ACTIONS.iter().map(|(action, _)| *action).find(|action| *action == name);
    if shows_all { Some("view") } else { own() }
}

/// Is this one of ours?
pub(crate) fn is_action(matches: &ArgMatches) -> bool {
    meant(matches).is_some()
}

fn action(name: &'static str, about: &'static str) -> Command {
    let text = |id: &'static str, shown: &'static str, help: &'static str| {
        Arg::new(id).value_name(shown).help(help).required(true)
    };
    let which = text("content", "TEXT", "The item: its text, or a part that only it has");
    let items = Arg::new("items")
        .value_name("ITEM")
        .help("Texts, one each; \"# Name\" begins a phase")
        .required(true)
        .num_args(1..)
        .action(ArgAction::Append);
    let phase = Arg::new("phase").long("phase").value_name("NAME").help("The phase they belong to");
    let command = Command::new(name).about(about).after_help(WHOSE);
    match name {
        "set" => command.arg(items).arg(phase),
        "add" => command.arg(items).arg(phase).arg(
            Arg::new("criterion")
                .long("criterion")
                .help("Criteria: what must hold when the issue is done")
                .action(ArgAction::SetTrue),
        ),
        "done" => command.arg(which).arg(
            Arg::new("evidence")
                .long("evidence")
                .value_name("KIND:VALUE")
                .help("What shows it: commit:, test:, pr:, file:, url: or note: and a value")
                .action(ArgAction::Append),
        ),
        "drop" => {
            command.arg(which).arg(Arg::new("text").long("reason").value_name("TEXT").help("Why"))
        }
        "note" => command.arg(which).arg(text("text", "NOTE", "What to write")),
        "block" => command.arg(which).arg(text("text", "REASON", "Why")),
        "start" | "unblock" => command.arg(which),
        // `todo show` without an item is the same.
        "view" => command.hide(true),
        _ => command,
    }
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let (Some(action), Some((_, matches))) = (meant(matches), matches.subcommand()) else {
        return Err(Failure::usage("no action was given".to_owned()));
    };
    let mut input = Map::from_iter([("action".to_owned(), Value::from(action))]);
    for field in ["content", "text", "phase"] {
        let given = matches.try_get_one::<String>(field).ok().flatten();
        input.extend(given.map(|text| (field.to_owned(), text.as_str().into())));
    }
    for field in ["items", "evidence"] {
        let given = matches.try_get_many::<String>(field).ok().flatten();
        let given = given.map(|texts| texts.map(String::as_str).map(Value::from).collect());
        input.extend(given.map(|texts| (field.to_owned(), texts)));
    }
    if matches.try_get_one::<bool>("criterion").ok().flatten() == Some(&true) {
        input.insert("kind".into(), "criterion".into());
    }
    let tool = find("todo")?;
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let answer = ops.answer(tool, &envelope, Value::Object(input));
    let answer = answer.map_err(|error| advised(error, envelope.actor.role))?;
    let is_text = !globals.json && !globals.compact && !globals.quiet;
    let looked = is_text.then(|| target(globals, &ops, &envelope)).flatten();
    let (Some(shown), Some(kept)) = (looked, answer.output::<todo::Output>()) else {
        return call::show(globals, tool, &answer, envelope.now);
    };
    if action == "view" {
        return Ok(output::print(&render::checklist::whole(&shown, envelope.now))?);
    }
    let items = matches.try_get_many::<String>("items").ok().flatten();
    let items: Vec<&str> = items.into_iter().flatten().map(String::as_str).collect();
    let content = matches.try_get_one::<String>("content").ok().flatten();
    let (verb, what) = match (action, content, items.as_slice()) {
        ("set", ..) => ("Replaced the steps", String::new()),
        ("add", _, [one]) => ("Added", (*one).to_owned()),
        ("add", _, several) => ("Added", format!("{} items", several.len())),
        ("start", Some(text), _) => ("Started", text.clone()),
        ("done", Some(text), _) => ("Done", text.clone()),
        ("drop", Some(text), _) => ("Dropped", text.clone()),
        ("note", Some(text), _) => ("Noted", text.clone()),
        ("block", Some(text), _) => ("Held", text.clone()),
        (_, text, _) => ("Released", text.cloned().unwrap_or_default()),
    };
    let message = kept.message.as_deref();
    Ok(output::print(&render::checklist::changed(verb, &what, &shown, message))?)
}

/// The issue, to show it; the tool's own answer does not name it (K-60).
fn target(globals: &Globals, ops: &Ops, envelope: &Envelope) -> Option<issue_show::Output> {
    let envelope = Envelope { idempotency_key: None, ..envelope.clone() };
    let number = globals.issue.or_else(|| {
        let input = session_show::Input { session: Maybe::default() };
        ops.run::<SessionShow>(&envelope, input).ok()?.session.bound_issue
    })?;
    ops.run::<IssueShow>(&envelope, issue_show::Input { number }).ok()
}

/// Changes the hint for the operator without a session, who cannot ask the operator.
fn advised(error: Error, role: Role) -> Failure {
    if error.code() == "unbound" && may_any(role, Subject::Session, Action::TakeOver) {
        let hint =
            "name the issue with --issue N, or a session that is bound to it with --session ID";
        return Failure::Advised { error, hint: hint.to_owned() };
    }
    error.into()
}
