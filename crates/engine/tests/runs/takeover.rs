//! Processes that die, report too late, or are stopped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use punchlist_core::conversation::ToolCall;
use punchlist_core::driver::StopReason;
use punchlist_core::{Run, RunId};
use punchlist_engine::agent::{
    Answer, EffectHandler, Live, Outcome, OutsideTools, Runtime, ToolOutput,
};
use punchlist_engine::model::{Cancel, Tool};
use punchlist_engine::{Collector, Pump};
use punchlist_ops::Error;
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::stage::Stage;

on_every_lasting_store!(
    a_process_may_die_anywhere_without_changing_the_result,
    a_tool_call_that_had_started_is_not_repeated,
    a_run_stopped_during_a_call_ends_soon,
    a_run_stopped_during_its_cooldown_ends_soon,
    only_one_of_two_processes_keeps_the_run,
    a_process_that_lost_its_entry_cannot_take_the_run,
);

const SCRIPT: &str = r#"
[[steps]]
text = "I plan."
calls = [
  { tool = "create_todo", input = { items = [ { title = "look" }, { title = "write" } ] }, save = "plan" },
  { tool = "list_todo" },
]
[[steps]]
calls = [ { tool = "count", input = { what = "sheep" } } ]
[[steps]]
text = "That will do."
[[steps]]
calls = [
  { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "seen" } },
  { tool = "complete_todo", input = { todoId = "{{plan.created.1.id}}", outcome = "written" } },
]
[[steps]]
text = "All done."
usage = { input = 100, output = 10 }
"#;

/// A tool that counts how often it is called.
#[derive(Default)]
struct Counting {
    calls: AtomicUsize,
}

impl OutsideTools for Counting {
    fn tools(&self, _: &str, _: &Run, _: &Cancel) -> Vec<Tool> {
        let input = json!({ "type": "object" });
        vec![Tool { name: "count".to_owned(), description: "Counts.".to_owned(), input }]
    }

    fn call(
        &self,
        _: &str,
        _: &Run,
        _: &ToolCall,
        _: &Value,
        _: &Cancel,
        begin: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Answer, Error> {
        begin()?;
        self.calls.fetch_add(1, Ordering::SeqCst);
        let text = "one".to_owned();
        let (is_error, changed, touched_list, outside) = (false, true, false, true);
        Ok(Answer::Done(ToolOutput { text, is_error, changed, touched_list, outside }))
    }
}

/// Executes a run in a process that is killed at its n-th event. Returns whether it was killed.
fn killed_at(stage: &Stage, outside: &dyn OutsideTools, run: RunId, nth: usize) -> bool {
    let signs = AtomicUsize::new(0);
    let told = |_: &Live<'_>| {
        assert!(signs.fetch_add(1, Ordering::SeqCst) + 1 != nth, "killed");
    };
    let life = || {
        stage.runtime(&|| false, |runtime| {
            let runtime = Runtime { observer: &told, outside, ..*runtime };
            runtime.drive("test", run, &Cancel::default()).unwrap()
        })
    };
    catch_unwind(AssertUnwindSafe(life)).is_err()
}

/// Everything that a person sees of an ended run, except for ids.
fn seen(stage: &Stage, run: RunId) -> Value {
    let shown = stage.show(run);
    let items = |of: &Value| -> Vec<Value> {
        let items = of.as_array().unwrap().iter();
        items.map(|i| json!([i["title"], i["status"], i["outcome"], i["hold"]])).collect()
    };
    let chat: Vec<Value> = stage
        .chat(run)
        .into_iter()
        // Results contain ids.
        .map(|(role, kind, text)| json!([role, kind, if kind == "result" { "" } else { &text }]))
        .collect();
    let view = &shown["run"];
    json!({
        "done": items(&shown["done"]), "left": items(&shown["left"]), "chat": chat,
        "text": shown["text"], "reason": view["stopReason"], "iterations": view["iterations"],
        "continuations": view["continuations"], "usage": view["usage"],
    })
}

