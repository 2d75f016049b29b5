//! `punch export`: the whole store, or the portable part of a project.
//!
//! `ops::portable` writes the store's file. The project's is the answer of an operation, which is
//! written to a file here.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use punchlist_core::text::counted;
use punchlist_ops::operations::project_export::{self, ProjectExport};
use punchlist_ops::portable::{Asking, ExportedTo};
use punchlist_store::care::Unfinished;
use serde_json::json;

use crate::args::Globals;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::{caller, output};

pub(crate) fn command() -> Command {
    Command::new("export")
        .about("Write the whole store, or a project, as JSON")
        .long_about(
            "Write the whole store, or a project, as JSON.\n\n\
             store: every project with its lists, issues, sessions, questions and log, as lines \
             of JSON. The same content always gives the same bytes. `punch import store` reads it \
             into an empty store of either database. Tokens, stored answers and settings of this \
             store are left out. Only the operator may export a store: name a FILE and run it at \
             a terminal, or use an operator's token.\n\n\
             project: only the project's name. Issues, todos and links are not exported.",
        )
        .arg(
            Arg::new("format")
                .value_name("FORMAT")
                .help("What to export")
                .value_parser(["store", "project"])
                .default_value("store"),
        )
        .arg(
            Arg::new("file")
                .value_name("FILE|-")
                .help("A new file that only you can read, or - for standard output")
                .value_parser(value_parser!(PathBuf))
                .default_value("-"),
        )
        .arg(
            Arg::new("force")
                .long("force")
                .help("Replace FILE if it exists")
                .action(ArgAction::SetTrue),
        )
        .after_help("Example: punch export store store.jsonl")
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let file = matches.get_one::<PathBuf>("file").filter(|file| *file != Path::new("-"));
    // Otherwise it would be reported like a store that cannot be opened.
    if let Some(file) = file
        && let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty())
    {
        let missing = |error| Failure::Io(format!("{}: {error}", file.display()));
        std::fs::metadata(folder).map_err(missing)?;
    }
    let force = matches.get_flag("force");
    let is_project = matches.get_one::<String>("format").is_some_and(|format| format == "project");
    match (is_project, file) {
        (true, file) => project(globals, file.map(PathBuf::as_path), force),
        (false, Some(file)) => store_to(globals, file, force),
        (false, None) => store(globals),
    }
}

fn store_to(globals: &Globals, file: &Path, force: bool) -> Result<(), Failure> {
    let ops = caller::database(globals)?;
    let (facts, token) = caller::credentials(globals, false);
    let asking = Asking { facts, token: token.as_deref(), now: caller::now()? };
    let stop = Stop::on_signals();
    let bar = Progress::counting(globals, "rows exported");
    let done = ops.export_to(&asking, file, force, &mut |rows| {
        bar.at(rows);
        go_on(&stop)
    });
    drop(bar);
    let done = done?;
    if globals.json {
        output::print_json(&done)?;
    } else if !globals.quiet {
        let ExportedTo { file, bytes, exported } = done;
        let rows = counted(exported.rows, "row", "rows");
        let events = counted(exported.events, "event", "events");
        let file = output::line(&file.display().to_string());
        let said = format!("Exported {rows} ({events}, {bytes} bytes) to {file}.\n");
        output::print(&said)?;
    }
    Ok(())
}

fn go_on(stop: &Stop) -> ControlFlow<()> {
    if stop.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn store(globals: &Globals) -> Result<(), Failure> {
    let ops = caller::database(globals)?;
    let (facts, token) = caller::credentials(globals, false);
    let asking = Asking { facts, token: token.as_deref(), now: caller::now()? };
    let mut out = Reader { out: output::stream(), is_gone: false };
    let done = ops.export(&asking, &mut out, &mut |_| ControlFlow::Continue(()));
    match done {
        Err(_) if out.is_gone => Err(Failure::Silent),
        done => Ok(done.map(|_| ())?),
    }
}

/// Standard output, and whether its reader is gone.
struct Reader<W> {
    out: W,
    is_gone: bool,
}

impl<W> Reader<W> {
    fn seen<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        self.is_gone |=
            written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        written
    }
}

impl<W: Write> Write for Reader<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.seen(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.seen(flushed)
    }
}

fn project(globals: &Globals, file: Option<&Path>, force: bool) -> Result<(), Failure> {
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let exported = ops.run::<ProjectExport>(&envelope, project_export::Input {})?;
    let text = serde_json::to_string_pretty(&exported).map_err(io::Error::from)? + "\n";
    let Some(file) = file else {
        return Ok(output::print(&output::escaped(&text))?);
    };
    if file.exists() && !force {
        let instead = "name a file that does not exist, or use --force";
        return Err(punchlist_ops::Error::FileExists { file: file.to_owned(), instead }.into());
    }
    let (unfinished, mut made) = Unfinished::create(file).map_err(punchlist_ops::Error::from)?;
    made.write_all(text.as_bytes())?;
    unfinished.keep().map_err(punchlist_ops::Error::from)?;
    if globals.json {
        output::print_json(&json!({ "file": file, "bytes": text.len() }))?;
    } else if !globals.quiet {
        let file = output::line(&file.display().to_string());
        output::print(&format!("Exported the project `{}` to {file}.\n", envelope.project))?;
    }
    Ok(())
}
