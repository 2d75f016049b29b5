//! The cost of the driver: none without a continuation, and the same for every continuation.

use std::sync::{Arc, Mutex};

use punchlist_core::driver::StopReason;
use punchlist_engine::agent::Outcome;
use punchlist_engine::model::{
    Call, Cancel, Fault, Input, Message, Model, Progress, Reply, Request, Stop, Usage,
};
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::stage::Stage;

on_every_lasting_store!(
    the_driver_changes_nothing_if_no_item_is_left,
    the_history_does_not_grow_with_continuations
);

/// Completes an open item, creates another, and stops. It never finishes.
struct Restless {
    shown: Arc<Mutex<Vec<usize>>>,
}

impl Model for Restless {
    fn name(&self) -> &str {
        "restless"
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
        let mut shown = self.shown.lock().unwrap();
        let size = |message: &Message| match message {
            Message::Results(results) => results.len(),
            _ => 1,
        };
        shown.push(request.messages.iter().map(size).sum());
        let calls = match request.messages.last() {
            Some(Message::Results(_)) => Vec::new(),
            _ => calls(request.context, shown.len()),
        };
        let stop = if calls.is_empty() { Stop::EndTurn } else { Stop::ToolUse };
        let usage = Usage { input: 10, output: 1, ..Usage::default() };
        Ok(Reply { text: "On.".to_owned(), calls, raw: None, stop, usage, id: None })
    }
}

fn calls(context: Option<&str>, n: usize) -> Vec<Call> {
    let open = context.unwrap_or_default().lines().find(|line| line.contains("<-- next"));
    let id = open.and_then(|line| line.split("(id ").nth(1)?.split(')').next());
    let call = |name: &str, input: Value| Call {
        id: format!("{name}{n}"),
        name: name.to_owned(),
        input: Input::Json(input),
    };
    let mut calls = vec![call("create_todo", json!({ "items": [{ "title": "one more" }] }))];
    calls.extend(id.map(|id| call("complete_todo", json!({ "todoId": id, "outcome": "done" }))));
    calls
}

/// S-18, S-23, S-36: in sixty continuations, the model's history stays limited.
fn the_history_does_not_grow_with_continuations(backend: Backend) {
    let stage = Stage::solo(backend, "[[steps]]\ntext = \"x\"");
    let shown = Arc::new(Mutex::new(Vec::new()));
    stage.shelf.put("scripted:a", Arc::new(Restless { shown: Arc::clone(&shown) }));
    let run = stage.start_with(json!({ "prompt": "Go.", "maxTodoContinuations": 60 }));
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::ContinuationCap), "{:?}", stage.told());
    let shown = shown.lock().unwrap();
    assert_eq!(shown.len(), 2 * 61);
    let (early, late) = (&shown[..61], &shown[61..]);
    assert!(early.iter().max() >= late.iter().max(), "{shown:?}");
    assert!(shown.iter().all(|count| *count <= 51), "{shown:?}");
}

/// S-1, S-2: the driver acts only at a stop. A run that completes its list is the same with and
/// without the driver.
fn the_driver_changes_nothing_if_no_item_is_left(backend: Backend) {
    let script = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "look" } ] }, save = "plan" } ]
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "seen" } } ]
[[steps]]
text = "Done."
"#;
    let played = |drives: bool| {
        let stage = Stage::solo(backend, script);
        let run = stage.start_with(json!({ "prompt": "Look.", "autoCompleteTodos": drives }));
        let outcome = stage.drive(run);
        let kinds: Vec<(String, String)> =
            stage.chat(run).into_iter().map(|(role, kind, _)| (role, kind)).collect();
        let iterations = stage.show(run)["run"]["iterations"].clone();
        (outcome, kinds, iterations, stage.told())
    };
    assert_eq!(played(true), played(false));
}
