//! `punch store copy`: a store moved to another database.

use std::ops::ControlFlow;

use clap::{Arg, ArgMatches, Command};
use punchlist_core::text::counted;
use punchlist_ops::Error;
use punchlist_ops::portable::Asking;
use punchlist_store::Target;

use crate::args::Globals;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::{caller, output};

pub(crate) fn copy_command() -> Command {
    Command::new("copy")
        .about("Copy the store FROM into the empty store TO")
        .long_about(
            "Copy the store FROM into the empty store TO.\n\n\
             Each is a path or a postgres:// URL. Everything is copied, tokens and stored answers \
             included, and compared at the end by its rows and its digest. TO cannot be opened \
             before that. To continue an interrupted copy, repeat the command. FROM is only \
             read; one of an older version is migrated first. Stop its writers first: what they \
             write during the copy is not copied. Only the operator may copy a store.",
        )
        .arg(place("from", "FROM", "The store to copy"))
        .arg(place("to", "TO", "The empty store to copy it into"))
        .after_help("Example: punch store copy punch.db postgres://ada@db.example/punchlist")
}

fn place(id: &'static str, name: &'static str, help: &'static str) -> Arg {
    Arg::new(id).value_name(name).help(help).required(true)
}

/// The stores of a copy are its arguments, not what `--db` names.
fn advised(error: Error) -> Failure {
    let hint = match error.code() {
        "store_not_empty" => "name an empty or new store as TO",
        "store_unreachable" => "check FROM and TO",
        _ => return error.into(),
    };
    Failure::Advised { error, hint: hint.to_owned() }
}

pub(crate) fn copy(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    // Blank, as from an unset variable, it would name the default store.
    let named = |id: &str, shown: &str| {
        let given = matches.get_one::<String>(id).filter(|given| !given.trim().is_empty());
        given.cloned().ok_or_else(|| Failure::usage(format!("{shown} is empty; it names a store")))
    };
    let from = Globals { db: Some(named("from", "FROM")?), ..globals.clone() };
    let to = Globals { db: Some(named("to", "TO")?), ..globals.clone() };
    let (ops, to) = (caller::ops(&from)?, caller::ops(&to)?);
    // The target of a server's client is not the server's store.
    if ops.remote().or(to.remote()).is_some() {
        return Err(Error::NeedsDatabase.into());
    }
    if let Target::File(file) = ops.target() {
        std::fs::metadata(file)
            .map_err(|error| Failure::Io(format!("FROM: {}: {error}", file.display())))?;
    }
    let (facts, token) = caller::credentials(&from, false);
    let asking = Asking { facts, token: token.as_deref(), now: caller::now()? };
    let stop = Stop::on_signals();
    let bar = Progress::counting(globals, "rows copied");
    let copied = ops.copy_to(&asking, to.target(), &mut |rows| {
        bar.at(rows);
        if stop.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    drop(bar);
    let copied = copied.map_err(advised)?;
    if globals.json {
        output::print_json(&copied)?;
    } else if !globals.quiet {
        let rows = counted(copied.rows, "row", "rows");
        let events = counted(copied.events, "event", "events");
        let resumed = copied.resumed_after;
        let from = output::line(&ops.target().to_string());
        let to = output::line(&to.target().to_string());
        let mut said = format!("Copied {rows} ({events}) from {from} to {to}.\n");
        if resumed > 0 {
            let resumed = counted(resumed, "row was", "rows were");
            said.push_str(&format!("{resumed} already there, from a copy that was cut off.\n"));
        }
        said.push_str(&format!("Both sides have the digest {}.\n", copied.digest));
        output::print(&said)?;
    }
    Ok(())
}
