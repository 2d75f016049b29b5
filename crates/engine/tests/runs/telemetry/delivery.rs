//! Collectors that are unreachable, slow, selective or switched off.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use punchlist_core::driver::StopReason;
use punchlist_engine::Telemetry;
use punchlist_engine::agent::Outcome;
use punchlist_testkit::Backend;

use super::listener::Listener;
use super::seen::spans;
use super::{ToolOutput, drive, open, settings};
use crate::stage::Stage;

/// Only traces, so that every request can be identified.
const TRACES: [(&str, &str); 1] = [("OTEL_METRICS_EXPORTER", "none")];

fn stage() -> Stage {
    Stage::solo(Backend::SqliteFile, "[[steps]]\ntext = \"Done.\"\n")
}

/// Executes a run that gives two spans.
fn run(stage: &Stage, telemetry: &Telemetry) {
    let run = stage.start("Do it.");
    assert_eq!(drive(stage, telemetry, run), Outcome::Ended(StopReason::NoPlan));
}

fn said(said: &ToolOutput) -> Vec<String> {
    said.lock().unwrap().clone()
}

#[test]
fn nothing_is_sent_if_telemetry_is_off() {
    let listener = Listener::new();
    let disabled = [("OTEL_SDK_DISABLED", "true")];
    assert!(settings(&listener.address, &disabled).is_none());
    let watched = Telemetry::from_env(&|_| None, |line| panic!("{line}"));
    assert!(!watched.is_on());
    run(&stage(), &watched);
    drop(watched);
    assert!(listener.sent().is_empty());
}

#[test]
fn configured_headers_are_sent() {
    let listener = Listener::new();
    let more = [("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"), ("OTEL_SERVICE_NAME", "nightly")];
    let (watched, warned) = open(settings(&listener.address, &more).unwrap());
    run(&stage(), &watched);
    drop(watched);
    let sent = listener.sent();
    let mut paths: Vec<&str> = sent.iter().map(|one| one.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/v1/metrics", "/v1/traces"]);
    for one in &sent {
        assert!(one.headers.contains(&("x-key".to_owned(), "a b".to_owned())), "{one:?}");
        let whole = if one.path == "/v1/traces" { "resourceSpans" } else { "resourceMetrics" };
        let name = &one.body[whole][0]["resource"]["attributes"][0];
        assert_eq!(name["value"]["stringValue"], "nightly");
    }
    assert_eq!(said(&warned), [""; 0]);
}

/// An unreachable collector gives one warning, and lost spans are counted.
#[test]
fn an_unreachable_collector_does_not_affect_runs() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut settings = settings(&format!("http://127.0.0.1:{port}"), &[]).unwrap();
    settings.delay = Duration::ZERO;
    settings.interval = Duration::ZERO;
    let (watched, warned) = open(settings);
    let stage = stage();
    run(&stage, &watched);
    run(&stage, &watched);
    drop(watched);
    let said = said(&warned);
    assert_eq!(said.len(), 2, "{said:?}");
    let away = format!("telemetry: 127.0.0.1:{port} cannot be reached: ");
    assert!(said[0].starts_with(&away) && said[0].ends_with("; trying again"), "{said:?}");
    assert_eq!(said[1], "telemetry: 4 spans were dropped; nobody took them in time");
}

/// The collector never responds. If a run or the end of the process waited for it, that would take a
/// minute.
#[test]
fn a_silent_collector_delays_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let more = [("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")];
    let mut settings = settings(&address, &more).unwrap();
    settings.delay = Duration::ZERO;
    settings.flush = Duration::from_millis(100);
    let (watched, warned) = open(settings);
    let since = Instant::now();
    run(&stage(), &watched);
    // The collector has received the request by now, and does not answer.
    let (asked, _) = silent.accept().unwrap();
    drop(watched);
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}", since.elapsed());
    // Read the warnings while it is silent: the sending thread warns again once the connection
    // closes.
    let line = "telemetry: the collector does not answer; what was left to send is lost";
    assert_eq!(said(&warned), [line]);
    drop(asked);
}

#[test]
fn a_batch_refused_temporarily_is_sent_again() {
    const BUSY: &str = "503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n";
    const TAKEN: &str = "200 OK\r\nContent-Length: 0\r\n\r\n";
    let listener = Listener::answering(|number| if number == 0 { BUSY } else { TAKEN });
    let mut settings = settings(&listener.address, &TRACES).unwrap();
    settings.delay = Duration::ZERO;
    let (watched, warned) = open(settings);
    run(&stage(), &watched);
    let first = listener.next();
    drop(watched);
    let sent = listener.sent();
    assert_eq!(first.body, sent[0].body);
    assert_eq!(spans(&sent).len(), 2);
    let host = listener.address.strip_prefix("http://").unwrap();
    assert_eq!(said(&warned), [format!("telemetry: {host} answered 503; trying again")]);
}

#[test]
fn a_batch_refused_permanently_is_not_sent_again() {
    const NO: &str = "401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    let listener = Listener::answering(|_| NO);
    let (watched, warned) = open(settings(&listener.address, &TRACES).unwrap());
    run(&stage(), &watched);
    drop(watched);
    assert_eq!(listener.sent().len(), 1);
    let host = listener.address.strip_prefix("http://").unwrap();
    let lines = [
        format!("telemetry: {host} answered 401; nothing is taken there"),
        "telemetry: 2 spans were dropped; nobody took them in time".to_owned(),
    ];
    assert_eq!(said(&warned), lines);
}

#[test]
fn a_rejected_part_is_reported() {
    const PART: &str = "200 OK\r\nContent-Type: application/json\r\nContent-Length: 66\r\n\r\n\
        {\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"too old\" }}";
    let listener = Listener::answering(|_| PART);
    let (watched, warned) = open(settings(&listener.address, &TRACES).unwrap());
    run(&stage(), &watched);
    drop(watched);
    let host = listener.address.strip_prefix("http://").unwrap();
    let lines = [
        format!("telemetry: {host} took only a part: too old"),
        "telemetry: 1 spans were dropped; nobody took them in time".to_owned(),
    ];
    assert_eq!(said(&warned), lines);
}

#[test]
fn the_queue_is_limited() {
    let listener = Listener::new();
    let mut settings = settings(&listener.address, &TRACES).unwrap();
    settings.queue_max = 3;
    settings.delay = Duration::from_secs(3600);
    let (watched, warned) = open(settings);
    let stage = stage();
    run(&stage, &watched);
    run(&stage, &watched);
    run(&stage, &watched);
    drop(watched);
    let sent = listener.sent();
    let spans: usize = sent
        .iter()
        .map(|one| one.body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len())
        .sum();
    assert_eq!(spans, 3);
    let line = "telemetry: 3 spans were dropped; nobody took them in time";
    assert_eq!(said(&warned), [line]);
}
