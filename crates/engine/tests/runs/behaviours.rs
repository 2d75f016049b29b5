//! Models that behave badly: each run stops with a reason, and none loops.

use std::sync::Arc;
use std::time::Duration;

use punchlist_core::driver::StopReason;
use punchlist_engine::agent::Outcome;
use punchlist_engine::model::{Patience, Patient, Scripted};
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::stage::Stage;

on_every_lasting_store!(
    an_agent_that_only_talks_ends_without_a_plan,
    an_agent_that_ignores_its_plan_is_stopped,
    a_call_of_an_unknown_tool_is_answered,
    a_call_of_an_unknown_tool_is_answered_without_tools_too,
    a_tool_that_is_not_shown_answers_by_name,
    a_list_without_a_tool_is_not_asked_for,
    a_run_in_an_ended_session_is_refused,
    an_agent_that_repeats_itself_is_stopped,
    an_agent_that_cancels_everything_is_done,
    an_agent_that_says_nothing_is_stopped,
    broken_arguments_are_answered,
    a_megabyte_of_words_is_kept,
    text_that_databases_refuse_is_kept,
    a_hundred_calls_at_once_are_made,
    only_a_normal_stop_is_continued,
    an_overloaded_provider_is_called_again,
    a_maker_that_fails_ends_it,
    an_early_stop_is_only_reported_while_the_driver_is_off,
    a_plan_of_five_runs_to_its_end,
    the_next_turn_begins_empty,
    the_limit_is_reported_with_what_remains,
    zero_continuations_means_none,
    two_runs_do_not_share_their_counts,
);

const PLAN: &str = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "look" }, { title = "write" } ] }, save = "plan" } ]
"#;

fn planned(rest: &str) -> String {
    format!("{PLAN}{rest}")
}

/// Plays a script to its end.
fn played(backend: Backend, script: &str) -> (Stage, Value, Outcome) {
    let stage = Stage::solo(backend, script);
    let run = stage.start("Do it.");
    let outcome = stage.drive(run);
    let shown = stage.show(run);
    (stage, shown, outcome)
}

fn titles(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["title"].as_str().unwrap()).collect()
}

fn newest_note(stage: &Stage, shown: &Value) -> String {
    let run = punchlist_core::RunId::parse(shown["run"]["id"].as_str().unwrap()).unwrap();
    let chat = stage.chat(run);
    let newest = chat.into_iter().rfind(|(_, kind, _)| kind == "synthetic");
    newest.map(|(_, _, text)| text).unwrap_or_default()
}

fn an_agent_that_only_talks_ends_without_a_plan(backend: Backend) {
    let (_, shown, outcome) = played(backend, "[[steps]]\ntext = \"It is 42.\"");
    assert_eq!(outcome, Outcome::Ended(StopReason::NoPlan));
    assert_eq!(shown["text"], json!("It is 42."));
    assert_eq!((&shown["left"], &shown["done"]), (&json!([]), &json!([])));
}

/// S-35, F-14, T-32: after two continuations without a change the run ends. The items stay open,
/// and are named.
fn an_agent_that_ignores_its_plan_is_stopped(backend: Backend) {
    let script = planned("[[steps]]\ntext = \"I am sure that all is well.\"\nrepeat = true");
    let (stage, shown, outcome) = played(backend, &script);
    assert_eq!(outcome, Outcome::Ended(StopReason::NoProgress), "{:?}", stage.told());
    assert_eq!(shown["run"]["continuations"], json!(2));
    assert_eq!(shown["run"]["iterations"], json!(4));
    assert_eq!(titles(&shown["left"]), ["look", "write"]);
    assert_eq!(shown["left"][0]["status"], json!("in_progress"), "nothing is cancelled by itself");
    assert_eq!(
        newest_note(&stage, &shown),
        "[synthetic · punchlist] Stopped: it made no progress. Not done:\n\
         - look\n- write"
    );
}

