//! The spans and figures of different runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;

use punchlist_core::driver::StopReason;
use punchlist_core::{Run, RunId};
use punchlist_engine::Telemetry;
use punchlist_engine::agent::{Live, Outcome};
use punchlist_engine::model::{Cancel, Patience, Patient, Scripted};
use punchlist_ops::Error;
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use super::listener::Listener;
use super::seen::{spans, trees};
use super::{drive, telemetry};
use crate::stage::Stage;

on_every_lasting_store!(
    a_run_is_exported_as_a_tree_of_spans,
    a_run_that_waits_is_exported_in_two_parts
);

const AGENTS: &str = r#"
[agents.primary]
model = "scripted:a"
todo_driven_execution = true
[agents.helper]
model = "scripted:b"
"#;

/// A plan, a tool that fails, a stop that is too early, and a delegation.
const PRIMARY: &str = r#"
[[steps]]
text = "I plan."
calls = [ { tool = "create_todo", input = { items = [ { title = "look" } ] }, save = "plan" } ]
usage = { input = 100, output = 10 }
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "nope", outcome = "seen" } } ]
usage = { input = 200, output = 20 }
[[steps]]
text = "That will do."
usage = { input = 300, output = 30 }
[[steps]]
when = "1 incomplete tasks remaining"
calls = [ { tool = "delegate", input = { type = "helper", mission = "Look, hunter2." } } ]
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "seen" } } ]
[[steps]]
text = "Now it is done."
"#;

const HELPER: &str = "[[steps]]\ntext = \"I looked.\"\nusage = { input = 5000, output = 70000 }\n";

fn staged(backend: Backend) -> (Stage, RunId) {
    let stage = Stage::new(backend, AGENTS, &[("a", PRIMARY), ("b", HELPER)]);
    let run = stage.start("Look.");
    (stage, run)
}

fn a_run_is_exported_as_a_tree_of_spans(backend: Backend) {
    let listener = Listener::new();
    let (stage, run) = staged(backend);
    let watched = telemetry(&listener.address, &[]);
    let outcome = drive(&stage, &watched, run);
    drop(watched);
    assert_eq!(outcome, Outcome::Ended(StopReason::Drained));
    let sent = listener.sent();
    assert!(sent.iter().all(|one| {
        one.headers.contains(&("content-type".to_owned(), "application/json".to_owned()))
    }));
    let spans = spans(&sent);
    insta::assert_snapshot!("a_run_as_spans", trees(&spans));
    let run = run.to_string();
    assert_eq!(spans.last().unwrap().attribute("punchlist.run.id"), Some(run));
}

