//! Operations on metrics: recording, collecting, showing, and who may.

use punchlist_core::effect::Effect;
use punchlist_core::mission::Standing;
use punchlist_core::{Actor, AgentPath, Reach, Role, Time};
use punchlist_ops::{Envelope, Error};
use punchlist_store::rows::outbox::EVERYTHING;
use punchlist_store::rows::outbox::Work;
use punchlist_testkit::{Backend, World, developer_experience, on_every_store};
use serde_json::{Value, json};

const MISSION: &str = "developer-experience";
const METRIC: &str = "local-build-time";

fn measured(backend: Backend) -> World {
    let world = World::new(backend);
    world.mission(developer_experience(), None);
    world
}

fn of(metric: &str, more: Value) -> Value {
    let mut input = json!({ "mission": MISSION, "metric": metric });
    let Value::Object(more) = more else { panic!("{more} is no object") };
    for (name, value) in more {
        input[name] = value;
    }
    input
}

fn record(world: &World, metric: &str, value: Value) -> Result<Value, Error> {
    let mut input = of(metric, json!({}));
    input["value"] = value;
    world.call_in(&world.envelope(Role::Lead), "metric_record", input)
}

fn history(world: &World, metric: &str, more: Value) -> Value {
    world.call_in(&world.envelope(Role::Lead), "metric_history", of(metric, more)).unwrap()
}

/// All effects in the outbox.
fn waiting(world: &World) -> Vec<Work> {
    let take = || world.ops.store().unwrap().write(|tx| tx.take_work(EVERYTHING, 60)).unwrap();
    std::iter::from_fn(take).collect()
}

/// M-82, F-18: a metric has a value, a target, a status and a trend.
fn readings_give_a_status_and_a_trend(backend: Backend) {
    let mut world = measured(backend);
    let before = history(&world, METRIC, json!({}));
    assert_eq!((&before["status"], &before["trend"]), (&json!("unknown"), &json!("unknown")));
    assert_eq!((&before["current"], &before["readings"]), (&Value::Null, &json!([])));

    for value in [json!(120), json!("1m40s"), json!("72s")] {
        world.now = world.now.plus_seconds(60);
        record(&world, METRIC, value).unwrap();
    }
    let after = history(&world, METRIC, json!({}));
    let picked = json!({
        "current": after["current"], "shown": after["shown"], "status": after["status"],
        "trend": after["trend"], "target": after["target"]["shown"], "pillar": after["pillar"],
    });
    let expected = json!({
        "current": 72, "shown": "72s", "status": "warning", "trend": "improving",
        "target": "< 60s", "pillar": "build-performance",
    });
    assert_eq!(picked, expected);
    let figures: Vec<&Value> =
        after["readings"].as_array().unwrap().iter().map(|reading| &reading["value"]).collect();
    assert_eq!(figures, [&json!(72), &json!(100), &json!(120)]);
    assert_eq!(after["readings"][0]["source"], "lead:primary");
    let types: Vec<Value> = world.log().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(types.iter().filter(|name| **name == "reading_recorded").count(), 3);
}

/// Readings are ordered by the time they were taken: a late one changes the history, not the
/// current value.
fn a_late_reading_is_sorted_by_its_own_time(backend: Backend) {
    let world = measured(backend);
    record(&world, METRIC, json!(50)).unwrap();
    let lead = world.envelope(Role::Lead);
    let late = |at: &str| {
        let input = of(METRIC, json!({ "value": 80, "at": at }));
        world.call_in(&lead, "metric_record", input)
    };
    late("2026-11-15T08:00:00+01:00").unwrap();
    let shown = history(&world, METRIC, json!({}));
    assert_eq!((&shown["current"], &shown["readings"][1]["value"]), (&json!(50), &json!(80)));
    for (at, code) in [("2026-11-15T08:00:01Z", "bad_value"), ("yesterday", "bad_value")] {
        let error = late(at).unwrap_err();
        assert_eq!((error.code(), error.meaning().exit), (code, 2), "{at}");
    }
}

