//! `punch worker` and `punch metric`: metrics are collected automatically, and people see them.

use punchlist_testkit::{Backend, TestStore, World, developer_experience};
use serde_json::{Value, json};

use crate::running::Running;
use crate::support::Place;

const MISSION: &str = "developer-experience";
const METRIC: &str = "local-build-time";

/// A place with the usual mission, whose metric is read by this program. Returns the lead's token.
fn measured(backend: Backend, command: &Value) -> (Place, String) {
    let (place, lead, _) = measured_by(backend, command);
    (place, lead)
}

/// Like `measured`, also with the token of a process that may serve everybody.
fn measured_by(backend: Backend, command: &Value) -> (Place, String, String) {
    let place = Place::new(backend);
    let mut file = developer_experience();
    file["pillars"][0]["metrics"][0]["collect"] = json!({ "command": command });
    World::on(TestStore::at(place.target())).mission(file, None);
    let operator = place.operator();
    let lead = ["token", "new", "--role", "lead", "--agent", "boss", "--json"];
    let made = place.punch(lead).with(&operator).answer();
    let lead = made["token"].as_str().unwrap().to_owned();
    let made = place.punch(["token", "new", "--role", "system", "--json"]).with(&operator).answer();
    let system = made["token"].as_str().unwrap().to_owned();
    (place, lead, system)
}

fn metrics_are_collected_from_the_command_line(backend: Backend) {
    let (place, lead) = measured(backend, &json!(["echo", "72"]));
    let queued = place.punch(["metric", "collect", MISSION]).with(&lead).said();
    assert_eq!(queued, "Queued local-build-time; `punch worker` reads them\n");
    let worked = place.punch(["worker", "--once"]).said();
    assert_eq!(worked, format!("collected  test/{MISSION}/{METRIC}  72s\n"));
    assert_eq!(place.punch(["worker", "--once"]).said(), "");
    for value in ["50", "1m30s", "45s"] {
        place.punch(["metric", "record", MISSION, METRIC, value]).with(&lead).said();
    }
    let history = place.punch(["metric", "history", MISSION, METRIC, "--no-color"]).with(&lead);
    insta::assert_snapshot!("metric_history", history.said());
    let narrow = history.env("COLUMNS", "30").said();
    assert!(narrow.lines().all(|line| line.chars().count() <= 30), "{narrow}");
    assert!(narrow.contains("▅▂█▁"), "{narrow}");
}

#[test]
fn metrics_are_collected_from_the_command_line_on_sqlite() {
    metrics_are_collected_from_the_command_line(Backend::SqliteFile);
}

#[test]
fn metrics_are_collected_from_the_command_line_on_postgres() {
    metrics_are_collected_from_the_command_line(Backend::Postgres);
}

/// At a person's terminal the collection is followed to its end.
#[test]
fn a_person_at_a_terminal_sees_the_readings_that_were_asked_for() {
    let (place, _) = measured(Backend::SqliteFile, &json!(["echo", "72"]));
    let worker = Running::start(&place.punch(["worker", "--json"]));
    let seen = place.punch(["metric", "collect", MISSION, "--no-color"]).on_terminal();
    assert_eq!(seen.exit, Some(0), "{seen:?}");
    assert!(seen.stdout.contains("Queued local-build-time; `punch worker` reads them"), "{seen:?}");
    assert!(seen.stdout.contains("local-build-time: 72"), "{seen:?}");
    assert_eq!(worker.event()["did"], "metric_collected");
    assert_eq!(worker.interrupt(), Some(0));
}

/// A collector that searches for our token and our keys finds none.
#[test]
fn a_collector_finds_no_secret_of_the_worker() {
    let script = "env | grep -c 'hush\\|TOKEN\\|PUNCHLIST\\|HOME' || true";
    let (place, lead, system) = measured_by(Backend::SqliteFile, &json!(["sh", "-c", script]));
    place.punch(["metric", "collect", MISSION, METRIC]).with(&lead).said();
    // A worker cannot be started with a lead's token, but with a system token that is not narrowed.
    let refused = place.punch(["worker", "--once", "--json"]).with(&lead).refusal(4);
    assert_eq!(refused["code"], "not_permitted");
    let worker = place.punch(["worker", "--once", "--json"]).with(&system);
    let done: Value = worker.env("ANTHROPIC_API_KEY", "hush").answer();
    let expected = json!({
        "did": "metric_collected", "project": "test", "mission": MISSION, "metric": METRIC,
        "value": "0s", "at": crate::support::NOW,
    });
    assert_eq!(done, expected);
}

/// A running worker does work that another process queues, reports it, and ends on request.
fn a_worker_runs_until_it_is_stopped(backend: Backend) {
    let (place, lead) = measured(backend, &json!(["sh", "-c", "echo no route >&2; exit 4"]));
    let worker = Running::start(&place.punch(["worker", "--json"]));
    place.punch(["metric", "collect", MISSION]).with(&lead).said();
    let failed = worker.event();
    let picked = json!([failed["did"], failed["attempt"], failed["givesUp"], failed["error"]]);
    assert_eq!(picked, json!(["metric_failed", 1, false, "ended with exit code 4: no route"]));
    let history = ["metric", "history", MISSION, METRIC, "--json"];
    let shown = place.punch(history).with(&lead).answer();
    assert_eq!(shown["collection"]["lastError"], "ended with exit code 4: no route");
    assert_eq!(worker.interrupt(), Some(0));
    // On PostgreSQL the log may show it a moment later.
    let wait = ["wait", "--after", "0", "--types", "collection_failed", "--timeout", "20s"];
    place.punch(wait).with(&lead).said();
    let words = place.punch(["log", "--no-color"]).with(&lead).env("COLUMNS", "200").said();
    assert!(words.contains("local-build-time, attempt 1: ended with exit code 4"), "{words}");
}

#[test]
fn a_worker_runs_until_it_is_stopped_on_sqlite() {
    a_worker_runs_until_it_is_stopped(Backend::SqliteFile);
}

#[test]
fn a_worker_runs_until_it_is_stopped_on_postgres() {
    a_worker_runs_until_it_is_stopped(Backend::Postgres);
}
