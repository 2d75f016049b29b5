//! Plain tool calls, which the server answers without the library's transport: they get the same
//! answers as calls that pass through it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::serving::Served;
use crate::support::Place;
use crate::talk::{Era, Pipes, Talk};

/// A call that the library answers, because it has a state.
fn through_the_library(params: &Value) -> Value {
    let mut params = params.clone();
    params["requestState"] = json!("none");
    params
}

/// Makes calls of many kinds both ways, and compares the results.
fn compare(talk: &mut Talk, era: Era) {
    talk.call("issue_create", &json!({ "title": "Slow \"build\"\n", "body": "ä\u{1}\u{2028}" }));
    let kind = match era {
        Era::Handshake => Value::Null,
        Era::Stateless => json!("complete"),
    };
    for (name, arguments) in [
        ("issue_show", json!({ "number": 1 })),
        ("issue_list", json!({ "status": "open" })),
        ("issue_list", json!({ "limit": "many" })),
        ("issue_show", json!({ "number": 7 })),
        ("issue_show", json!({ "numbr": 1 })),
        ("issue_show", Value::Null),
        ("mission_todo_complete", json!({ "missionSlug": "a", "todoId": "b", "outcome": "c" })),
        ("status", json!({})),
    ] {
        let params = json!({ "name": name, "arguments": arguments });
        let direct = talk.request("tools/call", &params);
        let passed_on = talk.request("tools/call", &through_the_library(&params));
        assert_eq!(direct["result"], passed_on["result"], "{name} {arguments}");
        assert_eq!(direct["result"]["resultType"], kind, "{direct}");
        assert_eq!((&direct["jsonrpc"], direct["id"].is_i64()), (&json!("2.0"), true));
    }
}

#[test]
fn a_plain_call_gets_the_answer_that_the_library_gives() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let mut talk = Talk::http(&served, Era::Stateless, &[("Punchlist-Project", "test")]);
    compare(&mut talk, Era::Stateless);
}

#[test]
fn a_plain_call_over_stdio_gets_the_answer_that_the_library_gives() {
    for era in [Era::Handshake, Era::Stateless] {
        let place = Place::sqlite();
        let mut talk = Talk::stdio(&place, era, &[]);
        compare(&mut talk, era);
    }
}

/// A call that is answered at once leaves its id free.
#[test]
fn plain_calls_in_one_go_are_all_answered_in_order() {
    let place = Place::sqlite();
    let mut pipes = Pipes::start(&place.punch(["mcp"]));
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" } });
    pipes.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
    assert_eq!(pipes.receive()["id"], 0);
    pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    for round in 0..3 {
        for id in 1..=100 {
            let arguments = json!({ "title": format!("{round} {id}"), "forceNew": true });
            let params = json!({ "name": "issue_create", "arguments": arguments });
            pipes.send(
                &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }),
            );
        }
        let ids: Vec<Value> = std::iter::repeat_with(|| pipes.receive())
            .filter(|message| message.get("method").is_none())
            .take(100)
            .filter(|answer| answer["result"]["isError"] == false)
            .map(|mut answer| answer["id"].take())
            .collect();
        assert_eq!(ids, (1..=100).map(Value::from).collect::<Vec<_>>());
    }
}

fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn create(title: &str) -> Value {
    json!({ "name": "issue_create", "arguments": { "title": title } })
}

/// The titles of the issues, by number, after these lines were sent in one go.
fn titles_after(lines: &[Value]) -> Vec<String> {
    let place = Place::sqlite();
    let mut pipes = Pipes::start(&place.punch(["mcp"]));
    lines.iter().for_each(|line| pipes.send(line));
    let (mut child, _) = pipes.close();
    child.wait().unwrap();
    let listed = place.punch(["issue", "list", "--json"]).run().json();
    let mut issues: Vec<&Value> = listed["issues"].as_array().unwrap().iter().collect();
    issues.sort_by_key(|issue| issue["number"].as_i64());
    issues.iter().map(|issue| issue["title"].as_str().unwrap().to_owned()).collect()
}

/// The library begins with a request only after the next line was read.
#[test]
fn a_plain_call_does_not_overtake_a_request_that_the_library_answers() {
    let hello = |version: &str| {
        let params = json!({ "protocolVersion": version, "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" } });
        request("hello", "initialize", &params)
    };
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    // The first request of the stateless era begins the conversation.
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let stateless = |id: &str, title: &str| {
        let mut params = create(title);
        params["_meta"] = meta.clone();
        request(id, "tools/call", &params)
    };
    assert_eq!(
        titles_after(&[stateless("a", "First"), stateless("b", "Second")]),
        ["First", "Second"]
    );
    // A call with a state goes to the library, and so does a batch.
    let passed_on = request("a", "tools/call", &through_the_library(&create("First")));
    let second = request("b", "tools/call", &create("Second"));
    let handshake = [hello("2025-11-25"), ready.clone(), passed_on, second.clone()];
    assert_eq!(titles_after(&handshake), ["First", "Second"]);
    let batch = json!([request("a", "tools/call", &create("First"))]);
    assert_eq!(titles_after(&[hello("2025-03-26"), ready, batch, second]), ["First", "Second"]);
}

