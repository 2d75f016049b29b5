//! MCP clients of other vendors: the official Python client and FastMCP, over both transports and in
//! both eras; and the official conformance suite. The inspector is in `inspector`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::desk::{PUNCH, installed};

const QUESTION: &str = "Which port?";
pub(crate) const ISSUE_TOOLS: [&str; 6] =
    ["todo", "issue", "checkpoint", "ask", "form", "delegate"];
pub(crate) const LEGACY: &str = "legacy";
const MODERN: &str = "2026-07-28";

/// A store with an operator, and a server over it.
pub(crate) struct Room {
    pub(crate) home: TempDir,
    pub(crate) operator: String,
    pub(crate) served: Option<(Child, String)>,
}

impl Room {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut room = Self { home, operator: String::new(), served: None };
        let made = room.punch(&["token", "new", "--role", "operator", "--json"], None);
        room.operator = made["token"].as_str().unwrap().to_owned();
        room
    }

    pub(crate) fn served() -> Self {
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

    pub(crate) fn store(&self) -> String {
        self.home.path().join("ledger.db").to_string_lossy().into_owned()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PUNCH);
        command.args(["--db", &self.store()]).args(words).current_dir(self.home.path());
        command.env_clear().env("HOME", self.home.path()).env("PUNCHLIST_PROJECT", "test");
        command
    }

    pub(crate) fn punch(&self, words: &[&str], token: Option<&str>) -> Value {
        let mut command = self.command(words);
        command.envs(token.map(|token| ("PUNCHLIST_TOKEN", token)));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn url(&self) -> &str {
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
    pub(crate) fn answers(&self) -> Vec<Value> {
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
    assert_eq!(seen["subscribable"], true, "{seen}");
    assert_eq!(seen["updated"], seen["uri"]);
    assert_eq!(seen["elicited"], json!([QUESTION]));
    assert_eq!(seen["asked"]["state"], "resumed");
    assert_eq!(seen["asked"]["response"], "8443");
    let answers = room.answers();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0]["proof"], "client", "{answers:?}");
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
pub(crate) fn node(script: &str) -> Command {
    let mut node = Command::new(installed("node_modules/node/bin/node"));
    node.arg(installed(script));
    node
}

/// Scenarios that the suite runs and does not score for a revision, by its own list: `not_scored` in
/// `requirements/REVISION.yaml` of the package. Its README names the reasons.
const UNSCORED: [&str; 3] = [
    // `extension`: tasks are optional by definition (SEP-1730). Our long call is a delegation.
    "tasks-",
    // `pending`: the suite's own reference server does not pass these.
    "json-schema-2020-12",
    "http-custom-header-server-validation",
];

/// Only what the revision requires.
fn the_conformance_suite_passes(revision: &str) {
    let room = Room::serving(&["--conformance-fixtures"]);
    let mut suite = node("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    suite.args(["server", "--url", room.url(), "--requirements", revision]);
    let output = suite.current_dir(room.home.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("=== SUMMARY ==="), "{said}");
    let failed = said.lines().filter(|line| line.starts_with('✗'));
    let is_scored = |line: &&str| !UNSCORED.iter().any(|name| line.contains(name));
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
