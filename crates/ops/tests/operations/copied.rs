//! A copied store: one with rows of every kind, and every operation that reads, on both sides.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use punchlist_core::Role;
use punchlist_ops::catalogue::{CATALOGUE, Effect, Operation, find};
use punchlist_ops::{Envelope, Error};
use punchlist_store::care::portable::{copy, write_out};
use punchlist_store::{Options, Store};
use punchlist_testkit::examples::{BEFORE, caller, remember, with_ids};
use punchlist_testkit::{Backend, TestStore, World};
use serde_json::{Map, Value, json};

/// Operations that take away what others have made. Only what comes before them is called, so that
/// the rows stay.
const ENDS: &[&str] = &["plan_purge", "project_merge", "token_revoke", "permission_revoke"];

/// Calls an operation with its example as each caller that may, until one succeeds. In a store that
/// is this full, some examples are refused, because what they make exists already.
fn tried(world: &World, operation: &Operation, step: &str, ids: &mut Map<String, Value>) {
    let (name, input) = step.split_once(' ').unwrap_or_else(|| (step, find(step).unwrap().example));
    let own = caller(world, operation);
    for role in [Role::Root, Role::Operator, Role::Worker] {
        let actor = world.envelope(role).actor;
        for actor in [actor, own.actor.clone()] {
            let envelope = Envelope { actor, ..own.clone() };
            if let Ok(answer) = world.call_in(&envelope, name, with_ids(input, ids)) {
                remember(&answer, ids);
                return;
            }
        }
    }
}

/// What no example makes: a note, and the strategies of a mission.
const MORE: &[&str] = &[
    r#"todo {"action":"set","items":["Read","Write"]}"#,
    r#"todo {"action":"note","content":"Read","text":"twice,\nslowly"}"#,
    concat!(
        r#"mission_init {"name":"Support","pillars":[{"name":"Answers","#,
        r#""strategies":[{"description":"Answer within a day"}]}]}"#
    ),
];

/// A store in which every operation that writes has been called, and the ids of what they made.
pub(crate) fn full(backend: Backend) -> (World, Map<String, Value>) {
    let (world, mut ids) = (World::new(backend), Map::new());
    let steps = |operation: &Operation| {
        let before = BEFORE.iter().find(|(names, _)| names.contains(&operation.name));
        before.map_or(&[][..], |(_, steps)| *steps)
    };
    for operation in CATALOGUE.iter().filter(|operation| operation.effect == Effect::Write) {
        let itself = (!ENDS.contains(&operation.name)).then_some(&operation.name);
        for step in steps(operation).iter().chain(itself) {
            tried(&world, operation, step, &mut ids);
        }
    }
    for step in MORE {
        tried(&world, find("todo").unwrap(), step, &mut ids);
    }
    // Whatever was ended on the way is made again for the operations that read it.
    for operation in CATALOGUE.iter().filter(|operation| operation.effect == Effect::Read) {
        for step in steps(operation) {
            tried(&world, operation, step, &mut ids);
        }
    }
    (world, ids)
}

/// The tables that have at least one row.
fn filled(store: &Store) -> BTreeSet<String> {
    let mut out = Vec::new();
    store.view(|tx| write_out(tx, &mut out, &mut |_| ControlFlow::Continue(()))).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line["table"].as_str().map(str::to_owned)).collect()
}

/// Every answer of every operation that reads: with its example, without any filter, and as every
/// role that may call it.
fn read(world: &World, ids: &Map<String, Value>) -> Vec<(String, Result<Value, Value>)> {
    // Reads only when the log shows every event.
    let _ = world.log();
    let mut seen = Vec::new();
    for operation in CATALOGUE.iter().filter(|operation| operation.effect == Effect::Read) {
        let own = caller(world, operation);
        for role in Role::ALL.into_iter().filter(|role| operation.access.allows(*role)) {
            let envelope = Envelope { actor: world.envelope(role).actor, ..own.clone() };
            for input in [with_ids(operation.example, ids), json!({})] {
                let what = format!("{} {input} as {role:?}", operation.name);
                let mut answer = world.ops.call(operation, &envelope, input);
                // A period counts back from the real clock.
                if let (Ok(report), "digest" | "audit_closes") = (&mut answer, operation.name) {
                    report["since"] = Value::Null;
                }
                seen.push((what, answer.map_err(|error: Error| error.to_json())));
            }
        }
    }
    seen
}

#[test]
fn a_copied_store_answers_every_reading_operation_the_same_on_both_sides() {
    for (from, to) in
        [(Backend::SqliteFile, Backend::Postgres), (Backend::Postgres, Backend::SqliteFile)]
    {
        let (world, ids) = full(from);
        let store = world.ops.store().unwrap();
        let tables = filled(store);
        for table in [
            "projects",
            "missions",
            "pillars",
            "strategies",
            "metrics",
            "readings",
            "lists",
            "todos",
            "todo_notes",
            "leases",
            "issues",
            "issue_updates",
            "issue_links",
            "conversations",
            "messages",
            "sessions",
            "bindings",
            "gates",
            "delegations",
            "runs",
            "agents",
            "outbox",
            "events",
        ] {
            assert!(tables.contains(table), "no row in {table}: {tables:?}");
        }
        let before = read(&world, &ids);
        // Each of them finds something to read, at least for one caller.
        for operation in CATALOGUE.iter().filter(|operation| operation.effect == Effect::Read) {
            let example = format!("{} {}", operation.name, with_ids(operation.example, &ids));
            let is_answered = |(what, answer): &(String, Result<Value, Value>)| {
                what.starts_with(&example) && answer.is_ok()
            };
            assert!(before.iter().any(is_answered), "{example}: {before:?}");
        }

        let place = TestStore::new(to);
        let into = place.open_with(Options { is_copied_into: true, ..Options::default() });
        copy(store, &into, &mut |_| ControlFlow::Continue(())).unwrap();
        drop(into);
        let other = World::on(place);
        let after = read(&other, &ids);
        assert_eq!(before.len(), after.len());
        let different: Vec<_> = before.iter().zip(&after).filter(|(a, b)| a != b).collect();
        assert!(different.is_empty(), "{from:?} to {to:?}: {different:#?}");
    }
}
