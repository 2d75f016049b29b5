//! Taking the next item: in a small plan and in one of a million tasks; and sixteen takers of one
//! list on PostgreSQL, against pgbench with equivalent statements.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use postgres::{Client, NoTls};
use punchlist_core::command::{CreateTodos, NewTodo};
use punchlist_core::event::ListOpened;
use punchlist_core::text::Title;
use punchlist_core::{
    AgentPath, Decision, Ids, List, ListId, ProjectId, Role, Scope, Snapshot, Time, decide,
};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Envelope, Ops};
use punchlist_store::{Error, Load, Options, Stamp, Store, Target};
use serde_json::json;

use crate::table::{Line, Target as Goal, median, shown};
use crate::writers::envelope;

const SMALL: usize = 1_000;
const ROUNDS: usize = 300;
const TAKERS: usize = 16;
/// The length of a turn, in seconds.
const TURN_S: u64 = 2;

/// `todo_next` in a plan of this many tasks, against the same in a small one.
pub(crate) fn next_of(large: usize) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let plan = |name: &str, tasks: usize| {
        filled(Target::File(folder.path().join(name)), Options::default(), tasks)
    };
    let (small, big) = (plan("small.db", SMALL)?, plan("large.db", large)?);
    let (mut at_small, mut at_large) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        at_small.push(timed(&small, round)?);
        at_large.push(timed(&big, round)?);
    }
    let (at_small, at_large) = (median(at_small), median(at_large));
    Ok(Line {
        what: format!("`todo_next` in a plan of {large} tasks"),
        ours: shown(at_large),
        reference: format!("{} in one of {SMALL}", shown(at_small)),
        value: at_large / at_small,
        target: Goal::AtMost(1.5),
    })
}

/// Sixteen takers of one list, against pgbench, in turns: the speed of a machine varies, and a turn
/// is short enough that both meet the same conditions. The median turn counts. Before each turn the
/// server vacuums its tables, as pgbench makes it do for its own tables, because taken items leave
/// dead entries in the indexes that slow down later takers. Both connect to the server directly,
/// with or without TLS.
pub(crate) fn on_postgres(turns: usize, sslmode: &str) -> Result<Line> {
    let url = std::env::var("PUNCHLIST_TEST_POSTGRES").context("a PostgreSQL server")?;
    let mut client = Client::connect(&url, NoTls)?;
    client.batch_execute("DROP SCHEMA IF EXISTS bench CASCADE; CREATE SCHEMA bench")?;
    let items = turns * usize::try_from(TURN_S)? * 15_000;
    let reference = Reference::new(&mut client, items)?;
    let joint = if url.contains('?') { '&' } else { '?' };
    let target =
        Target::Postgres(format!("{url}{joint}options=-csearch_path%3Dbench&sslmode={sslmode}"));
    let options = Options { connections_max: TAKERS, ..Options::default() };
    let ops = Arc::new(filled(target, options, items)?);
    let mut measured = Vec::new();
    for turn in 0..turns {
        for table in ["todos", "leases", "events", "items", "log"] {
            client.batch_execute(&format!("VACUUM ANALYZE bench.{table}"))?;
        }
        measured.push((taken_in_a_second(&ops, turn)?, reference.in_a_second(&url, sslmode)?));
    }
    drop(ops);
    client.batch_execute("DROP SCHEMA bench CASCADE")?;
    measured.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let (ours, reference) = measured.get(turns / 2).context("at least one turn")?;
    Ok(Line {
        what: format!("{TAKERS} takers of one list on PostgreSQL (sslmode={sslmode})"),
        ours: format!("{ours:.0}/s"),
        reference: format!("{reference:.0}/s pgbench, equal statements"),
        value: ours / reference,
        target: Goal::AtLeast(0.4),
    })
}

