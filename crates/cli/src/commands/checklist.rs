//! `punch todo view|set|add|start|done|drop|note|block|unblock`: an issue's checklist, for people.
//!
//! Each is the operation `todo` with its action. `--issue` or the session selects the list.

use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_core::Role;
use punchlist_core::authority::{Action, Subject, may_any};
use punchlist_core::text::normalised;
use punchlist_ops::catalogue::find;
use punchlist_ops::input::Maybe;
use punchlist_ops::operations::issue_show::{self, IssueShow};
use punchlist_ops::operations::session_show::{self, SessionShow};
use punchlist_ops::operations::todo;
use punchlist_ops::views::ItemView;
use punchlist_ops::{Envelope, Error, Ops};
use serde_json::{Map, Value};

use super::{call, named, operation};
use crate::args::Globals;
use crate::failure::Failure;
use crate::render::checklist::Ids;
use crate::{caller, output, render};

/// The names of the actions, and what they do.
const ACTIONS: [(&str, &str); 9] = [
    ("view", "Show the checklist"),
    ("set", "Replace the steps; a step with the same text keeps its notes"),
    ("add", "Add items at the end of the checklist"),
    ("start", "Start a step; the step in progress becomes pending again"),
    ("done", "Complete a step, or claim that a criterion is met"),
    ("drop", "Drop an item; it stays visible"),
    ("note", "Write a note under an item"),
    ("block", "Put an item on hold, with a reason"),
    ("unblock", "End the hold of an item"),
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

/// `todo show` shows one item, and without one the checklist; it comes first in the help.
fn show(show: Command) -> Command {
    show.display_order(0)
        .about("Show the checklist, or one item in full")
        .mut_arg(operation::id("todoId"), |item| {
            item.required(false)
                .help("One item: its short id or its text [default: the whole checklist]")
        })
        .after_help(format!("{}\n\n{WHOSE}", example("show")))
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

fn example(action: &str) -> &'static str {
    match action {
        "set" => "Example: punch todo set 'Read the log' 'Fix the header' --issue 3",
        "add" => "Example: punch todo add 'A test covers it' --criterion --issue 3",
        "start" => "Example: punch todo start 'Fix the header' --issue 3",
        "done" => "Example: punch todo done header --evidence commit:4f2a91c --issue 3",
        "drop" => "Example: punch todo drop 4F7Q --reason 'Not needed any more' --issue 3",
        "note" => "Example: punch todo note header 'It is set in proxy.conf' --issue 3",
        "block" => "Example: punch todo block header 'Waits for the new proxy' --issue 3",
        "unblock" => "Example: punch todo unblock header --issue 3",
        _ => "Example: punch todo show --issue 3",
    }
}

fn action(name: &'static str, about: &'static str) -> Command {
    let text = |id: &'static str, shown: &'static str, help: &'static str| {
        Arg::new(id).value_name(shown).help(help).required(true)
    };
    let which = text(
        "content",
        "ITEM",
        "The item: its exact text; at a terminal also its short id or a unique part of its text",
    );
    let items = Arg::new("items")
        .value_name("ITEM")
        .help("The text of an item; \"# Name\" begins a phase")
        .required(true)
        .num_args(1..)
        .action(ArgAction::Append);
    let phase = Arg::new("phase").long("phase").value_name("NAME").help("The phase of these items");
    let command =
        Command::new(name).about(about).after_help(format!("{}\n\n{WHOSE}", example(name)));
    match name {
        "set" => command.arg(items).arg(phase),
        "add" => command.arg(items).arg(phase).arg(
            Arg::new("criterion")
                .long("criterion")
                .help("Add criteria: what must be true when the issue is done")
                .action(ArgAction::SetTrue),
        ),
        "done" => command.arg(which).arg(
            Arg::new("evidence")
                .long("evidence")
                .value_name("KIND:VALUE")
                .help("Evidence: commit:, test:, pr:, file:, url: or note:, then a value")
                .action(ArgAction::Append),
        ),
        "drop" => {
            command.arg(which).arg(Arg::new("text").long("reason").value_name("TEXT").help("Why"))
        }
        "note" => command.arg(which).arg(text("text", "NOTE", "The text of the note")),
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
    for field in ["text", "phase"] {
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
    let content = matches.try_get_one::<String>("content").ok().flatten();
    let content = content.map(|named| exact(globals, &ops, &envelope, named)).transpose()?;
    input.extend(content.clone().map(|text| ("content".to_owned(), text.into())));
    let answer = ops.answer(tool, &envelope, Value::Object(input));
    let answer = answer.map_err(|error| {
        advised(error, envelope.actor.role).typed_by(|path| typed_as(path).into())
    })?;
    let is_text = !globals.json && !globals.compact && !globals.quiet;
    let looked = is_text.then(|| target(globals, &ops, &envelope)).flatten();
    let (Some(shown), Some(kept)) = (looked, answer.output::<todo::Output>()) else {
        return call::show(globals, tool, &answer, envelope.now);
    };
    if action == "view" {
        let ids = if named::may_be_brief(&envelope) { Ids::Shown } else { Ids::Hidden };
        return Ok(output::print(&render::checklist::whole(&shown, ids, envelope.now))?);
    }
    let items = matches.try_get_many::<String>("items").ok().flatten();
    let items: Vec<&str> = items.into_iter().flatten().map(String::as_str).collect();
    let (verb, what) = match (action, &content, items.as_slice()) {
        ("set", ..) => ("Replaced the steps", String::new()),
        ("add", _, [one]) => ("Added", (*one).to_owned()),
        ("add", _, several) => {
            // A heading is not an item.
            let count = several.iter().filter(|item| !item.starts_with("# ")).count();
            ("Added", if count == 1 { "1 item".to_owned() } else { format!("{count} items") })
        }
        ("start", Some(text), _) => ("Started", text.clone()),
        ("done", Some(text), _) if is_claimed(&shown, text) => ("Claimed", text.clone()),
        ("done", Some(text), _) => ("Done", text.clone()),
        ("drop", Some(text), _) => ("Dropped", text.clone()),
        ("note", Some(text), _) => ("Noted", text.clone()),
        ("block", Some(text), _) => ("Held", text.clone()),
        (_, text, _) => ("Not on hold", text.clone().unwrap_or_default()),
    };
    let message = kept.message.as_deref();
    Ok(output::print(&render::checklist::changed(verb, &what, &shown, message))?)
}

/// The exact text of the item that a person names; what was typed, if no item fits.
fn exact(
    globals: &Globals,
    ops: &Ops,
    envelope: &Envelope,
    named: &str,
) -> Result<String, Failure> {
    let shown = match named::may_be_brief(envelope) {
        true => target(globals, ops, envelope),
        false => None,
    };
    let Some(shown) = shown else { return Ok(named.to_owned()) };
    let items: Vec<&ItemView> = shown.criteria.iter().chain(&shown.steps).collect();
    let found = named::item(&items, named)?;
    Ok(found.map_or_else(|| named.to_owned(), |item| item.content.clone()))
}

/// Is this a criterion that waits for the operator's decision?
fn is_claimed(shown: &issue_show::Output, text: &str) -> bool {
    let text = normalised(text);
    let waits = |item: &ItemView| item.claim.is_some() && item.accepted_at.is_none();
    shown.criteria.iter().any(|item| waits(item) && normalised(&item.content) == text)
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

/// What people type for a field of the tool.
fn typed_as(path: &str) -> &'static str {
    match path.split(['.', '[']).next() {
        Some("evidence") => "--evidence",
        Some("phase") => "--phase",
        Some("text") => "the text",
        _ => "ITEM",
    }
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
