//! `punch session todos [SESSION]`: the operation takes the session from the caller's context, so a
//! session that is named in place of that becomes the context.

use clap::{Arg, ArgMatches, Command};

use super::operation;
use crate::args::Globals;
use crate::failure::Failure;

const WORD: &str = "todos";

const PLACE: &str = "which";

/// The group, in which `todos` takes a session like its neighbours.
pub(super) fn with_place(group: Command) -> Command {
    if group.find_subcommand(WORD).is_none() {
        return group;
    }
    group.mut_subcommand(WORD, |todos| {
        todos
            .arg(
                Arg::new(PLACE)
                    .value_name("SESSION")
                    .help("The session: its id, or its host's id [default: --session]"),
            )
            .after_help("Example: punch session todos 4F7Q")
    })
}

pub(super) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let named = match matches.subcommand() {
        Some((WORD, inner)) => inner.get_one::<String>(PLACE).cloned(),
        _ => None,
    };
    let session = named.or_else(|| globals.session.clone());
    operation::run(&Globals { session, ..globals.clone() }, "session", matches)
}
