//! What one run or one project does ends, and keeps nothing from the others.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use punchlist_core::driver::StopReason;
use punchlist_core::{Run, Time};
use punchlist_engine::agent::{ConfiguredTools, Live, Outcome, Runtime};
use punchlist_engine::model::{
    Call, Cancel, Fault, Input, Message, Model, Progress, Reply, Request, Stop, Usage,
};
use punchlist_engine::{Pump, Worker};
use punchlist_ops::config::{Config, Origin};
use punchlist_testkit::{Backend, developer_experience, on_every_lasting_store};
use serde_json::json;

use crate::stage::Stage;

on_every_lasting_store!(
    agents_that_only_delegate_end,
    a_job_that_panics_gives_its_place_back,
    a_cancelled_run_does_not_wait_for_a_server_to_start,
    a_tool_does_not_run_outside_the_folder_of_its_project,
);

/// Delegates its own item to itself when it is handed it.
struct Endless {
    todo: String,
}

impl Model for Endless {
    fn name(&self) -> &str {
        "endless"
    }

    fn provider(&self) -> &'static str {
        "test"
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
        let input = json!({ "type": "own", "mission": "Again.", "todoId": self.todo });
        let call = Call {
            id: format!("call{}", request.messages.len()),
            name: "delegate".to_owned(),
            input: Input::Json(input),
        };
        // All runs write in one chat. A result after the last order means that the chain has ended.
        let is_order = |message: &&Message| match message {
            Message::User { text } => text.starts_with("Execute this task"),
            _ => false,
        };
        let since = request.messages.iter().rev().take_while(|message| !is_order(message));
        let has_ended = since.into_iter().any(|message| matches!(message, Message::Results(_)));
        let calls = if has_ended { Vec::new() } else { vec![call] };
        let stop = if calls.is_empty() { Stop::EndTurn } else { Stop::ToolUse };
        let usage = Usage { input: 10, output: 1, ..Usage::default() };
        Ok(Reply { text: "Done.".to_owned(), calls, raw: None, stop, usage, id: None })
    }
}

/// P-10, ADR 0017: a process does what it waits for on its own stack, so delegations must not nest
/// without an end.
fn agents_that_only_delegate_end(backend: Backend) {
    let config = "[agents.own]\nrole = \"owner\"\nmodel = \"scripted:own\"\n";
    let stage = Stage::new(backend, config, &[]);
    stage.call("mission_init", developer_experience()).unwrap();
    let new = json!({
        "missionSlug": "developer-experience", "pillarSlug": "build-performance", "title": "x",
        "justification": "the metric says so", "completionCriteria": "it is measured",
    });
    let todo = stage.call("mission_todo_create", new).unwrap()["todo"]["id"].clone();
    let todo = todo.as_str().unwrap().to_owned();
    let start = json!({ "missionSlug": "developer-experience", "todoId": todo, "action": "start",
        "reason": "now" });
    stage.call("mission_todo_update", start).unwrap();
    stage.shelf.put("scripted:own", Arc::new(Endless { todo: todo.clone() }));
    let order = json!({ "type": "own", "mission": "Go.", "todoId": todo, "async": true });
    stage.call("delegate", order).unwrap();
    stage.work();
    let told = stage.told();
    let refused = |told: &&String| told.contains("delegation_too_deep");
    assert_eq!(told.iter().filter(refused).count(), 1, "{told:#?}");
    let made = stage.call("delegation_list", json!({})).unwrap()["delegations"].clone();
    let states: Vec<_> = made.as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["returned"; 8], "{told:#?}");
}

