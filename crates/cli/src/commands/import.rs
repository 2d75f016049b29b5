//! `punch import`: an exported store into an empty one, a checklist into an issue, or the missions
//! of an old file.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use punchlist_core::issue::checklist::MARKDOWN_LIMIT;
use punchlist_core::text::counted;
use punchlist_ops::Error;
use punchlist_ops::catalogue::find;
use punchlist_ops::explain::Fault;
use punchlist_ops::old_missions;
use punchlist_ops::portable::Asking;
use punchlist_store::outside;
use serde_json::json;

use super::call;
use crate::args::Globals;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{caller, output};

pub(crate) fn command() -> Command {
    Command::new("import")
        .about("Read an exported store, a checklist, or missions from a SQLite file")
        .long_about(
            "Read an exported store into an empty one, a checklist into an issue, or missions from \
             a SQLite file.\n\n\
             store: a file written by `punch export store`. The store must be empty; its \
             database may be another one. Either everything is imported or nothing. New events \
             get higher numbers than those of the export.\n\n\
             checklist: markdown such as `- [ ] read the code`, into the issue that --issue \
             names. Only new items are added. `[x]` becomes a claim of yours, which the operator \
             judges; `[-]` is cancelled; `[/]` is added as pending, like `[ ]`.\n\n\
             mission-todos: a SQLite file with the tables missions, pillars and mission_todos. \
             The file is not changed. Missing missions and \
             pillars are created, existing ones stay as they are, and todos that were imported \
             before are skipped. `blocked` becomes pending; `completed` becomes a claim that the \
             lead judges, unless you give --accept-completed. Todos beyond a limit are imported \
             too, with a warning.",
        )
        .arg(
            Arg::new("format")
                .value_name("FORMAT")
                .help("What to import")
                .value_parser(["store", "checklist", "mission-todos"])
                .required(true),
        )
        .arg(
            Arg::new("file")
                .value_name("FILE|-")
                .help("The file, or - for standard input")
                .value_parser(value_parser!(PathBuf))
                .required(true),
        )
        .arg(
            Arg::new("accept-completed")
                .long("accept-completed")
                .help("mission-todos: import completed todos as completed, not as claims")
                .action(ArgAction::SetTrue),
        )
        .after_help(
            "Examples:\n  \
             punch import checklist todo.md --issue 7\n  \
             punch import mission-todos old.db --mission developer-experience",
        )
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let Some(file) = matches.get_one::<PathBuf>("file") else {
        return Err(Failure::usage("no file was named".to_owned()));
    };
    match matches.get_one::<String>("format").map(String::as_str) {
        Some("checklist") => checklist(globals, file),
        Some("mission-todos") => mission_todos(globals, matches, file),
        _ => store(globals, file),
    }
}

fn open(file: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let opened = outside::open(file);
    let opened = opened.map_err(|error| Failure::Io(format!("{}: {error}", file.display())))?;
    Ok(Box::new(BufReader::new(opened)))
}

fn store(globals: &Globals, file: &Path) -> Result<(), Failure> {
    let ops = caller::database(globals)?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let bar = Progress::of(globals, "Importing", size.max(1));
    let mut from = bar.reading(open(file)?);
    let (facts, token) = caller::credentials(globals, false);
    let asking = Asking { facts, token: token.as_deref(), now: caller::now()? };
    let imported = ops.import(&asking, &mut *from);
    drop((from, bar));
    let imported = imported?;
    if globals.json {
        output::print_json(&imported)?;
    } else if !globals.quiet {
        let rows = counted(imported.rows, "row", "rows");
        let events = counted(imported.events, "event", "events");
        output::print(&format!("Imported {rows} ({events}).\n"))?;
    }
    Ok(())
}

fn checklist(globals: &Globals, file: &Path) -> Result<(), Failure> {
    let Some(number) = globals.issue else {
        let hint = Some("say it with --issue N".to_owned());
        let message = "a checklist belongs to an issue, and none was named".to_owned();
        return Err(Failure::Usage { message, hint });
    };
    let mut bytes = Vec::new();
    let named = |error: io::Error| Failure::Io(format!("{}: {error}", file.display()));
    open(file)?.take(MARKDOWN_LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(named)?;
    let markdown = String::from_utf8(bytes).map_err(|_| Error::from(Fault::Utf8))?;
    let input = json!({ "number": number, "markdown": markdown });
    call::call(globals, find("issue_checklist_import")?, input)
}

fn mission_todos(globals: &Globals, matches: &ArgMatches, file: &Path) -> Result<(), Failure> {
    let mut globals = globals.clone();
    let mission = globals.take_for_field("mission", matches);
    let read = old_missions::input(file, mission.as_deref());
    let mut input = read.map_err(|error| match error {
        // The file has failed, not our store.
        Error::Store(error) => Failure::Io(error.detail),
        error => error.into(),
    })?;
    input["acceptCompleted"] = matches.get_flag("accept-completed").into();
    call::call(&globals, find("mission_import")?, input)
}
