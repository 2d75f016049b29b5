//! Reads of one turn, the log and the status, in a small store and in a store of a million todos.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use punchlist_core::command::{CreateTodos, NewTodo};
use punchlist_core::event::{ListOpened, ProjectOpened};
use punchlist_core::text::Title;
use punchlist_core::{Decision, Ids, List, ListId, ProjectId, Scope, Snapshot, Time, decide};
use punchlist_ops::Ops;
use punchlist_ops::catalogue::find;
use punchlist_store::{Error, Options, Stamp, Store, Target, Tx};
use serde_json::{Value, json};

use crate::table::{Line, Target as Goal, median, shown};
use crate::writers::envelope;

const SMALL: usize = 1_000;
const PER_LIST: usize = 20;
const ROUNDS: usize = 400;

pub(crate) fn measure(large: usize) -> Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let small = filled(&folder.path().join("small.db"), SMALL)?;
    let big = filled(&folder.path().join("large.db"), large)?;
    let mut lines = Vec::new();
    for (name, input) in [
        ("list_todo", json!({ "status": "all" })),
        ("event_list", json!({ "limit": 50 })),
        ("status", json!({})),
    ] {
        let (mut at_small, mut at_large) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            at_small.push(timed(&small, SMALL, name, &input, round)?);
            at_large.push(timed(&big, large, name, &input, round)?);
        }
        let (at_small, at_large) = (median(at_small), median(at_large));
        lines.push(Line {
            what: format!("`{name}` with {large} todos in the store"),
            ours: shown(at_large),
            reference: format!("{} with {SMALL}", shown(at_small)),
            value: at_large / at_small,
            target: Goal::AtMost(1.5),
        });
    }
    Ok(lines)
}

/// One read, in a list somewhere in the store.
fn timed(ops: &Ops, todos: usize, name: &str, input: &Value, round: usize) -> Result<f64> {
    let lists = todos / PER_LIST;
    let envelope = envelope(&format!("turn-{}", (round * 7919) % lists));
    let (operation, input) = (find(name)?, input.clone());
    let start = Instant::now();
    ops.call(operation, &envelope, input)?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

/// Creates a store with this many todos, as operations would: rows and events.
pub(crate) fn filled(file: &Path, todos: usize) -> Result<Ops> {
    let target = Target::File(file.to_owned());
    let store = Store::open(&target, Options::default())?;
    let at = Time::from_micros(1_763_193_600_000_000);
    let mut ids = Ids::new(at, 1);
    let project = ProjectId::from(ids.ulid());
    let actor = envelope("any").actor;
    let stamp =
        Stamp { project, actor, cause: "bench", at, proof: "none".to_owned(), recorded_at: at };
    let opened = stamp.clone();
    store.write(move |tx| {
        tx.insert_project(project, "bench", at)?;
        let name = "bench".to_owned();
        let event = ProjectOpened { project_id: project, name, created_at: at }.into();
        tx.append(&opened, &project.to_string(), &event)?;
        Ok::<_, Error>(())
    })?;
    let lists = todos / PER_LIST;
    for first in (0..lists).step_by(500) {
        let (stamp, mut ids) = (stamp.clone(), Ids::new(at, (first as u128 + 2) << 40));
        store.write(move |tx| {
            for n in first..(first + 500).min(lists) {
                fill_list(tx, &stamp, n, &mut ids)?;
            }
            Ok::<_, Error>(())
        })?;
    }
    drop(store);
    Ok(Ops::new(target, Options::default()))
}

fn fill_list(tx: &mut Tx<'_>, stamp: &Stamp, n: usize, ids: &mut Ids) -> Result<(), Error> {
    let scope = Scope::Turn { conversation_id: "c".to_owned(), turn_id: format!("turn-{n}") };
    let list = List::new(ListId::from(ids.ulid()), stamp.project, scope, stamp.at);
    let mut snapshot = Snapshot::empty(list.clone());
    let opened = Decision { events: vec![ListOpened { list }.into()], ..Decision::default() };
    tx.record(&mut snapshot, &opened, stamp, ids)?;
    let titles = (0..PER_LIST).filter_map(|item| Title::new(&format!("Item {item}")).ok());
    let command = CreateTodos { items: titles.map(NewTodo::titled).collect() }.into();
    let decided = decide(&snapshot, &command, &stamp.actor, stamp.at, ids);
    if let Ok(decision) = decided {
        tx.record(&mut snapshot, &decision, stamp, ids)?;
    }
    Ok(())
}