/// A worker with one place does the work behind the job that panicked.
fn a_job_that_panics_gives_its_place_back(backend: Backend) {
    let stage = Stage::solo(backend, "[[steps]]\ntext = \"Done.\"\n");
    stage.start("one");
    stage.start("two");
    let (has_panicked, has_ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let observer = |live: &Live<'_>| match live {
        Live::Asks { .. } if !has_panicked.swap(true, Ordering::SeqCst) => {
            panic!("this panic is part of the test")
        }
        Live::Ends { .. } => has_ended.store(true, Ordering::SeqCst),
        _ => {}
    };
    // The test fails instead of hanging.
    let until = Instant::now() + Duration::from_secs(60);
    let clock = || -> Time { stage.world.now };
    let worker = Worker {
        executor: None,
        ops: &stage.world.ops,
        agents: Arc::clone(&stage.agents),
        models: &stage.shelf,
        outside: &(),
        pump: Pump::default(),
        jobs: 1,
        clock: &clock,
        is_stopped: &|| has_ended.load(Ordering::SeqCst) || Instant::now() > until,
        report: &|_| {},
        observer: &observer,
    };
    worker.run().unwrap();
    assert!(has_panicked.into_inner() && has_ended.into_inner());
}

const PRIMARY: &str = "[agents.primary]\nmodel = \"scripted:a\"\n";

fn config(tables: &str, folder: &Path) -> Config {
    let text = format!("{PRIMARY}{tables}");
    Config::default().read(&text, Origin::User, folder).unwrap()
}

/// Ctrl-C and `run_stop` need not wait for the time limit of a server that does not start.
fn a_cancelled_run_does_not_wait_for_a_server_to_start(backend: Backend) {
    let stage = Stage::new(backend, PRIMARY, &[("a", "[[steps]]\ntext = \"Done.\"\n")]);
    let folder = tempfile::tempdir().unwrap();
    let server = "[mcp.slow]\ncommand = [\"sleep\", \"120\"]\ntimeout = \"120s\"\n";
    let config = config(server, folder.path());
    let folders = |_: &str, _: &Run| Some(folder.path().to_owned());
    let clock = || stage.world.now;
    let tools = ConfiguredTools::new(&stage.world.ops, &config, &folders, &clock);
    let run = stage.start("go");
    let (cancel, since) = (Cancel::default(), Instant::now());
    cancel.cancel();
    let outcome = stage.runtime(&|| false, |runtime| {
        Runtime { outside: &tools, ..*runtime }.drive("test", run, &cancel).unwrap()
    });
    assert_eq!(outcome, Outcome::Ended(StopReason::Cancelled));
    assert!(since.elapsed() < Duration::from_secs(60), "{:?}", since.elapsed());
}

/// The worker was started in the folder of another project.
fn a_tool_does_not_run_outside_the_folder_of_its_project(backend: Backend) {
    let script =
        "[[steps]]\ncalls = [ { tool = \"mark\", input = {} } ]\n[[steps]]\ntext = \"Done.\"";
    let stage = Stage::new(backend, PRIMARY, &[("a", script)]);
    let folder = tempfile::tempdir().unwrap();
    let tool = "[tools.mark]\ncommand = [\"touch\", \"mark\"]\ndescription = \"marks\"\n\
                permission = \"allow\"\nschema = { type = \"object\" }\n";
    let config = config(tool, folder.path());
    let nowhere = |_: &str, _: &Run| None;
    let here = |project: &str, _: &Run| (project == "test").then(|| folder.path().to_owned());
    let clock = || stage.world.now;
    let drive = |tools: &ConfiguredTools<'_>| {
        let run = stage.start("go");
        stage.runtime(&|| false, |runtime| {
            let outside = Runtime { outside: tools, ..*runtime };
            outside.drive("test", run, &Cancel::default()).unwrap()
        });
        let chat = stage.chat(run).into_iter().filter(|(_, kind, _)| kind == "result");
        chat.map(|(_, _, text)| text).collect::<Vec<_>>()
    };
    let said = drive(&ConfiguredTools::new(&stage.world.ops, &config, &nowhere, &clock));
    let expected = "mark was not run: the folder of the project test is not known to this worker; \
                    start `punch worker` in that folder";
    assert_eq!(said, [expected]);
    assert_eq!(drive(&ConfiguredTools::new(&stage.world.ops, &config, &here, &clock)), [""]);
    assert!(folder.path().join("mark").exists());
}
