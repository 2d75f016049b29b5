//! A tool call of a run, and the record of its result: both are stored or neither is.

use punchlist_core::conversation::MessageKind;
use punchlist_core::run::RunState;
use punchlist_core::{Role, RunId};
use punchlist_ops::catalogue::find;
use punchlist_ops::operations::run_step::{self, Step, ToolResult};
use punchlist_ops::{Context, Envelope, Error};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

/// A run that a process holds, and how often it was taken.
struct Held {
    world: World,
    run: RunId,
    epoch: i64,
}

impl Held {
    fn new(backend: Backend) -> Self {
        let world = World::new(backend);
        let input = json!({ "prompt": "Go.", "model": "scripted:none" });
        let started = world.call_in(&world.envelope(Role::Operator), "run_start", input).unwrap();
        let run = started["run"]["id"].as_str().and_then(RunId::parse).unwrap();
        let mut held = Self { world, run, epoch: 0 };
        held.epoch = held.take();
        let reply = json!({
            "text": "", "finish": "tool_use", "spent": { "input": 1, "output": 1 },
            "calls": [{ "id": "c1", "name": "create_todo", "input": "{}" }],
        });
        let steps = json!([{ "reply": reply }]);
        let input = json!({ "run": held.run.to_string(), "epoch": held.epoch, "steps": steps });
        held.world.call_in(&held.system(), "run_step", input).unwrap();
        held
    }

    fn system(&self) -> Envelope {
        self.world.envelope(Role::System)
    }

    fn take(&self) -> i64 {
        let input = json!({ "run": self.run.to_string() });
        let taken = self.world.call_in(&self.system(), "run_take", input).unwrap();
        taken["epoch"].as_i64().unwrap()
    }

    /// Calls `create_todo` as the agent of the run, and records the result.
    fn create(
        &self,
        epoch: i64,
        items: &Value,
    ) -> Result<Result<(Value, run_step::Output), Error>, Error> {
        let look = self.world.ops.look_at_run(&self.system(), self.run, 10, None).unwrap();
        let context = Context {
            conversation: Some(look.run.conversation_id.to_string()),
            turn: Some(look.run.turn_id.clone()),
            run: Some(self.run),
            ..Context::default()
        };
        let agent = Envelope { actor: look.run.actor(), context, ..self.system() };
        let record = |answer: &Value| {
            let result = ToolResult {
                call_id: "c1".to_owned(),
                name: "create_todo".to_owned(),
                text: answer.to_string(),
                is_error: false,
                changed: true,
                touched_list: true,
                outside: false,
            };
            (answer.clone(), vec![Step::Result(result)])
        };
        let create = find("create_todo").unwrap();
        let input = json!({ "items": items });
        self.world.ops.call_in_run(
            create,
            (&agent, &self.system()),
            (self.run, epoch),
            input,
            record,
        )
    }

    /// The list as the model would see it, and the number of results in the chat.
    fn seen(&self) -> (Option<String>, usize) {
        let look = self.world.ops.look_at_run(&self.system(), self.run, 10, None).unwrap();
        let is_result = |kind: MessageKind| kind == MessageKind::Result;
        let results = look.messages.iter().filter(|message| is_result(message.kind)).count();
        (look.scene.context, results)
    }
}

fn a_call_and_its_result_come_together(backend: Backend) {
    let held = Held::new(backend);
    let (answer, step) = held.create(held.epoch, &json!([{ "title": "dig" }])).unwrap().unwrap();
    assert_eq!(answer["created"][0]["title"], "dig", "{answer}");
    assert_eq!(step.state, RunState::Running);
    let (context, results) = held.seen();
    assert_eq!(results, 1);
    assert!(context.is_some_and(|text| text.contains("dig")));
}

/// A process that lost the run to another can change nothing, not even through a tool.
fn a_process_that_lost_the_run_can_call_nothing(backend: Backend) {
    let held = Held::new(backend);
    held.take();
    let stale = held.create(held.epoch, &json!([{ "title": "dig" }])).unwrap_err();
    assert_eq!(stale.code(), "stale_epoch");
    assert_eq!(held.seen(), (None, 0));
}

/// The model handles a refused call, so nothing is recorded here.
fn a_call_that_is_refused_leaves_the_result_to_the_caller(backend: Backend) {
    let held = Held::new(backend);
    let refused = held.create(held.epoch, &json!([])).unwrap().unwrap_err();
    assert_ne!(refused.code(), "stale_epoch");
    assert_eq!(held.seen(), (None, 0));
}

/// A run that was killed is not shown as one that goes on.
fn a_run_that_no_process_executes_waits_for_a_worker(backend: Backend) {
    let Held { world, run, .. } = Held::new(backend);
    let waits_for = || {
        let status = world.call("status", json!({ "only": ["running"] })).unwrap();
        assert_eq!(status["running"][0]["id"], run.to_string());
        let listed = world.call("run_list", json!({})).unwrap();
        let shown = world.call("run_show", json!({ "run": run })).unwrap();
        [
            status["running"][0]["waitsFor"].clone(),
            listed["runs"][0]["waitsFor"]["kind"].clone(),
            shown["run"]["waitsFor"]["kind"].clone(),
        ]
    };
    assert_eq!(waits_for(), ["worker"; 3]);
    let taken = world.ops.store().unwrap().write(move |tx| tx.take_drive(run, 60));
    assert!(taken.unwrap().is_some());
    assert_eq!(waits_for(), [Value::Null, Value::Null, Value::Null]);
}

on_every_store!(
    a_run_that_no_process_executes_waits_for_a_worker,
    a_call_and_its_result_come_together,
    a_process_that_lost_the_run_can_call_nothing,
    a_call_that_is_refused_leaves_the_result_to_the_caller,
);