/// T-37: a process that is killed at any point is replaced by another with the same outcome, and no
/// call is made twice. The only difference: a call that started and has no result is reported as
/// unknown.
fn a_process_may_die_anywhere_without_changing_the_result(backend: Backend) {
    let undisturbed = Stage::solo(backend, SCRIPT);
    let outside = Counting::default();
    let run = undisturbed.start("Do two things.");
    assert!(!killed_at(&undisturbed, &outside, run, 0));
    let expected = seen(&undisturbed, run);
    assert_eq!(expected["reason"], json!("drained"), "{expected}");
    assert_eq!(expected["continuations"], json!(1));
    let stage = Stage::solo(backend, SCRIPT);
    let mut kills = 0;
    loop {
        let outside = Counting::default();
        let run = stage.start("Do two things.");
        let killed = killed_at(&stage, &outside, run, kills + 1);
        if killed {
            assert!(!killed_at(&stage, &outside, run, 0));
        }
        assert_eq!(seen(&stage, run), expected, "killed at sign {}", kills + 1);
        assert_eq!(outside.calls.load(Ordering::SeqCst), 1, "killed at sign {}", kills + 1);
        if !killed {
            break;
        }
        kills += 1;
    }
    assert!(kills > 20, "{kills}");
}

/// The process died during a call of an outside tool.
fn a_tool_call_that_had_started_is_not_repeated(backend: Backend) {
    struct Deadly(Counting);
    impl OutsideTools for Deadly {
        fn tools(&self, project: &str, run: &Run, cancel: &Cancel) -> Vec<Tool> {
            self.0.tools(project, run, cancel)
        }
        fn call(
            &self,
            project: &str,
            run: &Run,
            call: &ToolCall,
            input: &Value,
            cancel: &Cancel,
            begin: &dyn Fn() -> Result<(), Error>,
        ) -> Result<Answer, Error> {
            let answer = self.0.call(project, run, call, input, cancel, begin);
            let first = self.0.calls.load(Ordering::SeqCst) == 1;
            assert!(!first, "killed");
            answer
        }
    }
    let script = "[[steps]]\ncalls = [ { tool = \"count\" } ]\n\
                  [[steps]]\nwhen = \"is not known: look before\"\ntext = \"I will look.\"";
    let stage = Stage::solo(backend, script);
    let outside = Deadly(Counting::default());
    let run = stage.start("Count.");
    assert!(killed_at(&stage, &outside, run, 0));
    assert!(!killed_at(&stage, &outside, run, 0));
    assert_eq!(stage.show(run)["text"], json!("I will look."));
    assert_eq!(outside.0.calls.load(Ordering::SeqCst), 1);
}

/// S-21, S-27, F-2: a model call that would take half a minute ends soon after the run is stopped,
/// even if a process holds the entry and ends the run itself.
fn a_run_stopped_during_a_call_ends_soon(backend: Backend) {
    let script = "[[steps]]\ntext = \"At last.\"\ndelay_ms = 30000";
    for held in [false, true] {
        let stage = Stage::solo(backend, script);
        let run = stage.start("Take your time.");
        if held {
            let store = stage.world.ops.store().unwrap();
            assert!(store.write(move |tx| tx.take_drive(run, 600)).unwrap().is_some());
        }
        let (asked, is_asked) = channel();
        let told = |live: &Live<'_>| {
            if let Live::Asks { .. } = live {
                asked.send(()).unwrap();
            }
        };
        std::thread::scope(|scope| {
            let driven = scope.spawn(|| {
                stage.runtime(&|| false, |runtime| {
                    Runtime { observer: &told, ..*runtime }.drive("test", run, &Cancel::default())
                })
            });
            is_asked.recv().unwrap();
            let since = Instant::now();
            let input = json!({ "run": run.to_string(), "reason": "enough" });
            stage.call("run_stop", input).unwrap();
            let outcome = driven.join().unwrap().unwrap();
            assert_eq!(outcome, Outcome::Ended(StopReason::Cancelled), "{held}");
            assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
        });
        let shown = stage.show(run);
        assert_eq!(shown["run"]["stopReason"], json!("cancelled"));
        assert_eq!(shown["text"], json!(""));
    }
}

