//! `punch chat show --full`: a conversation with every call and every result as it was.

use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_ops::catalogue::{Define, find};
use punchlist_ops::operations::conversation_show::{ConversationShow, Output};

use super::{call, operation};
use crate::args::Globals;
use crate::failure::Failure;
use crate::{caller, output, render};

/// The group, with the flag.
pub(super) fn with_flag(group: Command) -> Command {
    if group.find_subcommand("show").is_none() {
        return group;
    }
    group.mut_subcommand("show", |show| {
        show.arg(
            Arg::new("full")
                .long("full")
                .action(ArgAction::SetTrue)
                .help("Show the calls of tools and their results in full, not in a line each"),
        )
    })
}

pub(super) fn show(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let (ops, operation) = (caller::ops(globals)?, find(ConversationShow::NAME)?);
    let envelope = caller::envelope(&ops, globals, false)?;
    let input = operation::input(operation, &mut globals.clone(), matches);
    let answer = ops.answer(operation, &envelope, input);
    let answer = answer.map_err(|error| operation::in_flags(error.into(), operation))?;
    if !matches.get_flag("full") || globals.json || globals.compact || globals.quiet {
        return call::show(globals, operation, &answer, envelope.now);
    }
    let shown: Output = answer.into_output()?;
    Ok(output::print(&render::conversation(&shown, true, envelope.now))?)
}
