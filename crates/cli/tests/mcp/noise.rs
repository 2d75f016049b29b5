//! Bad input: every request gets an answer, over both transports, and the server continues.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::serving::Served;
use crate::support::Place;
use crate::talk::{Era, Pipes, Talk, operate};

/// A generator of reproducible pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides).unwrap()).unwrap()
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }

    /// Any JSON, not too deep.
    fn value(&mut self, depth: usize) -> Value {
        match self.roll(if depth == 0 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => json!(self.roll(2) == 0),
            2 => json!(i64::MIN),
            3 => json!(1.5e300),
            4 => json!("\u{0}\u{202e}'; DROP TABLE events; --"),
            5 => json!("x".repeat(self.roll(5_000))),
            6 => (0..self.roll(4)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                let names = ["name", "arguments", "uri", "_meta", "cursor", "action", "id", "x"];
                let fields = (0..self.roll(4))
                    .map(|_| ((*self.pick(&names)).to_owned(), self.value(depth - 1)));
                Value::Object(fields.collect())
            }
        }
    }

    /// A request that is wrong in some way, or valid by chance.
    fn request(&mut self, id: i64) -> Value {
        let methods = [
            "initialize",
            "server/discover",
            "ping",
            "tools/list",
            "tools/call",
            "resources/list",
            "resources/read",
            "resources/templates/list",
            "resources/subscribe",
            "resources/unsubscribe",
            "prompts/list",
            "prompts/get",
            "completion/complete",
            "logging/setLevel",
            "tasks/get",
            "no/such/method",
            "",
            "tools/call",
        ];
        let tools = ["todo", "issue", "checkpoint", "form", "plan", "todo_write", "nothing"];
        let mut params = self.value(3);
        if self.roll(2) == 0 && !params.is_object() {
            params = json!({});
        }
        if let Value::Object(fields) = &mut params {
            if self.roll(2) == 0 {
                fields.insert("name".to_owned(), json!(self.pick(&tools)));
                fields.insert("arguments".to_owned(), self.value(3));
            }
            if self.roll(3) == 0 {
                fields.insert("uri".to_owned(), json!("punchlist://test/issue/1"));
            }
            if self.roll(3) == 0 {
                let version = *self.pick(&["2026-07-28", "2025-11-25", "2099-01-01", ""]);
                let meta = json!({ "io.modelcontextprotocol/protocolVersion": version,
                    "io.modelcontextprotocol/clientCapabilities": self.value(1) });
                fields.insert("_meta".to_owned(), meta);
            }
        }
        let method = *self.pick(&methods);
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }
}

/// 1,000 messages with fuzzed contents, each of them answered under its id.
#[test]
fn a_thousand_fuzzed_messages_are_each_answered_over_stdio() {
    let place = Place::sqlite();
    let mut talk = Talk::stdio(&place, Era::Handshake, &[]);
    let mut dice = Dice(0x5EED_0000_0001);
    for id in 1_000..2_000 {
        let request = dice.request(id);
        talk.pipes().send(&request);
        let answer = loop {
            let message = talk.pipes().receive();
            if message.get("method").is_none() {
                break message;
            }
        };
        assert_eq!(answer["id"], id, "{request} got {answer}");
        let kinds = ["result", "error"].map(|kind| answer.get(kind).is_some());
        assert!(kinds[0] != kinds[1], "{request} got {answer}");
    }
    assert_eq!(talk.request("ping", &json!({}))["result"], json!({}));
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_thousand_fuzzed_messages_are_each_answered_over_http() {
    let place = Place::sqlite();
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "0"]);
    let mut dice = Dice(0x5EED_0000_0002);
    for id in 0..1_000 {
        let request = dice.request(id);
        let version = *dice.pick(&["2025-11-25", "2026-07-28", "2025-03-26", "2099-01-01", "?"]);
        let headers = [
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", version),
            ("Punchlist-Project", "test"),
        ];
        let reply = served.ask("POST", "/mcp", &headers, &request.to_string());
        assert!((200..500).contains(&reply.status), "{request}: {reply:?}");
        let text = String::from_utf8(reply.body.clone()).unwrap();
        assert!(!text.is_empty(), "{request}: {reply:?}");
        // A revision that does not exist is refused by its header, whatever the message is.
        if reply.status == 400 && ["2099-01-01", "?"].contains(&version) {
            continue;
        }
        // A stream has the answer in its last event.
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
        let answer: Value = serde_json::from_str(data.unwrap_or(&text))
            .unwrap_or_else(|_| panic!("{request} in {version} got {text}"));
        assert_eq!(answer["id"], id, "{request} in {version} got {answer}");
        let kinds = ["result", "error"].map(|kind| answer.get(kind).is_some());
        assert!(kinds[0] != kinds[1], "{request} got {answer}");
    }
    assert_eq!(served.get("/healthz").status, 200);
}

