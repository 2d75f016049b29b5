//! `punch call OPERATION [JSON|-]`: every operation of the catalogue, by name. `--issue` and
//! `--session` are used or refused, as on the commands for people.

use std::ffi::OsString;
use std::io::Read;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_core::Time;
use punchlist_ops::catalogue::{CATALOGUE, Define, Operation, find};
use punchlist_ops::dispatch::{INPUT_MAX, parse_json};
use punchlist_ops::explain::Fault;
use punchlist_ops::{Answer, Error, compact, schema};
use serde_json::{Value, json};

use super::{operation, token_new};
use crate::args::Globals;
use crate::failure::Failure;
use crate::{caller, output, render};

pub(crate) fn command() -> Command {
    Command::new("call")
        .about("Call any operation of the catalogue with a JSON input")
        .arg(
            Arg::new("operation")
                .value_name("OPERATION")
                .help("The operation's name, e.g. list_todo"),
        )
        .arg(
            Arg::new("input")
                .value_name("JSON|-")
                .help("The input object, or - to read it from standard input; absent: {}")
                .value_parser(clap::value_parser!(OsString)),
        )
        .arg(Arg::new("list").long("list").help("List all operations").action(ArgAction::SetTrue))
        .arg(
            Arg::new("schema")
                .long("schema")
                .help("Show the operation's schemas and an example, and call nothing")
                .action(ArgAction::SetTrue),
        )
        .after_help(
            "Example: punch call create_todo '{\"items\":[{\"title\":\"Measure\"}]}' \
             --conversation c1 --turn t1 --json",
        )
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    if matches.get_flag("list") {
        return list(globals);
    }
    let Some(name) = matches.get_one::<String>("operation") else {
        let hint = Some("`punch call --list` shows all operations".to_owned());
        return Err(Failure::Usage { message: "no operation was named".to_owned(), hint });
    };
    let operation = find(name)?;
    if matches.get_flag("schema") {
        return describe(operation);
    }
    let text = match matches.get_one::<OsString>("input") {
        None => String::new(),
        Some(word) if word == "-" => read_stdin()?,
        Some(word) => word.to_str().ok_or(Error::from(Fault::Utf8))?.to_owned(),
    };
    let mut input = parse_json(&text)?;
    if input.is_object() {
        // `prepared` does the same for a command of its own words.
        if operation.name == "token_new" {
            token_new::refuse_misleading(matches)?;
        }
        let command = format!("call {}", operation.name);
        operation::name_issue(operation, &command, globals, &mut input)?;
        name_session(operation, globals, matches, &mut input)?;
    }
    call(globals, operation, input)
}

/// A session that was typed fills the field `session`, or describes the caller; another one in the
/// input is refused.
fn name_session(
    operation: &Operation,
    globals: &Globals,
    matches: &ArgMatches,
    input: &mut Value,
) -> Result<(), Failure> {
    let is_typed = matches.value_source("session") == Some(ValueSource::CommandLine);
    let Some(session) = globals.session.as_deref().filter(|_| is_typed) else { return Ok(()) };
    if operation.input_schema()["properties"].get("session").is_none() {
        return Ok(());
    }
    match input.get("session").filter(|given| !given.is_null()) {
        // An issue or a plan is named: the session is the caller's own.
        None if input.get("number").is_some() || input.get("planFile").is_some() => {}
        None => input["session"] = session.into(),
        Some(given) if *given == session => {}
        Some(given) => {
            let message = format!("two sessions are named: {given}, and {session} with --session");
            let hint = Some("name the session once".to_owned());
            return Err(Failure::Usage { message, hint });
        }
    }
    Ok(())
}

/// Calls an operation and shows its answer in the form that was asked for.
pub(super) fn call(globals: &Globals, operation: &Operation, input: Value) -> Result<(), Failure> {
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let answer = ops.answer(operation, &envelope, input)?;
    show(globals, operation, &answer, envelope.now)
}

/// Shows an output that our own code requested and perhaps changed.
pub(super) fn show_output<D: Define>(
    globals: &Globals,
    output: D::Output,
    now: Time,
) -> Result<(), Failure> {
    show(globals, find(D::NAME)?, &Answer::new(output), now)
}

/// Shows an operation's answer in the form that was asked for.
pub(super) fn show(
    globals: &Globals,
    operation: &Operation,
    answer: &Answer,
    now: Time,
) -> Result<(), Failure> {
    if globals.json {
        output::print_json(&answer.to_json()?)?;
    } else if globals.compact {
        output::print(&output::clean(&compact::text(&answer.to_json()?)))?;
    } else if !globals.quiet {
        output::print(&render::answer(operation, answer, now)?)?;
    }
    Ok(())
}

/// All of standard input, up to the limit of an input.
pub(super) fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let limit = INPUT_MAX as u64 + 1;
    std::io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > INPUT_MAX {
        return Err(Error::from(Fault::TooLarge { limit: INPUT_MAX }).into());
    }
    String::from_utf8(bytes).map_err(|_| Error::from(Fault::Utf8).into())
}

fn list(globals: &Globals) -> Result<(), Failure> {
    if globals.json {
        let names: Vec<Value> = CATALOGUE
            .iter()
            .map(|o| json!({ "name": o.name, "description": o.description() }))
            .collect();
        return Ok(output::print_json(&json!({ "operations": names }))?);
    }
    let rows = CATALOGUE.iter().map(|o| vec![o.name.to_owned(), o.description()]).collect();
    Ok(output::print(&render::columns::aligned(rows, output::width()))?)
}

fn describe(operation: &Operation) -> Result<(), Failure> {
    let (input, output_schema) = (operation.input_schema(), operation.output_schema());
    let example: Value = serde_json::from_str(operation.example).unwrap_or_default();
    let text = json!({
        "name": operation.name,
        "description": schema::description(&input),
        "input": input,
        "output": output_schema,
        "example": example,
    });
    Ok(output::print(&format!("{text:#}\n"))?)
}
