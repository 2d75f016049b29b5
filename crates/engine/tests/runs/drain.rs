//! A turn's plan is worked off: planned, executed one by one, empty before the end.

use punchlist_core::driver::StopReason;
use punchlist_engine::agent::Outcome;
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::json;

use crate::stage::Stage;

on_every_lasting_store!(a_plan_is_drained, a_stop_with_open_items_is_continued);

const PLAN: &str = r#"
[[steps]]
text = "I plan."
calls = [ { tool = "create_todo", input = { items = [ { title = "look" }, { title = "write" } ] }, save = "plan" } ]
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "seen" } } ]
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.1.id}}", outcome = "written" } } ]
[[steps]]
text = "All done."
usage = { input = 100, output = 10 }
"#;

/// T-23, T-35: plan, execute, drain, answer.
fn a_plan_is_drained(backend: Backend) {
    let stage = Stage::solo(backend, PLAN);
    let run = stage.start("Do two things.");
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::Drained), "{:?}", stage.told());
    let shown = stage.show(run);
    assert_eq!(shown["text"], json!("All done."));
    assert_eq!(shown["left"], json!([]));
    let done: Vec<&str> =
        shown["done"].as_array().unwrap().iter().map(|i| i["title"].as_str().unwrap()).collect();
    assert_eq!(done, ["look", "write"]);
    assert_eq!(shown["run"]["iterations"], json!(4));
    assert_eq!(shown["run"]["continuations"], json!(0));
}

/// S-13, S-15, S-17: an agent that stops too early is asked to continue, in the words of the seed.
fn a_stop_with_open_items_is_continued(backend: Backend) {
    let script = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "look" } ] }, save = "plan" } ]
[[steps]]
text = "That will do."
[[steps]]
when = "1 incomplete tasks remaining"
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "seen" } } ]
[[steps]]
text = "Now it is done."
"#;
    let stage = Stage::solo(backend, script);
    let run = stage.start("Look.");
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::Drained), "{:?}", stage.told());
    let chat = stage.chat(run);
    let prompt = chat.iter().find(|(_, kind, _)| kind == "synthetic").unwrap();
    assert_eq!(
        prompt.2,
        "[synthetic · punchlist] You have 1 incomplete tasks remaining. Please continue working on \
         the next high-priority task: 'look'. Continue until all todos are completed. If one cannot \
         go on, put it on hold with a reason; if you need the person, use `ask`."
    );
    assert_eq!(stage.show(run)["run"]["continuations"], json!(1));
}
