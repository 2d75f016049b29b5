//! Waiting and waking: questions, pauses, and messages at awkward moments.

use std::sync::atomic::{AtomicBool, Ordering};

use punchlist_core::driver::StopReason;
use punchlist_core::{Role, RunId};
use punchlist_engine::agent::{Live, Outcome, Runtime};
use punchlist_engine::model::Cancel;
use punchlist_store::sql;
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::stage::Stage;

on_every_lasting_store!(
    waiting_for_an_answer_costs_no_continuation,
    a_pause_outlives_messages_and_processes,
    a_message_during_the_last_reply_is_answered,
    a_message_to_a_failing_run_is_answered_by_the_next_run,
    a_message_to_a_waiting_run_resets_its_counts,
    an_open_question_of_the_session_makes_its_runs_wait,
    the_end_of_a_session_ends_its_waiting_runs,
);

/// Executes a run. `meanwhile` runs once, between the n-th model call and its reply.
pub(crate) fn drive_while(
    stage: &Stage,
    run: RunId,
    nth: usize,
    meanwhile: impl Fn() + Sync,
) -> Outcome {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let told = |live: &Live<'_>| {
        if matches!(live, Live::Asks { .. }) && asked.fetch_add(1, Ordering::SeqCst) + 1 == nth {
            meanwhile();
        }
    };
    stage.runtime(&|| false, |runtime| {
        Runtime { observer: &told, ..*runtime }.drive("test", run, &Cancel::default()).unwrap()
    })
}

fn open_gate(stage: &Stage) -> Value {
    let gates = stage.call("gate_list", json!({})).unwrap();
    gates["gates"][0].clone()
}

fn say(stage: &Stage, run: RunId, text: &str) {
    let conversation = stage.show(run)["run"]["conversationId"].clone();
    stage
        .call("conversation_post", json!({ "conversationId": conversation, "text": text }))
        .unwrap();
}

/// The number of unfinished outbox entries of a kind.
fn queued(stage: &Stage, kind: &'static str) -> i64 {
    let count = sql!("SELECT count(*) FROM outbox WHERE kind = $1 AND done_at IS NULL");
    let store = stage.world.ops.store().unwrap();
    let read = store.read(move |tx| tx.first(count, &[kind.into()], |row| row.int(0)));
    read.unwrap().unwrap()
}

/// S-31, X-15: the driver waits, the answer wakes it, and no continuation is counted.
fn waiting_for_an_answer_costs_no_continuation(backend: Backend) {
    let script = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "open the port" } ] }, save = "plan" } ]
[[steps]]
calls = [ { tool = "ask", input = { question = "Which port?" } } ]
[[steps]]
when = "8443"
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "8443" } } ]
[[steps]]
text = "It is open."
"#;
    let stage = Stage::solo(backend, script);
    let run = stage.start("Open a port.");
    assert_eq!(stage.drive(run), Outcome::Waiting, "{:?}", stage.told());
    let shown = stage.show(run);
    assert_eq!(shown["run"]["state"], json!("waiting"));
    assert_eq!(shown["run"]["waitsFor"]["kind"], json!("gate"));
    // Executing it again only waits again.
    assert_eq!(stage.drive(run), Outcome::Waiting);
    let before = queued(&stage, "drive");
    let gate = open_gate(&stage)["id"].clone();
    let answer = json!({ "gateId": gate, "decision": "resume", "response": "8443" });
    stage.call("gate_answer", answer).unwrap();
    assert_eq!(queued(&stage, "drive"), before + 1, "somebody is to go on with it");
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::Drained), "{:?}", stage.told());
    let shown = stage.show(run);
    assert_eq!(shown["run"]["continuations"], json!(0));
    assert_eq!(shown["done"][0]["outcome"], json!("8443"));
}

/// P-10: a pause outlasts messages, answers and other processes, until it is resumed.
fn a_pause_outlives_messages_and_processes(backend: Backend) {
    let script = "[[steps]]\ncalls = [ { tool = \"list_todo\" } ]\n[[steps]]\ntext = \"Done.\"";
    let stage = Stage::solo(backend, script);
    let run = stage.start("Do it.");
    let session = stage.show(run)["run"]["sessionId"].clone();
    let pause = || {
        stage.call("drive_pause", json!({ "session": session })).unwrap();
    };
    assert_eq!(drive_while(&stage, run, 1, pause), Outcome::Waiting);
    assert_eq!(stage.show(run)["run"]["waitsFor"]["kind"], json!("pause"));
    say(&stage, run, "Go on!");
    assert_eq!(stage.drive(run), Outcome::Waiting, "a message is no resume");
    assert_eq!(stage.show(run)["run"]["iterations"], json!(1));
    stage.call("drive_resume", json!({ "session": session })).unwrap();
    assert_eq!(stage.show(run)["run"]["state"], json!("running"));
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::NoPlan));
}