fn a_long_history_is_read_in_pages(backend: Backend) {
    let mut world = measured(backend);
    for n in 0..5 {
        // Two of them at the same time.
        world.now = world.now.plus_seconds(i64::from(n % 2));
        record(&world, "flaky-tests", json!(n)).unwrap();
    }
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let more = match &cursor {
            Value::Null => json!({ "limit": 2 }),
            cursor => json!({ "limit": 2, "cursor": cursor }),
        };
        let page = history(&world, "flaky-tests", more);
        assert_eq!(page["current"], 4);
        seen.extend(page["readings"].as_array().unwrap().iter().map(|r| r["value"].clone()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, [4, 3, 2, 1, 0]);
}

/// Bad input gets a stable code and the valid values, and changes nothing.
fn bad_input_is_refused_with_the_valid_values(backend: Backend) {
    let world = measured(backend);
    let lead = world.envelope(Role::Lead);
    let written = world.log().len();
    let cases = [
        ("metric_record", of(METRIC, json!({ "value": "soon" })), "bad_figure", "1m12s"),
        ("metric_record", of("flaky-tests", json!({ "value": -1 })), "bad_figure", "whole"),
        ("metric_record", of("speed", json!({ "value": 1 })), "unknown_metric", METRIC),
        ("metric_record", of(METRIC, json!({ "value": [1] })), "bad_value", "value"),
        ("metric_record", of(METRIC, json!({ "value": null })), "bad_value", "value"),
        ("metric_record", of(METRIC, json!({})), "missing_field", "value"),
        ("metric_record", of(METRIC, json!({ "value": 1, "when": "x" })), "unknown_field", ""),
        ("metric_collect", of("morale", json!({})), "no_collector", "metric_record"),
        ("metric_collect", of("speed", json!({})), "unknown_metric", METRIC),
        ("metric_collect", json!({ "mission": "nowhere" }), "unknown_mission", MISSION),
        ("metric_collect", json!({ "mission": "  " }), "missing_field", "mission"),
        ("metric_history", of(METRIC, json!({ "limit": 0 })), "bad_value", "limit"),
        ("metric_history", of("speed", json!({})), "unknown_metric", METRIC),
    ];
    for (operation, input, code, said) in cases {
        let error = world.call_in(&lead, operation, input.clone()).unwrap_err();
        assert_eq!(error.code(), code, "{operation} {input}");
        let words = error.to_json().to_string();
        assert!(words.contains(said), "{operation} {input}: {words}");
    }
    assert_eq!(world.log().len(), written);
    assert_eq!(waiting(&world), []);
}

/// M-45: one or all metrics are queued; queueing twice has one effect.
fn collection_is_queued_once(backend: Backend) {
    let world = measured(backend);
    let lead = world.envelope(Role::Lead);
    let collect = |input: Value| world.call_in(&lead, "metric_collect", input).unwrap();
    assert_eq!(collect(json!({ "mission": MISSION })), json!({ "queued": [METRIC] }));
    assert_eq!(collect(of(METRIC, json!({}))), json!({ "queued": [METRIC] }));
    let work = waiting(&world);
    assert_eq!(work.len(), 1, "{work:?}");
    assert!(matches!(work[0].effect, Effect::CollectMetric { todo_id: None, .. }));
    // It is being read now and may have started too early, so it is queued again.
    collect(of(METRIC, json!({})));
    assert_eq!(waiting(&world).len(), 1);
    let queued = |event: &&Value| event["type"] == "collection_queued";
    assert_eq!(world.log().iter().filter(queued).count(), 3);
}

/// M-72: a paused metric is not collected with the others, but can be collected by name.
fn a_paused_metric_is_collected_only_by_name(backend: Backend) {
    let world = measured(backend);
    let lead = world.envelope(Role::Lead);
    let collect = |input: Value| world.call_in(&lead, "metric_collect", input).unwrap();
    world.stand(MISSION, Some("build-performance"), Standing::Paused);
    assert_eq!(collect(json!({ "mission": MISSION })), json!({ "queued": [] }));
    assert_eq!(waiting(&world), []);
    assert_eq!(collect(of(METRIC, json!({}))), json!({ "queued": [METRIC] }));
    world.stand(MISSION, Some("build-performance"), Standing::Active);
    world.stand(MISSION, None, Standing::Paused);
    assert_eq!(collect(json!({ "mission": MISSION })), json!({ "queued": [] }));

    let mut file = developer_experience();
    file["status"] = json!("archived");
    world.mission(file, None);
    let error = record(&world, METRIC, json!(1)).unwrap_err();
    assert_eq!(error.code(), "mission_archived");
}

fn tied(world: &World, role: Role, mission: Option<&str>, pillar: Option<&str>) -> Envelope {
    let mut actor = Actor::new(role, AgentPath::primary());
    actor.mission = mission.map(str::to_owned);
    actor.pillar = pillar.map(str::to_owned);
    Envelope { actor, ..world.envelope(role) }
}

fn code(answer: Result<Value, Error>) -> &'static str {
    answer.map_or_else(|error| error.code(), |_| "ok")
}

