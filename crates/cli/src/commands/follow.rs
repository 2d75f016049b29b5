//! `punch log -f` and `punch wait`: events as they happen.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use punchlist_core::Span;
use punchlist_ops::catalogue::{Define, find};
use punchlist_ops::follow::{Follow, check_types};
use punchlist_ops::operations::event_list::{self, EventList, EventRow};
use serde_json::Value;

use super::{call, operation};
use crate::args::Globals;
use crate::failure::Failure;
use crate::render::events::Form;
use crate::stop::Stop;
use crate::{caller, output, render};

/// How long to wait for events before checking whether to stop.
const PATIENCE: Duration = Duration::from_millis(200);

/// Adds `--follow` to `log`, the operation's own command.
pub(crate) fn with_flag(log: Command) -> Command {
    log.arg(
        Arg::new("follow")
            .long("follow")
            .short('f')
            .help("Show new events as they happen, until stopped; with --json one event per line")
            .action(ArgAction::SetTrue),
    )
    .arg(
        Arg::new("all")
            .long("all")
            .help("Also show each step of a run and each message")
            .conflicts_with(operation::id("brief"))
            .action(ArgAction::SetTrue),
    )
}

/// Asks for what people are shown: with names, and without steps and messages, unless they want them.
fn for_people(input: &mut Value, matches: &ArgMatches) {
    input["names"] = true.into();
    if !matches.get_flag("all") {
        input["brief"] = true.into();
    }
}

/// How the log is shown that an input asks for.
fn form_of(input: &Value, absolute: bool) -> Form {
    let fields = ["after", "before", "since", "visibility"];
    let is_part = fields.into_iter().any(|field| !input[field].is_null());
    Form { all: input["brief"] != true, absolute, is_part, is_narrow: false }
}

/// `punch log`.
pub(crate) fn page(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let operation = find(EventList::NAME)?;
    let mut input = operation::input(operation, &mut globals.clone(), matches);
    let is_text = !globals.json && !globals.compact && !globals.quiet;
    if is_text {
        for_people(&mut input, matches);
    }
    let form = form_of(&input, false);
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let answer = ops.answer(operation, &envelope, input);
    let answer = answer.map_err(|error| operation::in_flags(error.into(), operation))?;
    match answer.output::<event_list::Output>().filter(|_| is_text) {
        Some(log) => Ok(output::print(&render::events::page(log, form, envelope.now))?),
        None => call::show(globals, operation, &answer, envelope.now),
    }
}

pub(crate) fn wait_command() -> Command {
    Command::new("wait")
        .about("Wait until something happens in this project, and show it")
        .long_about(
            "Wait until something happens in this project, and show it.\n\n\
             Exit code 0: a matching event happened; 1 with the code `timeout`: none did in time. \
             Pass the `cursor` of the answer or the timeout to --after, so that no event between \
             two calls is missed. If the store was restored in between, the command exits with 1 \
             and the code `reset_required`.",
        )
        .arg(
            Arg::new("timeout")
                .long("timeout")
                .value_name("DURATION")
                .help("How long to wait at most, e.g. 90s or 15m")
                .default_value("60s")
                .value_parser(span),
        )
        .arg(
            Arg::new("after")
                .long("after")
                .value_name("SEQ")
                .help("Events after this number, including past ones; absent: only new ones")
                .value_parser(value_parser!(i64).range(0..)),
        )
        .arg(
            Arg::new("types")
                .long("types")
                .value_name("TYPE,…")
                .help("Only events of these types, e.g. todo_completed,claim_returned")
                .value_delimiter(',')
                .action(ArgAction::Append),
        )
        .after_help("Example: punch wait --types todo_completed --timeout 15m")
}

fn span(text: &str) -> Result<Span, String> {
    Span::parse(text).ok_or_else(|| format!("write {}", Span::SPELLING))
}

pub(crate) fn wait(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let timeout = matches.get_one::<Span>("timeout").copied().unwrap_or(Span::seconds(60));
    let types: Vec<String> =
        matches.get_many::<String>("types").into_iter().flatten().cloned().collect();
    check_types(&types)?;
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let after = matches.get_one::<i64>("after").copied();
    let mut follow = Follow::named_after(&ops, &envelope, after)?;
    let answer = follow.wait(&types, timeout)?;
    if globals.json {
        output::print_json(&answer)?;
    } else if !globals.quiet {
        let form = Form { all: true, ..Form::default() };
        let (names, now) = (follow.names(), caller::ticking());
        output::print(&render::events::rows(&answer.events, &names, form, now))?;
    }
    Ok(())
}

pub(crate) fn log(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let operation = find(EventList::NAME)?;
    let mut input = operation::input(operation, &mut globals.clone(), matches);
    if !globals.json {
        for_people(&mut input, matches);
    }
    let mut form = form_of(&input, true);
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let stop = Stop::on_signals();
    let begun = Follow::from_list(&ops, &envelope, input);
    let (mut follow, events) =
        begun.map_err(|error| operation::in_flags(error.into(), operation))?;
    show(globals, &mut form, &events, &follow)?;
    let mut is_lost = false;
    while !stop.asked() && !output::nobody_reads() {
        match follow.next(PATIENCE) {
            Ok(events) => {
                is_lost = false;
                show(globals, &mut form, &events, &follow)?;
            }
            // If the server restarts, following continues, with one message.
            Err(error) if error.meaning().retryable => {
                if !is_lost {
                    output::warn(&format!("{error}; trying again"));
                }
                is_lost = true;
                stop.wait(PATIENCE);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn show(
    globals: &Globals,
    form: &mut Form,
    events: &[EventRow],
    follow: &Follow<'_>,
) -> Result<(), Failure> {
    if !events.iter().any(|event| form.shows(event)) {
        return Ok(());
    }
    if globals.json {
        for event in events.iter().filter(|event| form.shows(event)) {
            output::print_json_line(event)?;
        }
        return Ok(());
    }
    let (names, now) = (follow.names(), caller::ticking());
    Ok(output::print(&render::events::more_rows(events, &names, form, now))?)
}