/// How many items sixteen takers get per second, in one turn.
fn taken_in_a_second(ops: &Arc<Ops>, turn: usize) -> Result<f64> {
    let taken = Arc::new(AtomicUsize::new(0));
    // As in pgbench, the clock starts when all are connected.
    let ready = Arc::new(Barrier::new(TAKERS + 1));
    let takers: Vec<_> = (0..TAKERS)
        .map(|taker| {
            let (ops, taken) = (Arc::clone(ops), Arc::clone(&taken));
            let ready = Arc::clone(&ready);
            thread::spawn(move || -> Result<()> {
                take(&ops, &format!("u{turn}t{taker}"))?;
                ready.wait();
                let deadline = Instant::now() + Duration::from_secs(TURN_S);
                for round in 0.. {
                    if Instant::now() >= deadline {
                        break;
                    }
                    take(&ops, &format!("u{turn}t{taker}r{round}"))?;
                    taken.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            })
        })
        .collect();
    ready.wait();
    let start = Instant::now();
    for taker in takers {
        taker.join().map_err(|_| anyhow!("a taker panicked"))??;
    }
    Ok(taken.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64())
}

/// The work of pgbench: select for update skip locked, update, insert an event, commit.
struct Reference {
    folder: tempfile::TempDir,
}

impl Reference {
    fn new(client: &mut Client, items: usize) -> Result<Self> {
        client.batch_execute(&format!(
            "CREATE TABLE bench.items (id BIGSERIAL PRIMARY KEY, status TEXT NOT NULL, \
                 position BIGINT NOT NULL, title TEXT NOT NULL, updated_at BIGINT NOT NULL); \
             INSERT INTO bench.items (status, position, title, updated_at) \
                 SELECT 'pending', n, 'Item ' || n, 0 FROM generate_series(1, {items}) AS n; \
             CREATE INDEX ON bench.items (status, position); \
             CREATE TABLE bench.log (seq BIGSERIAL PRIMARY KEY, item BIGINT NOT NULL, \
                 data TEXT NOT NULL); ANALYZE bench.items"
        ))?;
        let folder = tempfile::tempdir()?;
        std::fs::write(
            folder.path().join("take.sql"),
            "BEGIN;\n\
             SELECT id FROM bench.items WHERE status = 'pending' ORDER BY position LIMIT 1 \
             FOR UPDATE SKIP LOCKED \\gset\n\
             UPDATE bench.items SET status = 'in_progress', updated_at = 1 WHERE id = :id;\n\
             INSERT INTO bench.log (item, data) VALUES (:id, '{\"type\":\"todo_taken\"}');\n\
             COMMIT;\n",
        )?;
        Ok(Self { folder })
    }

    /// How many transactions it does per second, in one turn.
    fn in_a_second(&self, url: &str, sslmode: &str) -> Result<f64> {
        let output = Command::new("pgbench")
            .env("PGSSLMODE", sslmode)
            .args(["--no-vacuum", "--protocol=prepared", "--jobs=2", "--client"])
            .arg(TAKERS.to_string())
            .args(["--time", &TURN_S.to_string(), "--file"])
            .arg(self.folder.path().join("take.sql"))
            .arg(url)
            .output()
            .context("pgbench")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let tps = text.lines().find_map(|line| line.strip_prefix("tps = "));
        let Some(tps) = tps.and_then(|rest| rest.split_whitespace().next()) else {
            bail!("pgbench said: {text}{}", String::from_utf8_lossy(&output.stderr));
        };
        Ok(tps.parse()?)
    }
}

fn timed(ops: &Ops, round: usize) -> Result<f64> {
    let start = Instant::now();
    take(ops, &format!("w{round}"))?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

/// Each taker is a different agent, so that each gets a different item.
fn take(ops: &Ops, name: &str) -> Result<()> {
    let input = json!({ "planFile": "plan.md", "leaseS": 3600 });
    let answer = ops.call(find("todo_next")?, &worker(name), input)?;
    if answer["todo"].is_null() {
        bail!("there was nothing left to take");
    }
    Ok(())
}

pub(crate) fn worker(name: &str) -> Envelope {
    let mut envelope = envelope("none");
    envelope.actor.role = Role::Worker;
    envelope.actor.proved = Role::Worker;
    if let Some(agent) = AgentPath::parse(&format!("primary.{name}")) {
        envelope.actor.agent = agent;
    }
    envelope.actor.principal = format!("worker:{}", envelope.actor.agent);
    envelope
}

/// A store with one plan of this many tasks.
fn filled(target: Target, options: Options, tasks: usize) -> Result<Ops> {
    let store = Store::open(&target, options)?;
    let at = Time::from_micros(1_763_193_600_000_000);
    let mut ids = Ids::new(at, 1);
    let project = ProjectId::from(ids.ulid());
    let stamp = Stamp {
        project,
        actor: envelope("any").actor,
        cause: "bench",
        at,
        proof: "none".to_owned(),
        recorded_at: at,
    };
    let scope = Scope::Plan { branch: "main".to_owned(), plan_file: "plan.md".to_owned() };
    let list = List::new(ListId::from(ids.ulid()), project, scope, at);
    let (made, opened) = (list.clone(), stamp.clone());
    store.write(move |tx| {
        tx.insert_project(project, "bench", at)?;
        let mut snapshot = Snapshot::empty(made.clone());
        let event = ListOpened { list: made.clone() }.into();
        let decision = Decision { events: vec![event], ..Decision::default() };
        tx.record(&mut snapshot, &decision, &opened, &mut ids.clone())
    })?;
    for first in (0..tasks).step_by(5_000) {
        let (list, stamp) = (list.clone(), stamp.clone());
        let mut ids = Ids::new(at, (first as u128 + 2) << 40);
        store.write(move |tx| {
            let last = i64::try_from(first).unwrap_or_default() - 1;
            let mut snapshot = tx.snapshot(list.clone(), Load::Item(no_todo(&mut ids)))?;
            snapshot.last_position = Some(last);
            let titles = (first..(first + 5_000).min(tasks)).map(|n| format!("Task {n}"));
            let items = titles.filter_map(|t| Title::new(&t).ok()).map(NewTodo::titled).collect();
            let command = CreateTodos { items }.into();
            if let Ok(decision) = decide(&snapshot, &command, &stamp.actor, at, &mut ids) {
                tx.record(&mut snapshot, &decision, &stamp, &mut ids)?;
            }
            Ok::<_, Error>(())
        })?;
    }
    drop(store);
    Ok(Ops::new(target, options))
}

/// An id that no item has.
fn no_todo(ids: &mut Ids) -> punchlist_core::TodoId {
    punchlist_core::TodoId::from(ids.ulid())
}