/// The lead records, the pillar's owner reads, and nobody gets past the reach of a token.
fn the_lead_records_and_the_owner_reads(backend: Backend) {
    let world = measured(backend);
    let elsewhere = Some("another-mission");
    let (build, tests) = (Some("build-performance"), Some("test-quality"));
    #[rustfmt::skip]
    let callers = [
        // caller, record, history
        (tied(&world, Role::Operator, None, None), "ok", "ok"),
        (tied(&world, Role::System, None, None), "ok", "ok"),
        (tied(&world, Role::Lead, None, None), "ok", "ok"),
        (tied(&world, Role::Lead, Some(MISSION), None), "ok", "ok"),
        (tied(&world, Role::Lead, elsewhere, None), "not_permitted", "not_permitted"),
        (tied(&world, Role::Owner, Some(MISSION), build), "not_permitted", "ok"),
        (tied(&world, Role::Owner, Some(MISSION), tests), "not_permitted", "not_permitted"),
        (tied(&world, Role::Root, None, None), "not_permitted", "not_permitted"),
        (tied(&world, Role::Worker, None, None), "not_permitted", "not_permitted"),
    ];
    for (envelope, may_record, may_look) in callers {
        let who = format!("{:?}", envelope.actor);
        let answer = world.call_in(&envelope, "metric_record", of(METRIC, json!({ "value": 1 })));
        assert_eq!(code(answer), may_record, "{who}");
        let answer = world.call_in(&envelope, "metric_collect", of(METRIC, json!({})));
        assert_eq!(code(answer), may_record, "{who}");
        assert_eq!(
            code(world.call_in(&envelope, "metric_history", of(METRIC, json!({})))),
            may_look
        );
        let failed = of(METRIC, json!({ "error": "x", "attempt": 1 }));
        let may_fail = if envelope.actor.role == Role::System { "ok" } else { "not_permitted" };
        assert_eq!(code(world.call_in(&envelope, "metric_failed", failed)), may_fail, "{who}");
    }
}

/// P-28: a narrowed token can neither record nor see metrics outside its reach.
fn a_narrowed_token_reaches_only_its_own_metrics(backend: Backend) {
    let world = measured(backend);
    let narrowed = |reach: Reach| {
        let mut envelope = world.envelope(Role::Lead);
        envelope.actor.reach = reach;
        envelope
    };
    let text = |text: &str| Some(text.to_owned());
    let mission = Reach { mission: text(MISSION), ..Reach::default() };
    let tests = Reach { pillar: text("test-quality"), ..mission.clone() };
    let issue = Reach { number: Some(1), ..Reach::default() };
    let other = Reach { mission: text("another"), ..Reach::default() };
    let cases = [(mission, "ok"), (tests.clone(), "out_of_reach"), (issue, "out_of_reach")];
    for (reach, expected) in cases.into_iter().chain([(other, "out_of_reach")]) {
        let envelope = narrowed(reach);
        let record = of(METRIC, json!({ "value": 1 }));
        for (name, input) in [
            ("metric_record", record),
            ("metric_collect", of(METRIC, json!({}))),
            ("metric_history", of(METRIC, json!({}))),
        ] {
            assert_eq!(code(world.call_in(&envelope, name, input)), expected, "{name}");
        }
    }
    // Collecting all metrics means all within reach.
    let envelope = narrowed(tests);
    let all = world.call_in(&envelope, "metric_collect", json!({ "mission": MISSION })).unwrap();
    assert_eq!(all, json!({ "queued": [] }));
}

/// A failure is counted and kept until the collector succeeds; a reading by hand does not reset it.
fn failures_are_counted_until_the_collector_succeeds(backend: Backend) {
    let world = measured(backend);
    let system = world.envelope(Role::System);
    for attempt in 1..=2 {
        let failed = json!({ "error": "no route", "attempt": attempt, "givesUp": attempt == 2 });
        world.call_in(&system, "metric_failed", of(METRIC, failed)).unwrap();
    }
    record(&world, METRIC, json!(70)).unwrap();
    let collection = history(&world, METRIC, json!({}))["collection"].clone();
    assert_eq!(
        (&collection["failures"], &collection["lastError"]),
        (&json!(2), &json!("no route"))
    );
    let at = collection["lastErrorAt"].as_str().and_then(Time::parse);
    assert_eq!(at, Some(world.now));
    let failures: Vec<Value> = world
        .log()
        .into_iter()
        .filter(|event| event["type"] == "collection_failed")
        .map(|event| event["data"]["givesUp"].clone())
        .collect();
    assert_eq!(failures, [json!(false), json!(true)]);

    let read = of(METRIC, json!({ "value": "72" }));
    world.call_in(&system, "metric_record", read).unwrap();
    let shown = history(&world, METRIC, json!({}));
    let collection = &shown["collection"];
    assert_eq!((&collection["failures"], &collection["lastError"]), (&json!(0), &Value::Null));
    assert_eq!(shown["readings"][0]["source"], "collector");
}

on_every_store!(
    readings_give_a_status_and_a_trend,
    a_late_reading_is_sorted_by_its_own_time,
    a_long_history_is_read_in_pages,
    bad_input_is_refused_with_the_valid_values,
    collection_is_queued_once,
    a_paused_metric_is_collected_only_by_name,
    the_lead_records_and_the_owner_reads,
    a_narrowed_token_reaches_only_its_own_metrics,
    failures_are_counted_until_the_collector_succeeds,
);