/// Q-S1: the pause between two continuations can be ended at any moment.
fn a_run_stopped_during_its_cooldown_ends_soon(backend: Backend) {
    let config = "[agents.primary]\nmodel = \"scripted:a\"\ntodo_driven_execution = true\n\
                  todo_check_interval_ms = 3600000";
    let script = "[[steps]]\ncalls = [ { tool = \"create_todo\", input = { items = [ { title = \
                  \"a\" } ] } } ]\n[[steps]]\ntext = \"So?\"\nrepeat = true";
    let stage = Stage::new(backend, config, &[("a", script)]);
    let run = stage.start("Do it.");
    std::thread::scope(|scope| {
        let driven = scope.spawn(|| stage.drive(run));
        let deadline = Instant::now() + Duration::from_secs(20);
        while stage.show(run)["run"]["waitsFor"]["kind"] != "cooldown" {
            assert!(Instant::now() < deadline, "it does not rest");
            std::thread::yield_now();
        }
        stage.call("run_stop", json!({ "run": run.to_string() })).unwrap();
        assert_eq!(driven.join().unwrap(), Outcome::Ended(StopReason::Cancelled));
    });
    assert_eq!(stage.show(run)["run"]["continuations"], json!(1));
}

/// X-13: the process that takes a run over has it; the other one can no longer write.
fn only_one_of_two_processes_keeps_the_run(backend: Backend) {
    let script = "[[steps]]\ncalls = [ { tool = \"list_todo\" } ]\n[[steps]]\ntext = \"Done.\"";
    let stage = Stage::solo(backend, script);
    let run = stage.start("Do it.");
    let other = AtomicUsize::new(0);
    let told = |live: &Live<'_>| {
        // While the first process waits for its model, another one executes the whole run.
        if matches!(live, Live::Asks { .. }) && other.fetch_add(1, Ordering::SeqCst) == 0 {
            assert_eq!(stage.drive(run), Outcome::Ended(StopReason::NoPlan));
        }
    };
    let first = stage.runtime(&|| false, |runtime| {
        Runtime { observer: &told, ..*runtime }.drive("test", run, &Cancel::default())
    });
    assert_eq!(first.unwrap(), Outcome::Lost);
    let kinds: Vec<String> = stage.chat(run).into_iter().map(|(_, kind, _)| kind).collect();
    assert_eq!(kinds, ["text", "text", "result", "text"], "nothing is there twice");
    assert_eq!(stage.show(run)["run"]["iterations"], json!(2));
}

/// A process whose lease expired cannot take the run from the current holder of the entry.
fn a_process_that_lost_its_entry_cannot_take_the_run(backend: Backend) {
    let stage = Stage::solo(backend, "[[steps]]\ntext = \"Done.\"");
    let run = stage.start("Do it.");
    let store = stage.world.ops.store().unwrap();
    let late = store.write(move |tx| tx.take_drive(run, -1)).unwrap().unwrap();
    let holder = store.write(move |tx| tx.take_drive(run, 600)).unwrap().unwrap();
    let clock = || stage.world.now;
    let is_stopped = || false;
    let report = |_| {};
    stage.runtime(&is_stopped, |runtime| {
        let (clock, report) = (&clock, &report);
        let collector = Collector { ops: runtime.ops, clock, is_stopped: &is_stopped, report };
        let errand = EffectHandler::new(collector, *runtime);
        let pump = Pump::default();
        let done = pump.work(store, &errand, late).unwrap();
        assert_eq!((done.done, done.lost), (1, 1), "too late, and said so");
        assert_eq!(stage.show(run)["run"]["iterations"], json!(0), "it called nobody");
        let done = pump.work(store, &errand, holder).unwrap();
        assert_eq!((done.done, done.lost), (1, 0));
    });
    assert_eq!(stage.show(run)["run"]["stopReason"], json!("no_plan"));
}
