//! Runs on a file, with models that reply at once: the cost of an iteration, whether memory stays
//! constant over many continuations, whether a hundred simultaneous runs all end, and how the
//! driver's time grows with its list.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use punchlist_core::driver::{Budget, Counters, Facts, Finish, StopReason, Trigger, Work, decide};
use punchlist_core::{Ids, List, ListId, ProjectId, Role, RunId, Scope, Snapshot, Time};
use punchlist_engine::agent::{Models, Outcome, Runtime};
use punchlist_engine::model::{
    Call, Cancel, Fault, Input, Message, Model, Progress, Reply, Request, Stop, Usage,
};
use punchlist_engine::{Pump, Worker};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Context, Envelope, Ops, clock};
use punchlist_store::{Options, Target};
use serde_json::{Value, json};

use crate::table::{Line, Target as Goal, median, shown};
use crate::writers::{envelope, one_by_one};

/// How many items one run completes. With the plan and the last reply, it stays just below the
/// limit of model calls.
const ITEMS: usize = 45;

const RUNS: usize = 100;

/// A model that replies at once, depending on the last result.
struct Instantly(fn(&Request<'_>) -> Reply);

impl Model for Instantly {
    fn name(&self) -> &str {
        "instantly"
    }

    fn provider(&self) -> &'static str {
        "bench"
    }

    fn window(&self) -> u64 {
        200_000
    }

    fn respond(
        &self,
        request: &Request<'_>,
        _: &Cancel,
        _: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Reply, Fault> {
        Ok((self.0)(request))
    }
}

struct One(Arc<dyn Model>);

impl Models for One {
    fn open(&self, _: &str, _: Option<&str>) -> Result<Arc<dyn Model>, Fault> {
        Ok(Arc::clone(&self.0))
    }
}

fn says(text: &str, calls: Vec<(&str, Value)>) -> Reply {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let calls: Vec<Call> = calls
        .into_iter()
        .map(|(name, input)| Call {
            id: format!("call{}", NEXT.fetch_add(1, Ordering::Relaxed)),
            name: name.to_owned(),
            input: Input::Json(input),
        })
        .collect();
    let stop = if calls.is_empty() { Stop::EndTurn } else { Stop::ToolUse };
    let usage = Usage { input: 100, output: 10, ..Usage::default() };
    Reply { text: text.to_owned(), calls, raw: None, stop, usage, id: None }
}

/// The ids of open items in the context.
fn open_ids(context: Option<&str>) -> Vec<String> {
    let open = context
        .unwrap_or_default()
        .lines()
        .filter(|line| line.starts_with("- [ ]") || line.starts_with("- [/]"));
    open.filter_map(|line| line.split("(id ").nth(1)?.split(')').next())
        .map(str::to_owned)
        .collect()
}

/// Plans, then completes one item after another.
fn drains(request: &Request<'_>) -> Reply {
    let planned = request.messages.iter().any(|message| matches!(message, Message::Results(_)));
    if !planned {
        let items: Vec<Value> =
            (0..ITEMS).map(|n| json!({ "title": format!("item {n}") })).collect();
        return says("", vec![("create_todo", json!({ "items": items }))]);
    }
    match open_ids(request.context).first() {
        Some(id) => says("", vec![("complete_todo", json!({ "todoId": id, "outcome": "done" }))]),
        None => says("All done.", Vec::new()),
    }
}

/// Never finishes: completes one item, creates another, and stops.
fn stops(request: &Request<'_>) -> Reply {
    if let Some(Message::Results(_)) = request.messages.last() {
        return says("That will do.", Vec::new());
    }
    let mut calls = vec![("create_todo", json!({ "items": [{ "title": "one more" }] }))];
    if let Some(id) = open_ids(request.context).first() {
        calls.push(("complete_todo", json!({ "todoId": id, "outcome": "done" })));
    }
    says("", calls)
}

/// Asks a question, and stops when it gets the answer.
fn asks(request: &Request<'_>) -> Reply {
    let asked = request.messages.iter().any(|message| matches!(message, Message::Results(_)));
    if asked {
        says("Thank you.", Vec::new())
    } else {
        says("", vec![("ask", json!({ "question": "May I?" }))])
    }
}

fn fresh(file: &Path) -> Ops {
    Ops::new(Target::File(file.to_owned()), Options::default())
}

fn operator() -> Envelope {
    let mut envelope = envelope("t");
    envelope.actor.role = Role::Operator;
    envelope.context = Context::default();
    envelope
}

fn start(ops: &Ops, more: &Value) -> Result<RunId> {
    let mut input = json!({ "prompt": "Go.", "model": "instantly", "autoCompleteTodos": true });
    if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
        input.extend(more.clone());
    }
    let started = ops.call(find("run_start")?, &operator(), input)?;
    started["run"]["id"].as_str().and_then(RunId::parse).ok_or_else(|| anyhow!("no run: {started}"))
}

fn with_crew<T>(
    ops: &Ops,
    model: fn(&Request<'_>) -> Reply,
    job: impl FnOnce(&Runtime<'_>) -> T,
) -> T {
    let models = One(Arc::new(Instantly(model)));
    job(&Runtime {
        executor: None,
        ops,
        agents: &Arc::default(),
        models: &models,
        outside: &(),
        clock: &clock::now,
        is_stopped: &|| false,
        observer: &|_| {},
    })
}

/// The cost of one iteration: a model call, a tool that writes, and its result.
pub(crate) fn iteration(rounds: usize) -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let ops = fresh(&folder.path().join("runs.db"));
    let (mut raw, mut ours) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        raw.push(1e6 / one_by_one(&folder.path().join(format!("raw{round}.db")), 400)?);
        let run = start(&ops, &json!({}))?;
        let begun = Instant::now();
        let outcome = with_crew(&ops, drains, |crew| crew.drive("bench", run, &Cancel::default()))?;
        let taken = begun.elapsed().as_secs_f64() * 1e6;
        ensure!(outcome == Outcome::Ended(StopReason::Drained), "it ended as {outcome:?}");
        ours.push(taken / (ITEMS + 2) as f64);
    }
    let (raw, ours) = (median(raw), median(ours));
    Ok(Line {
        what: "an iteration of the loop, with a tool that writes".to_owned(),
        ours: shown(ours),
        reference: format!("{} one raw commit", shown(raw)),
        value: ours / raw,
        target: Goal::AtMost(5.0),
    })
}

/// A thousand continuations of one run: the memory at the end against that after the first hundred.
/// This needs a separate process, because earlier measurements have enlarged this one.
pub(crate) fn continuations() -> Result<Line> {
    let output = Command::new(std::env::current_exe()?).arg("continuations").output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout)?;
    let (early, late) = told.trim().split_once(' ').ok_or_else(|| anyhow!("no figures: {told}"))?;
    let (early, late): (f64, f64) = (early.parse()?, late.parse()?);
    Ok(Line {
        what: "memory after 1,000 continuations".to_owned(),
        ours: format!("{:.1} MiB", late / 1024.0),
        reference: format!("{:.1} MiB after 100", early / 1024.0),
        value: late / early,
        target: Goal::AtMost(1.1),
    })
}

