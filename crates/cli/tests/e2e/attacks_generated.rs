//! Every operation over the command line, with a token that is narrowed to something else and with
//! one whose role may not call it. `punchlist_testkit::attack` says what they may be answered.

use punchlist_core::{Reach, Role};
use punchlist_ops::Error;
use punchlist_ops::catalogue::{CATALOGUE, Effect, Operation};
use punchlist_testkit::attack::{Answer, changes, fault, outsider, token_for};
use punchlist_testkit::examples::{caller, working_input};
use punchlist_testkit::{TestStore, World};
use serde_json::{Value, json};

use crate::support::{Place, Punch};

/// What the process answered.
fn answer_of(punch: &Punch) -> Answer {
    let ran = punch.run();
    let mut said: Value =
        serde_json::from_str(ran.stdout.trim()).unwrap_or_else(|_| panic!("{ran:?}"));
    if ran.exit == Some(0) {
        return Ok(said);
    }
    let mut error = said["error"].take();
    error["detail"] = error["message"].take();
    let error = Error::from_problem(error).unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(ran.exit, Some(error.meaning().exit.into()), "{}", punch.shown());
    Err(error)
}

/// The first role that may call it, with a reach elsewhere; and the first that may not, with none.
fn attackers(operation: &Operation) -> Vec<(Role, Reach)> {
    let may = |role: &Role| operation.access.allows(*role);
    let mut by_root = std::iter::once(Role::Root).chain(Role::ALL);
    let narrowed = by_root.find(may).map(|role| {
        let project = Some("test".to_owned());
        (role, Reach { project, number: Some(999), ..Reach::default() })
    });
    let lower = Role::ALL.into_iter().find(|role| !may(role));
    narrowed.into_iter().chain(lower.map(|role| (role, Reach::default()))).collect()
}

/// The code above the database decides what a command is answered, so one database is enough here.
#[test]
fn no_command_gets_around_the_table_or_its_reach() {
    let (mut faults, mut number) = (Vec::new(), 0);
    for operation in CATALOGUE {
        let place = Place::sqlite();
        let world = World::on(TestStore::at(place.target()));
        let input = working_input(&world, operation);
        for (role, reach) in attackers(operation) {
            number += 1;
            let envelope = outsider(&world, operation, role, &reach);
            let (id, secret) = token_for(&world, &envelope, number);
            let context = caller(&world, operation).context;
            let mut punch = place.punch(["call", operation.name, &input.to_string(), "--json"]);
            for (flag, value) in [
                ("--session", context.session),
                ("--conversation", context.conversation),
                ("--turn", context.turn),
                ("--issue", context.issue.map(|issue| issue.to_string())),
            ] {
                punch = punch.words(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
            }
            let answer = answer_of(&punch.with(&secret));
            // Every token sees itself.
            if operation.effect != Effect::Pure && operation.name != "token_list" {
                faults.extend(fault(operation, role, &reach, &answer));
            }
            let mut changed = changes(&world, 0);
            changed.retain(|line| line["proof"] == json!(format!("token:{id}")));
            let may_change = operation.effect == Effect::Write && answer.is_ok();
            if !may_change && !changed.is_empty() {
                faults.push(format!("{} as {role} changed {changed:?}", operation.name));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
    assert!(number > CATALOGUE.len() as u128, "{number}");
}