/// A call of an unknown tool is answered with the known ones.
fn a_call_of_an_unknown_tool_is_answered(backend: Backend) {
    let script = planned(
        "[[steps]]\ncalls = [ { tool = \"rm_rf\", input = { path = \"/\" } } ]\nrepeat = true",
    );
    let (stage, shown, outcome) = played(backend, &script);
    assert_eq!(outcome, Outcome::Ended(StopReason::NoProgress), "{:?}", stage.told());
    assert_eq!(shown["run"]["iterations"], json!(4));
    let run = punchlist_core::RunId::parse(shown["run"]["id"].as_str().unwrap()).unwrap();
    let said = stage.chat(run).into_iter().filter(|(_, kind, _)| kind == "result").nth(1).unwrap();
    assert!(said.2.starts_with("there is no tool rm_rf; there are: "), "{}", said.2);
    assert!(said.2.contains("complete_todo"), "{}", said.2);
}

/// A run without tools says so, instead of an empty list.
fn a_call_of_an_unknown_tool_is_answered_without_tools_too(backend: Backend) {
    let config = "[agents.primary]\nmodel = \"scripted:a\"\ntools = []";
    let script =
        "[[steps]]\ncalls = [ { tool = \"rm_rf\", input = {} } ]\n[[steps]]\ntext = \"Ok.\"";
    let stage = Stage::new(backend, config, &[("a", script)]);
    let run = stage.start("go");
    stage.drive(run);
    let said = stage.chat(run).into_iter().find(|(_, kind, _)| kind == "result").unwrap();
    assert_eq!(said.2, "there is no tool rm_rf: this run has no tools; answer in words");
}

/// A session `s` with one item on its list; returns the envelope of the operator in it.
fn with_a_list(stage: &Stage) -> punchlist_ops::Envelope {
    stage.call("session_start", json!({ "externalId": "s" })).unwrap();
    let mut within = stage.envelope(punchlist_core::Role::Operator);
    within.context.session = Some("s".to_owned());
    let todos = json!({ "todos": [{ "id": "1", "content": "A" }] });
    stage.world.call_in(&within, "todo_write", todos).unwrap();
    within
}

fn run_within(stage: &Stage, within: &punchlist_ops::Envelope) -> (Value, Outcome) {
    let started = stage.world.call_in(within, "run_start", json!({ "prompt": "go" })).unwrap();
    let run = punchlist_core::RunId::parse(started["run"]["id"].as_str().unwrap()).unwrap();
    let outcome = stage.drive(run);
    (stage.show(run), outcome)
}

/// S-9, design §2: a tool that only the profile hides answers by name, as it does over MCP.
fn a_tool_that_is_not_shown_answers_by_name(backend: Backend) {
    let settle = r#"
[[steps]]
calls = [
  { tool = "issue", input = { action = "create", title = "found on the way" } },
  { tool = "todo_write", input = { todos = [{ id = "1", content = "A", status = "completed" }] } },
]
[[steps]]
text = "fin"
repeat = true
"#;
    let stage = Stage::solo(backend, settle);
    let within = with_a_list(&stage);
    let (shown, outcome) = run_within(&stage, &within);
    assert_eq!(outcome, Outcome::Ended(StopReason::Drained), "{:?}", stage.told());
    assert_eq!(titles(&shown["done"]), ["A"]);
    let issue = stage.call("issue_show", json!({ "number": 1 })).unwrap();
    assert_eq!(issue["issue"]["title"], "found on the way");
}

/// F-14: if the agent has no tool for the list that is left, it is not asked to continue.
fn a_list_without_a_tool_is_not_asked_for(backend: Backend) {
    let config = "[agents.primary]\nmodel = \"scripted:a\"\ntodo_driven_execution = true\n\
                  tools = [\"create_todo\", \"complete_todo\"]";
    let script = "[[steps]]\ntext = \"fin\"\nrepeat = true";
    let stage = Stage::new(backend, config, &[("a", script)]);
    let within = with_a_list(&stage);
    let (shown, outcome) = run_within(&stage, &within);
    assert_eq!(outcome, Outcome::Ended(StopReason::NoTodoTool), "{:?}", stage.told());
    assert_eq!(shown["run"]["continuations"], json!(0));
}

/// A session that has ended takes no new run.
fn a_run_in_an_ended_session_is_refused(backend: Backend) {
    let stage = Stage::solo(backend, "[[steps]]\ntext = \"fin\"");
    let within = with_a_list(&stage);
    stage.call("session_end", json!({ "session": "s" })).unwrap();
    let refused = stage.world.call_in(&within, "run_start", json!({ "prompt": "go" }));
    let refused = refused.unwrap_err();
    assert_eq!((refused.code(), refused.meaning().exit), ("session_ended", 1));
}