/// The same in a session, whose client also answers what nobody asked, and cancels what it never
/// sent. An open question stays open.
#[test]
fn a_thousand_fuzzed_messages_of_a_session_are_each_answered() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "0"]);
    let can = json!({ "elicitation": {} });
    let project = [("Punchlist-Project", "test")];
    let mut talk = Talk::http_with(&served, Era::Handshake, &project, can);
    let ask = json!({ "name": "ask", "arguments": { "question": "Which port?" } });
    let ask = talk.message("tools/call", &ask);
    let mut stream = talk.open(&ask);
    let question = stream.next().unwrap()["id"].clone();
    let mut dice = Dice(0x5EED_0000_0003);
    for id in 10_000..10_500 {
        let request = dice.request(id);
        let (status, answers) = talk.post(&request);
        assert!((200..500).contains(&status), "{request}: {status}");
        assert_eq!(answers.len(), 1, "{request}: {answers:?}");
        assert_eq!(answers[0]["id"], id, "{request}: {answers:?}");
        let ids = [question.clone(), json!(id), json!("gate."), json!("gate.x.y"), dice.value(1)];
        let message = match dice.roll(3) {
            0 => json!({ "jsonrpc": "2.0", "id": dice.pick(&ids), "result": dice.value(3) }),
            1 => json!({ "jsonrpc": "2.0", "id": dice.pick(&ids), "error": dice.value(2) }),
            _ => json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": dice.value(1), "reason": dice.value(1) } }),
        };
        let (status, _) = talk.post(&message);
        assert!(matches!(status, 202 | 400), "{message}: {status}");
    }
    let gates = operate(&place, &operator, "gate_list", &json!({ "kind": "ask" }));
    assert_eq!(gates["gates"][0]["state"], "open", "{gates}");
    assert_eq!(talk.request("ping", &json!({}))["result"], json!({}));
}

/// Input that is not a message at all is answered over HTTP with a status and a JSON-RPC error.
#[test]
fn input_that_is_not_a_message_is_answered_over_http() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let accept = [("Accept", "application/json, text/event-stream")];
    let post = |body: &str| served.ask("POST", "/mcp", &accept, body);
    for (body, code, id) in [
        ("", -32_700, Value::Null),
        (" \r\n", -32_700, Value::Null),
        ("this is no JSON", -32_700, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":", -32_700, json!(7)),
        ("[1,2]", -32_600, Value::Null),
        ("null", -32_600, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":7}", -32_600, json!(7)),
        ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\"}", -32_602, json!(7)),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\",\"params\":{}}",
            -32_602,
            json!(7),
        ),
    ] {
        let reply = post(body);
        let answer = reply.json();
        assert_eq!((reply.status, &answer["error"]["code"]), (400, &json!(code)), "{body}");
        assert_eq!(answer["id"], id, "{body}: {answer}");
    }
    for method in ["GET", "DELETE", "PUT"] {
        assert_eq!(served.ask(method, "/mcp", &accept, "").status, 405, "{method}");
    }
    let long = format!("{{\"id\":7,\"x\":\"{}\"}}", "x".repeat(9 << 20));
    assert_eq!(post(&long).refusal(), (413, "input_too_large".to_owned()));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    let plain = [("Content-Type", "text/plain"), accept[0]];
    assert_eq!(served.ask("POST", "/mcp", &plain, &ping).status, 415);
    assert_eq!(served.ask("POST", "/mcp", &[("Accept", "text/html")], &ping).status, 406);
    // Media types have no case, may have parameters, and end where they end.
    let both = "Application/JSON;q=1, Text/Event-Stream";
    for (kind, accept, status) in [
        ("Application/JSON; charset=utf-8", both, 200),
        ("application/json", "application/json", 406),
        ("application/json", "application/json, text/event-streams", 406),
        ("application/jsonx", both, 415),
        ("application/json-patch+json", both, 415),
    ] {
        let headers = [("Content-Type", kind), ("Accept", accept)];
        let reply = served.ask("POST", "/mcp", &headers, &ping);
        assert_eq!(reply.status, status, "{kind} {accept}");
    }
    assert_eq!(post(&ping).json()["result"], json!({}));
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} }).to_string();
    assert_eq!(post(&response).status, 400);
    let unknown = json!({ "jsonrpc": "2.0", "method": "notifications/unknown" }).to_string();
    assert_eq!(post(&unknown).status, 202);
}