/// S-19: a message that comes during a model call is answered by another call.
fn a_message_during_the_last_reply_is_answered(backend: Backend) {
    let script = r#"
[[steps]]
text = "Blue it is."
[[steps]]
when = "Something was said while you answered"
text = "Red, then."
"#;
    let stage = Stage::solo(backend, script);
    let run = stage.start("Paint it.");
    let outcome = drive_while(&stage, run, 1, || say(&stage, run, "No: red!"));
    assert_eq!(outcome, Outcome::Ended(StopReason::NoPlan));
    assert_eq!(stage.show(run)["text"], json!("Red, then."));
    assert_eq!(stage.show(run)["run"]["continuations"], json!(0));
    let said: Vec<String> = stage.chat(run).into_iter().map(|(_, _, text)| text).collect();
    assert_eq!(said[..3], ["Paint it.", "No: red!", "Blue it is."]);
    assert_eq!(queued(&stage, "answer_root"), 0);
}

/// If the model fails at that moment, the next run answers.
fn a_message_to_a_failing_run_is_answered_by_the_next_run(backend: Backend) {
    let stage = Stage::solo(backend, "[[steps]]\ntext = \"no\"\nstop = \"error\"\nrepeat = true");
    let run = stage.start("Paint it.");
    let outcome = drive_while(&stage, run, 1, || say(&stage, run, "Red, please."));
    assert_eq!(outcome, Outcome::Ended(StopReason::Error));
    assert_eq!(queued(&stage, "answer_root"), 1);
    let conversation = stage.show(run)["run"]["conversationId"].clone();
    let input = json!({ "agent": "primary", "conversationId": conversation });
    let system = stage.envelope(Role::System);
    let begun = stage.world.call_in(&system, "run_begin", input.clone()).unwrap();
    let next = RunId::parse(begun["run"]["id"].as_str().unwrap()).unwrap();
    let chat = stage.call("conversation_show", json!({ "conversationId": conversation })).unwrap();
    let said = chat["messages"].as_array().unwrap().iter();
    let red = said.into_iter().find(|message| message["text"] == "Red, please.").unwrap();
    assert_eq!(begun["run"]["turnId"], red["id"]);
    // It is answered only once.
    stage.drive(next);
    let again = stage.world.call_in(&system, "run_begin", input).unwrap();
    assert_eq!(again["run"], Value::Null);
}

/// S-19: a message of a person resets the continuations.
fn a_message_to_a_waiting_run_resets_its_counts(backend: Backend) {
    let script = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "a" } ] }, save = "plan" } ]
[[steps]]
text = "That will do."
[[steps]]
calls = [ { tool = "ask", input = { question = "Which?" } } ]
[[steps]]
text = "And now?"
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "ok" } } ]
[[steps]]
text = "Done."
"#;
    let stage = Stage::solo(backend, script);
    let run = stage.start_with(json!({ "prompt": "Do it.", "maxTodoContinuations": 1 }));
    assert_eq!(stage.drive(run), Outcome::Waiting, "{:?}", stage.told());
    assert_eq!(stage.show(run)["run"]["continuations"], json!(1));
    say(&stage, run, "Take your time.");
    assert_eq!(stage.show(run)["run"]["continuations"], json!(0));
    let gate = open_gate(&stage)["id"].clone();
    stage.call("gate_answer", json!({ "gateId": gate, "decision": "resume" })).unwrap();
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::Drained), "{:?}", stage.told());
    assert_eq!(stage.show(run)["run"]["continuations"], json!(1));
}

/// X-15: an open question of another agent in the session also makes a run wait, and its answer
/// wakes it.
fn an_open_question_of_the_session_makes_its_runs_wait(backend: Backend) {
    let script = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "a" } ] }, save = "plan" } ]
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "ok" } } ]
[[steps]]
text = "Done."
"#;
    let stage = Stage::solo(backend, script);
    let run = stage.start("Do it.");
    let session = stage.show(run)["run"]["sessionId"].as_str().unwrap().to_owned();
    let asked = AtomicBool::new(false);
    let ask = || {
        let mut other = stage.envelope(Role::Root);
        other.context.session = Some(session.clone());
        stage.world.call_in(&other, "ask", json!({ "question": "Really?" })).unwrap();
        asked.store(true, Ordering::SeqCst);
    };
    assert_eq!(drive_while(&stage, run, 1, ask), Outcome::Waiting);
    assert!(asked.load(Ordering::SeqCst));
    let gate = open_gate(&stage)["id"].clone();
    stage.call("gate_answer", json!({ "gateId": gate, "decision": "resume" })).unwrap();
    assert_eq!(stage.show(run)["run"]["state"], json!("running"));
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::Drained), "{:?}", stage.told());
}

/// S-27: an ended session cannot be resumed, so its waiting runs end.
fn the_end_of_a_session_ends_its_waiting_runs(backend: Backend) {
    let stage = Stage::solo(backend, "[[steps]]\ncalls = [ { tool = \"list_todo\" } ]");
    let run = stage.start("Do it.");
    let session = stage.show(run)["run"]["sessionId"].clone();
    let pause = || {
        stage.call("drive_pause", json!({ "session": session })).unwrap();
    };
    assert_eq!(drive_while(&stage, run, 1, pause), Outcome::Waiting);
    stage.call("session_end", json!({ "session": session })).unwrap();
    let shown = stage.show(run);
    assert_eq!(shown["run"]["stopReason"], json!("cancelled"));
    assert_eq!(shown["run"]["stopDetail"], json!("its session ended"));
}
