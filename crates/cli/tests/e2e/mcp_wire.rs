//! `punch mcp` on the wire: the bytes, the end of the process, and malformed input.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use punchlist_testkit::Backend;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{PUNCH, Place, Punch};

/// Longer than anything here takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server and its pipes.
struct Wire {
    child: Child,
    stdin: ChildStdin,
    lines: BufReader<ChildStdout>,
}

impl Wire {
    fn start(punch: &Punch) -> Self {
        let mut child = punch.spawn();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, lines }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn hello(&mut self) {
        self.send(&hello());
        assert_eq!(self.receive()["result"]["serverInfo"]["name"], "punchlist");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    /// Closes the input. Returns the exit code and the remaining stdout.
    fn close(mut self) -> (Option<i32>, String) {
        drop(self.stdin);
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), rest)
    }
}

fn hello() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" },
    }})
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn server(place: &Place) -> Punch {
    place.punch(["mcp", "--conversation", "c1", "--turn", "t1"])
}

#[test]
fn standard_output_carries_the_protocol_and_nothing_else() {
    // P-13
    let place = Place::sqlite();
    let messages = [
        hello(),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        call(3, "create_todo", &json!({ "items": [{ "title": "line\nbreak \u{1b}[31m" }] })),
        call(4, "list_todo", &json!({})),
        call(5, "create_todo", &json!({ "itms": [] })),
        call(6, "no_such_tool", &json!({})),
        json!({ "jsonrpc": "2.0", "id": 7, "method": "no/such/method" }),
    ];
    let mut wire = Wire::start(&server(&place));
    for message in &messages {
        wire.send(message);
    }
    // The host closes at once; earlier requests are still answered.
    let (exit, text) = wire.close();
    assert_eq!(exit, Some(0));
    assert!(text.ends_with('\n'), "{text}");
    let mut answered: Vec<u64> = text
        .lines()
        .map(|line| {
            let message: Value = serde_json::from_str(line).unwrap();
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            let kinds = ["result", "error"].map(|kind| message.get(kind).is_some());
            assert!(kinds[0] != kinds[1], "{line}");
            message["id"].as_u64().unwrap()
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, (0..=7).collect::<Vec<u64>>());
}

#[test]
fn the_server_ends_when_its_input_closes() {
    // P-14
    let place = Place::sqlite();
    assert_eq!(Wire::start(&server(&place)).close(), (Some(0), String::new()), "before a word");

    let mut wire = Wire::start(&server(&place));
    wire.stdin.write_all(b"{\"jsonrpc\":").unwrap();
    assert_eq!(wire.close(), (Some(0), String::new()), "in the middle of a word");

    let mut wire = Wire::start(&server(&place));
    wire.hello();
    assert_eq!(wire.close(), (Some(0), String::new()), "after the greeting");

    let mut wire = Wire::start(&server(&place));
    wire.hello();
    wire.send(&call(1, "create_todo", &json!({ "items": [{ "title": "a" }] })));
    assert_eq!(wire.receive()["id"], 1);
    assert_eq!(wire.close(), (Some(0), String::new()), "after a call");
}

#[test]
fn an_idle_server_holds_no_transaction() {
    // P-14
    let place = Place::sqlite();
    let mut wire = Wire::start(&server(&place));
    wire.hello();
    wire.send(&call(1, "create_todo", &json!({ "items": [{ "title": "a" }] })));
    assert_eq!(wire.receive()["id"], 1);
    wire.send(&call(2, "list_todo", &json!({})));
    assert_eq!(wire.receive()["id"], 2);
    let other = Connection::open(place.file()).unwrap();
    // The server may look for changes just now. What it holds while idle outlasts this.
    other.busy_timeout(Duration::from_secs(5)).unwrap();
    // A checkpoint that empties the log waits for every reader, so there must be none.
    let busy: i64 =
        other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert_eq!(busy, 0);
    other.execute_batch("BEGIN EXCLUSIVE; ROLLBACK").unwrap();
    assert_eq!(wire.close().0, Some(0));
}

#[test]
fn an_idle_server_holds_no_transaction_on_postgres() {
    // P-14
    let place = Place::new(Backend::Postgres);
    let name = format!("idle-{}", std::process::id());
    let db = format!("{}&application_name={name}", place.db());
    let words = ["mcp", "--project", "test", "--conversation", "c1", "--turn", "t1", "--db", &db];
    let mut wire = Wire::start(&place.bare(words));
    wire.hello();
    wire.send(&call(1, "create_todo", &json!({ "items": [{ "title": "a" }] })));
    assert_eq!(wire.receive()["id"], 1);
    wire.send(&call(2, "list_todo", &json!({})));
    assert_eq!(wire.receive()["id"], 2);
    let mut other = postgres::Client::connect(&place.db(), postgres::NoTls).unwrap();
    let mut states = || -> Vec<String> {
        let states = "SELECT state FROM pg_stat_activity WHERE application_name = $1";
        other.query(states, &[&name]).unwrap().iter().map(|row| row.get(0)).collect()
    };
    // One connection for calls, and perhaps a second one, which looks for changes after a call.
    let end = Instant::now() + PATIENCE;
    while states().iter().any(|state| state != "idle") {
        assert!(Instant::now() < end, "{:?}", states());
    }
    assert!((1..=2).contains(&states().len()), "{:?}", states());
    assert_eq!(wire.close(), (Some(0), String::new()));
}

#[test]
fn noise_does_not_kill_the_server() {
    let place = Place::sqlite();
    let mut wire = Wire::start(&server(&place));
    wire.hello();
    let long = "x".repeat(17 << 20);
    for noise in
        [&b"this is no JSON"[..], b"{", b"[1,2]", b"{}", b"\xff\xfe", b"", b"null", long.as_bytes()]
    {
        wire.stdin.write_all(noise).unwrap();
        wire.stdin.write_all(b"\n").unwrap();
    }
    wire.send(&call(9, "create_todo", &json!({ "items": [{ "title": "after the noise" }] })));
    // Malformed input may be answered with an error, but the call is answered as usual.
    let answer = loop {
        let message = wire.receive();
        if message["id"] == 9 {
            break message;
        }
        assert!(message.get("error").is_some(), "{message}");
    };
    assert_eq!(answer["result"]["structuredContent"]["totalPending"], 1);
    assert_eq!(wire.close().0, Some(0));
}

#[test]
fn noise_before_the_greeting_does_not_kill_the_server() {
    let place = Place::sqlite();
    let mut wire = Wire::start(&server(&place));
    wire.stdin.write_all(b"this is no JSON\n\n{\"id\":\n").unwrap();
    wire.send(&hello());
    let answer = loop {
        let message = wire.receive();
        if message["id"] == 0 {
            break message;
        }
        assert!(message.get("error").is_some(), "{message}");
    };
    assert_eq!(answer["result"]["serverInfo"]["name"], "punchlist");
    assert_eq!(wire.close().0, Some(0));
}

/// The host is a shell that starts the server on our own pipes and is then killed: nothing
/// closes, and still the server must go.
fn ends_with_its_parent(greet: bool) {
    let place = Place::sqlite();
    let punch = server(&place);
    let mut command = Command::new("sh");
    command.args(["-c", r#"exec 3<&0; "$@" <&3 & wait"#, "sh", PUNCH]);
    command.args(punch.command().get_args()).env_clear();
    command.envs(punch.command().get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut host = command.current_dir(place.home()).spawn().unwrap();
    let mut stdin = host.stdin.take().unwrap();
    let mut stdout = BufReader::new(host.stdout.take().unwrap());
    let mut stderr = BufReader::new(host.stderr.take().unwrap());
    let mut line = String::new();
    if greet {
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        write!(stdin, "{}\n{initialized}\n{ping}\n", hello()).unwrap();
        for _ in 0..2 {
            stdout.read_line(&mut line).unwrap();
        }
        assert!(line.ends_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"), "{line}");
    } else {
        // The note about its clock shows that the server runs.
        stderr.read_line(&mut line).unwrap();
        assert!(line.starts_with("note: "), "{line}");
    }
    host.kill().unwrap();
    host.wait().unwrap();
    let (told, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        stdout.read_to_end(&mut rest).unwrap();
        told.send(rest).unwrap();
    });
    let rest = ended.recv_timeout(PATIENCE).expect("the server ends with its parent");
    // The input was open to the end.
    drop(stdin);
    assert_eq!(rest, b"");
}

#[test]
fn the_server_ends_with_its_parent() {
    // P-14
    ends_with_its_parent(true);
}

#[test]
fn the_server_ends_with_a_parent_that_never_spoke() {
    // P-14
    ends_with_its_parent(false);
}

/// Every line that asks for something is answered, whatever is wrong with it: with its id where
/// that can be read, and with a line on standard error.
#[test]
fn every_request_gets_an_answer() {
    let place = Place::sqlite();
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{}{}}}"#,
        "[".repeat(128),
        "]".repeat(128)
    );
    let long =
        format!(r#"{{"jsonrpc":"2.0","id":8,"method":"ping","params":"{}"}}"#, "x".repeat(8 << 20));
    let cases: [(&[u8], i64, Value); 12] = [
        (b"this is no JSON", -32_700, Value::Null),
        (br#"{"jsonrpc":"2.0","id":1,"method":"#, -32_700, json!(1)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"pi\0ng\"}", -32_700, json!(2)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"\xff\xfe\"}", -32_700, json!(3)),
        (br#"{"jsonrpc":"2.0","id":4,"method":"\ud800"}"#, -32_700, json!(4)),
        (br#"{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":1e400}}"#, -32_700, json!(5)),
        (br#"[{"jsonrpc":"2.0","id":6,"method":"ping"}]"#, -32_600, json!(6)),
        (deep.as_bytes(), -32_700, json!(7)),
        (long.as_bytes(), -32_600, json!(8)),
        (
            br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":1}}"#,
            -32_602,
            json!(9),
        ),
        (br#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":[]}"#, -32_602, json!(10)),
        (br#"{"jsonrpc":"2.0","id":11,"method":"no/such/method"}"#, -32_601, json!(11)),
    ];
    for greeted in [true, false] {
        let mut wire = Wire::start(&server(&place));
        if greeted {
            wire.hello();
        } else {
            // Nothing that comes before the greeting may end the server.
            wire.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            wire.send(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        }
        for (line, code, id) in &cases {
            wire.stdin.write_all(line).unwrap();
            wire.stdin.write_all(b"\n").unwrap();
            let answer = wire.receive();
            let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
            assert_eq!(&answer["id"], id, "{shown}: {answer}");
            // Before the greeting the library says first that there was none.
            if greeted || *code != -32_601 {
                assert_eq!(answer["error"]["code"], *code, "{shown}: {answer}");
            }
            assert!(answer["error"]["message"].is_string(), "{answer}");
        }
        if !greeted {
            wire.hello();
        }
        let wrong = [
            (json!({ "itms": [] }), "unknown_field"),
            (json!({ "items": 3 }), "wrong_type"),
            (json!([1]), "invalid_input"),
            (json!("items"), "invalid_input"),
        ];
        for (arguments, code) in wrong {
            wire.send(&call(20, "create_todo", &arguments));
            let result = &wire.receive()["result"];
            assert_eq!(result["isError"], true, "{result}");
            assert_eq!(result["structuredContent"]["error"]["code"], code, "{result}");
        }
        drop(wire.stdin);
        let output = wire.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let stderr = String::from_utf8(output.stderr).unwrap();
        let notes = stderr.lines().filter(|line| line.contains("a message was refused: "));
        assert_eq!(notes.count(), 13, "{stderr}");
        assert!(!stderr.contains('\0'), "{stderr:?}");
    }
    // None of it changed anything.
    assert_eq!(place.log_length(), 0);
}

/// The host closes right after a line that is wrong: the answer still comes.
#[test]
fn a_wrong_last_line_is_answered_before_the_end() {
    let place = Place::sqlite();
    let mut wire = Wire::start(&server(&place));
    wire.hello();
    wire.stdin.write_all(b"nonsense\n").unwrap();
    let (exit, rest) = wire.close();
    assert_eq!(exit, Some(0));
    let answer: Value = serde_json::from_str(rest.trim_end()).unwrap();
    assert_eq!(answer["error"]["code"], -32_700);
}
