//! MCP clients of other vendors: the official Python client, FastMCP and the inspector, over both
//! transports and in both eras; and the official conformance suite.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::desk::{PUNCH, installed};

const QUESTION: &str = "Which port?";
const ISSUE_TOOLS: [&str; 6] = ["todo", "issue", "checkpoint", "ask", "form", "delegate"];
const LEGACY: &str = "legacy";
const MODERN: &str = "2026-07-28";

/// A store with an operator, and a server over it.
struct Room {
    home: TempDir,
    operator: String,
    served: Option<(Child, String)>,
}

impl Room {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut room = Self { home, operator: String::new(), served: None };
        let made = room.punch(&["token", "new", "--role", "operator", "--json"], None);
        room.operator = made["token"].as_str().unwrap().to_owned();
        room
    }

    fn served() -> Self {
        Self::serving(&[])
    }

    fn serving(words: &[&str]) -> Self {
        let mut room = Self::new();
        let mut serve = room.command(&["serve", "--listen", "127.0.0.1:0", "--jobs", "0"]);
        serve.args(["--rate", "0", "--json"]).args(words);
        let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        room.served = Some((child, format!("{}/mcp", ready["url"].as_str().unwrap())));
        room
    }

    fn store(&self) -> String {
        self.home.path().join("ledger.db").to_string_lossy().into_owned()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PUNCH);
        command.args(["--db", &self.store()]).args(words).current_dir(self.home.path());
        command.env_clear().env("HOME", self.home.path()).env("PUNCHLIST_PROJECT", "test");
        command
    }

    fn punch(&self, words: &[&str], token: Option<&str>) -> Value {
        let mut command = self.command(words);
        command.envs(token.map(|token| ("PUNCHLIST_TOKEN", token)));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn url(&self) -> &str {
        &self.served.as_ref().unwrap().1
    }

    /// The report of a Python client.
    fn life(&self, client: &str, mode: &str) -> Value {
        let mut task = json!({ "mode": mode, "question": QUESTION });
        match &self.served {
            Some((_, url)) => {
                task["url"] = json!(url);
                task["headers"] = json!({ "Punchlist-Project": "test" });
            }
            None => {
                let words = ["--db", &self.store(), "--project", "test", "mcp"];
                let command: Vec<&str> = [PUNCH].into_iter().chain(words).collect();
                task["command"] = json!(command);
                task["cwd"] = json!(self.home.path());
                task["env"] = json!({ "HOME": self.home.path() });
            }
        }
        let python = installed(&format!("python-{client}/bin/python"));
        let script = format!("with_{client}.py");
        let script =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/python").join(script);
        let output = Command::new(python).arg(script).arg(task.to_string()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(said.lines().last().unwrap()).unwrap()
    }

    /// The answers in the log, with their proofs.
    fn answers(&self) -> Vec<Value> {
        let log = self.punch(&["call", "event_list", "{}", "--json"], Some(&self.operator));
        let events = log["events"].as_array().unwrap().iter();
        events.filter(|event| event["type"] == "gate_answered").cloned().collect()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.served {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Lists, calls, reads, prompts, subscribes, and answers a gate.
fn a_python_client_lives(client: &str, room: &Room, mode: &str) {
    let seen = room.life(client, mode);
    let names: Vec<&Value> =
        seen["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ISSUE_TOOLS);
    for tool in seen["tools"].as_array().unwrap() {
        assert!(tool["outputSchema"].is_object() && tool["annotations"].is_object(), "{tool}");
    }
    assert_eq!(seen["prompts"], json!(["next", "review", "handoff", "plan"]));
    assert_eq!(seen["listed"], true, "{seen}");
    assert!(seen["read"].as_str().unwrap().starts_with("# #1 Live: Which port?"), "{seen}");
    let unknown = if mode == LEGACY { -32_002 } else { -32_602 };
    assert_eq!(seen["unknown"], unknown, "{}", seen["unknown"]);
    assert!(seen["prompt"].as_str().unwrap().contains("Issue #1"), "{}", seen["prompt"]);
    assert_eq!(seen["refused"]["isError"], true);
    assert_eq!(seen["refused"]["structured"]["error"]["code"], "unbound");
    // Without a session, a server cannot send requests to a client (ADR 0028).
    let has_way_back = mode == MODERN || room.served.is_none();
    assert_eq!(seen["subscribable"], has_way_back, "{seen}");
    if has_way_back {
        assert_eq!(seen["updated"], seen["uri"]);
        assert_eq!(seen["elicited"], json!([QUESTION]));
        assert_eq!(seen["asked"]["state"], "resumed");
        assert_eq!(seen["asked"]["response"], "8443");
        let answers = room.answers();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(answers[0]["proof"], "client", "{answers:?}");
    } else {
        assert_eq!((&seen["asked"]["state"], &seen["elicited"]), (&json!("open"), &json!([])));
        let gate = seen["asked"]["gateId"].as_str().unwrap();
        let input = json!({ "gateId": gate, "decision": "resume", "response": "8443" });
        let words = ["call", "gate_answer", &input.to_string(), "--json"];
        room.punch(&words, Some(&room.operator));
        let question = json!({ "question": QUESTION, "options": ["8080", "8443"] });
        let again = room.punch(&["call", "ask", &question.to_string(), "--json"], None);
        assert_eq!(again["gateId"], gate, "{again}");
    }
}

#[test]
fn the_official_python_client_lives_over_stdio_in_both_eras() {
    for mode in [LEGACY, MODERN] {
        a_python_client_lives("mcp", &Room::new(), mode);
    }
}

#[test]
fn the_official_python_client_lives_over_http_in_both_eras() {
    for mode in [LEGACY, MODERN] {
        a_python_client_lives("mcp", &Room::served(), mode);
    }
}

#[test]
fn fastmcp_lives_over_stdio_in_both_eras() {
    for mode in [LEGACY, MODERN] {
        a_python_client_lives("fastmcp", &Room::new(), mode);
    }
}

#[test]
fn fastmcp_lives_over_http_in_both_eras() {
    for mode in [LEGACY, MODERN] {
        a_python_client_lives("fastmcp", &Room::served(), mode);
    }
}

/// Node 24, which the suite and the inspector need.
fn node(script: &str) -> Command {
    let mut node = Command::new(installed("node_modules/node/bin/node"));
    node.arg(installed(script));
    node
}

/// Sends one request with the inspector. Returns its output.
fn inspected(room: &Room, era: &str, token: Option<&str>, words: &[&str]) -> Value {
    let launcher = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let mut inspector = node(launcher);
    // An option that takes several values would also consume the server's arguments.
    inspector.arg("--cli").args(words).env("HOME", room.home.path());
    match &room.served {
        Some((_, url)) => {
            inspector.args(["--protocol-era", era, "--transport", "http", "--server-url", url]);
            inspector.args(["--header", "Punchlist-Project: test"]);
            if let Some(token) = token {
                inspector.args(["--header", &format!("Authorization: Bearer {token}")]);
            }
        }
        None => {
            if let Some(token) = token {
                inspector.args(["-e", &format!("PUNCHLIST_TOKEN={token}")]);
            }
            inspector.args([
                "--protocol-era",
                era,
                PUNCH,
                "--db",
                &room.store(),
                "--project",
                "test",
                "mcp",
            ]);
        }
    }
    let output = inspector.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}\n{errors}");
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}\n{errors}"))
}

/// The inspector lists, calls, reads, prompts, and answers a gate as the operator.
fn the_inspector_finds_its_way(room: &Room, era: &str) {
    let look = |words: &[&str]| inspected(room, era, None, words);
    let tools = look(&["--method", "tools/list"]);
    let names: Vec<&Value> =
        tools["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ISSUE_TOOLS);
    let create = ["--tool-arg", "action=create", "--tool-arg", "title=Looked at"];
    let call = [&["--method", "tools/call", "--tool-name", "issue"], create.as_slice()].concat();
    assert_eq!(look(&call)["structuredContent"]["issue"]["number"], 1);
    let read = look(&["--method", "resources/read", "--uri", "punchlist://test/issue/1"]);
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("Looked at"), "{read}");
    assert_eq!(look(&["--method", "prompts/list"])["prompts"].as_array().unwrap().len(), 4);
    let ask = ["--method", "tools/call", "--tool-name", "ask", "--tool-arg", "question=Now?"];
    let asked = look(&ask);
    assert_eq!(asked["structuredContent"]["state"], "open", "{asked}");
    let gate = format!("gateId={}", asked["structuredContent"]["gateId"].as_str().unwrap());
    let answer = [
        "--method",
        "tools/call",
        "--tool-name",
        "gate_answer",
        "--tool-arg",
        &gate,
        "--tool-arg",
        "decision=resume",
        "--tool-arg",
        "response=yes",
    ];
    let answered = inspected(room, era, Some(&room.operator), &answer);
    assert_eq!(answered["structuredContent"]["gate"]["state"], "resumed", "{answered}");
}

#[test]
fn the_inspector_finds_its_way_over_both_transports_in_both_eras() {
    for era in [LEGACY, "modern"] {
        the_inspector_finds_its_way(&Room::new(), era);
        the_inspector_finds_its_way(&Room::served(), era);
    }
}

/// Only what the revision requires: the suite also runs scenarios that it does not score.
fn the_conformance_suite_passes(revision: &str) {
    let room = Room::serving(&["--conformance-fixtures"]);
    let mut suite = node("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    suite.args(["server", "--url", room.url(), "--requirements", revision]);
    let output = suite.current_dir(room.home.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("=== SUMMARY ==="), "{said}");
    let failed = said.lines().filter(|line| line.starts_with('✗'));
    let unscored = ["tasks-", "json-schema-2020-12", "http-custom-header-server-validation"];
    let is_scored = |line: &&str| !unscored.iter().any(|name| line.contains(name));
    assert_eq!(failed.filter(is_scored).collect::<Vec<_>>(), [""; 0], "{said}");
}

#[test]
fn the_conformance_suite_passes_for_the_handshake_era() {
    the_conformance_suite_passes("2025-11-25");
}

#[test]
fn the_conformance_suite_passes_for_the_stateless_era() {
    the_conformance_suite_passes("2026-07-28");
}
