//! Slow clients: the server waits for them no longer than its limits.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use punchlist_core::change::Unread;
use punchlist_ops::{Error, Ops, clock};
use punchlist_server::http::{Handle, Limits, Server, Settings};
use punchlist_store::Options;
use punchlist_testkit::{Backend, TestStore};

/// A server with short time limits for requests.
struct Impatient {
    handle: Handle,
    address: String,
    running: JoinHandle<Result<(), Error>>,
    _store: TestStore,
}

impl Impatient {
    fn start() -> Self {
        let short = Duration::from_millis(300);
        Self::with(Limits { arrival: short, progress: short, ..Limits::default() })
    }

    fn with(limits: Limits) -> Self {
        let store = TestStore::new(Backend::SqliteFile);
        let ops = Arc::new(Ops::new(store.target().clone(), Options::default()));
        let settings = Settings {
            listen: ([127, 0, 0, 1], 0).into(),
            tls: None,
            public_url: None,
            project: Some("test".to_owned()),
            agents: Arc::default(),
            clock: clock::now,
            limits,
            read_change: |_, _| Err(Unread::NoFolder),
            fixtures: false,
        };
        let server = Server::bind(ops, settings).unwrap();
        let (handle, url) = (server.handle(), server.url());
        let address = url.trim_start_matches("http://").to_owned();
        Self { handle, address, running: std::thread::spawn(|| server.run()), _store: store }
    }

    /// The response to a client that sends this and then nothing more, and the time it took.
    fn answer_to(&self, beginning: &str) -> (String, Duration) {
        let start = Instant::now();
        let mut socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.write_all(beginning.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = socket.read_to_string(&mut answer);
        (answer, start.elapsed())
    }

    fn stop(self) {
        self.handle.stop();
        self.running.join().unwrap().unwrap();
    }
}

const HEAD: &str =
    "POST /v1/issue_create HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

#[test]
fn a_body_that_does_not_arrive_times_out() {
    let server = Impatient::start();
    let (answer, took) = server.answer_to(&format!("{HEAD}Content-Length: 100\r\n\r\n{{\"ti"));
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("request_too_slow"), "{answer}");
    assert!(took < Duration::from_secs(15), "{took:?}");
    server.stop();
}

#[test]
fn a_connection_without_headers_is_closed() {
    let server = Impatient::start();
    for beginning in ["", "POST /v1/iss", HEAD] {
        let (_, took) = server.answer_to(beginning);
        assert!(took < Duration::from_secs(15), "{beginning:?}: {took:?}");
    }
    server.stop();
}

/// A client that asks for much and reads nothing is disconnected: here it has the only place, and
/// then another client gets it.
#[test]
fn a_client_that_never_reads_loses_its_place() {
    let (arrival, progress) = (Duration::from_secs(10), Duration::from_millis(300));
    let limits = Limits { connections: 1, arrival, progress, ..Limits::default() };
    let server = Impatient::with(limits);
    let mut socket = TcpStream::connect(&server.address).unwrap();
    let request = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    socket.write_all(request.repeat(40).as_bytes()).unwrap();
    let (probe, _) = server.answer_to("GET /healthz HTTP/1.0\r\n\r\n");
    assert!(probe.contains(" 200 "), "{probe}");
    drop(socket);
    server.stop();
}

/// A running request is finished, and its response sent, before the server ends.
#[test]
fn a_server_that_stops_finishes_running_requests() {
    // The second half of the body may come late on a busy machine.
    let server = Impatient::with(Limits::default());
    let body = r#"{"title":"Last"}"#;
    let mut socket = TcpStream::connect(&server.address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (first, rest) = body.split_at(5);
    let request = format!(
        "{HEAD}Connection: close\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n{first}",
        body.len()
    );
    socket.write_all(request.as_bytes()).unwrap();
    // The server says so when it waits for the body: from then on, the request is running.
    let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut interim = vec![0; go_on.len()];
    socket.read_exact(&mut interim).unwrap();
    assert_eq!(interim, go_on);
    server.handle.stop();
    socket.write_all(rest.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"Last\""), "{answer}");
    server.stop();
}