fn an_agent_that_repeats_itself_is_stopped(backend: Backend) {
    let script = planned("[[steps]]\ncalls = [ { tool = \"list_todo\" } ]\nrepeat = true");
    let (_, shown, outcome) = played(backend, &script);
    assert_eq!(outcome, Outcome::Ended(StopReason::NoProgress));
    assert_eq!(shown["run"]["iterations"], json!(4), "the plan, and three times the same");
}

/// F-15: the agent may do this, and the run shows what was cancelled and why.
fn an_agent_that_cancels_everything_is_done(backend: Backend) {
    let cancel = |n: usize| {
        format!(
            "{{ tool = \"complete_todo\", input = {{ todoId = \"{{{{plan.created.{n}.id}}}}\", \
             status = \"cancelled\", outcome = \"not needed\" }} }}"
        )
    };
    let script = planned(&format!(
        "[[steps]]\ncalls = [ {}, {} ]\n[[steps]]\ntext = \"Nothing to do.\"",
        cancel(0),
        cancel(1)
    ));
    let (_, shown, outcome) = played(backend, &script);
    assert_eq!(outcome, Outcome::Ended(StopReason::Drained));
    let cancelled = shown["done"].as_array().unwrap();
    assert!(cancelled.iter().all(|item| item["status"] == "cancelled"), "{shown}");
    assert_eq!(cancelled[0]["outcome"], json!("not needed"));
}

fn an_agent_that_says_nothing_is_stopped(backend: Backend) {
    let (_, shown, outcome) = played(backend, &planned("[[steps]]\ntext = \"\"\nrepeat = true"));
    assert_eq!(outcome, Outcome::Ended(StopReason::NoProgress));
    assert_eq!(shown["text"], json!(""));
    let (_, _, outcome) = played(backend, "[[steps]]\ntext = \"\"");
    assert_eq!(outcome, Outcome::Ended(StopReason::NoPlan));
}

/// Broken JSON is reported to the model, which can try again.
fn broken_arguments_are_answered(backend: Backend) {
    let script = r#"
[[steps]]
calls = [ { tool = "create_todo", input = "{\"items\": [" } ]
[[steps]]
when = "are no JSON object"
calls = [ { tool = "create_todo", input = { items = [ { title = "look" } ] }, save = "plan" } ]
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "seen", nonsense = 1 } } ]
[[steps]]
when = "nonsense"
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "seen" } } ]
[[steps]]
text = "Done."
"#;
    let (stage, shown, outcome) = played(backend, script);
    assert_eq!(outcome, Outcome::Ended(StopReason::Drained), "{:?} {shown}", stage.told());
    let told = stage.told();
    let failures: Vec<&str> =
        told.iter().filter_map(|told| told.split_once(" failed")).map(|f| f.0).collect();
    assert_eq!(failures, ["create_todo", "complete_todo"]);
}

fn a_megabyte_of_words_is_kept(backend: Backend) {
    let words = "漢字 ".repeat(200_000);
    let script = json!({ "steps": [{ "text": words }] }).to_string();
    let (_, shown, outcome) = played(backend, &script);
    assert_eq!(outcome, Outcome::Ended(StopReason::NoPlan));
    let text = shown["text"].as_str().unwrap();
    assert!(text.len() > 1 << 20 && text.len() < (1 << 20) + 100, "{}", text.len());
    assert!(text.ends_with("… (cut: it was longer)"));
}

fn text_that_databases_refuse_is_kept(backend: Backend) {
    let script = json!({ "steps": [
        { "text": "a\u{0}b\u{7}", "calls": [{ "tool": "no\u{0}tool", "input": { "a": "\u{0}" } }] },
        { "text": "\u{0}\u{fffe} done" },
    ]});
    let (stage, shown, outcome) = played(backend, &script.to_string());
    assert_eq!(outcome, Outcome::Ended(StopReason::NoPlan), "{:?} {shown}", stage.told());
    assert!(shown["text"].as_str().unwrap().ends_with(" done"), "{shown}");
}

