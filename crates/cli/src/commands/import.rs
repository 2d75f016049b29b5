//! `punch import`: an exported store into an empty one, or a checklist into an issue.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use punchlist_core::issue::checklist::MARKDOWN_LIMIT;
use punchlist_ops::Error;
use punchlist_ops::catalogue::find;
use punchlist_ops::explain::Fault;
use punchlist_ops::portable::Asking;
use serde_json::json;

use super::call;
use crate::args::Globals;
use crate::failure::Failure;
use crate::{caller, output};

pub(crate) fn command() -> Command {
    Command::new("import")
        .about("Read an exported store into an empty one, or a checklist into an issue")
        .long_about(
            "Read an exported store into an empty one, or a checklist into an issue.\n\n\
             store: what `punch export store` wrote, into a store without content, of either \
             database, all of it or nothing. New events are numbered above those of the export.\n\n\
             checklist: markdown such as `- [ ] read the code`, into the issue that --issue \
             names. Only what is new goes in. `[x]` becomes a claim of yours, for the operator to \
             judge; `[-]` is cancelled; `[/]` waits as `[ ]` does.",
        )
        .arg(
            Arg::new("format")
                .value_name("FORMAT")
                .help("What to read")
                .value_parser(["store", "checklist"])
                .required(true),
        )
        .arg(
            Arg::new("file")
                .value_name("FILE|-")
                .help("Where from: a file, or - for standard input")
                .value_parser(value_parser!(PathBuf))
                .required(true),
        )
        .after_help("Example: punch import checklist todo.md --issue 7")
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let Some(file) = matches.get_one::<PathBuf>("file") else {
        return Err(Failure::usage("no file was named".to_owned()));
    };
    match matches.get_one::<String>("format").map(String::as_str) {
        Some("checklist") => checklist(globals, file),
        _ => store(globals, file),
    }
}

fn open(file: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let opened = File::open(file);
    let opened = opened.map_err(|error| Failure::Io(format!("{}: {error}", file.display())))?;
    Ok(Box::new(BufReader::new(opened)))
}

fn store(globals: &Globals, file: &Path) -> Result<(), Failure> {
    let mut from = open(file)?;
    let ops = caller::ops(globals)?;
    let (facts, token) = caller::credentials(globals, false);
    let asking = Asking { facts, token: token.as_deref(), now: caller::now()? };
    let imported = ops.import(&asking, &mut *from)?;
    if globals.json {
        output::print(&output::json_text(&json!(imported)))?;
    } else if !globals.quiet {
        let (rows, events) = (imported.rows, imported.events);
        output::print(&format!("Imported {rows} rows ({events} events).\n"))?;
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
