//! `punch plan …`: the operations on plans, where the file can be left out if there is only one
//! plan.

use clap::{ArgMatches, Command};
use punchlist_ops::operations::plan_list::{self, PlanList};
use punchlist_ops::{Envelope, Ops};
use serde_json::Value;

use super::{call, operation};
use crate::args::Globals;
use crate::caller;
use crate::failure::Failure;

/// Commands that show one plan.
const LOOKS: [&str; 3] = ["tree", "current", "render"];

/// The group, in which the file of the only plan is optional.
pub(super) fn lenient(group: Command) -> Command {
    LOOKS.into_iter().fold(group, |group, word| {
        if group.find_subcommand(word).is_none() {
            return group;
        }
        group.mut_subcommand(word, |command| {
            command.mut_arg(operation::id("planFile"), |file| {
                file.required(false).help("The plan's file [default: the only plan there is]")
            })
        })
    })
}

/// Is it a command that shows a plan, without a file?
pub(super) fn lacks_file(matches: &ArgMatches) -> bool {
    let Some((word, inner)) = matches.subcommand() else { return false };
    LOOKS.contains(&word) && !inner.contains_id(&operation::id("planFile"))
}

pub(super) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let Some((word, inner)) = matches.subcommand() else {
        return Err(Failure::usage("no command was given".to_owned()));
    };
    let Some(operation) = operation::named("plan", word) else {
        return Err(Failure::usage(format!("there is no command `plan {word}`")));
    };
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let mut input = operation::input(operation, &mut globals.clone(), inner);
    fill_in(&ops, &envelope, &mut input)?;
    let answer = ops.answer(operation, &envelope, input)?;
    call::show(globals, operation, &answer, envelope.now)
}

/// Names the only plan in an input that names none.
pub(super) fn fill_in(ops: &Ops, envelope: &Envelope, input: &mut Value) -> Result<(), Failure> {
    if input.get("planFile").is_some() {
        return Ok(());
    }
    let look = Envelope { idempotency_key: None, ..envelope.clone() };
    let wanted = plan_list::Input::MOST;
    let plans = ops.run::<PlanList>(&look, wanted)?.plans;
    match plans.as_slice() {
        [only] => {
            input["planFile"] = only.plan_file.as_str().into();
            if input.get("branch").is_none() {
                input["branch"] = only.branch.as_str().into();
            }
            Ok(())
        }
        [] => {
            let message = "there are no plans in this project".to_owned();
            let hint = Some("`punch plan import FILE` reads one".to_owned());
            Err(Failure::Usage { message, hint })
        }
        several => {
            let message = "this project has several plans, and none was named".to_owned();
            let names: Vec<&str> = several.iter().map(|plan| plan.plan_file.as_str()).collect();
            let hint = Some(format!("name one of: {}", names.join(", ")));
            Err(Failure::Usage { message, hint })
        }
    }
}