/// There are more calls than messages that are read at once. Each call is made once, and the run
/// continues.
fn a_hundred_calls_at_once_are_made(backend: Backend) {
    let one = json!({ "tool": "create_todo", "input": { "items": [{ "title": "x" }] } });
    let calls: Vec<Value> = (0..100)
        .map(|n| {
            let mut call = one.clone();
            call["input"]["items"][0]["title"] = json!(format!("item {n}"));
            call
        })
        .collect();
    let script = json!({ "steps": [{ "calls": calls }, { "text": "Enough.", "stop": "refusal" }] });
    let (stage, shown, outcome) = played(backend, &script.to_string());
    assert_eq!(outcome, Outcome::Ended(StopReason::Refusal), "{:?}", stage.told().last());
    assert_eq!(shown["left"].as_array().unwrap().len(), 100);
    assert_eq!(shown["run"]["iterations"], json!(2));
}

/// S-14: whether items are open or not.
fn only_a_normal_stop_is_continued(backend: Backend) {
    for (stop, reason) in [
        ("max_tokens", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("error", StopReason::Error),
    ] {
        let script = planned(&format!("[[steps]]\ntext = \"No.\"\nstop = \"{stop}\""));
        let (_, shown, outcome) = played(backend, &script);
        assert_eq!(outcome, Outcome::Ended(reason), "{stop}");
        assert_eq!(shown["run"]["continuations"], json!(0));
        assert_eq!(titles(&shown["left"]), ["look", "write"]);
    }
}

fn patient(backend: Backend, script: &str) -> Stage {
    let stage = Stage::solo(backend, script);
    let model = Scripted::read("scripted:a", script).unwrap();
    let patience = Patience { base: Duration::ZERO, ..Patience::default() };
    let model = Patient::new(Box::new(model), patience).waiting(|_, _| true);
    stage.shelf.put("scripted:a", Arc::new(model));
    stage
}

/// S-32: a temporary fault is retried and does not stop the run.
fn an_overloaded_provider_is_called_again(backend: Backend) {
    let script = "[[steps]]\nfail = 529\n[[steps]]\nfail = 500\n[[steps]]\ntext = \"Here.\"";
    let stage = patient(backend, script);
    let run = stage.start("Are you there?");
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::NoPlan));
    assert_eq!(stage.show(run)["text"], json!("Here."));
    assert_eq!(stage.show(run)["run"]["iterations"], json!(1));
}

fn a_maker_that_fails_ends_it(backend: Backend) {
    let stage = patient(backend, "[[steps]]\nfail = 529\nrepeat = true");
    let run = stage.start("Are you there?");
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::Error));
    let detail = stage.show(run)["run"]["stopDetail"].to_string();
    assert!(detail.contains("529") && detail.contains("given up after 4 tries"), "{detail}");
}

/// S-2, S-38: the driver is off by default. Then a stop with open items is only reported.
fn an_early_stop_is_only_reported_while_the_driver_is_off(backend: Backend) {
    let script = planned("[[steps]]\ntext = \"That will do.\"");
    let stage = Stage::new(backend, "[agents.primary]\nmodel = \"scripted:a\"", &[("a", &script)]);
    let run = stage.start("Do it.");
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::SwitchedOff));
    let shown = stage.show(run);
    assert_eq!(shown["run"]["continuations"], json!(0));
    assert!(newest_note(&stage, &shown).contains("Not done:\n- look\n- write"));
    // It can be switched on for one run, and off although the configuration says on.
    let run = stage.start_with(json!({ "prompt": "Do it.", "autoCompleteTodos": true }));
    stage.drive(run);
    assert!(stage.show(run)["run"]["continuations"].as_i64().unwrap() > 0);
    let stage = Stage::solo(backend, &script);
    let run = stage.start_with(json!({ "prompt": "Do it.", "autoCompleteTodos": false }));
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::SwitchedOff));
}

