//! The standard streams of `punch mcp`: messages before the handshake, output that nobody reads, and
//! the end of the input.

use std::io::Write;
use std::process::Child;
use std::sync::mpsc::channel;

use serde_json::{Value, json};

use crate::support::Place;
use crate::talk::{PATIENCE, Pipes};

fn hello() -> Value {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" } });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

fn ping(id: i64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
}

/// The exit code of a server that must end by itself.
fn exit_code(mut child: Child) -> Option<i32> {
    let (told, ended) = channel();
    std::thread::spawn(move || told.send(child.wait().unwrap().code()));
    ended.recv_timeout(PATIENCE).expect("the server ends")
}

/// A misspelt method is refused with words that say what to do.
#[test]
fn an_unknown_method_is_refused_in_words() {
    let place = Place::sqlite();
    let mut pipes = Pipes::start(&place.punch(["mcp"]));
    pipes.send(&hello());
    pipes.receive();
    pipes.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/lst" }));
    let why = "there is no method `tools/lst`; operations are called with tools/call";
    let error = json!({ "code": -32601, "message": why });
    assert_eq!(pipes.receive(), json!({ "jsonrpc": "2.0", "id": 1, "error": error }));
    let (child, more) = pipes.close();
    assert_eq!((exit_code(child), more), (Some(0), None));
}

/// No answer is expected to a notification or to a response, so before the handshake the server
/// drops them. None of these requests begins it.
#[test]
fn a_message_without_an_answer_before_the_handshake_is_dropped() {
    let place = Place::sqlite();
    let mut pipes = Pipes::start(&place.punch(["mcp"]));
    let named = |version: &str| {
        json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {} } })
    };
    let strays = [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": 1 } }),
        json!({ "jsonrpc": "2.0", "id": 99, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 99, "error": { "code": 1, "message": "no" } }),
    ];
    for (id, (method, params)) in [
        ("ping", json!({})),
        ("server/discover", named("2026-07-28")),
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("tools/list", named("2099-01-01")),
    ]
    .into_iter()
    .enumerate()
    {
        let id = id + 1;
        pipes.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        assert_eq!(pipes.receive()["id"], id, "{method} {params}");
        for stray in &strays {
            pipes.send(stray);
        }
    }
    pipes.send(&hello());
    assert_eq!(pipes.receive()["result"]["protocolVersion"], "2025-11-25");
    for stray in &strays {
        pipes.send(stray);
    }
    pipes.send(&ping(10));
    assert_eq!(pipes.receive()["id"], 10);
    let Pipes { child, stdin, .. } = pipes;
    drop(stdin);
    assert_eq!(exit_code(child), Some(0));
}

/// A host that never reads standard error: its pipe is full after 64 KiB of notes.
#[test]
fn notes_that_nobody_reads_do_not_stop_the_server() {
    let place = Place::sqlite();
    let mut pipes = Pipes::start(&place.punch(["mcp"]));
    pipes.send(&hello());
    assert_eq!(pipes.receive()["id"], 0);
    let noise = format!("{}\n", "x".repeat(200));
    for _ in 0..1_000 {
        pipes.stdin.write_all(noise.as_bytes()).unwrap();
        assert_eq!(pipes.receive()["error"]["code"], -32_700);
    }
    pipes.send(&ping(1));
    assert_eq!(pipes.receive()["id"], 1);
    let Pipes { child, stdin, .. } = pipes;
    drop(stdin);
    assert_eq!(exit_code(child), Some(0));
}

/// A host that sends much, reads nothing and closes: before the handshake, after it, and with
/// messages that are wrong.
#[test]
fn a_host_that_does_not_read_cannot_keep_the_server_from_ending() {
    let place = Place::sqlite();
    let list = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }).to_string();
    let noise = |_| "x".repeat(40);
    // The answers are longer than a pipe holds, and in one case the requests are, too.
    let before: String = (1..600).map(|id| list(id) + "\n").collect();
    let after: String = (1..6_000).map(|id| list(id) + "\n").collect();
    let wrong: String = (1..1_200).map(|id| noise(id) + "\n").collect();
    for (name, greeting, sent) in [
        ("before the handshake", String::new(), before),
        ("after it", format!("{}\n", hello()), after),
        ("wrong", format!("{}\n", hello()), wrong),
    ] {
        let mut child = place.punch(["mcp"]).spawn();
        let mut stdin = child.stdin.take().unwrap();
        let stdout = child.stdout.take().unwrap();
        stdin.write_all(greeting.as_bytes()).unwrap();
        stdin.write_all(sent.as_bytes()).unwrap();
        drop(stdin);
        assert_eq!(exit_code(child), Some(0), "{name}");
        drop(stdout);
    }
}

/// Some hosts end their last message with the input and not with a newline.
#[test]
fn a_last_request_without_a_newline_is_answered() {
    let place = Place::sqlite();
    let (ping, wrong) = (ping(1).to_string(), r#"{"jsonrpc":"2.0","id":1}"#.to_owned());
    for (last, field) in [(ping, "result"), (wrong, "error")] {
        let mut pipes = Pipes::start(&place.punch(["mcp"]));
        pipes.send(&hello());
        assert_eq!(pipes.receive()["id"], 0);
        pipes.stdin.write_all(last.as_bytes()).unwrap();
        let (child, answer) = pipes.close();
        let answer = answer.expect("an answer to the last request");
        assert_eq!(answer["id"], 1, "{answer}");
        assert!(answer.get(field).is_some(), "{answer}");
        assert_eq!(exit_code(child), Some(0));
    }
}
