//! If a worker's report completes an item, the agent that keeps the plan cannot complete it itself (F-7).

use std::sync::{Arc, Mutex};

use punchlist_core::driver::StopReason;
use punchlist_engine::agent::Outcome;
use punchlist_engine::model::{Cancel, Fault, Model, Progress, Reply, Request, Scripted};
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::json;

use crate::stage::Stage;

on_every_lasting_store!(a_report_completes_the_item, a_failure_completes_nothing);

const CONFIG: &str = "[agents.primary]\nmodel = \"scripted:p\"\ncompletion = \"verified\"\n\
                      todo_driven_execution = true\n[agents.coder]\nmodel = \"scripted:c\"\nrole = \"worker\"";

const PLAN: &str = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "write it" } ] }, save = "plan" } ]
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "I say so" } } ]
[[steps]]
calls = [ { tool = "delegate", input = { type = "coder", mission = "Write it.", todoId = "{{plan.created.0.id}}" } } ]
[[steps]]
text = "It is written."
"#;

/// Whether the whole prompt was present, and the tools.
type Seen = (bool, Vec<String>);

/// A model that records its requests.
struct Watched {
    model: Scripted,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Model for Watched {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn provider(&self) -> &'static str {
        self.model.provider()
    }

    fn window(&self) -> u64 {
        self.model.window()
    }

    fn respond(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Reply, Fault> {
        let names = request.tools.iter().map(|tool| tool.name.clone()).collect();
        let is_full = request.system.contains("## Task Planning & Execution");
        self.seen.lock().unwrap().push((is_full, names));
        self.model.respond(request, cancel, observer)
    }
}

fn a_report_completes_the_item(backend: Backend) {
    let stage = Stage::new(backend, CONFIG, &[("c", "[[steps]]\ntext = \"Written.\"")]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let model = Scripted::read("scripted:p", PLAN).unwrap();
    stage.shelf.put("scripted:p", Arc::new(Watched { model, seen: Arc::clone(&seen) }));
    let run = stage.start("Write it.");
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::Drained), "{:?}", stage.told());
    let done = stage.show(run)["done"].clone();
    assert_eq!(
        (&done[0]["status"], &done[0]["outcome"]),
        (&json!("completed"), &json!("Written."))
    );
    let told = stage.told();
    assert!(told.iter().any(|words| words.starts_with("complete_todo failed")), "{told:?}");
    let narrow = ["list_todo", "delegate", "ask", "todo_hold"];
    let seen = seen.lock().unwrap().clone();
    let is_narrow: Vec<bool> = seen
        .iter()
        .map(|(_, names)| names.iter().all(|name| narrow.contains(&name.as_str())))
        .collect();
    assert_eq!(is_narrow, [false, true, true, false], "{seen:?}");
    assert_eq!(seen.iter().map(|(full, _)| *full).collect::<Vec<_>>(), [true, false, false, true]);
    assert!(seen.iter().all(|(_, names)| !names.contains(&"complete_todo".to_owned())));
}

/// F-8, S-25: after one retry the item is held; a failure never completes it.
fn a_failure_completes_nothing(backend: Backend) {
    let broken = "[[steps]]\nfail = 400\nrepeat = true";
    let stage = Stage::new(backend, CONFIG, &[("p", PLAN), ("c", broken)]);
    let run = stage.start("Write it.");
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::Blocked), "{:?}", stage.told());
    let left = stage.show(run)["left"].clone();
    assert_eq!(left[0]["status"], json!("in_progress"));
    let hold = left[0]["hold"].as_str().unwrap();
    assert!(hold.starts_with("failed: coder failed: error:"), "{hold}");
    let delegations = stage.call("delegation_list", json!({})).unwrap();
    let one = &delegations["delegations"][0];
    assert_eq!((&one["state"], &one["attempts"]), (&json!("failed"), &json!(2)));
}
