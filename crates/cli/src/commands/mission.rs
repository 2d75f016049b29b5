//! `punch mission …`: the operations on missions, where the mission can be left out if there is
//! only one, and the commands on a mission's file.

use clap::{ArgMatches, Command};
use punchlist_core::mission::Standing;
use punchlist_ops::operations::metric_collect;
use punchlist_ops::operations::mission_list::{self, MissionList};
use punchlist_ops::{Envelope, Operation, Ops};
use serde_json::{Map, Value};

use super::{call, collect, mission_init, mission_new, operation};
use crate::args::Globals;
use crate::caller;
use crate::failure::Failure;

/// The fields that name the mission.
const WHICH: [&str; 2] = ["mission", "missionSlug"];

/// The field that names a pillar.
const PILLAR: &str = "pillarSlug";

/// The group with its further commands. A mission as a positional argument is optional.
pub(super) fn with_commands(group: Command) -> Command {
    lenient("mission", group)
        .subcommands(mission_init::commands())
        .subcommand(mission_new::command())
}

/// The group of a word, in which the mission is optional.
pub(super) fn lenient(name: &str, group: Command) -> Command {
    let words: Vec<String> =
        group.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    words.iter().fold(group, |group, word| match operation::named(name, word) {
        Some(operation) if takes_mission(operation) => {
            group.mut_subcommand(word, |command| leave_out(name, command, operation))
        }
        _ => group,
    })
}

fn takes_mission(operation: &Operation) -> bool {
    operation.surfaces.positional.first().is_some_and(|field| WHICH.contains(field))
}

fn leave_out(group: &str, command: Command, operation: &Operation) -> Command {
    let places: Vec<(bool, String)> = command
        .get_positionals()
        .filter_map(|arg| {
            Some((arg.is_required_set(), arg.get_value_names()?.first()?.to_string()))
        })
        .collect();
    let rest = places.iter().skip(1).map(|(is_required, place)| match is_required {
        true => format!(" <{place}>"),
        false => format!(" [{place}]"),
    });
    let word = command.get_name().to_owned();
    let usage = format!("punch {group} {word} [OPTIONS] [MISSION]{}", rest.collect::<String>());
    let ids: Vec<String> = operation.surfaces.positional.iter().map(|f| operation::id(f)).collect();
    command.override_usage(usage).mut_args(|arg| {
        let Some(at) = ids.iter().position(|id| arg.get_id() == id) else { return arg };
        // Dispatch reports missing arguments; clap would require all before them. Leaving one out
        // shifts the others, including negative figures.
        let arg = arg.required(false).allow_negative_numbers(true);
        if at > 0 {
            return arg;
        }
        arg.value_name("MISSION").help("The mission's slug [default: the only one there is]")
    })
}

pub(super) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let (word, inner) = match matches.subcommand() {
        Some(("init", matches)) => return mission_init::run(globals, matches),
        Some(("new", _)) => return mission_new::run(globals),
        Some(("schema", _)) => return mission_init::schema(),
        Some(given) => given,
        None => return operation::run(globals, "mission", matches),
    };
    run_in("mission", globals, matches, (word, inner))
}

/// Runs a command of a group in which the mission is optional.
pub(super) fn run_in(
    group: &str,
    globals: &Globals,
    matches: &ArgMatches,
    (word, inner): (&str, &ArgMatches),
) -> Result<(), Failure> {
    let Some(operation) = operation::named(group, word).filter(|o| takes_mission(o)) else {
        return operation::run(globals, group, matches);
    };
    with_mission(operation, globals, inner)
        .map_err(|failure| operation::in_flags(failure, operation))
}

/// Runs an operation, with the only mission if none was named.
fn with_mission(
    operation: &Operation,
    globals: &Globals,
    inner: &ArgMatches,
) -> Result<(), Failure> {
    let mut globals = globals.clone();
    let Value::Object(mut input) = operation::input(operation, &mut globals, inner) else {
        return Err(Failure::usage("the input is not an object".to_owned()));
    };
    let schema = operation.input_schema();
    // `--pillar` names the pillar here, as in `mission pause`.
    if schema["properties"].get(PILLAR).is_some()
        && !input.contains_key(PILLAR)
        && let Some(pillar) = globals.take_for_field("pillar", inner)
    {
        input.insert(PILLAR.to_owned(), pillar.into());
    }
    let needed = |place: &&&str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|name| name == **place))
    };
    let needed: Vec<&str> = operation.surfaces.positional.iter().filter(needed).copied().collect();
    make_room(&needed, &mut input);
    let ops = caller::ops(&globals)?;
    let which = operation.surfaces.positional[0];
    if !input.contains_key(which) {
        let named = globals.take_for_field("mission", inner);
        let envelope = caller::envelope(&ops, &globals, false)?;
        operation.access.check(envelope.actor.role, operation.name)?;
        let slug = named.map_or_else(|| only(&ops, &envelope), Ok)?;
        input.insert(which.to_owned(), slug.into());
    }
    let envelope = caller::envelope(&ops, &globals, false)?;
    let followed = collect::begin(&globals, operation, &ops, &envelope)?;
    let answer = ops.answer(operation, &envelope, Value::Object(input))?;
    call::show(&globals, operation, &answer, envelope.now)?;
    let is_queued =
        answer.output::<metric_collect::Output>().is_some_and(|output| !output.queued.is_empty());
    match followed.filter(|_| is_queued) {
        Some(followed) => collect::follow(&globals, followed),
        None => Ok(()),
    }
}

/// If one argument is missing, the mission was left out.
fn make_room(places: &[&str], input: &mut Map<String, Value>) {
    let given = places.iter().take_while(|place| input.contains_key(**place)).count();
    if places.len() < 2 || given + 1 != places.len() {
        return;
    }
    for n in (1..places.len()).rev() {
        if let Some(moved) = input.remove(places[n - 1]) {
            input.insert(places[n].to_owned(), moved);
        }
    }
}

/// The slug of the only mission that is not archived.
fn only(ops: &Ops, envelope: &Envelope) -> Result<String, Failure> {
    let envelope = Envelope { idempotency_key: None, ..envelope.clone() };
    let missions = ops.run::<MissionList>(&envelope, mission_list::Input::MOST)?.missions;
    let going = missions.iter().filter(|mission| mission.status != Standing::Archived);
    let slugs: Vec<&str> = going.map(|mission| mission.slug.as_str()).collect();
    match slugs.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => {
            let message = "there is no mission in this project".to_owned();
            let hint = "`punch mission init FILE` creates one from a file; `punch mission new` \
                        asks you step by step";
            Err(Failure::Usage { message, hint: Some(hint.to_owned()) })
        }
        several => {
            let message = "this project has several missions, and none was named".to_owned();
            let hint = Some(format!("name one of: {}", several.join(", ")));
            Err(Failure::Usage { message, hint })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_missing_argument_means_the_mission_was_left_out() {
        let places = ["missionSlug", "todoId", "action"];
        let shifted = |given: Value| {
            let Value::Object(mut input) = given else { unreachable!() };
            make_room(&places, &mut input);
            Value::Object(input)
        };
        assert_eq!(
            shifted(json!({ "missionSlug": "a", "todoId": "b", "reason": "r" })),
            json!({ "todoId": "a", "action": "b", "reason": "r" })
        );
        let whole = json!({ "missionSlug": "m", "todoId": "a", "action": "b" });
        assert_eq!(shifted(whole.clone()), whole);
        let short = json!({ "missionSlug": "m" });
        assert_eq!(shifted(short.clone()), short);
    }
}
