//! `punch doctor`: what is wrong with the store, and what to do about it.

use clap::Command;
use punchlist_ops::Error;
use serde_json::json;

use crate::args::Globals;
use crate::failure::Failure;
use crate::{caller, output, render};

pub(crate) fn command() -> Command {
    Command::new("doctor")
        .about("Look the store over: is anything wrong, and what to do about it")
        .long_about(
            "Look the store over: is anything wrong, and what to do about it.\n\n\
             Checks the schema's version, the database's integrity, that folding the log gives \
             the tables, work that is overdue, the disk, and who may read the file. Nothing is \
             changed. It works on stores that are damaged or newer, too.\n\n\
             Exit code 0: nothing is wrong; 1: a check failed.",
        )
}

pub(crate) fn run(globals: &Globals) -> Result<(), Failure> {
    let ops = caller::database(globals)?;
    let (facts, token) = caller::credentials(globals, false);
    let admitted = ops.identify(facts, token.as_deref()).and_then(|(actor, proof)| {
        ops.admits(proof)?;
        Ok(actor.reach.is_everything())
    });
    let sees_all = match admitted {
        Ok(sees_all) => sees_all,
        // A store that cannot be read has no say in who looks at it.
        Err(Error::Store(_)) => true,
        Err(error) => return Err(error.into()),
    };
    let store = ops.examine();
    let store = if sees_all { store } else { store.in_short() };
    let ok = store.ok;
    if globals.json {
        // Hosts are looked at once there are some.
        output::print_json(&json!({ "store": store, "hosts": [] }))?;
    } else if !globals.quiet || !ok {
        output::print(&render::doctor::render(&store))?;
    }
    if ok { Ok(()) } else { Err(Failure::Told(1)) }
}
