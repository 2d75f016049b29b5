//! `punch doctor`: what is wrong with the store, and what to do about it.

use clap::Command;
use punchlist_ops::{Error, Ops};
use punchlist_store::Target;
use serde_json::json;

use crate::args::Globals;
use crate::commands::init;
use crate::failure::Failure;
use crate::hosts::inspect::{Inspection, Standing};
use crate::hosts::machine::Machine;
use crate::{caller, output, render};

pub(crate) fn command() -> Command {
    Command::new("doctor")
        .about("Check the store and the agent hosts, and say how to fix problems")
        .long_about(
            "Check the store and the agent hosts, and say how to fix problems.\n\n\
             Checks the schema's version, the database's integrity, whether the tables agree with \
             the log, overdue work, the disk, and who may read the file. It repairs nothing. Like \
             every command it first migrates a store of an older version, and makes the tables in \
             an empty database. It also works on stores that are damaged or newer.\n\n\
             Shows for each agent host whether its sessions here are governed: installed, set up, \
             trusted, when its hooks last fired, and its version.\n\n\
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
        // A store that cannot be read cannot restrict who runs this.
        Err(Error::Store(_)) => true,
        Err(error) => return Err(error.into()),
    };
    let store = ops.examine();
    let store = if sees_all { store } else { store.in_short() };
    let ok = store.ok;
    let hosts = hosts(globals, &ops, ok)?;
    if globals.json {
        output::print_json(&json!({ "store": store, "hosts": hosts }))?;
    } else if !globals.quiet || !ok {
        let report = render::doctor::render(&store) + &render::doctor::hosts(&hosts);
        output::print(&report)?;
    }
    if ok { Ok(()) } else { Err(Failure::Shown(1)) }
}

/// Each host of this machine: the state of its files, and when its hooks last fired here.
fn hosts(globals: &Globals, ops: &Ops, is_sound: bool) -> Result<Vec<Standing>, Failure> {
    let setup = init::setup(globals)?;
    let is_there = !matches!(ops.target(), Target::File(path) if !path.exists());
    // A damaged store is not opened to read about hosts.
    let records = match is_sound && is_there {
        true => {
            let envelope = caller::envelope(ops, globals, false)?;
            ops.hosts_seen(&envelope.project).unwrap_or_default()
        }
        false => Vec::new(),
    };
    let machine = Machine::here();
    let inspection = Inspection { setup: &setup, machine: &machine };
    Ok(inspection.standings(&records, caller::ticking()))
}