/// The next answer; notifications are passed over.
fn answered(pipes: &Pipes) -> Value {
    let is_answer = |message: &Value| message.get("method").is_none();
    std::iter::repeat_with(|| pipes.receive()).find(is_answer).unwrap()
}

/// A server after the handshake and one call.
fn greeted(place: &Place) -> Pipes {
    let mut pipes = Pipes::start(&place.punch(["mcp"]));
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" } });
    pipes.send(&request("hello", "initialize", &hello));
    pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    pipes.send(&request("zero", "tools/call", &create("Zero")));
    assert_eq!([&answered(&pipes)["id"], &answered(&pipes)["id"]], ["hello", "zero"]);
    pipes
}

/// Another process is writing for a long time: calls that write wait for it, and nothing else does.
#[test]
fn while_another_process_writes_the_server_answers() {
    let place = Place::sqlite();
    let mut pipes = greeted(&place);
    let writer = rusqlite::Connection::open(place.file()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    for (id, title) in [("one", "One"), ("two", "Two"), ("three", "Three")] {
        pipes.send(&request(id, "tools/call", &create(title)));
    }
    let cancelled = json!({ "requestId": "two" });
    let method = "notifications/cancelled";
    pipes.send(&json!({ "jsonrpc": "2.0", "method": method, "params": cancelled }));
    pipes.send(&request("one", "ping", &json!({})));
    assert_eq!(answered(&pipes)["error"]["code"], -32600, "one is not answered yet");
    pipes.send(&request("ping", "ping", &json!({})));
    assert_eq!(answered(&pipes)["id"], "ping");
    let list = json!({ "name": "issue_list", "arguments": {} });
    pipes.send(&request("list", "tools/call", &list));
    let listed = answered(&pipes);
    assert_eq!(listed["id"], "list");
    assert_eq!(listed["result"]["structuredContent"]["issues"].as_array().map(Vec::len), Some(1));

    writer.execute_batch("ROLLBACK").unwrap();
    let mut late = [answered(&pipes), answered(&pipes)].map(|answer| {
        let number = &answer["result"]["structuredContent"]["issue"]["number"];
        (answer["id"].as_str().unwrap().to_owned(), number.as_i64())
    });
    late.sort_unstable();
    // The cancelled call was made, too: whether it is made in time is a matter of luck.
    assert_eq!(late, [("one".to_owned(), Some(2)), ("three".to_owned(), Some(4))]);
    pipes.send(&request("one", "ping", &json!({})));
    assert_eq!(answered(&pipes)["id"], "one", "answered: the id is free again");
}

/// P-14: a call that waits for another process does not keep the server from ending.
#[test]
fn while_another_process_writes_the_server_ends_with_its_input() {
    let place = Place::sqlite();
    let mut pipes = greeted(&place);
    let writer = rusqlite::Connection::open(place.file()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    for id in ["one", "two", "three"] {
        pipes.send(&request(id, "tools/call", &create(id)));
    }
    let start = Instant::now();
    let (mut child, _) = pipes.close();
    assert!(child.wait().unwrap().success());
    // The lock is waited for 30 seconds.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    writer.execute_batch("ROLLBACK").unwrap();
    let listed = place.punch(["issue", "list", "--json"]).run().json();
    assert_eq!(listed["issues"].as_array().map(Vec::len), Some(1), "what waited was not done");
}

#[test]
fn headers_that_contradict_the_body_are_still_refused() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let project = ("Punchlist-Project", "test");
    for extra in [("Mcp-Name", "issue_list"), ("Mcp-Method", "tools/list"), ("Mcp-Param-Id", "1")] {
        let mut talk = Talk::http(&served, Era::Stateless, &[project, extra]);
        let input = json!({ "title": extra.0 });
        let message =
            talk.message("tools/call", &json!({ "name": "issue_create", "arguments": input }));
        let (status, _) = talk.post(&message);
        // A header for an argument that is not declared is ignored, as the protocol says.
        assert_eq!(status, if extra.0 == "Mcp-Param-Id" { 200 } else { 400 }, "{extra:?}");
    }
    let mut talk = Talk::http(&served, Era::Stateless, &[project]);
    let listed = talk.call("issue_list", &json!({}));
    let titles: Vec<&str> =
        listed["issues"].as_array().unwrap().iter().filter_map(|i| i["title"].as_str()).collect();
    assert_eq!(titles, ["Mcp-Param-Id"]);
}