/// The attributes of each series, with its sum and count.
fn series(listener: &Listener) -> BTreeMap<String, (String, u64, f64)> {
    let sent = listener.sent();
    let sent: Vec<_> = sent.iter().filter(|one| one.path == "/v1/metrics").collect();
    assert_eq!(sent.len(), 1);
    let mut series = BTreeMap::new();
    let scopes = &sent[0].body["resourceMetrics"][0]["scopeMetrics"];
    for metric in scopes[0]["metrics"].as_array().unwrap() {
        // Delta temporality: counted since the last export.
        assert_eq!(metric["histogram"]["aggregationTemporality"], json!(1));
        for point in metric["histogram"]["dataPoints"].as_array().unwrap() {
            let number = |value: &Value| value.as_str().unwrap().parse::<u64>().unwrap();
            let buckets = point["bucketCounts"].as_array().unwrap();
            let bounds = point["explicitBounds"].as_array().unwrap();
            assert_eq!((buckets.len(), bounds.len()), (15, 14));
            let count = number(&point["count"]);
            assert_eq!(buckets.iter().map(number).sum::<u64>(), count);
            assert!(number(&point["startTimeUnixNano"]) <= number(&point["timeUnixNano"]));
            let labels: Vec<&str> = point["attributes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["value"]["stringValue"].as_str().unwrap())
                .collect();
            let name = format!("{} {}", metric["name"].as_str().unwrap(), labels.join(" "));
            let unit = metric["unit"].as_str().unwrap().to_owned();
            assert!(series.insert(name, (unit, count, point["sum"].as_f64().unwrap())).is_none());
        }
    }
    series
}

#[test]
fn the_figures_match_the_usage() {
    let listener = Listener::new();
    let (stage, run) = staged(Backend::SqliteFile);
    let watched = telemetry(&listener.address, &[]);
    drive(&stage, &watched, run);
    drop(watched);
    let series = series(&listener);
    let (tokens, duration, first) = (
        "gen_ai.client.token.usage",
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
    );
    let of = |what: &str| series[what].clone();
    let token = |count, sum| ("{token}".to_owned(), count, sum);
    // Three replies report their usage, three do not.
    assert_eq!(of(&format!("{tokens} chat scripted a input")), token(3, 600.0));
    assert_eq!(of(&format!("{tokens} chat scripted a output")), token(3, 60.0));
    assert_eq!(of(&format!("{tokens} chat scripted b input")), token(1, 5000.0));
    assert_eq!(of(&format!("{tokens} chat scripted b output")), token(1, 70000.0));
    assert_eq!(of(&format!("{duration} chat scripted a")).1, 6);
    assert_eq!(of(&format!("{duration} chat scripted b")).1, 1);
    // Replies that only call tools have no text.
    assert_eq!(of(&format!("{first} chat scripted a")).1, 3);
    assert_eq!(of(&format!("{first} chat scripted b")).1, 1);
    assert_eq!(series.len(), 8, "{series:?}");
}

#[test]
fn tool_content_is_exported_only_if_switched_on() {
    let arguments = "gen_ai.tool.call.arguments";
    let capture = [("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")];
    for (more, is_told) in [(&[][..], false), (&capture[..], true)] {
        let listener = Listener::new();
        let (stage, run) = staged(Backend::SqliteFile);
        let watched = telemetry(&listener.address, more);
        drive(&stage, &watched, run);
        drop(watched);
        let sent = listener.sent();
        let said = sent.iter().any(|one| one.body.to_string().contains("hunter2"));
        assert_eq!(said, is_told);
        let tool = spans(&sent).into_iter().find(|span| span.name() == "execute_tool delegate");
        let tool = tool.unwrap();
        let expected = is_told.then(|| json!({ "type": "helper", "mission": "Look, hunter2." }));
        let told =
            tool.attribute(arguments).map(|told| serde_json::from_str::<Value>(&told).unwrap());
        assert_eq!(told, expected);
        assert_eq!(tool.attribute("gen_ai.tool.call.result").is_some(), is_told);
    }
}

/// A wait ends a trace, because it may last for days. Reading a run creates no trace.
fn a_run_that_waits_is_exported_in_two_parts(backend: Backend) {
    let script = r#"
[[steps]]
calls = [ { tool = "ask", input = { question = "Which one?" } } ]
[[steps]]
text = "Fine."
"#;
    let listener = Listener::new();
    let stage = Stage::solo(backend, script);
    let run = stage.start("Choose.");
    let watched = telemetry(&listener.address, &[]);
    assert_eq!(drive(&stage, &watched, run), Outcome::Waiting);
    // The run is executed while there is nothing to do.
    assert_eq!(drive(&stage, &watched, run), Outcome::Waiting);
    let gates = stage.call("gate_list", json!({})).unwrap();
    let gate = &gates["gates"][0]["id"];
    stage
        .call(
            "gate_answer",
            json!({ "gateId": gate, "decision": "resume", "response": "The first." }),
        )
        .unwrap();
    assert_eq!(drive(&stage, &watched, run), Outcome::Ended(StopReason::NoPlan));
    assert_eq!(drive(&stage, &watched, run), Outcome::Ended(StopReason::NoPlan));
    drop(watched);
    let spans = spans(&listener.sent());
    insta::assert_snapshot!("a_run_that_waits", trees(&spans));
    let roots: Vec<&str> =
        spans.iter().filter(|span| span.parent().is_none()).map(|span| span.trace()).collect();
    assert!(roots.len() == 2 && roots[0] != roots[1]);
}

#[test]
fn a_failed_model_call_has_an_error_type() {
    let script = r#"
[[steps]]
fail = 529
[[steps]]
calls = [ { tool = "create_todo", input = "not json" } ]
[[steps]]
fail = 401
"#;
    let listener = Listener::new();
    let stage = Stage::solo(Backend::SqliteFile, "[[steps]]\ntext = \"unused\"\n");
    let model = Scripted::read("scripted:a", script).unwrap();
    let patient = Patient::new(Box::new(model), Patience::default()).waiting(|_, _| true);
    stage.shelf.put("scripted:a", Arc::new(patient));
    let run = stage.start("Try.");
    let watched = telemetry(&listener.address, &[]);
    assert_eq!(drive(&stage, &watched, run), Outcome::Ended(StopReason::Error));
    drop(watched);
    let told = trees(&spans(&listener.sent()));
    // The pause is random.
    let told = without_pauses(&told);
    insta::assert_snapshot!("a_model_that_fails", told);
}

fn without_pauses(text: &str) -> String {
    let pause = "punchlist.retry.pause_s: ";
    let line = |line: &str| match line.split_once(pause) {
        Some((before, _)) => format!("{before}{pause}<seconds>\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The run of a delegation and the run that waits for it, as exported.
fn runs_of(stage: &Stage, run: RunId) -> Vec<Run> {
    let begun = Mutex::new(Vec::new());
    let off = Telemetry::default();
    let told = off.beside(|live| {
        if let Live::Begins { run } = live {
            begun.lock().unwrap().push((*run).clone());
        }
    });
    let clock = || stage.world.now;
    let runtime = punchlist_engine::Runtime {
        executor: None,
        ops: &stage.world.ops,
        agents: &stage.agents,
        models: &stage.shelf,
        outside: &(),
        clock: &clock,
        is_stopped: &|| false,
        observer: &told,
    };
    runtime.drive("test", run, &Cancel::default()).unwrap();
    drop(told);
    begun.into_inner().unwrap()
}

/// Another thread of the same process may take the work before the one that waits for it.
#[test]
fn a_delegated_run_is_a_child_of_the_waiting_tool_call() {
    let (stage, run) = staged(Backend::SqliteFile);
    let runs = runs_of(&stage, run);
    let [waits, does] = runs.as_slice() else { panic!("{runs:?}") };
    let delegation = does.delegation_id.unwrap();
    let listener = Listener::new();
    let watched = telemetry(&listener.address, &[]);
    let (input, ended) = (json!({}), Ok(Outcome::Ended(StopReason::Drained)));
    let calls = |id| Live::Calls { run: waits, call_id: id, tool: "delegate", input: &input };
    let returned = |id| {
        let (run, tool, text, is_error) = (waits, "delegate", "{}", false);
        Live::Returned { run, call_id: id, tool, text, is_error }
    };
    let work = || {
        watched.watch(&Live::Begins { run: does });
        watched.watch(&Live::Asks { run: does, provider: "scripted" });
        watched.watch(&Live::Leaves { run: does, outcome: ended });
    };
    watched.watch(&Live::Begins { run: waits });
    watched.watch(&calls("c1"));
    watched.watch(&Live::Delegates { run: waits, delegation });
    thread::scope(|scope| scope.spawn(work).join()).unwrap();
    watched.watch(&returned("c1"));
    // No run waits for it any more, so it has its own trace.
    thread::scope(|scope| scope.spawn(work).join()).unwrap();
    watched.watch(&Live::Leaves { run: waits, outcome: ended });
    drop(watched);
    let spans = spans(&listener.sent());
    let tool = spans.iter().find(|span| span.name() == "execute_tool delegate").unwrap();
    let work: Vec<_> = spans
        .iter()
        .filter(|span| {
            span.attribute("punchlist.delegation.id") == Some(delegation.to_string())
                && span.name().starts_with("invoke_agent")
        })
        .collect();
    assert_eq!(work.len(), 2);
    assert_eq!((work[0].parent(), work[0].trace()), (Some(tool.id()), tool.trace()));
    assert_eq!(work[1].parent(), None);
    assert_ne!(work[1].trace(), tool.trace());
    assert_eq!(tool.attribute("punchlist.delegation.id"), Some(delegation.to_string()));
}

/// A call that waits for permission, a model call during which the database becomes unreachable, and a
/// run that is active when the process ends.
#[test]
fn interrupted_spans_are_marked_as_failed() {
    let (stage, run) = staged(Backend::SqliteFile);
    let runs = runs_of(&stage, run);
    let run = &runs[0];
    let listener = Listener::new();
    let watched = telemetry(&listener.address, &[]);
    let input = json!({});
    let calls = Live::Calls { run, call_id: "c1", tool: "deploy", input: &input };
    let away = Error::Internal { detail: "the store is away".to_owned() };
    let asks = Live::Asks { run, provider: "scripted" };
    let told = [
        &[Live::Begins { run }, calls, Live::Waits { run, kind: "gate" }][..],
        &[Live::Leaves { run, outcome: Ok(Outcome::Waiting) }],
        &[Live::Begins { run }, asks, Live::Leaves { run, outcome: Err(&away) }],
        &[Live::Begins { run }, calls],
    ];
    told.into_iter().flatten().for_each(|live| watched.watch(live));
    drop(watched);
    let spans = spans(&listener.sent());
    let mut seen = Vec::new();
    for span in &spans {
        let of = |key: &str| span.attribute(key).unwrap_or_default();
        let wait = of("punchlist.wait.kind");
        let line = [span.name(), &wait, &of("punchlist.outcome"), &of("error.type")].join("|");
        seen.push(line);
    }
    assert_eq!(
        seen,
        [
            "execute_tool deploy|gate||",
            "invoke_agent primary||waiting|",
            "chat a|||internal",
            "invoke_agent primary|||internal",
            "execute_tool deploy|||cancelled",
            "invoke_agent primary|||",
        ]
    );
}

/// A hundred simultaneous runs in a hundred threads, with more spans than one batch.
#[test]
fn runs_at_the_same_time_are_kept_apart() {
    let script = r#"
[[steps]]
calls = [ { tool = "create_todo", input = { items = [ { title = "look" } ] }, save = "plan" } ]
[[steps]]
calls = [ { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "seen" } } ]
[[steps]]
text = "Done."
"#;
    let listener = Listener::new();
    let stage = Stage::solo(Backend::SqliteFile, script);
    let watched = telemetry(&listener.address, &[]);
    let runs: Vec<RunId> = (0..100).map(|number| stage.start(&format!("Do {number}."))).collect();
    thread::scope(|scope| {
        for run in &runs {
            let (stage, watched) = (&stage, &watched);
            scope.spawn(move || {
                assert_eq!(drive(stage, watched, *run), Outcome::Ended(StopReason::Drained));
            });
        }
    });
    drop(watched);
    let sent = listener.sent();
    assert_eq!(sent.iter().filter(|one| one.path == "/v1/traces").count(), 2);
    let mut traces: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for span in spans(&sent) {
        traces.entry(span.trace().to_owned()).or_default().push(span);
    }
    let expected = [
        "chat a",
        "execute_tool create_todo",
        "chat a",
        "execute_tool complete_todo",
        "chat a",
        "invoke_agent primary",
    ];
    let mut seen: Vec<String> = Vec::new();
    for spans in traces.into_values() {
        let names: Vec<&str> = spans.iter().map(|span| span.name()).collect();
        assert_eq!(names, expected);
        let mut ids: Vec<String> =
            spans.iter().filter_map(|span| span.attribute("punchlist.run.id")).collect();
        ids.dedup();
        assert_eq!(ids.len(), 1, "{ids:?}");
        seen.extend(ids);
    }
    seen.sort();
    let mut runs: Vec<String> = runs.iter().map(RunId::to_string).collect();
    runs.sort();
    assert_eq!(seen, runs);
}
