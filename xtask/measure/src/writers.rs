//! 64 writers in one process, through the whole path of a change, against one row per commit.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};
use punchlist_core::{Actor, AgentPath, Role};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Context, Envelope, Ops, Proof, clock};
use punchlist_store::{Options, Target};
use rusqlite::Connection;
use serde_json::json;

use crate::table::{Line, Target as Goal};

const WRITERS: usize = 64;

pub(crate) fn measure(writes: usize) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    // In turns, so that a busy disk affects both.
    let (mut raw, mut ours) = (0.0_f64, 0.0_f64);
    for round in 0..3 {
        raw += one_by_one(&folder.path().join(format!("raw{round}.db")), writes / 20)?;
        ours += at_once(&folder.path().join(format!("punch{round}.db")), writes)?;
    }
    let (raw, ours) = (raw / 3.0, ours / 3.0);
    Ok(Line {
        what: format!("{WRITERS} concurrent writers (`create_todo`, one process)"),
        ours: format!("{ours:.0}/s"),
        reference: format!("{raw:.0}/s raw, one row per commit"),
        value: ours / raw,
        target: Goal::AtLeast(5.0),
    })
}

pub(crate) fn one_by_one(file: &Path, rows: usize) -> Result<f64> {
    let connection = Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         CREATE TABLE rows (id INTEGER PRIMARY KEY, title TEXT NOT NULL)",
    )?;
    let start = Instant::now();
    for _ in 0..rows {
        connection.execute("INSERT INTO rows (title) VALUES (?1)", ["Measure the build"])?;
    }
    Ok(rows as f64 / start.elapsed().as_secs_f64())
}

fn at_once(file: &Path, writes: usize) -> Result<f64> {
    let ops = Arc::new(Ops::new(Target::File(file.to_owned()), Options::default()));
    let next = Arc::new(AtomicUsize::new(0));
    create(&ops, "turn")?;
    let start = Instant::now();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (ops, next) = (Arc::clone(&ops), Arc::clone(&next));
            thread::spawn(move || -> Result<()> {
                // A turn has about twenty items; then the next turn begins.
                for written in 0.. {
                    if next.fetch_add(1, Ordering::Relaxed) >= writes {
                        break;
                    }
                    create(&ops, &format!("turn-{writer}-{}", written / 20))?;
                }
                Ok(())
            })
        })
        .collect();
    for writer in writers {
        writer.join().map_err(|_| anyhow!("a writer panicked"))??;
    }
    Ok(writes as f64 / start.elapsed().as_secs_f64())
}

fn create(ops: &Ops, turn: &str) -> Result<()> {
    let input = json!({ "items": [{ "title": "Measure the build" }] });
    ops.call(find("create_todo")?, &envelope(turn), input)?;
    Ok(())
}

/// An agent in a turn of the project `bench`.
pub(crate) fn envelope(turn: &str) -> Envelope {
    Envelope {
        actor: Actor::new(Role::Root, AgentPath::primary()),
        proof: Proof::Nothing,
        project: "bench".to_owned(),
        context: Context {
            conversation: Some("c".to_owned()),
            turn: Some(turn.to_owned()),
            ..Context::default()
        },
        idempotency_key: None,
        agents: Arc::default(),
        now: clock::now(),
    }
}
