//! Outside tools that fail or need permission.

use std::sync::atomic::{AtomicUsize, Ordering};

use punchlist_core::conversation::ToolCall;
use punchlist_core::driver::StopReason;
use punchlist_core::{Role, Run};
use punchlist_engine::agent::{
    Answer, ConfiguredTools, Outcome, OutsideTools, Runtime, ToolOutput,
};
use punchlist_engine::model::{Cancel, Tool};
use punchlist_ops::Error;
use punchlist_ops::config::{Config, Origin};
use punchlist_store::sql;
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::stage::Stage;

on_every_lasting_store!(
    an_item_that_fails_twice_is_held_and_the_next_one_continues,
    a_single_failure_is_only_reported,
    a_tool_that_asks_is_called_after_the_answer,
    a_run_is_suspended_while_its_delegate_waits,
);

/// A tool whose behaviour a test defines.
struct Double<F> {
    answer: F,
    calls: AtomicUsize,
}

impl<F: Fn(&Run, usize) -> Answer + Sync> OutsideTools for Double<F> {
    fn tools(&self, _: &str, _: &Run, _: &Cancel) -> Vec<Tool> {
        let input = json!({ "type": "object" });
        vec![Tool { name: "deploy".to_owned(), description: "Deploys.".to_owned(), input }]
    }

    fn call(
        &self,
        _: &str,
        run: &Run,
        _: &ToolCall,
        _: &Value,
        _: &Cancel,
        begin: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Answer, Error> {
        let answer = (self.answer)(run, self.calls.fetch_add(1, Ordering::SeqCst));
        if let Answer::Done(_) = answer {
            begin()?;
        }
        Ok(answer)
    }
}

const fn double<F: Fn(&Run, usize) -> Answer + Sync>(answer: F) -> Double<F> {
    Double { answer, calls: AtomicUsize::new(0) }
}

fn said(text: &str, is_error: bool) -> Answer {
    let (text, changed) = (text.to_owned(), !is_error);
    Answer::Done(ToolOutput { text, is_error, changed, touched_list: false, outside: true })
}

fn drive(stage: &Stage, outside: &dyn OutsideTools, run: punchlist_core::RunId) -> Outcome {
    stage.runtime(&|| false, |runtime| {
        Runtime { outside, ..*runtime }.drive("test", run, &Cancel::default()).unwrap()
    })
}

/// S-25, S-32, D-19: after one retry the item is held as failed, and the next one continues. The
/// end names the reason.
fn an_item_that_fails_twice_is_held_and_the_next_one_continues(backend: Backend) {
    let script = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "deploy" }, { title = "write" } ] }, save = "plan" } ]
[[steps]]
calls = [ { tool = "deploy", input = { to = "a" } } ]
[[steps]]
calls = [ { tool = "deploy", input = { to = "b" } } ]
[[steps]]
when = "is held as failed"
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.1.id}}", outcome = "written" } } ]
[[steps]]
text = "One is done."
"#;
    let stage = Stage::solo(backend, script);
    let run = stage.start("Deploy and write.");
    let outside = double(|_, _| said("the key is wrong", true));
    assert_eq!(
        drive(&stage, &outside, run),
        Outcome::Ended(StopReason::Blocked),
        "{:?}",
        stage.told()
    );
    let shown = stage.show(run);
    assert_eq!(shown["done"][0]["title"], json!("write"));
    assert_eq!(shown["left"][0]["title"], json!("deploy"));
    let hold = shown["left"][0]["hold"].as_str().unwrap();
    assert!(hold.contains("its tools failed: the key is wrong"), "{hold}");
    let chat = stage.chat(run);
    let told: Vec<&str> =
        chat.iter().filter(|(_, kind, _)| kind == "synthetic").map(|m| m.2.as_str()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].ends_with("Go on with the others."), "{told:?}");
    assert!(told[1].contains("- deploy (failed: its tools failed: the key is wrong)"), "{told:?}");
}

/// S-32: a temporary failure leaves no mark on the item.
fn a_single_failure_is_only_reported(backend: Backend) {
    let script = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "deploy" } ] }, save = "plan" } ]
[[steps]]
calls = [ { tool = "deploy", input = { n = 1 } } ]
[[steps]]
calls = [ { tool = "deploy", input = { n = 2 } } ]
[[steps]]
calls = [ { tool = "deploy", input = { n = 3 } } ]
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "ok" } } ]
[[steps]]
text = "Done."
"#;
    let stage = Stage::solo(backend, script);
    let run = stage.start("Deploy.");
    // It fails, succeeds and fails, but never twice in a row.
    let outside = double(|_, nth| said("hm", nth % 2 == 0));
    assert_eq!(
        drive(&stage, &outside, run),
        Outcome::Ended(StopReason::Drained),
        "{:?}",
        stage.told()
    );
}

