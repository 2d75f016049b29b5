//! `punch backup` and `punch restore`: a copy of the store, and a copy put back.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use punchlist_core::Span;
use punchlist_core::authority::Action;
use punchlist_ops::care::{BackedUp, Restore};
use punchlist_ops::{Error, Ops};
use punchlist_store::Target;
use serde::Serialize;

use crate::args::Globals;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::render::copies;
use crate::stop::Stop;
use crate::{caller, output};

const POSTGRES: &str = "A PostgreSQL store is backed up with pg_dump and restored with pg_restore.";

pub(crate) fn command() -> Command {
    Command::new("backup")
        .about("Copy the store while it is in use")
        .long_about(format!(
            "Copy the store while it is in use.\n\n\
             The copy is checked, and only you can read it. If the backup fails, no file is \
             left behind. Without FILE it is written beside the store, with the time in its name; \
             if FILE is a folder, it gets such a name there. {POSTGRES}"
        ))
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .help("A new file, or a folder [default: beside the store]")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            Arg::new("every")
                .long("every")
                .value_name("DURATION")
                .help("Keep running, and make a backup this often, e.g. 15m or 12h")
                .value_parser(every),
        )
        .arg(
            Arg::new("keep")
                .long("keep")
                .value_name("N")
                .help("Keep the newest N backups of this store there, and delete older ones")
                .value_parser(value_parser!(u64).range(1..)),
        )
        .after_help("Example: punch backup /mnt/backups --every 15m --keep 96")
}

pub(crate) fn restore_command() -> Command {
    Command::new("restore")
        .about("Replace the store by a backup")
        .long_about(format!(
            "Replace the store by a backup.\n\n\
             A file that is not a backup, is damaged, or comes from a newer punch is refused. If \
             the store has events that the backup does not have, they would be lost, so --yes is \
             required. The replaced store is kept beside the new one.\n\n\
             A backup contains tokens, so only the operator may restore one: at a terminal, or \
             with a token of the store that is replaced. If the store is too damaged to check \
             tokens, restore it at a terminal. {POSTGRES}"
        ))
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .help("The backup")
                .required(true)
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            Arg::new("yes")
                .long("yes")
                .help("Restore even if events that are not in the backup are lost")
                .action(ArgAction::SetTrue),
        )
        .after_help("Example: punch restore /mnt/backups/punch.db.20300131T090000Z.backup")
}

fn every(text: &str) -> Result<Span, String> {
    match Span::parse(text) {
        Some(span) if span.as_seconds() > 0 => Ok(span),
        Some(_) => Err("it must be longer than nothing".to_owned()),
        None => Err(format!("write {}", Span::SPELLING)),
    }
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let to = matches.get_one::<PathBuf>("file");
    let keep = matches.get_one::<u64>("keep").and_then(|keep| usize::try_from(*keep).ok());
    let every = matches.get_one::<Span>("every");
    if every.is_some() && to.is_some_and(|to| !to.is_dir()) {
        let message = "--every makes many backups, and FILE is not a folder".to_owned();
        let hint = Some("name a folder that exists, or leave FILE out".to_owned());
        return Err(Failure::Usage { message, hint });
    }
    let folder = to.and_then(|to| to.parent()).filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(Failure::Io(format!("the folder {} does not exist", folder.display())));
    }
    let ops = caller::database(globals)?;
    caller::now()?;
    let (facts, token) = caller::credentials(globals, false);
    let (actor, proof) = ops.identify(facts, token.as_deref())?;
    ops.may_serve(&actor, proof, Action::Backup, "backup")?;
    let stop = Stop::on_signals();
    let once = || -> Result<BackedUp, Error> {
        let bar = Progress::of(globals, "Backing up", 1);
        ops.back_up(to.map(PathBuf::as_path), keep, caller::ticking(), &mut |done, total| {
            bar.at_of(done, total);
            go_on(&stop)
        })
    };
    show(globals, copies::backed_up, &once()?)?;
    let Some(every) = every else {
        return Ok(());
    };
    while !stop.wait(Duration::from_secs(every.as_seconds())) {
        // A failure may be gone next time, but a revoked token stays revoked.
        match ops.still_admits(proof) {
            Err(error) if error.meaning().exit == 4 => return Err(error.into()),
            _ => {}
        }
        match once() {
            Ok(backed_up) => show(globals, copies::backed_up, &backed_up)?,
            // The first backup worked, so this failure may be gone next time.
            Err(error) if error.code() == "stopped" => break,
            Err(error) => output::warn(&format!("no backup this time: {error}")),
        }
    }
    Ok(())
}

pub(crate) fn restore(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let Some(from) = matches.get_one::<PathBuf>("file") else {
        return Err(Failure::usage("no backup was named".to_owned()));
    };
    let ops: Ops = caller::database(globals)?;
    // Otherwise SQLite would report it like a store that cannot be opened.
    if matches!(ops.target(), Target::File(_)) {
        let missing = |error| Failure::Io(format!("{}: {error}", from.display()));
        std::fs::metadata(from).map_err(missing)?;
    }
    let now = caller::now()?;
    let (facts, token) = caller::credentials(globals, false);
    let stop = Stop::on_signals();
    let bar = Progress::of(globals, "Restoring", 1);
    let (overwrite, token) = (matches.get_flag("yes"), token.as_deref());
    // The store may be damaged, so it is not opened here.
    let project = &caller::project_by_name(globals);
    let wish = Restore { from, overwrite, facts, token, project, now };
    let restored = ops.restore(wish, &mut |done, total| {
        bar.at_of(done, total);
        go_on(&stop)
    })?;
    drop(bar);
    show(globals, copies::restored, &restored)
}

fn show<T: Serialize>(globals: &Globals, words: fn(&T) -> String, done: &T) -> Result<(), Failure> {
    if globals.json {
        output::print_json(done)?;
    } else if !globals.quiet {
        output::print(&words(done))?;
    }
    Ok(())
}

fn go_on(stop: &Stop) -> ControlFlow<()> {
    if stop.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
