//! Windows that fill up: the guard that ends a run, and the summary that makes room.

use std::sync::Arc;

use punchlist_core::driver::StopReason;
use punchlist_engine::agent::Outcome;
use punchlist_engine::model::Scripted;
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::stage::Stage;

on_every_lasting_store!(
    a_nearly_full_window_ends_the_run,
    tokens_that_are_used_up_end_it,
    absurd_token_counts_end_the_run,
    a_history_that_does_not_fit_is_summarised,
);

const PLAN: &str = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "look" } ] }, save = "plan" } ]
"#;

/// S-22: 180,000 of 200,000 tokens are nine tenths.
fn a_nearly_full_window_ends_the_run(backend: Backend) {
    for (input, reason) in [(179_000, StopReason::NoProgress), (179_900, StopReason::TokenGuard)] {
        let script = format!(
            "{PLAN}[[steps]]\ntext = \"Hm.\"\nusage = {{ input = {input}, output = 100 }}\nrepeat = true"
        );
        let stage = Stage::solo(backend, &script);
        let run = stage.start("Look.");
        assert_eq!(stage.drive(run), Outcome::Ended(reason), "{:?}", stage.told());
    }
}

fn tokens_that_are_used_up_end_it(backend: Backend) {
    let steps: Vec<Value> = (0..40)
        .map(|n| json!({
            "calls": [{ "tool": "create_todo", "input": { "items": [{ "title": format!("{n}") }] } }],
            "usage": { "input": 90, "output": 10 },
        }))
        .collect();
    let stage = Stage::solo(backend, &json!({ "steps": steps }).to_string());
    let run = stage.start_with(json!({ "prompt": "Go.", "maxTotalTokens": 500 }));
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::TokenGuard));
    assert_eq!(stage.show(run)["run"]["iterations"], json!(5));
}

/// A provider that reports absurd token counts breaks nothing.
fn absurd_token_counts_end_the_run(backend: Backend) {
    let usage = json!({ "input": u64::MAX, "output": u64::MAX });
    let step = json!({ "calls": [{ "tool": "list_todo" }], "usage": usage, "repeat": true });
    let stage = Stage::solo(backend, &json!({ "steps": [step] }).to_string());
    let run = stage.start("Go.");
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::TokenGuard));
}

/// M-57, P-7: when its window is nearly full, a run continues from a summary. The chat itself stays
/// complete.
fn a_history_that_does_not_fit_is_summarised(backend: Backend) {
    let item = |n: usize| {
        json!({
            "calls": [{ "tool": "list_todo", "input": {} }, {
                "tool": "create_todo", "input": { "items": [{ "title": format!("item {n}") }] },
            }],
            "text": format!("Step {n}."),
            "usage": { "input": 100 * n, "output": 10 },
        })
    };
    let mut steps: Vec<Value> = (1..=8).map(item).collect();
    let summary = json!({
        "when": "^Sum up this conversation", "text": "Eight items were made.",
        "usage": { "input": 810, "output": 5 },
    });
    steps.push(summary);
    steps.push(json!({
        "when": "item 8", "text": "I go on from my summary.", "stop": "refusal",
        "usage": { "input": 50, "output": 5 },
    }));
    let script = json!({ "steps": steps }).to_string();
    let stage = Stage::solo(backend, &script);
    let model = Scripted::read("scripted:a", &script).unwrap().with_window(1_050);
    stage.shelf.put("scripted:a", Arc::new(model));
    let run = stage.start("Make eight items.");
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::Refusal), "{:?}", stage.told());
    let shown = stage.show(run);
    assert_eq!(shown["text"], json!("I go on from my summary."));
    assert_eq!(shown["left"].as_array().unwrap().len(), 8);
    let chat = stage.chat(run);
    let kinds = |wanted: &str| chat.iter().filter(|(_, kind, _)| kind == wanted).count();
    assert_eq!((kinds("summary"), kinds("result")), (1, 16), "nothing was taken away");
    let summary = chat.iter().find(|(_, kind, _)| kind == "summary").unwrap();
    assert_eq!(
        summary.2,
        "[synthetic · punchlist] Summary of what was said so far:\n\nEight items were made."
    );
    for n in 1..=8 {
        assert!(chat.iter().any(|(_, _, text)| *text == format!("Step {n}.")));
    }
    let tokens = shown["run"]["usage"]["inputTokens"].as_u64().unwrap();
    assert_eq!(tokens, 3_600 + 810 + 50, "what the summary cost is counted");
}