/// T-29, T-34: items are done one after another, with more calls than a loop without a plan allows.
fn a_plan_of_five_runs_to_its_end(backend: Backend) {
    let items: Vec<Value> = (0..5).map(|n| json!({ "title": format!("item {n}") })).collect();
    let mut steps = vec![json!({
        "calls": [{ "tool": "create_todo", "input": { "items": items }, "save": "plan" }],
    })];
    for n in 0..5 {
        steps.push(json!({ "calls": [{ "tool": "list_todo", "input": {} }] }));
        let id = format!("{{{{plan.created.{n}.id}}}}");
        let input = json!({ "todoId": id, "outcome": format!("done {n}") });
        steps.push(json!({ "calls": [{ "tool": "complete_todo", "input": input }] }));
    }
    steps.push(json!({ "text": "All five." }));
    let (stage, shown, outcome) = played(backend, &json!({ "steps": steps }).to_string());
    assert_eq!(outcome, Outcome::Ended(StopReason::Drained), "{:?}", stage.told());
    assert_eq!(shown["run"]["iterations"], json!(12));
    assert_eq!(titles(&shown["done"]), ["item 0", "item 1", "item 2", "item 3", "item 4"]);
}

/// T-33: items left over from one turn are not part of the next one.
fn the_next_turn_begins_empty(backend: Backend) {
    let script =
        planned("[[steps]]\ntext = \"Later.\"\nstop = \"refusal\"\n[[steps]]\ntext = \"Hello.\"");
    let stage = Stage::solo(backend, &script);
    let first = stage.start("Do it.");
    stage.drive(first);
    let conversation = stage.show(first)["run"]["conversationId"].clone();
    let mut envelope = stage.envelope(punchlist_core::Role::Operator);
    envelope.context.conversation = conversation.as_str().map(str::to_owned);
    let started =
        stage.world.call_in(&envelope, "run_start", json!({ "prompt": "continue" })).unwrap();
    let second = punchlist_core::RunId::parse(started["run"]["id"].as_str().unwrap()).unwrap();
    assert_ne!(first, second);
    assert_eq!(stage.drive(second), Outcome::Ended(StopReason::NoPlan));
    assert_eq!(stage.show(second)["left"], json!([]));
    assert_eq!(titles(&stage.show(first)["left"]), ["look", "write"], "they stay as they are");
}

/// A model that adds an item at each continuation.
fn never_done() -> String {
    let steps: Vec<Value> = (0..40)
        .map(|n| match n % 2 {
            0 => json!({ "calls": [{
                "tool": "create_todo", "input": { "items": [{ "title": format!("item {n}") }] },
            }]}),
            _ => json!({ "text": "That will do." }),
        })
        .collect();
    json!({ "steps": steps }).to_string()
}

/// S-20: at the limit the run ends, and the person sees the limit and the remaining items.
fn the_limit_is_reported_with_what_remains(backend: Backend) {
    let stage = Stage::solo(backend, &never_done());
    let run = stage.start_with(json!({ "prompt": "Do it.", "maxTodoContinuations": 2 }));
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::ContinuationCap));
    let shown = stage.show(run);
    assert_eq!(shown["run"]["continuations"], json!(2));
    let note = newest_note(&stage, &shown);
    assert!(note.contains("the limit of 2 continuations was reached (2 made)"), "{note}");
    assert!(note.ends_with("Not done:\n- item 0\n- item 2\n- item 4"), "{note}");
}

/// P-10.
fn zero_continuations_means_none(backend: Backend) {
    let stage = Stage::solo(backend, &never_done());
    let run = stage.start_with(json!({ "prompt": "Do it.", "maxTodoContinuations": 0 }));
    assert_eq!(stage.drive(run), Outcome::Ended(StopReason::ContinuationCap));
    assert_eq!(stage.show(run)["run"]["continuations"], json!(0));
}

/// S-18: two simultaneous runs, in two sessions, each with its own count.
fn two_runs_do_not_share_their_counts(backend: Backend) {
    let stage = Stage::solo(backend, &never_done());
    let runs = [1, 4].map(|max| {
        (max, stage.start_with(json!({ "prompt": "Do it.", "maxTodoContinuations": max })))
    });
    std::thread::scope(|scope| {
        for (_, run) in &runs {
            scope.spawn(|| stage.drive(*run));
        }
    });
    for (max, run) in runs {
        let shown = stage.show(run);
        assert_eq!(shown["run"]["continuations"], json!(max));
        assert_eq!(shown["left"].as_array().unwrap().len(), max + 1);
    }
}