/// The process of [`continuations`]: prints both figures, in KiB.
pub(crate) fn continue_a_thousand_times() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let ops = fresh(&folder.path().join("runs.db"));
    let run = start(&ops, &json!({ "maxTodoContinuations": 1_000 }))?;
    let (made, early) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let models = One(Arc::new(Instantly(stops)));
    let outcome = Runtime {
        executor: None,
        ops: &ops,
        agents: &Arc::default(),
        models: &models,
        outside: &(),
        clock: &clock::now,
        is_stopped: &|| false,
        observer: &|live| {
            if let punchlist_engine::agent::Live::Continues { .. } = live
                && made.fetch_add(1, Ordering::Relaxed) + 1 == 100
            {
                early.store(resident().unwrap_or_default(), Ordering::Relaxed);
            }
        },
    }
    .drive("bench", run, &Cancel::default())?;
    let late = resident()?;
    ensure!(outcome == Outcome::Ended(StopReason::ContinuationCap), "it ended as {outcome:?}");
    ensure!(made.load(Ordering::Relaxed) == 1_000, "{made:?} continuations");
    println!("{} {late}", early.load(Ordering::Relaxed));
    Ok(())
}

/// The memory of this process, in KiB.
fn resident() -> Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.ok_or_else(|| anyhow!("this system does not say how much memory we use"))
}