/// S-31, S-34: the call is made only after the person's answer, also if the answer comes while the run is
/// being suspended.
fn a_tool_that_asks_is_called_after_the_answer(backend: Backend) {
    let script = "[[steps]]\ncalls = [ { tool = \"deploy\" } ]\n[[steps]]\ntext = \"Deployed.\"";
    for at_once in [false, true] {
        let stage = Stage::solo(backend, script);
        let run = stage.start("Deploy.");
        let answer = || {
            let gate = stage.call("gate_list", json!({})).unwrap()["gates"][0]["id"].clone();
            stage.call("gate_answer", json!({ "gateId": gate, "decision": "resume" })).unwrap();
        };
        let outside = double(|run, nth| {
            if nth > 0 {
                return said("deployed", false);
            }
            let mut envelope = stage.envelope(Role::Root);
            envelope.context.run = Some(run.id);
            envelope.context.session = run.session_id.map(|id| id.to_string());
            stage.world.call_in(&envelope, "ask", json!({ "question": "May I?" })).unwrap();
            if at_once {
                answer();
            }
            Answer::Asked
        });
        if !at_once {
            assert_eq!(drive(&stage, &outside, run), Outcome::Waiting);
            answer();
        }
        assert_eq!(drive(&stage, &outside, run), Outcome::Ended(StopReason::NoPlan), "{at_once}");
        let shown = stage.show(run);
        assert_eq!((&shown["text"], &shown["run"]["iterations"]), (&json!("Deployed."), &json!(2)));
        let results = stage.chat(run).into_iter().filter(|(_, kind, _)| kind == "result");
        assert_eq!(results.map(|(_, _, text)| text).collect::<Vec<_>>(), ["deployed"]);
    }
}

/// S-31, X-15, X-16: a worker that needs permission is suspended, and so is the run that waits for it; the
/// answer lets both end, and the tool is called once.
fn a_run_is_suspended_while_its_delegate_waits(backend: Backend) {
    let agents = "[agents.primary]\nmodel = \"scripted:p\"\n\
                  [agents.coder]\nmodel = \"scripted:c\"\nrole = \"worker\"\n";
    let tool = "[tools.copy]\ncommand = [\"cat\"]\ndescription = \"copies\"\n\
                schema = { type = \"object\" }\n";
    let primary = "[[steps]]\ncalls = [ { tool = \"delegate\", input = { type = \"coder\", \
                   mission = \"Copy it.\" } } ]\n[[steps]]\ntext = \"Copied.\"";
    let coder = "[[steps]]\ncalls = [ { tool = \"copy\", input = { n = 1 } } ]\n\
                 [[steps]]\ntext = \"I copied it.\"";
    let stage = Stage::new(backend, agents, &[("p", primary), ("c", coder)]);
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{agents}{tool}");
    let config = Config::default().read(&text, Origin::User, folder.path()).unwrap();
    let clock = || stage.world.now;
    let folders = |_: &str, _: &Run| Some(folder.path().to_owned());
    let tools = ConfiguredTools::new(&stage.world.ops, &config, &folders, &clock);
    let run = stage.start("Have it copied.");
    assert_eq!(drive(&stage, &tools, run), Outcome::Waiting, "{:?}", stage.told());
    assert_eq!(stage.show(run)["run"]["waitsFor"]["kind"], json!("delegations"));
    let gates = stage.call("gate_list", json!({ "state": "open" })).unwrap();
    let gate = &gates["gates"][0];
    assert_eq!((&gate["kind"], &gate["tool"]), (&json!("permission"), &json!("copy")));
    let once =
        json!({ "gateId": gate["id"], "decision": "resume", "response": { "allow": "once" } });
    stage.call("gate_answer", once).unwrap();
    // The lease of the suspended worker has ended.
    let ended = sql!("UPDATE delegations SET lease_until = 0");
    stage.world.ops.store().unwrap().write(|tx| tx.write(ended, &[])).unwrap();
    let did = stage.runtime(&|| false, |runtime| {
        Runtime { outside: &tools, ..*runtime }.work_on_delegation("test")
    });
    assert!(did.unwrap(), "{:?}", stage.told());
    assert_eq!(
        drive(&stage, &tools, run),
        Outcome::Ended(StopReason::NoPlan),
        "{:?}",
        stage.told()
    );
    assert_eq!(stage.show(run)["text"], json!("Copied."));
    let calls = stage.told().iter().filter(|told| *told == "copy returned").count();
    assert_eq!(calls, 1, "{:?}", stage.told());
    let one = stage.call("delegation_list", json!({})).unwrap()["delegations"][0].clone();
    assert_eq!((&one["state"], &one["result"]), (&json!("returned"), &json!("I copied it.")));
}