/// Requests before the handshake are answered, and the handshake is still possible.
#[test]
fn requests_before_initialize_are_answered() {
    let place = Place::sqlite();
    let mut pipes = Pipes::start(&place.punch(["mcp"]));
    for (id, method) in
        ["tools/list", "resources/list", "no/such/method", "ping"].into_iter().enumerate()
    {
        pipes.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method }));
        assert_eq!(pipes.receive()["id"], id, "{method}");
    }
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" } });
    pipes.send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "initialize", "params": params }));
    assert_eq!(pipes.receive()["result"]["protocolVersion"], "2025-06-18");
}

/// A client sends and never reads: the server stops reading from it, so its queue does not grow.
/// Once the client reads, every request is answered.
#[test]
fn a_client_that_never_reads_fills_no_memory() {
    let place = Place::sqlite();
    let mut child = place.punch(["mcp"]).spawn();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let pid = child.id();
    let count = 600_u64;
    let (sent, is_sent) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" } });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        writeln!(stdin, "{hello}").unwrap();
        for id in 1..=count {
            // Long enough that the server does not read all of them ahead.
            let params = json!({ "_meta": { "filling": "x".repeat(40_000) } });
            let list =
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params });
            if writeln!(stdin, "{list}").is_err() {
                return;
            }
            let _ = sent.send(id);
        }
    });
    // The writer is blocked, because nobody reads.
    let mut taken = 0;
    while let Ok(id) = is_sent.recv_timeout(Duration::from_secs(2)) {
        taken = id;
    }
    assert!(taken < count, "everything was read, though no answer was");
    if let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) {
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(kib < 200 << 10, "{kib} KiB");
    }
    let answers = std::io::BufRead::lines(std::io::BufReader::new(stdout));
    let mut answered: Vec<u64> = answers
        .map_while(Result::ok)
        .map(|line| serde_json::from_str::<Value>(&line).unwrap()["id"].as_u64().unwrap())
        .collect();
    writer.join().unwrap();
    answered.sort_unstable();
    assert_eq!(answered, (0..=count).collect::<Vec<_>>());
    assert!(child.wait().unwrap().success());
}

/// Only one revision has batches. In the others, every request of a batch gets an error under its
/// id.
#[test]
fn every_request_of_a_refused_batch_is_answered() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "ping" },
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "id": "b", "method": "tools/list" },
        { "jsonrpc": "2.0", "id": 3, "result": {} },
    ]);
    let is_refused = |answers: &[Value]| {
        let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
        assert_eq!(ids, [&json!(1), &json!("b")]);
        for answer in answers {
            assert_eq!(answer["error"]["code"], -32_600, "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains("one by one"));
        }
    };
    let mut talk = Talk::stdio(&place, Era::Handshake, &[]);
    talk.pipes().send(&batch);
    let answers = [talk.pipes().receive(), talk.pipes().receive()];
    is_refused(&answers);
    assert_eq!(talk.request("ping", &json!({}))["result"], json!({}));
    talk.end();
    for version in ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let headers =
            [("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", version)];
        let reply = served.ask("POST", "/mcp", &headers, &batch.to_string());
        assert_eq!(reply.status, 400, "{reply:?}");
        is_refused(reply.json().as_array().unwrap());
    }
}

