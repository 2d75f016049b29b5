//! Missions through the operations, on a file: many callers that create items in a full mission,
//! and a cycle over a hundred pillars against one over ten.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use punchlist_core::{Actor, AgentPath, Role};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Envelope, Ops};
use punchlist_store::{Options, Target};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::table::{Line, Target as Goal, median, shown};
use crate::writers::{envelope, one_by_one};

const CALLERS: usize = 16;
const ACTIVE: usize = 10;
const BACKLOG: usize = 50;
const METRICS: usize = 10;
const READINGS: i64 = 1_000;

/// Creates items that go to the backlog, because the active list is full. Each is then cancelled,
/// so that the backlog stays just below its limit.
pub(crate) fn at_the_limit(writes: usize) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let (mut raw, mut ours) = (0.0_f64, 0.0_f64);
    for round in 0..3 {
        raw += one_by_one(&folder.path().join(format!("raw{round}.db")), writes / 4)?;
        ours += crowd(&folder.path().join(format!("punch{round}.db")), writes)?;
    }
    let (raw, ours) = (raw / 3.0, ours / 3.0);
    Ok(Line {
        what: format!("{CALLERS} callers create and cancel in a mission at its limit"),
        ours: format!("{ours:.0}/s"),
        reference: format!("{raw:.0}/s raw, one row per commit"),
        value: ours / raw,
        target: Goal::AtLeast(0.5),
    })
}

fn crowd(file: &Path, writes: usize) -> Result<f64> {
    let ops = Arc::new(Ops::new(Target::File(file.to_owned()), Options::default()));
    init(&ops, 4, 0, "mission")?;
    for n in 0..ACTIVE {
        create(&ops, n % 4)?;
    }
    let next = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let (ops, next) = (Arc::clone(&ops), Arc::clone(&next));
            thread::spawn(move || -> Result<()> {
                while next.fetch_add(2, Ordering::Relaxed) < writes {
                    let made = create(&ops, caller % 4)?;
                    ensure!(made["todo"]["status"] == "backlog", "the mission is full: {made}");
                    let cancel = json!({
                        "missionSlug": "bench", "todoId": made["todo"]["id"],
                        "action": "cancel", "reason": "measured",
                    });
                    call(&ops, "mission_todo_update", cancel)?;
                }
                Ok(())
            })
        })
        .collect();
    for caller in callers {
        caller.join().map_err(|_| anyhow!("a caller panicked"))??;
    }
    Ok(writes as f64 / start.elapsed().as_secs_f64())
}

/// A cycle over a hundred pillars, each with a full list and its metrics, against one over ten.
pub(crate) fn cycles(rounds: usize) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let small = full(&folder.path().join("small.db"), 10)?;
    let large = full(&folder.path().join("large.db"), 100)?;
    let (mut at_small, mut at_large) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        for (ops, taken) in [(&small, &mut at_small), (&large, &mut at_large)] {
            let start = Instant::now();
            let ran = call(ops, "mission_cycle", json!({ "mission": "bench" }))?;
            taken.push(start.elapsed().as_secs_f64() * 1e6);
            ensure!(ran["ran"] == true, "no cycle ran: {ran}");
        }
    }
    let (at_small, at_large) = (median(at_small), median(at_large));
    Ok(Line {
        what: format!(
            "a cycle over 100 pillars × {} todos × {METRICS} metrics × {READINGS} readings",
            ACTIVE + BACKLOG
        ),
        ours: shown(at_large),
        reference: format!("{} over 10 pillars", shown(at_small)),
        value: at_large / at_small,
        target: Goal::AtMost(12.0),
    })
}

/// A mission whose pillars are full, with more readings than it uses.
fn full(file: &Path, pillars: usize) -> Result<Ops> {
    let ops = Ops::new(Target::File(file.to_owned()), Options::default());
    init(&ops, pillars, METRICS, "pillar")?;
    for pillar in 0..pillars {
        for _ in 0..ACTIVE + BACKLOG {
            create(&ops, pillar)?;
        }
    }
    let mut connection = Connection::open(file)?;
    let transaction = connection.transaction()?;
    // Inserted directly, because recording readings is measured elsewhere.
    transaction.execute(
        "INSERT INTO readings (metric_id, value, at, source) \
         WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1) \
         SELECT metrics.id, 60 + n % 30, 1000000 * n, 'bench' FROM n, metrics",
        [READINGS],
    )?;
    transaction.commit()?;
    Ok(ops)
}

fn init(ops: &Ops, pillars: usize, metrics: usize, scope: &str) -> Result<()> {
    let pillar = |n: usize| {
        let metric = |m: usize| {
            let target = json!({ "operator": "<", "value": 60, "warningThreshold": 90 });
            json!({ "name": format!("metric {n} {m}"), "target": target })
        };
        let metrics: Vec<Value> = (0..metrics).map(metric).collect();
        json!({ "name": format!("pillar {n}"), "metrics": metrics })
    };
    let pillars: Vec<Value> = (0..pillars).map(pillar).collect();
    let limits = json!({
        "activeTodoLimit": ACTIVE, "backlogTodoLimit": BACKLOG, "limitScope": scope,
    });
    call(ops, "mission_init", json!({ "name": "bench", "todo": limits, "pillars": pillars }))?;
    Ok(())
}

fn create(ops: &Ops, pillar: usize) -> Result<Value> {
    let input = json!({
        "missionSlug": "bench", "pillarSlug": format!("pillar-{pillar}"),
        "title": "Measure the build", "justification": "It is slow",
        "completionCriteria": "It is measured", "deadline": "2099-01-01",
    });
    call(ops, "mission_todo_create", input)
}

fn call(ops: &Ops, name: &str, input: Value) -> Result<Value> {
    let actor = Actor::new(Role::Operator, AgentPath::primary());
    Ok(ops.call(find(name)?, &Envelope { actor, ..envelope("none") }, input)?)
}