/// A hundred simultaneous runs in one process, each waiting for an answer. All must end.
pub(crate) fn crowd() -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let ops = fresh(&folder.path().join("runs.db"));
    for _ in 0..RUNS {
        start(&ops, &json!({}))?;
    }
    let begun = Instant::now();
    let models = One(Arc::new(Instantly(asks)));
    let ended = AtomicUsize::new(0);
    let is_over =
        || ended.load(Ordering::Relaxed) >= RUNS || begun.elapsed() > Duration::from_secs(120);
    std::thread::scope(|scope| -> Result<()> {
        let worker = scope.spawn(|| {
            Worker {
                executor: None,
                ops: &ops,
                agents: Arc::default(),
                models: &models,
                outside: &(),
                pump: Pump::default(),
                jobs: RUNS,
                clock: &clock::now,
                is_stopped: &is_over,
                report: &|_| {},
                observer: &|live| {
                    if let punchlist_engine::agent::Live::Ends { .. } = live {
                        ended.fetch_add(1, Ordering::Relaxed);
                    }
                },
            }
            .run()
        });
        while !is_over() {
            let open = ops.call(
                find("gate_list")?,
                &operator(),
                json!({ "state": "open", "limit": 1000 }),
            )?;
            for gate in open["gates"].as_array().into_iter().flatten() {
                let input =
                    json!({ "gateId": gate["id"], "decision": "resume", "response": "yes" });
                ops.call(find("gate_answer")?, &operator(), input)?;
            }
        }
        worker.join().map_err(|_| anyhow!("the worker panicked"))??;
        Ok(())
    })?;
    let ended = ended.load(Ordering::Relaxed);
    Ok(Line {
        what: format!("{RUNS} runs at once, each woken by an answer: ended"),
        ours: format!("{ended} in {:.1} s", begun.elapsed().as_secs_f64()),
        reference: format!("{RUNS} begun"),
        value: ended as f64 / RUNS as f64,
        target: Goal::AtLeast(1.0),
    })
}

/// One decision over ten thousand items against one over a thousand.
pub(crate) fn decisions(rounds: usize) -> Line {
    let (small, large) = (list(1_000), list(10_000));
    let (mut at_small, mut at_large) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        for (list, taken) in [(&small, &mut at_small), (&large, &mut at_large)] {
            let begun = Instant::now();
            let budget = Budget::default();
            let counters = Counters::new(&budget);
            let now = Time::from_micros(1);
            let work = Work::of([list], now);
            let facts = Facts {
                trigger: Trigger::Stopped(Finish::EndTurn),
                budget: &budget,
                counters: &counters,
                cancelled: false,
                enabled: true,
                paused: false,
                gate: None,
                in_flight: &[],
                has_todo_tool: true,
                work: &work,
                now,
            };
            std::hint::black_box(decide(&facts));
            taken.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    }
    let (at_small, at_large) = (median(at_small), median(at_large));
    Line {
        what: "a decision of the driver over 10,000 items".to_owned(),
        ours: shown(at_large),
        reference: format!("{} over 1,000", shown(at_small)),
        value: at_large / at_small,
        target: Goal::AtMost(12.0),
    }
}

/// A list with this many open items.
fn list(items: usize) -> Snapshot {
    use punchlist_core::command::{CreateTodos, NewTodo};
    use punchlist_core::text::Title;
    let now = Time::from_micros(0);
    let mut ids = Ids::new(now, 1);
    let scope = Scope::Turn { conversation_id: "c".into(), turn_id: "t".into() };
    let list = List::new(ListId::from(ids.ulid()), ProjectId::from(ids.ulid()), scope, now);
    let mut state = Snapshot::empty(list);
    let titles: BTreeMap<usize, Title> =
        (0..items).filter_map(|n| Some((n, Title::new(&format!("item {n}")).ok()?))).collect();
    let items = titles.into_values().map(NewTodo::titled).collect();
    let actor = envelope("t").actor;
    let command = CreateTodos { items }.into();
    if let Ok(decision) = punchlist_core::decide(&state, &command, &actor, now, &mut ids) {
        for event in &decision.events {
            punchlist_core::apply(&mut state, event, now);
        }
    }
    state
}
