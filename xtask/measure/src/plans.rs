//! Plans through the operations, on a file, with the cost that a user sees: a plan of ten thousand
//! tasks against one of a thousand, and finding the current task in one of a hundred thousand.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Envelope, Ops};
use punchlist_store::{Options, Target};
use serde_json::{Value, json};

use crate::table::{Line, Target as Goal, median, shown};
use crate::takers::worker;
use crate::writers::envelope;

const SMALL: usize = 1_000;
const LARGE: usize = 10_000;
const HUGE: usize = 100_000;
const TIMES: usize = LARGE / SMALL;

/// Ten times the tasks may take ten times as long, plus a fifth for data that no longer fits into a
/// cache.
const GROWTH: Goal = Goal::AtMost(12.0);

/// Measures import, tree, position and render in turns, so that a busy machine affects both sizes.
///
/// A large import checkpoints SQLite's log before it answers; a small one does so only now and
/// then. So the small figure is the mean of ten imports in a row, which have as many tasks as the
/// large one and checkpoint as much.
pub(crate) fn growth(rounds: usize) -> Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let open = |name: &str| ops(&folder.path().join(name));
    let (small, large) = ((open("small.db"), text(SMALL)), (open("large.db"), text(LARGE)));
    let works: [(&str, &str, Value); 4] = [
        ("imported", "plan_import", json!({})),
        ("as a tree", "plan_tree", json!({})),
        ("where the work stands", "plan_current", json!({})),
        ("told to an agent", "plan_render", json!({ "form": "tree", "budget": 4_000 })),
    ];
    let mut taken: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); works.len()];
    for round in 0..rounds {
        for ((_, name, input), (at_small, at_large)) in works.iter().zip(&mut taken) {
            for ((ops, text), taken) in [(&small, at_small), (&large, at_large)] {
                taken.push(match *name {
                    "plan_import" if ops.target() == small.0.target() => {
                        let ten = round * TIMES..(round + 1) * TIMES;
                        let taken: Result<f64> = ten.map(|plan| import(ops, text, plan)).sum();
                        taken? / TIMES as f64
                    }
                    "plan_import" => import(ops, text, round)?,
                    _ => timed(ops, &envelope("none"), name, &on(input, round))?,
                });
            }
        }
    }
    let lines = works.iter().zip(taken).map(|((what, name, _), (at_small, at_large))| {
        let (at_small, at_large) = (median(at_small), median(at_large));
        Line {
            what: format!("a plan of {LARGE} tasks, {what} (`{name}`)"),
            ours: shown(at_large),
            reference: format!("{} of {SMALL}", shown(at_small)),
            value: at_large / at_small,
            target: GROWTH,
        }
    });
    Ok(lines.collect())
}

/// The current and the next task are looked up, so the length of the plan must not matter.
pub(crate) fn position(rounds: usize) -> Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let (small, huge) = (ops(&folder.path().join("small.db")), ops(&folder.path().join("huge.db")));
    import(&small, &text(SMALL), 0)?;
    import(&huge, &text(HUGE), 0)?;
    let mut lines = Vec::new();
    for (name, input) in [("plan_current", json!({})), ("todo_next", json!({ "leaseS": 3_600 }))]
        .map(|(name, input)| (name, on(&input, 0)))
    {
        let (mut at_small, mut at_huge) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            // A different caller each time, which holds nothing yet.
            let asker = worker(&format!("w{round}"));
            at_small.push(timed(&small, &asker, name, &input)?);
            at_huge.push(timed(&huge, &asker, name, &input)?);
        }
        let (at_small, at_huge) = (median(at_small), median(at_huge));
        lines.push(Line {
            what: format!("`{name}` in a plan of {HUGE} tasks"),
            ours: shown(at_huge),
            reference: format!("{} in one of {SMALL}", shown(at_small)),
            value: at_huge / at_small,
            target: Goal::AtMost(1.5),
        });
    }
    Ok(lines)
}

fn ops(file: &Path) -> Ops {
    Ops::new(Target::File(file.to_owned()), Options::default())
}

/// The file of a plan of this many tasks, four levels deep, the first tenth of it done.
fn text(tasks: usize) -> String {
    let mut text = "# Build the house\n".to_owned();
    let mut n = 1;
    while n < tasks {
        let mark = if n < tasks / 10 { 'x' } else { ' ' };
        let line = match n % 100 {
            1 => format!("## [{mark}] Task {n}: a room\n"),
            _ if n % 10 == 2 => format!("- [{mark}] Work {n} in the room\n"),
            _ => format!("  - [{mark}] Step {n} of the work\n"),
        };
        text.push_str(&line);
        n += 1;
    }
    text
}

/// An input that names the plan of a round.
fn on(input: &Value, round: usize) -> Value {
    let mut input = input.clone();
    input["planFile"] = file(round).into();
    input
}

/// One call, in microseconds.
fn timed(ops: &Ops, asker: &Envelope, name: &str, input: &Value) -> Result<f64> {
    let (operation, input) = (find(name)?, input.clone());
    let start = Instant::now();
    let answer = ops.call(operation, asker, input)?;
    let micros = start.elapsed().as_secs_f64() * 1e6;
    if answer["current"].is_null() && answer["text"].is_null() && answer["todo"].is_null() {
        bail!("`{name}` found no plan: {answer}");
    }
    Ok(micros)
}

fn import(ops: &Ops, text: &str, round: usize) -> Result<f64> {
    let input = json!({ "planFile": file(round), "markdown": text });
    let (operation, envelope) = (find("plan_import")?, envelope("none"));
    let start = Instant::now();
    let answer = ops.call(operation, &envelope, input)?;
    let micros = start.elapsed().as_secs_f64() * 1e6;
    if answer["changes"]["added"].as_u64().unwrap_or_default() < 900 {
        bail!("the plan was not imported: {}", answer["changes"]);
    }
    Ok(micros)
}

fn file(round: usize) -> String {
    format!("docs/plans/{round}.md")
}