/// Revision 2025-03-26: a server must take batches, and answers each with one array.
#[test]
fn a_batch_is_answered_as_one_in_the_revision_that_has_them() {
    let place = Place::sqlite();
    let served = Served::start(&place);
    let request = |id: Value, method: &str, params: Value| {
        let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        request["params"] = params;
        request
    };
    let hello = json!({ "protocolVersion": "2025-03-26", "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" } });
    let create = |title: &str| {
        json!({ "name": "issue",
            "arguments": { "action": "create", "title": title, "forceNew": true } })
    };
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let batch = json!([
        request(json!(1), "ping", json!({})),
        note,
        request(json!("b"), "tools/call", create("From a batch")),
        { "jsonrpc": "2.0", "id": 3, "result": {} },
        request(json!(4), "initialize", hello.clone()),
        request(json!(5), "no/such/method", json!({})),
        request(json!(6), "prompts/get", json!({ "name": "none" })),
        5,
    ]);
    let check = |answers: &Value| {
        let answer = |id: Value| {
            let mut of_id = answers.as_array().unwrap().iter().filter(|one| one["id"] == id);
            let found = of_id.next().unwrap_or_else(|| panic!("{id} in {answers}"));
            assert!(of_id.next().is_none(), "{id} twice in {answers}");
            found
        };
        assert_eq!(answers.as_array().unwrap().len(), 6, "{answers}");
        assert_eq!(answer(json!(1))["result"], json!({}));
        let made = &answer(json!("b"))["result"]["structuredContent"]["issue"];
        assert_eq!(made["title"], "From a batch", "{answers}");
        let codes = [json!(4), json!(5), json!(6), Value::Null]
            .map(|id| answer(id)["error"]["code"].clone());
        assert_eq!(codes, [json!(-32_600), json!(-32_601), json!(-32_602), json!(-32_600)]);
    };
    // Changes may be announced at any time.
    let answer = |pipes: &Pipes| loop {
        let heard = pipes.receive();
        if heard.get("method").is_none() {
            return heard;
        }
    };
    let mut pipes = Pipes::start(&place.punch(["mcp"]));
    pipes.send(&request(json!(0), "initialize", hello));
    assert_eq!(answer(&pipes)["result"]["protocolVersion"], "2025-03-26");
    pipes.send(&note);
    pipes.send(&batch);
    check(&answer(&pipes));
    // Nothing but notifications has no answer; an id may be used again, but not twice at once.
    pipes.send(&json!([note, note]));
    let ping = request(json!(1), "ping", json!({}));
    pipes.send(&json!([ping, ping]));
    let twice = answer(&pipes);
    assert_eq!(
        (&twice[0]["error"]["code"], &twice[1]["result"]),
        (&json!(-32_600), &json!({})),
        "{twice}"
    );
    // One message is answered as one, and many more than a batch may have are refused one by one.
    pipes.send(&ping);
    assert_eq!(answer(&pipes)["result"], json!({}));
    let many: Vec<Value> = (0..101).map(|id| request(json!(id), "ping", json!({}))).collect();
    pipes.send(&json!(many));
    let refused = answer(&pipes);
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(0), &json!(-32_600)));
    let full: Vec<Value> = (200..300).map(|id| request(json!(id), "ping", json!({}))).collect();
    pipes.send(&json!(full));
    let all = loop {
        match answer(&pipes) {
            Value::Array(all) => break all,
            one => assert_eq!(one["error"]["code"], -32_600, "{one}"),
        }
    };
    assert_eq!(all.len(), 100);
    drop(pipes);
    let both = ("Accept", "application/json, text/event-stream");
    let project = ("Punchlist-Project", "test");
    for headers in
        [vec![both, project], vec![both, project, ("MCP-Protocol-Version", "2025-03-26")]]
    {
        let reply = served.ask("POST", "/mcp", &headers, &batch.to_string());
        assert_eq!(reply.status, 200, "{reply:?}");
        check(&reply.json());
        let reply = served.ask("POST", "/mcp", &headers, &json!([note]).to_string());
        assert_eq!(reply.status, 202, "{reply:?}");
    }
}
